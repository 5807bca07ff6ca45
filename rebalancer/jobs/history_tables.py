"""The tables of the history. Their names begin with ``rebalancer_``: the database may be one that others use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

from rebalancer.jobs.fields import LONGEST_NAME

#: Of the tables below; a database with a higher one was written by a newer rebalancer.
VERSION = 1


class Moment(TypeDecorator[datetime]):
    """A moment in UTC, also where the database knows no time zones (SQLite)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what is stored."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Return what was stored, aware of its time zone."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData()

schema = Table("rebalancer_schema", metadata, Column("version", Integer, primary_key=True))

runs = Table(
    "rebalancer_runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job", String(LONGEST_NAME), nullable=False),
    Column("started", Moment, nullable=False),
    Column("finished", Moment),
    Column("process", Text, nullable=False),  # user@host (pid …)
    Column("outcome", String(20), nullable=False),
    Column("exit_code", Integer),
    Column("reason", Text),
    Column("guard", Text),
    Column("snapshot_taken", Moment),
    Column("sizes", JSON(none_as_null=True)),  # rows of each table, objects, containers
    Column("accepted", Boolean, nullable=False, default=False),
    Column("status", String(20)),
    Column("moves", Integer),
    Column("moved_objects", Integer),
    Column("waves", Integer),
    Column("staged", Integer),
    Column("blocked", Integer),
    Column("broken_initial", Integer),
    Column("broken_final", Integer),
    Column("plan_folder", Text),
    Column("kept_from", Integer, ForeignKey("rebalancer_runs.id")),
)
Index("rebalancer_runs_by_job", runs.c.job, runs.c.id)

objectives = Table(
    "rebalancer_objectives",
    metadata,
    Column("run", Integer, ForeignKey("rebalancer_runs.id"), primary_key=True),
    Column("tuple_pos", Integer, primary_key=True),
    Column("initial", Double, nullable=False),
    Column("final", Double, nullable=False),
    Column("bound", Double),
)

constraints = Table(
    "rebalancer_constraints",
    metadata,
    Column("run", Integer, ForeignKey("rebalancer_runs.id"), primary_key=True),
    Column("number", Integer, primary_key=True),  # position in the report, from 1
    Column("name", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("policy", String(10), nullable=False),
    Column("initial_violation", Double, nullable=False),
    Column("final_violation", Double, nullable=False),
    Column("initial_broken", Integer, nullable=False),
    Column("final_broken", Integer, nullable=False),
)

moves = Table(
    "rebalancer_moves",
    metadata,
    Column("run", Integer, ForeignKey("rebalancer_runs.id"), primary_key=True),
    Column("number", Integer, primary_key=True),  # position in the plan, from 1
    Column("step", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("source", Text),
    Column("destination", Text),
    Column("wave", Integer, nullable=False),
)
