"""When a snapshot was taken."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from rebalancer.jobs.fields import Taken
from rebalancer.jobs.job import Job
from rebalancer.problem import Fault, InputError, Path
from rebalancer.scenario.databases import DatabaseError, Databases
from rebalancer.scenario.reader import Scenario
from rebalancer.scenario.tables import unreadable
from rebalancer.scenario.urls import completed, filled

#: Seconds since 1970, as `date +%s` prints them.
_EPOCH = re.compile(r"\d{9,11}(\.\d+)?")
_PATH: Path = ("snapshot", "taken")


def taken_at(job: Job, scenario: Scenario, databases: Databases, now: datetime) -> datetime:
    """Return when a snapshot was taken, in UTC.

    As the job states it; otherwise when the oldest file was written that its section ``snapshot`` names, or where it
    names none, the oldest table of the scenario, or the scenario. What comes from databases is of now.

    Parameters
    ----------
    job : Job
    scenario : Scenario
        As it was read.
    databases : Databases
    now : datetime
        When reading it began.

    Raises
    ------
    InputError
        The time that the job states cannot be read.
    """
    stated = job.snapshot.taken
    if stated is not None:
        found = _from_query(job, stated, databases) if stated.query is not None else _from_file(job, stated.file or "")
        if isinstance(found, Fault):
            raise InputError([found.at(job.document.file, *job.document.place(found.path))])
        return found
    tables = [table for table in scenario.tables if table.replaced] or list(scenario.tables)
    files = [table.name for table in tables if table.digest is None]
    if not tables:
        files = scenario.files[:1]
    written = [os.stat(name).st_mtime for name in files]
    return datetime.fromtimestamp(min(written), UTC) if written else now


def _from_file(job: Job, typed: str) -> datetime | Fault:
    path = os.path.join(job.folder, typed)
    fault = unreadable(path, typed)
    if fault is not None:
        return replace(fault, path=(*_PATH, "file"))
    with open(path, "rb") as opened:
        text = opened.read(1000).decode("utf-8", "replace").strip()
    return _moment(text, f"'{typed}' holds", (*_PATH, "file"))


def _from_query(job: Job, stated: Taken, databases: Databases) -> datetime | Fault:
    own = stated.url is not None
    place: Path = (*_PATH, "url") if own else ("snapshot", "url")
    typed = (stated.url if own else job.snapshot.url) or ""
    url = completed(typed, job.folder)
    if isinstance(url, Fault):
        return replace(url, path=place)
    try:
        rows = [
            tuple(row) for chunk in databases.select(url, filled(typed), stated.query or "").chunks for row in chunk
        ]
    except DatabaseError as error:
        return replace(error.fault, path=place if error.field == "url" else (*_PATH, "query"))
    if len(rows) != 1 or len(rows[0]) != 1:
        message = f"the query must return one row of one column, it returns {_size(rows)}"
        return Fault("wrong-value", message, (*_PATH, "query"))
    return _moment(rows[0][0], "the query returns", (*_PATH, "query"))


def _size(rows: list[tuple[Any, ...]]) -> str:
    if not rows:
        return "no row"
    count = f"{len(rows):,} rows" if len(rows) > 1 else "1 row"
    return f"{count} of {len(rows[0])} columns" if len(rows[0]) > 1 else count


def _moment(value: Any, who: str, path: Path) -> datetime | Fault:
    """Return a time however it is given; one without a time zone is in UTC."""
    try:
        return _read(value)
    except (ValueError, OverflowError, OSError):
        shown = "nothing" if value is None or value == "" else f"'{value}'" if isinstance(value, str) else repr(value)
        message = f"{who} {shown[:80]}, expected a time such as 2026-11-21T02:00:00Z, or seconds since 1970"
        return Fault("wrong-value", message, path, None if value is None else str(value)[:80])


def _read(value: Any) -> datetime:
    if isinstance(value, str):
        text = value.strip()
        value = float(text) if _EPOCH.fullmatch(text) else datetime.fromisoformat(text)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return datetime.fromtimestamp(float(value), UTC)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise ValueError(value)
