"""Tables that a query returns. Rows take the place of lines in messages, counted from 1."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from rebalancer.problem import Fault, PlainText, to_fraction
from rebalancer.problem.errors import MOST_REPORTED
from rebalancer.problem.numbers import widened_values
from rebalancer.scenario.databases import Selection
from rebalancer.scenario.document import Mark
from rebalancer.scenario.tables import Table, fact
from rebalancer.scenario.wording import own_error

#: Whole numbers up to here are exact in a float.
_EXACT_FLOAT = 2**53
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def read_rows(selection: Selection, file: str, wanted: Collection[str]) -> SqlTable | list[Fault]:
    """Read columns of what a query returns.

    Parameters
    ----------
    selection : Selection
    file : str
        What messages about its content call it.
    wanted : collection of str
        The columns to read.

    Raises
    ------
    DatabaseError
        The database fails while it is read.
    """
    header = selection.header
    positions = [position for position, name in enumerate(header) if name in wanted]
    names = [header[position] for position in positions]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        message = f"the query returns two columns '{repeated[0]}'; call one of them something else"
        place = header.index(repeated[0]) + 1
        return [Fault("duplicate-column", message, (), repeated[0], None, file, 1, place)]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    known: dict[str, str] = {}
    digest = hashlib.sha256(json.dumps(names).encode())
    rows = 0
    for chunk in selection.chunks:
        parts = list(zip(*chunk, strict=True))
        read = [parts[position] for position in positions]
        digest.update(json.dumps(read, default=_told, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        for name, position, values in zip(names, positions, read, strict=True):
            narrow = position in selection.narrow
            columns[name].extend(widened_values(values, np.float32) if narrow else _shared(values, known))
        rows += len(chunk)
    return SqlTable(file, header, columns, rows, digest.hexdigest())


def _shared(values: Sequence[Any], known: dict[str, str]) -> Sequence[Any]:
    """Return values with equal texts as one object, where they repeat: a million rows name few containers."""
    texts = {value for value in values if value.__class__ is str}
    if not texts or 2 * len(texts) >= len(values):
        return values
    return [known.setdefault(value, value) if value.__class__ is str else value for value in values]


def _told(value: Any) -> Any:
    """Return a value that JSON has no word for as text with its type, for the digest."""
    return [type(value).__name__, bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)]


class SqlTable(Table):
    """Columns of a query, as the driver returns them.

    Attributes
    ----------
    digest : str
        SHA-256 of what was read.
    """

    def __init__(self, file: str, header: list[str], columns: dict[str, list[Any]], rows: int, digest: str) -> None:
        super().__init__(file, header, rows)
        self._columns = columns
        self.digest = digest

    def cell(self, column: int, row: int) -> Mark:
        """Return the row and the position of the column."""
        return row + 1, column + 1

    def names(self, column: str, distinct: bool = False) -> list[str | None] | None:
        """Return a column of texts or whole numbers as texts; NULL and the empty text are missing."""
        values = self._columns[column]
        kinds = set(map(type, values))
        if kinds <= {str}:
            return [value or None for value in values] if "" in values else list(values)
        if kinds <= {int, type(None)}:
            return [None if value is None else str(value) for value in values]
        out: list[str | None] = []
        wrong: list[int] = []
        for row, value in enumerate(values):
            name = _name(value)
            if name is None and value is not None:
                wrong.append(row)
            out.append(name or None)
        for row in wrong[:MOST_REPORTED]:
            value = _shown(values[row])
            message = f"column '{column}' holds {value!r}, expected a name; cast it to text in the query"
            self.report("wrong-type", message, column, row, value)
        self._report_rest(column, wrong)
        return None if wrong else out

    def numbers(self, column: str) -> Any:
        """Return numbers exactly: integers, floats as they print, decimals, and texts that are numbers."""
        values = self._columns[column]
        kinds = set(map(type, values))
        if kinds == {int} and min(values) >= _SMALLEST and max(values) <= _LARGEST:
            return np.array(values, np.int64)
        if not values:
            return np.zeros(0, np.int64)
        if kinds == {float} or (kinds == {int, float} and max(abs(v) for v in values if type(v) is int) < _EXACT_FLOAT):
            array = np.array(values, np.float64)
            if np.isfinite(array).all():
                return array
        empty = [row for row, value in enumerate(values) if value is None or value == ""]
        for row in empty[:MOST_REPORTED]:
            self.report("empty-number", f"column '{column}': expected a number, the field is empty", column, row)
        self._report_rest(column, empty)
        texts = [PlainText(value.strip()) if type(value) is str else value for value in values]
        found = self._check_numbers(column, texts)
        return texts if found and not empty else None

    def values(self, column: str) -> list[Any] | None:
        """Return a column of facts as Python values: numbers, texts, truth values, and what JSON may hold."""
        return [fact(value) for value in self._columns[column]]

    def _check_numbers(self, column: str, values: list[Any]) -> bool:
        """Report what is no number; fields that are empty are reported already."""
        wrong: list[int] = []
        for row, value in enumerate(values):
            if value is None or value == "":
                continue
            try:
                to_fraction(value)
            except ValueError as error:
                wrong.append(row)
                if len(wrong) <= MOST_REPORTED:
                    code, message, suggestion = own_error(error, value, f"column '{column}'")
                    self.report(code, message, column, row, _shown(self._columns[column][row]), suggestion)
        self._report_rest(column, wrong)
        return not wrong

    def _report_rest(self, column: str, rows: list[int]) -> None:
        if len(rows) > MOST_REPORTED:
            more = f"{len(rows) - MOST_REPORTED:,} more mistakes like the one before"
            self.report("more-faults", more, column, rows[MOST_REPORTED])


def _name(value: Any) -> str | None:
    """Return a value as a name: what identifies things in databases is text, a whole number or a UUID."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int | uuid.UUID):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return str(int(value))
    return None


def _shown(value: Any) -> Any:
    if isinstance(value, str | int | float) or value is None:
        return value
    return str(value)
