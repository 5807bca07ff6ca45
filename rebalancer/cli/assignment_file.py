"""Assignments in tables, as `rebalance solve -o` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rebalancer.problem.errors import Fault, InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from rebalancer.problem import Problem
    from rebalancer.scenario.tables import Table


class AssignmentFile:
    """A table with columns named like the object and the container; an empty container means unplaced.

    Parameters
    ----------
    path : str
        A CSV or Parquet file.
    problem : Problem
        Whose objects and containers it names.

    Raises
    ------
    InputError
        The file cannot be read, is no table, or lacks a column; each fault with its line and column.
    """

    def __init__(self, path: str, problem: Problem) -> None:
        self._columns = (problem.object_name, problem.container_name)
        self._table = _opened(path, self._columns)

    @property
    def frame(self) -> pd.DataFrame:
        """The two columns, None where there is no container.

        Raises
        ------
        InputError
            Some object has no name.
        """
        import pandas as pd

        obj, container = self._columns
        objects, containers = self._table.keys(obj), self._table.names(container)
        if objects is None or containers is None:
            raise InputError(self._table.faults)
        return pd.DataFrame({obj: objects, container: containers}, dtype=object)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Give faults of the assignment, which know its row, the place in the file."""
        try:
            yield
        except InputError as error:
            if not any(_is_of_assignment(fault) for fault in error.faults):
                raise
            raise InputError(self._located(fault) for fault in error.faults) from None

    def _located(self, fault: Fault) -> Fault:
        if not _is_of_assignment(fault):
            return fault
        row = fault.path[1] if len(fault.path) > 1 else None
        if not isinstance(row, int):
            return fault.at(self._table.file, 1, 1)
        columns = [self._table.header.index(name) for name in self._columns]
        names = [self._table.names(name) for name in self._columns]
        holding = [at for at, column in zip(columns, names, strict=True) if column and column[row] == fault.value]
        return fault.at(self._table.file, *self._table.cell(holding[0] if holding else columns[0], row))


def _is_of_assignment(fault: Fault) -> bool:
    return fault.file is None and fault.path[:1] == ("assignment",)


def _opened(path: str, columns: tuple[str, str]) -> Table:
    from rebalancer.scenario.tables import open_table

    found = open_table(path, path, path, columns)
    if isinstance(found, Fault):
        raise InputError([found if found.file else found.at(path, None, None)])
    if isinstance(found, list):
        raise InputError(found)
    faults = [_missing(path, name, found.header) for name in columns if name not in found.header]
    if faults:
        raise InputError(faults)
    return found


def _missing(path: str, name: str, header: list[str]) -> Fault:
    close = nearest(name, header)
    hint = f"; is it '{close}'?" if close else f"; there is {', '.join(repr(column) for column in header)}"
    return Fault("missing-column", f"there is no column '{name}'{hint}", (), name, close, path, 1, 1)
