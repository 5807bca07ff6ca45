"""Assignments in CSV files, as `rebalance solve -o` writes them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rebalancer.problem.errors import Fault, InputError, nearest

if TYPE_CHECKING:
    import pandas as pd


def read_assignment(path: str, object_name: str, container_name: str) -> pd.DataFrame:
    """Return the columns named like the object and the container; an empty container means unplaced.

    Raises
    ------
    InputError
        The file cannot be read, is no table, or lacks a column; each fault with its line and column.
    """
    import pandas as pd

    header, rows = _read(path)
    places = [_column(path, header, name) for name in (object_name, container_name)]
    wrong = [row for row, fields in enumerate(rows) if len(fields) != len(header)]
    if wrong:
        lines = _lines(path)
        raise InputError(
            Fault(
                "wrong-shape",
                f"expected {len(header)} fields, got {len(rows[row])}",
                file=path,
                line=lines(row),
                column=1,
            )
            for row in wrong
        )
    objects, containers = ([fields[place] for fields in rows] for place in places)
    return pd.DataFrame({object_name: objects, container_name: [name or None for name in containers]}, dtype=object)


@contextmanager
def located(path: str | None, object_name: str, container_name: str) -> Iterator[None]:
    """Give the faults of an assignment, which know its row, the line and column in its file."""
    try:
        yield
    except InputError as error:
        if path is None or not any(fault.path[:1] == ("assignment",) and fault.file is None for fault in error.faults):
            raise
        header, rows = _read(path)
        names = [header.index(object_name), header.index(container_name)]
        lines = _lines(path)

        def place(fault: Fault) -> Fault:
            if fault.path[:1] != ("assignment",) or fault.file is not None:
                return fault
            row = fault.path[1] if len(fault.path) > 1 else None
            if not isinstance(row, int):
                return replace(fault, file=path, line=1, column=1)
            field = next((index for index in names if rows[row][index] == fault.value), names[0])
            return replace(fault, file=path, line=lines(row), column=_start_of(rows[row], field))

        raise InputError(place(fault) for fault in error.faults) from None


def _read(path: str) -> tuple[list[str], list[list[str]]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            rows = [fields for fields in csv.reader(stream, strict=True) if fields]
    except OSError as error:
        raise InputError(
            [Fault("unreadable-file", f"cannot read '{path}': {error.strerror}", value=path, file=path)]
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            [Fault("unreadable-file", f"'{path}' is not a CSV file in UTF-8: {error}", value=path, file=path)]
        ) from None
    if not rows:
        raise InputError(
            [Fault("empty-file", f"'{path}' is empty; expected a header line", value=path, file=path, line=1, column=1)]
        )
    return rows[0], rows[1:]


def _column(path: str, header: list[str], name: str) -> int:
    if header.count(name) == 1:
        return header.index(name)
    if header.count(name) > 1:
        raise InputError(
            [Fault("duplicate-name", f"there are two columns '{name}'", value=name, file=path, line=1, column=1)]
        )
    close = nearest(name, header)
    hint = f"; is it '{close}'?" if close else f"; there is {', '.join(repr(column) for column in header)}"
    raise InputError(
        [
            Fault(
                "missing-column",
                f"there is no column '{name}'{hint}",
                value=name,
                suggestion=name,
                file=path,
                line=1,
                column=1,
            )
        ]
    )


def _lines(path: str) -> Callable[[int], int]:
    """Return the line on which each row ends, the header not counted as a row; records may span lines."""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream)
        ends = [reader.line_num for fields in reader if fields]
    return lambda row: ends[row + 1]


def _start_of(fields: list[str], position: int) -> int:
    """Return the column of a field, as if nothing before it were quoted without need."""
    quoted = [
        len(field) + 2 + field.count('"') if set(field) & set(',"\n') else len(field) for field in fields[:position]
    ]
    return sum(quoted) + position + 1
