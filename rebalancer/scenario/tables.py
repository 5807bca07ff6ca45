"""Tables that state objects, containers or scopes: what is common to CSV and Parquet."""

from __future__ import annotations

import datetime
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Collection
from decimal import Decimal
from typing import Any

from rebalancer.problem import Fault, Path, nearest
from rebalancer.problem.errors import MOST_REPORTED
from rebalancer.scenario.document import Mark
from rebalancer.scenario.settle import MISSING

#: Endings of file names, and what they are.
_FORMATS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


class Table(ABC):
    """Columns read from a file.

    Parameters
    ----------
    file : str
        Its name in messages.
    header : list of str
        The names of all its columns, in order.
    rows : int
    """

    def __init__(self, file: str, header: list[str], rows: int) -> None:
        self.file = file
        self.header = header
        self.rows = rows
        self.faults: list[Fault] = []

    @abstractmethod
    def names(self, column: str, distinct: bool = False) -> list[str | None] | None:
        """Return a column of names exactly as they stand there, None for empty fields; None where there were faults.

        ``distinct`` says that most of them are, so that looking for repetitions to store once does not pay.
        """

    @abstractmethod
    def numbers(self, column: str) -> Any:
        """Return numbers: an int64 or float64 array, or a list of exact numbers; None where there were faults."""

    @abstractmethod
    def values(self, column: str) -> list[Any] | None:
        """Return a column of facts, None for empty fields."""

    @abstractmethod
    def cell(self, column: int, row: int) -> Mark:
        """Return where a field stands; both are counted from 0."""

    def keys(self, column: str) -> list[str] | None:
        """Return a column of names none of which may be empty; those that are get a stand-in and a fault."""
        found = self.names(column, distinct=True)
        if found is None or None not in found:
            return found  # type: ignore[return-value]
        rows = [row for row, name in enumerate(found) if name is None]
        self.report_rows("empty-name", f"the name is missing in column '{column}'", column, rows)
        return [f"{MISSING}{row}" if name is None else name for row, name in enumerate(found)]

    def place(self, path: Path, named: Any = None) -> Mark:
        """Return where the field at (column, row) stands."""
        column = self.header.index(path[0]) if path and path[0] in self.header else 0
        row = path[1] if len(path) > 1 and isinstance(path[1], int) else None
        return (1, column + 1) if row is None else self.cell(column, row)

    def report(
        self, code: str, message: str, column: str, row: int, value: Any = None, suggestion: str | None = None
    ) -> None:
        """Add a fault at a field."""
        line, place = self.cell(self.header.index(column), row)
        self.faults.append(Fault(code, message, (column, row), value, suggestion, self.file, line, place))

    def report_rows(self, code: str, message: str, column: str, rows: list[int], values: Any = None) -> None:
        """Add the same fault at many fields; ``{value}`` in the message is the value there."""
        for row in rows[:MOST_REPORTED]:
            value = None if values is None else values[row]
            self.report(code, message.format(value=value) if values is not None else message, column, row, value)
        if len(rows) > MOST_REPORTED:
            more = len(rows) - MOST_REPORTED
            self.report("more-faults", f"{more:,} more mistakes like the one before", column, rows[MOST_REPORTED])


def open_table(path: str, file: str, typed: str, wanted: Collection[str]) -> Table | Fault | list[Fault]:
    """Read columns of a table.

    Parameters
    ----------
    path : str
        Where it is.
    file : str
        What messages about its content call it.
    typed : str
        How the scenario names it.
    wanted : collection of str
        The columns to read; those that do not exist are the caller's to report.

    Returns
    -------
    Table, or Fault, or list of Fault
        One fault without a place: the file cannot be read at all, and the caller knows who named it. A list: what is
        wrong inside the file.
    """
    kind = _FORMATS.get(os.path.splitext(path)[1].lower())
    if kind is None:
        message = f"'{typed}' is no table that can be read: expected a name ending in .csv or .parquet"
        return Fault("unknown-format", message, value=typed)
    fault = unreadable(path, typed)
    if fault is not None:
        return fault
    if kind == "csv":
        from rebalancer.scenario.csv_table import read_csv

        return read_csv(path, file, wanted)
    from rebalancer.scenario.parquet_table import read_parquet

    return read_parquet(path, file, typed, wanted)


def fact(value: Any) -> Any:
    """Return a value of a table as a fact: None, NaN and the empty text state nothing; moments are texts."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    if isinstance(value, uuid.UUID | datetime.date | datetime.time):
        return str(value)
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def unreadable(path: str, file: str) -> Fault | None:
    """Return why a file cannot be opened, or None; a misspelt name gets the nearest file of the folder."""
    try:
        with open(path, "rb") as opened:
            opened.read(1)
    except FileNotFoundError:
        return _missing(path, file)
    except IsADirectoryError:
        return Fault("missing-file", f"'{file}' is a folder, expected a file", value=file)
    except NotADirectoryError:
        return _missing(path, file)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Fault("unreadable-file", f"cannot read '{file}': {why[:1].lower()}{why[1:]}", value=file)
    return None


def _missing(path: str, file: str) -> Fault:
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return Fault(
            "missing-file", f"'{file}' does not exist: there is no folder '{os.path.dirname(file)}'", value=file
        )
    close = nearest(os.path.basename(path), sorted(os.listdir(folder)))
    suggestion = os.path.join(os.path.dirname(file), close) if close else None
    hint = f"; did you mean '{suggestion}'?" if suggestion else ""
    return Fault("missing-file", f"'{file}' does not exist{hint}", (), file, suggestion)
