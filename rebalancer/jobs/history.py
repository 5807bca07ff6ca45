"""The history of a job: what every run found and did, so that the next one knows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, Float, Integer, String, and_, create_engine, inspect, or_, select, update
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.types import TypeEngine

from rebalancer.jobs import history_tables as tables
from rebalancer.jobs.outcome import Outcome, Report
from rebalancer.problem import Fault, InputError
from rebalancer.scenario.drivers import connect_options, missing_driver, unknown_driver
from rebalancer.scenario.urls import database_file, parsed, shown_url, without_secrets

#: How long another program may keep an SQLite file busy, in seconds, unless the URL says otherwise.
_BUSY_SECONDS = 30
#: Rows that one statement inserts.
_CHUNK = 10_000


class History:
    """The database of all runs. Every method is one transaction on a connection of its own.

    A search may take hours, and networks drop connections that are idle for so long.

    Parameters
    ----------
    url : str
        As SQLAlchemy writes it.
    create : bool
        Whether tables that are not there are made, and an SQLite file too.

    Raises
    ------
    InputError
        The database cannot be reached, was written by a newer version, or, unless ``create``, holds no history.
    """

    def __init__(self, url: str, create: bool = True) -> None:
        self.url = url
        file = database_file(parsed(url))
        if file is not None and not create and not os.path.exists(file):
            raise InputError([Fault("no-history", f"there is no history yet: '{file}' does not exist", value=file)])
        self._engine = _engine(url)
        version = self._version()
        if version is None and create:
            version = self._made()
        shown = shown_url(url)
        if version is None:
            raise InputError([Fault("no-history", f"there is no history in {shown}", value=shown)])
        if version != tables.VERSION:
            message = (
                f"the history in {shown} has version {version}, this rebalancer knows version {tables.VERSION}: "
                "update it, or name another history"
            )
            raise InputError([Fault("newer-history", message, value=version)])

    def _version(self) -> int | None:
        """Return the version of the tables; None where they are not all there yet: it is written last."""
        with self._reading() as connection:
            if not inspect(connection).has_table(tables.schema.name):
                return None
            return connection.execute(select(tables.schema.c.version)).scalar()

    def _made(self) -> int | None:
        """Make the tables, or those that a killed run did not get to, and return their version."""
        try:
            with self._transaction() as connection:
                if connection.dialect.name == "sqlite":  # whose driver begins no transaction for tables by itself
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                tables.metadata.create_all(connection)
                if connection.execute(select(tables.schema.c.version)).scalar() is None:
                    connection.execute(tables.schema.insert().values(version=tables.VERSION))
        except InputError:
            if self._version() is None:  # otherwise another job has made them at the same moment
                raise
        return self._version()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise InputError([_away(self.url, error)]) from None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._transaction() as connection:
                yield connection
        except InputError:
            raise
        except ValueError as error:  # somebody else has written there: a moment that is none, a text for a number
            shown = shown_url(self.url)
            message = f"the history in {shown} holds what no run has written: {error}"
            raise InputError([Fault("unreadable-history", message, value=shown)]) from None

    # -- what a run writes --------------------------------------------------------------------------------------------

    def begin(self, job: str, started: datetime, process: str) -> int:
        """Note that a run has begun, and return its number."""
        with self._transaction() as connection:
            row = {"job": job, "started": started, "process": process, "outcome": Outcome.RUNNING.value}
            made = connection.execute(tables.runs.insert().values(row)).inserted_primary_key
            assert made is not None
            return int(made[0])

    def record(self, report: Report, moves: Iterable[Mapping[str, Any]] = ()) -> None:
        """Write all that is known of a run, at once or not at all.

        Parameters
        ----------
        report : Report
        moves : iterable of mappings
            The steps of a new plan: id, object, source, destination, wave.
        """
        with self._transaction() as connection:
            row = {
                "finished": report.finished,
                "outcome": report.outcome.value,
                "exit_code": None if report.exit_code is None else int(report.exit_code),
                "reason": "; ".join(report.reasons) or None,
                "guard": report.guard,
                "snapshot_taken": report.snapshot_taken,
                "sizes": report.sizes,
                "accepted": report.accepted,
                "status": report.status,
                "moves": report.moves,
                "moved_objects": report.moved_objects,
                "waves": report.waves,
                "staged": report.staged,
                "blocked": report.blocked,
                "broken_initial": report.broken("initial"),
                "broken_final": report.broken("final"),
                "plan_folder": report.plan_folder,
                "kept_from": report.kept_from,
            }
            connection.execute(update(tables.runs).where(tables.runs.c.id == report.run).values(row))
            columns = ("tuple_pos", "initial", "final", "bound")
            _insert(connection, tables.objectives, ({name: one[name] for name in columns} for one in report.objective),
                    report.run)  # fmt: skip
            constraints = ({"number": number, **one} for number, one in enumerate(report.constraints, 1))
            _insert(connection, tables.constraints, constraints, report.run)
            steps = (
                {"number": number, "step": one["id"], **{name: one[name] for name in _STEP}}
                for number, one in enumerate(moves, 1)
            )
            _insert(connection, tables.moves, steps, report.run)

    def confirm(self, run: int) -> None:
        """Note that the plan of a run that was recorded as writing is in its place."""
        values = {"outcome": Outcome.PLANNED.value}
        with self._transaction() as connection:
            connection.execute(update(tables.runs).where(tables.runs.c.id == run).values(values))

    def withdraw(self, run: int, outcome: Outcome, reason: str, exit_code: int | None = None) -> None:
        """Take back what was recorded of the plan of a run: it never got to its place."""
        with self._transaction() as connection:
            _withdraw(connection, run, outcome, reason, exit_code)

    def repair(self, job: str, there: Callable[[str], bool]) -> list[tuple[int, Outcome]]:
        """Settle the runs of a job that never came to their end; return them, and what became of each.

        The caller holds the lock of the job, so none of them is still under way. A plan is put in its place after it
        is recorded: if it is there, its run came far enough.

        Parameters
        ----------
        there : callable
            Whether the folder of a plan is in its place.
        """
        runs = tables.runs
        open_ones = (Outcome.RUNNING.value, Outcome.WRITING.value)
        query = select(runs.c.id, runs.c.outcome, runs.c.plan_folder, runs.c.process).where(
            runs.c.job == job, runs.c.outcome.in_(open_ones)
        )
        settled = []
        with self._transaction() as connection:
            for row in connection.execute(query).all():
                if row.outcome == Outcome.WRITING.value and there(row.plan_folder):
                    outcome = Outcome.PLANNED
                    connection.execute(update(runs).where(runs.c.id == row.id).values(outcome=outcome.value))
                else:
                    outcome = Outcome.DIED
                    _withdraw(connection, row.id, outcome, f"{row.process} did not finish", None)
                settled.append((int(row.id), outcome))
        return settled

    # -- what a run asks ----------------------------------------------------------------------------------------------

    def last_sizes(self, job: str) -> dict[str, int] | None:
        """Return the sizes of the last snapshot that was accepted."""
        runs = tables.runs
        query = select(runs.c.sizes).where(runs.c.job == job, runs.c.accepted).order_by(runs.c.id.desc()).limit(1)
        with self._reading() as connection:
            found: dict[str, int] | None = connection.execute(query).scalar()
        return found

    def last_plan(self, job: str) -> tuple[int, str] | None:
        """Return the run that made the newest plan, and the folder of that plan."""
        runs = tables.runs
        query = (
            select(runs.c.id, runs.c.plan_folder)
            .where(runs.c.job == job, runs.c.outcome == Outcome.PLANNED.value)
            .order_by(runs.c.id.desc())
            .limit(1)
        )
        with self._reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else (int(row.id), str(row.plan_folder))

    def sent_since(self, job: str, moment: datetime) -> dict[str, str]:
        """Return where plans sent objects: object -> destination of its last step.

        Of plans that were made, or kept, after a moment; of several plans that moved an object, the newest counts.
        Who only made room and came back was sent nowhere.
        """
        runs, moves = tables.runs, tables.moves
        made_or_kept = (Outcome.PLANNED.value, Outcome.KEPT.value)
        recent = and_(runs.c.job == job, runs.c.outcome.in_(made_or_kept), runs.c.finished > moment)
        kept = select(runs.c.kept_from).where(recent, runs.c.kept_from.is_not(None))
        made = select(runs.c.id).where(recent, runs.c.outcome == Outcome.PLANNED.value)
        query = (
            select(moves.c.run, moves.c.object, moves.c.source, moves.c.destination)
            .where(or_(moves.c.run.in_(made), moves.c.run.in_(kept)))
            .order_by(moves.c.run, moves.c.number)
        )
        ways: dict[str, tuple[int, str | None, str | None]] = {}
        with self._reading() as connection:
            for run, name, source, destination in connection.execute(query):
                known = ways.get(name)
                ways[name] = run, known[1] if known is not None and known[0] == run else source, destination
        return {name: end for name, (_, start, end) in ways.items() if end is not None and end != start}

    def last_success(self, job: str) -> datetime | None:
        """Return when a run last came to a good end."""
        runs = tables.runs
        good = [outcome.value for outcome in Outcome if outcome.succeeded]
        query = (
            select(runs.c.finished)
            .where(runs.c.job == job, runs.c.outcome.in_(good))
            .order_by(runs.c.id.desc())
            .limit(1)
        )
        with self._reading() as connection:
            found: datetime | None = connection.execute(query).scalar()
        return found

    # -- reading all of it --------------------------------------------------------------------------------------------

    def rows(self, query: Any) -> list[dict[str, Any]]:
        """Return what a query finds, row by row."""
        types = {one.name: one.type for one in query.selected_columns}
        with self._reading() as connection:
            found = [dict(row) for row in connection.execute(query).mappings()]
            for row in found:
                for name, value in row.items():
                    if value is not None and not _may_be(name, types[name], value):
                        raise ValueError(f"{name} is {value!r}")
        return found


def _may_be(name: str, kind: TypeEngine[Any], value: Any) -> bool:
    """Whether a run may have written a value: SQLite keeps any in any column."""
    if isinstance(kind, Integer):  # all of them count something
        return isinstance(value, int | Decimal) and value >= 0 and value == int(value)
    if isinstance(kind, Float):
        return isinstance(value, int | float | Decimal) and math.isfinite(value)
    if isinstance(kind, String):
        return isinstance(value, str) and (name != "outcome" or value in _OUTCOMES)
    return True


#: How runs end.
_OUTCOMES = frozenset(outcome.value for outcome in Outcome)
#: What is not known of a run whose plan is none.
_OF_PLANS = ("moves", "moved_objects", "waves", "staged", "blocked", "broken_initial", "broken_final", "plan_folder",
             "kept_from")  # fmt: skip


def _withdraw(connection: Connection, run: int, outcome: Outcome, reason: str, exit_code: int | None) -> None:
    for table in (tables.objectives, tables.constraints, tables.moves):
        connection.execute(table.delete().where(table.c.run == run))
    values = {"outcome": outcome.value, "reason": reason, "exit_code": exit_code} | dict.fromkeys(_OF_PLANS)
    connection.execute(update(tables.runs).where(tables.runs.c.id == run).values(values))


_STEP = ("object", "source", "destination", "wave")


def _insert(connection: Connection, table: Any, rows: Iterable[Mapping[str, Any]], run: int | None) -> None:
    """Insert rows in pieces: drivers hold a whole statement with its values in memory."""
    piece: list[dict[str, Any]] = []
    for row in rows:
        piece.append({"run": run, **row})
        if len(piece) == _CHUNK:
            connection.execute(table.insert(), piece)
            piece = []
    if piece:
        connection.execute(table.insert(), piece)


def _engine(url: str) -> Engine:
    read = parsed(url)
    options = connect_options(read)
    if read.get_backend_name() == "sqlite" and "timeout" not in read.query:
        options["timeout"] = _BUSY_SECONDS
    try:
        return create_engine(url, poolclass=NullPool, connect_args=options)
    except NoSuchModuleError:
        raise InputError([unknown_driver(read)]) from None
    except ImportError as error:
        raise InputError([missing_driver(read, error)]) from None
    except (SQLAlchemyError, TypeError, ValueError) as error:
        raise InputError([_away(url, error)]) from None


def _away(url: str, error: Exception) -> Fault:
    """Return the fault of a database that does not answer, without what is secret."""
    said = str(getattr(error, "orig", None) or error).split("\n(Background")[0]
    reason = " ".join(said.split()) or type(error).__name__
    shown = shown_url(url)
    message = f"the history in {shown} cannot be used: {without_secrets(reason, url)}"
    return Fault("unreachable-history", message, value=shown)
