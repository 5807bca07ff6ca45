"""URLs of databases: filled from the environment, relative to a file, and shown without what is secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rebalancer.problem import Fault

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

PACKAGE = "pip install rebalancer-cp[sql]"
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_SECRET = re.compile(r"passw|passphrase|pwd|secret|token|key", re.IGNORECASE)
#: What drivers take within a value, as ODBC does: ``PWD=…;`` and the like.
_SECRET_WITHIN = re.compile(rf"\w*(?:{_SECRET.pattern})\w*\s*=\s*(\{{[^}}]*\}}|[^;&\s]+)", re.IGNORECASE)
_HIDDEN = "***"


def filled(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a text with every ``${NAME}`` replaced by that variable of the environment.

    Parameters
    ----------
    text : str
    environment : mapping, optional
        Instead of the variables of this process.

    Raises
    ------
    KeyError
        A variable is not set; its name.
    """
    values = os.environ if environment is None else environment
    return _VARIABLE.sub(lambda found: values[found[1]], text)


def completed(typed: str, folder: str) -> str | Fault:
    """Return a URL as a file states it, filled from the environment and relative to the folder of that file.

    Returns
    -------
    str, or Fault
        The fault has no place, and holds nothing secret.
    """
    try:
        return located(filled(typed), folder)
    except KeyError as error:
        message = f"the environment variable '{error.args[0]}' is not set"
        return Fault("unset-variable", message, (), error.args[0])
    except ValueError as error:
        return Fault("wrong-value", f"this is no URL of a database: {error}")
    except ImportError:
        return Fault("missing-package", f"databases need SQLAlchemy: {PACKAGE}", suggestion=PACKAGE)


def located(url: str, folder: str) -> str:
    """Return a URL whose file, if it names one by a relative path, is looked for in a folder.

    Raises
    ------
    ValueError
        It is no URL.
    ImportError
        SQLAlchemy is not installed.
    """
    read = parsed(url)
    path = database_file(read)
    if path is None or os.path.isabs(path):
        return url
    joined = os.path.normpath(os.path.join(os.path.abspath(folder), path))
    return read.set(database=joined).render_as_string(hide_password=False)


def parsed(url: str) -> URL:
    """Return a URL in its parts.

    Raises
    ------
    ValueError
        It is no URL; the message does not repeat it, as it may hold a password.
    ImportError
        SQLAlchemy is not installed.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        read = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError("expected a URL such as sqlite:///inventory.db or postgresql+psycopg://host/name") from None
    if "@" in (read.host or ""):  # half of a password, which would be shown as part of the host
        raise ValueError("the password holds an '@', which is written as %40 in a URL")
    return read


def database_file(url: URL) -> str | None:
    """Return the path in the URL of a database that is a file; None for others, and for one in memory."""
    if url.get_backend_name() not in ("sqlite", "duckdb") or not url.database or url.database == ":memory:":
        return None
    return None if url.database.startswith("file:") else url.database


def shown_url(url: str) -> str:
    """Return a URL that may stand in messages, logs and files: without its password.

    Also what the query part calls a password, key, token or secret is hidden.
    """
    try:
        read = parsed(url)
    except (ValueError, ImportError):
        scheme, colon, _ = url.partition("://")
        return f"{scheme}://{_HIDDEN}" if colon and re.fullmatch(r"[\w+.-]+", scheme) else _HIDDEN
    query = {key: _HIDDEN if _is_secret(key, value) else value for key, value in read.query.items()}
    return read.set(query=query).render_as_string(hide_password=True).replace("%2A%2A%2A", _HIDDEN)


def without_secrets(text: str, url: str) -> str:
    """Return what somebody says about a database without the secrets of its URL."""
    try:
        read = parsed(url)
    except (ValueError, ImportError):
        return text.replace(url, _HIDDEN)
    secrets = [] if read.password is None else [str(read.password)]
    for key, value in read.query.items():
        values = [value] if isinstance(value, str) else list(value)
        secrets += values if _SECRET.search(key) else [found for one in values for found in _SECRET_WITHIN.findall(one)]
    text = text.replace(url, shown_url(url))
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text


def _is_secret(key: str, value: str | tuple[str, ...]) -> bool:
    """Return whether a parameter of a URL is not to be shown."""
    values = (value,) if isinstance(value, str) else value
    return _SECRET.search(key) is not None or any(map(_SECRET_WITHIN.search, values))
