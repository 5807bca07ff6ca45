"""Reads from databases through SQLAlchemy, and changes nothing there.

All queries to one database run in one transaction, so that tables read one after the other are of the same moment
wherever the database can do that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rebalancer.problem import Fault, nearest
from rebalancer.scenario.drivers import connect_options, is_narrow, missing_driver, unknown_driver
from rebalancer.scenario.tables import unreadable
from rebalancer.scenario.urls import PACKAGE, database_file, parsed, shown_url, without_secrets

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Connection, CursorResult, Engine

#: Rows that are fetched together.
CHUNK = 65_536
#: Instructions of SQLite, some milliseconds' worth, after which it lets signals be handled.
_INSTRUCTIONS = 100_000
_QUOTED = re.compile(
    r"""\b[eE]'(?:\\.|''|[^'\\])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/""", re.DOTALL
)
_READING = re.compile(r"[\s(]*(select|with|values|table)\b", re.IGNORECASE)
_NO_TABLE = re.compile(r"""no such table: ["']?([^\s"']+)|relation "([^"]+)" does not exist""")
_NO_COLUMN = re.compile(r"""no such column: ["']?([^\s"']+)|column "?([^\s"]+)"? does not exist""")


class DatabaseError(Exception):
    """A database that cannot be read from.

    Parameters
    ----------
    fault : Fault
        Without a place; nothing in it is secret.
    field : str
        Which field states what is wrong: "url" or "query".
    """

    def __init__(self, fault: Fault, field: str) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.field = field


class Selection:
    """The rows that a query returns.

    Parameters
    ----------
    header : list of str
        The names of the columns.
    chunks : iterator of sequences of rows
        May raise `DatabaseError`.
    narrow : collection of int
        Columns of floats of 32 bits.
    """

    def __init__(self, header: list[str], chunks: Iterator[Sequence[Any]], narrow: Collection[int] = ()) -> None:
        self.header = header
        self.chunks = chunks
        self.narrow = narrow


class Databases:
    """Connections to databases, one for each URL, open until the end of the ``with`` block."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Engine, Connection]] = {}
        self._raised: list[BaseException] = []
        self._away: dict[str, DatabaseError] = {}

    def __enter__(self) -> Databases:
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all transactions and close all connections."""
        for engine, connection in self._open.values():
            with suppress(Exception):  # a server that is gone: there is nothing left to close
                connection.close()
                engine.dispose()
        self._open.clear()

    def select(self, url: str, typed: str, query: str) -> Selection:
        """Run a query.

        Parameters
        ----------
        url : str
            Complete.
        typed : str
            The URL as it stands in the file, where it may be relative.
        query : str
            One statement that reads.

        Raises
        ------
        DatabaseError
        """
        fault = query_fault(query)
        if fault is not None:
            raise DatabaseError(fault, "query")
        connection = self._connection(url, typed)
        try:
            # Without parameters the driver takes the text as it is: % and : need no doubling.
            result = connection.execution_options(no_parameters=True, stream_results=True, max_row_buffer=CHUNK)
            cursor = result.exec_driver_sql(query)
            header = list(cursor.keys())
            kinds = [column[1] for column in cursor.cursor.description or ()]
        except Exception as error:  # most of them SQLAlchemy's, but drivers raise some that it does not know
            self._reraise()
            raise _query_error(error, url, connection) from None
        narrow = [position for position, kind in enumerate(kinds) if is_narrow(connection.dialect.name, kind)]
        return Selection(header, self._chunks(cursor, url, connection), narrow)

    def _chunks(self, cursor: CursorResult[Any], url: str, connection: Connection) -> Iterator[Sequence[Any]]:
        try:
            while rows := cursor.fetchmany(CHUNK):
                yield rows
        except Exception as error:  # also where a driver cannot turn what it got into a value of Python
            self._reraise()
            raise _query_error(error, url, connection) from None

    def _reraise(self) -> None:
        """Raise what a signal handler raised while SQLite worked, instead of SQLite's "interrupted"."""
        if self._raised:
            raise self._raised.pop() from None

    # -- connecting ---------------------------------------------------------------------------------------------------

    def _connection(self, url: str, typed: str) -> Connection:
        if url in self._away:  # every further table would wait as long as the first
            raise self._away[url]
        if url not in self._open:
            try:
                self._open[url] = self._connect(url, typed)
            except DatabaseError as error:
                self._away[url] = error
                raise
        return self._open[url][1]

    def _connect(self, url: str, typed: str) -> tuple[Engine, Connection]:
        try:
            from sqlalchemy import create_engine, event
            from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError
            from sqlalchemy.pool import NullPool

            read = parsed(url)
            read.get_dialect()
        except ImportError:
            message = f"reading '{shown_url(url)}' needs SQLAlchemy: {PACKAGE}"
            raise DatabaseError(Fault("missing-package", message, (), None, PACKAGE), "url") from None
        except NoSuchModuleError:
            raise DatabaseError(unknown_driver(read), "url") from None
        except ValueError as error:
            raise DatabaseError(Fault("wrong-value", f"this is no URL of a database: {error}"), "url") from None
        path = database_file(read)
        fault = None if path is None else unreadable(path, _typed_file(typed, path))
        if fault is not None:
            raise DatabaseError(fault, "url")
        try:
            engine = create_engine(
                _for_reading(read), poolclass=NullPool, connect_args=connect_options(read, reading=True)
            )
            event.listen(engine, "invalidate", _cancel)
        except ImportError as error:
            raise DatabaseError(missing_driver(read, error), "url") from None
        except (SQLAlchemyError, ValueError, TypeError) as error:
            raise DatabaseError(_away(error, url), "url") from None
        try:
            return engine, _reading(engine, self._raised)
        except (SQLAlchemyError, OSError, ValueError, TypeError) as error:
            engine.dispose()
            raise DatabaseError(_away(error, url), "url") from None


def query_fault(query: str) -> Fault | None:
    """Return why a query is refused, or None: it must be one statement that reads.

    The database is asked to refuse changes as well; this finds mistakes before any database is involved.
    """
    bare = _QUOTED.sub(" ", query).strip().rstrip(";")
    if ";" in bare:
        return Fault("unsupported-query", "the query has several statements, expected one SELECT")
    if not _READING.match(bare):
        seen = bare.split(None, 1)[0] if bare else None
        shown = "nothing" if seen is None else f"'{seen}'"
        return Fault("unsupported-query", f"the query must be one SELECT, got {shown}", (), seen)
    return None


def _for_reading(url: URL) -> URL:
    """Return the URL with which a database is opened so that nothing can be changed, nor made."""
    path = database_file(url)
    if path is None or url.get_backend_name() != "sqlite":
        return url
    return url.set(database=f"file:{quote(path)}", query={**url.query, "mode": "ro", "uri": "true"})


def _reading(engine: Engine, raised: list[BaseException]) -> Connection:
    """Return a connection in a transaction that sees one moment and changes nothing, as far as the database can.

    Parameters
    ----------
    engine : Engine
    raised : list
        Gets what signal handlers raise while SQLite works.
    """
    backend = engine.dialect.name
    connection = engine.connect()
    try:
        if backend == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        elif backend in ("mysql", "mariadb"):
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
            connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")
            connection.rollback()
        elif backend == "sqlite":
            driver: Any = connection.connection.driver_connection
            if hasattr(driver, "set_progress_handler"):  # other drivers of SQLite may have none
                driver.set_progress_handler(_watching(raised).__next__, _INSTRUCTIONS)
            connection.exec_driver_sql("PRAGMA query_only = ON")
            # Without it every SELECT is a transaction of its own.
            connection.exec_driver_sql("BEGIN")
        if not connection.in_transaction():
            connection.begin()
    except BaseException:
        connection.close()
        raise
    return connection


def _cancel(connection: Any, record: Any, error: BaseException | None) -> None:
    """Ask a server to end a query before its connection is dropped: it would not notice that nobody waits any more."""
    cancel = getattr(connection, "cancel", None)
    if cancel is not None and error is not None and not isinstance(error, Exception):  # what a signal handler raised
        with suppress(Exception):  # a server that is gone has nothing under way
            cancel()


def _watching(raised: list[BaseException]) -> Iterator[int]:
    """Yield 0 as long as SQLite may go on, 1 once a signal handler has raised something.

    For Python a query of SQLite is one call of C: without this, neither Ctrl-C nor the deadline of a job would end one
    that never ends. SQLite drops what its progress handler raises. Signals are handled whenever Python runs, even on
    the way into a function and so before its first `try`; a generator is resumed inside of one.
    """
    while not raised:
        try:
            yield 0
        except GeneratorExit:
            raise
        except BaseException as error:
            raised.append(error)
    yield 1


def _typed_file(typed: str, path: str) -> str:
    """Return the path in a URL as it is typed."""
    try:
        return database_file(parsed(typed)) or path
    except ValueError:
        return path


def _away(error: Exception, url: str) -> Fault:
    reason = _reason(error, url)
    if _is_locked(reason):
        return Fault("locked-database", f"the database '{shown_url(url)}' is locked: {reason}")
    return Fault("unreachable-database", f"cannot read from '{shown_url(url)}': {reason}", (), shown_url(url))


def _is_locked(reason: str) -> bool:
    return "is locked" in reason or "lock timeout" in reason


def _reason(error: Exception, url: str) -> str:
    """Return what a driver says, on one line, without secrets and without what SQLAlchemy adds."""
    said = str(getattr(error, "orig", None) or error).strip()
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.strip().startswith(("LINE ", "^"))]
    text = " ".join(lines) or type(error).__name__
    return without_secrets(text, url)


def _query_error(error: Exception, url: str, connection: Connection) -> DatabaseError:
    """Return what is wrong with a query, or with the database that fails while it runs."""
    reason = _reason(error, url)
    _end_transaction(connection)
    if _is_locked(reason) or getattr(error, "connection_invalidated", False) or "file is not a database" in reason:
        return DatabaseError(_away(error, url), "url")
    found = _NO_TABLE.search(reason)
    if found is not None:
        name = found[1] or found[2]
        close = nearest(name, _tables_of(connection))
        hint = f"; did you mean '{close}'?" if close else ""
        message = f"the database '{shown_url(url)}' has no table '{name}'{hint}"
        return DatabaseError(Fault("unknown-name", message, (), name, close, kind="table of the database"), "query")
    found = _NO_COLUMN.search(reason)
    if found is not None:
        name = (found[1] or found[2]).rpartition(".")[2]
        close = nearest(name, _columns_of(connection))
        hint = f"; did you mean '{close}'?" if close else ""
        message = f"the query names a column '{name}' that does not exist{hint}"
        return DatabaseError(Fault("unknown-name", message, (), name, close, kind="column of the database"), "query")
    return DatabaseError(Fault("sql-error", f"the query fails: {reason}"), "query")


def _end_transaction(connection: Connection) -> None:
    """End a transaction in which a query failed: in some databases every further query would fail as well."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        connection.rollback()
    except SQLAlchemyError:  # a connection that is gone has no transaction
        return


def _tables_of(connection: Connection) -> list[str]:
    from sqlalchemy import inspect
    from sqlalchemy.exc import SQLAlchemyError

    try:
        inspector = inspect(connection)
        return [*inspector.get_table_names(), *inspector.get_view_names()]
    except SQLAlchemyError:
        return []


def _columns_of(connection: Connection) -> list[str]:
    from sqlalchemy import inspect
    from sqlalchemy.exc import SQLAlchemyError

    try:
        inspector = inspect(connection)
        return sorted({column["name"] for table in _tables_of(connection) for column in inspector.get_columns(table)})
    except SQLAlchemyError:
        return []
