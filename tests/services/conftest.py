"""A schema of its own for each test, in the server that `run.py` names."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine, make_url

from tests.services.run import VARIABLE


@pytest.fixture
def server() -> str:
    """Return the URL of the server; these tests are not run without one."""
    return os.environ[VARIABLE]


@pytest.fixture
def schema(server: str) -> Iterator[str]:
    """Return the URL of an empty schema, dropped afterwards."""
    name = f"t{uuid.uuid4().hex}"
    with _engine(server).begin() as connection:
        connection.exec_driver_sql(f"create schema {name}")
    try:
        url = make_url(server).update_query_dict({"options": f"-c search_path={name}"})
        yield url.render_as_string(hide_password=False)
    finally:
        with _engine(server).begin() as connection:
            connection.exec_driver_sql(f"drop schema {name} cascade")


@pytest.fixture
def engine(schema: str) -> Engine:
    """Return an engine whose tables are in that schema."""
    return _engine(schema)


def _engine(url: str) -> Engine:
    from sqlalchemy.pool import NullPool

    return create_engine(url, poolclass=NullPool)
