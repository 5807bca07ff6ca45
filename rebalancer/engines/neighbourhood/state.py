"""All cells at an assignment that moves along: what a few objects change costs what they reach, and no more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.slices import Slice, Slicer, TooWide
from rebalancer.model import Cells, CellValues, Grid, Model, evaluate_cells
from rebalancer.model.evaluate import Value
from rebalancer.model.model import holds
from rebalancer.problem.numbers import IntArray

#: So many objects are followed at once, and with more than this share of all everything is evaluated anew.
_AT_ONCE, _FEW = 100, 0.01


class State:
    """An assignment and the integers of every needed cell at it.

    Parameters
    ----------
    model : Model
    assignment : int32 array
    """

    def __init__(self, model: Model, assignment: NDArray[np.int32]) -> None:
        self.model = model
        self.slicer = Slicer(model)
        self._start(assignment)

    def _start(self, assignment: NDArray[np.int32]) -> None:
        self.assignment = np.array(assignment, np.int32)
        self.values = CellValues(self.model.problem, self.assignment)
        for cells in self.slicer.needed:
            evaluate_cells(self.values, cells)
        self._own: set[int] = set()

    @property
    def integers(self) -> tuple[int, ...]:
        """The exact objective by tuple position."""
        return integers_of(self.model, self.values)

    def slice(self, choice: Choice) -> Slice:
        """Return the model as the freed objects of a choice see it from here.

        Raises
        ------
        TooWide
        """
        return self.slicer.slice(self.values, choice)

    def follow(self, assignment: NDArray[np.int32]) -> None:
        """Go to another assignment."""
        changed = np.flatnonzero(assignment != self.assignment)
        if len(changed) > max(_AT_ONCE, _FEW * len(assignment)):
            self._start(assignment)
            return
        for first in range(0, len(changed), _AT_ONCE):
            some = changed[first : first + _AT_ONCE]
            choice = Choice.of(self.assignment, some, assignment[some].astype(np.int64))
            try:
                self.move(self.slice(choice), choice.local(assignment))
            except TooWide:
                self._start(assignment)
                return

    def move(self, part: Slice, local: NDArray[np.int32]) -> None:
        """Put the freed objects of a slice that was made here where a local assignment has them."""
        inside = CellValues(part.model.problem, local)
        graph = self.model.graph
        for index, sliced in part.parts.items():
            integers = evaluate_cells(inside, sliced.cells).integers.dense()[0]
            self._write(graph[index], sliced.keys, integers)
        choice = part.choice
        self.assignment[choice.objects] = choice.whole(self.assignment, local)[choice.objects]

    def _write(self, cells: Cells, keys: IntArray, integers: IntArray) -> None:
        """Enter new integers of some cells."""
        grid = self.values.known[cells.index].integers
        whole = grid.table.shape == (cells.groups, cells.items) and grid.column is None and not len(grid.keys)
        if not whole:
            self.values.known[cells.index] = Value(_with_exceptions(grid, keys, integers))
            return
        if cells.index not in self._own:  # the evaluator may have given the same array to several cells
            grid = Grid(cells.groups, cells.items, np.array(grid.table))
            self._own.add(cells.index)
        grid.table[keys // cells.items, keys % cells.items] = integers
        self.values.known[cells.index] = Value(grid)


def _with_exceptions(grid: Grid, keys: IntArray, integers: IntArray) -> Grid:
    """Return a grid with other values at sorted keys, which become exceptions."""
    slot = np.searchsorted(grid.keys, keys)
    known = np.zeros(len(keys), bool)
    inside = slot < len(grid.keys)
    known[inside] = grid.keys[slot[inside]] == keys[inside]
    values = np.array(grid.values, np.int64)
    values[slot[known]] = integers[known]
    return Grid(
        grid.groups,
        grid.items,
        grid.table,
        grid.column,
        np.insert(grid.keys, slot[~known], keys[~known]),
        np.insert(values, slot[~known], integers[~known]),
    )


def integers_of(model: Model, values: CellValues) -> tuple[int, ...]:
    """Return the exact objective by tuple position."""
    return tuple(
        int(evaluate_cells(values, position.objective).integers.dense()[0, 0]) for position in model.tuple_positions
    )


def local_score(part: Slice, local: NDArray[np.int32]) -> tuple[int, ...] | None:
    """Return the exact objective with the freed objects where a local assignment has them.

    None where a hard cell that they reach does not hold.
    """
    values = CellValues(part.model.problem, local)
    if not all(holds(values, hard) for hard in part.model.hard):
        return None
    return integers_of(part.model, values)


__all__ = ["State", "integers_of", "local_score"]
