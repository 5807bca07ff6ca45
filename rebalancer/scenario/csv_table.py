"""CSV tables. A field is the text that stands there: `007` and `NA` stay names, only the empty field is missing."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from rebalancer.problem import Fault, PlainText, fix, to_fraction
from rebalancer.problem.errors import MOST_REPORTED
from rebalancer.problem.numbers import Overflow
from rebalancer.scenario.document import Mark
from rebalancer.scenario.tables import Table
from rebalancer.scenario.wording import own_error

_CHUNK = 65_536
#: Stands for the texts of a column that hardly repeat.
_DISTINCT: dict[str, str] = {}
#: Characters that only numbers have; everything else goes the slow way, which says what is wrong.
_NUMERIC = re.compile(r"[0-9eE+.\-\n]*")
#: Whole numbers up to here are exact in a float.
_EXACT_FLOAT = 2**53


def read_csv(path: str, file: str, wanted: Collection[str]) -> Table | Fault | list[Fault]:
    """Read columns of a CSV file; parameters as in `open_table`."""
    csv.field_size_limit(2**31 - 1)
    try:
        with open(path, encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, strict=True)
            try:
                return _read(path, file, wanted, reader)
            except csv.Error as error:
                return [_no_csv(path, file, error, reader.line_num)]
    except UnicodeDecodeError:
        return [_not_utf8(path, file)]


def _read(path: str, file: str, wanted: Collection[str], reader: Any) -> Table | list[Fault]:
    header: list[str] = next(reader, [])
    if not any(header):
        return [
            Fault("empty-file", "the table is empty: its first line must name the columns", (), None, None, file, 1, 1)
        ]
    faults = _header_faults(file, header)
    positions = [position for position, name in enumerate(header) if name in wanted]
    columns: dict[str, list[str]] = {header[position]: [] for position in positions}
    shared: dict[int, dict[str, str]] = {}
    width = len(header)
    while chunk := list(islice(reader, _CHUNK)):
        if set(map(len, chunk)) != {width}:
            chunk = [row for row in chunk if row]  # blank lines
            if any(len(row) != width for row in chunk):
                return [*faults, *_uneven(path, file, width)]
        for position in positions:
            texts: Iterable[str] = map(itemgetter(position), chunk)
            if position not in shared:
                first = list(map(itemgetter(position), chunk))
                shared[position] = {} if 2 * len(set(first)) < len(first) else _DISTINCT
            known = shared[position]
            if known is not _DISTINCT:  # equal texts become one object: a million rows name few containers
                texts = [known.setdefault(text, text) for text in texts]
            columns[header[position]].extend(texts)
    return faults or CsvTable(path, file, header, columns)


def _no_csv(path: str, file: str, error: csv.Error, line: int) -> Fault:
    message = f"this row is no CSV: {error}"
    try:
        for start, _ in _records(path):
            line = start
    except csv.Error as again:
        line = int(again.args[1]) if len(again.args) > 1 else line
    if "end of data" in str(error):
        message = "the quote that opens a field of this row is not closed"
    return Fault("csv-syntax", message, (), None, None, file, line, 1)


def _header_faults(file: str, header: list[str]) -> list[Fault]:
    faults = []
    for position, name in enumerate(header):
        if name and name in header[:position]:
            column = len(",".join(header[:position])) + 2
            faults.append(
                Fault("duplicate-column", f"the column '{name}' is there twice", (), name, None, file, 1, column)
            )
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        mark = "semicolons" if ";" in header[0] else "tabs"
        faults.append(
            Fault("csv-syntax", f"the columns are separated by {mark}; use commas", (), header[0], None, file, 1, 1)
        )
    return faults


def _uneven(path: str, file: str, width: int) -> list[Fault]:
    """Return the rows that have too few or too many fields."""
    faults: list[Fault] = []
    count = 0
    for line, row in _records(path):
        if row and len(row) != width:
            count += 1
            if count <= MOST_REPORTED:
                fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                hint = "; a text with a comma needs quotes" if len(row) > width else ""
                message = f"this row has {fields}, the first line names {width} columns{hint}"
                faults.append(Fault("csv-syntax", message, (), None, None, file, line, 1))
    if count > MOST_REPORTED:
        last = faults[-1]
        faults.append(
            Fault("more-faults", f"{count - MOST_REPORTED:,} more rows like it", file=file, line=last.line, column=1)
        )
    return faults


def _records(path: str) -> Iterable[tuple[int, list[str]]]:
    """Yield the line in which each record starts, and its fields."""
    with open(path, encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise csv.Error(str(error), line) from error
            if row is None:
                return
            yield line, row


def _not_utf8(path: str, file: str) -> Fault:
    with open(path, "rb") as opened:
        for number, line in enumerate(opened, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                column = len(line[: error.start].decode("utf-8", "replace")) + 1
                message = f"the file is not UTF-8 (byte 0x{line[error.start]:02X}); save it as UTF-8"
                return Fault("not-utf8", message, (), None, None, file, number, column)
    return Fault("not-utf8", "the file is not UTF-8; save it as UTF-8", (), None, None, file, 1, 1)


class CsvTable(Table):
    """Columns of a CSV file, as text."""

    def __init__(self, path: str, file: str, header: list[str], columns: dict[str, list[str]]) -> None:
        super().__init__(file, header, len(next(iter(columns.values()), [])))
        self._path = path
        self._columns = columns
        self._lines: list[int] | None = None

    def names(self, column: str, distinct: bool = False) -> list[str | None] | None:
        """Return the texts, None for empty fields."""
        texts = self._columns[column]
        return [text or None for text in texts] if "" in texts else list(texts)

    def values(self, column: str) -> list[Any] | None:
        """Return the texts as typed, so that what looks like a number may be read as one."""
        known = {text: PlainText(text) if text else None for text in dict.fromkeys(self._columns[column])}
        return [known[text] for text in self._columns[column]]

    def numbers(self, column: str) -> Any:
        """Return the numbers, exactly: as integers, as floats that print like the text, else as text."""
        texts = self._columns[column]
        fast = _fast_numbers(texts)
        if fast is not None:
            return fast
        rows: list[int] = []
        for row, text in enumerate(texts):
            try:
                to_fraction(PlainText(text.strip()))
            except ValueError as error:
                rows.append(row)
                if len(rows) <= MOST_REPORTED:
                    said = f"column '{column}'"
                    code, message, suggestion = own_error(error, PlainText(text), said)
                    message = message if text else f"{said}: expected a number, the field is empty"
                    self.report("empty-number" if not text else code, message, column, row, text, suggestion)
        if len(rows) > MOST_REPORTED:
            more = f"{len(rows) - MOST_REPORTED:,} more fields of column '{column}' are no numbers"
            self.report("more-faults", more, column, rows[MOST_REPORTED])
        return None if rows else [PlainText(text.strip()) for text in texts]

    def cell(self, column: int, row: int) -> Mark:
        """Return line and column of a field."""
        if self._lines is None:
            self._lines = [line for line, fields in _records(self._path) if fields]
        line = self._lines[row + 1]
        with open(self._path, encoding="utf-8-sig", newline="") as opened:
            text = "".join(islice(opened, line - 1, line + 20))
        return _walk(text, line, column)


def _walk(text: str, line: int, column: int) -> Mark:
    """Return where the field of a record starts, quotes and line breaks inside fields considered."""
    quoted, place = False, 1
    for character in text:
        if column == 0:
            break
        place += 1
        if character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            column -= 1
        elif character == "\n":
            if not quoted:
                break
            line, place = line + 1, 1
    return line, place


def _fast_numbers(texts: list[str]) -> Any:
    """Return an array where nothing is lost by it, else None."""
    joined = "\n".join(texts)
    if not texts or not _NUMERIC.fullmatch(joined):
        return None if texts else np.zeros(0, np.int64)
    try:
        return np.array(list(map(int, texts)), np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        values = np.array(list(map(float, texts)), np.float64)
        if not np.isfinite(values).all() or np.abs(values).max() >= _EXACT_FLOAT or fix(values).rounded:
            return None
    except (ValueError, Overflow):
        return None
    return values
