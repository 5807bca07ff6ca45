"""How much work it is to evaluate a model, counted rather than timed, so that plans do not depend on the machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, Model, Tally
from rebalancer.model.grid import DENSE_CELLS
from rebalancer.problem.numbers import IntArray

#: What an evaluation costs apart from its cells, in the same unit: one membership, or one number of a cell.
_FIXED = 20_000
#: What evaluating any cell costs apart from its numbers: 0.1 ms, measured where 1,200 cells hold 10 numbers each.
_CELL = 1_500


def evaluations(model: Model, work: int) -> int:
    """Return how many evaluations of a model an amount of work allows; a second is some 15 million units."""
    return work // (_FIXED + int(costs(model).sum()))


def costs(model: Model, roots: list[Cells] | None = None) -> IntArray:
    """Return what evaluating each of the cells that some need costs, by index; left out: goals and constraints."""
    goals, constraints = (goal.cells for goal in model.goals), model.constraints
    every = [*goals, *(part.cells for one in constraints for part in one.components)]
    out = np.zeros(len(model.graph), np.int64)
    stack = every if roots is None else roots.copy()
    while stack:
        cells: Cells = stack.pop()
        if not out[cells.index]:
            size = cells.groups * cells.items
            out[cells.index] = _CELL + (
                len(cells.member) if isinstance(cells, Tally) else size if size <= DENSE_CELLS else 0
            )
            stack.extend(cells.inputs)
    return out


def counting(model: Model, who: IntArray) -> NDArray[np.bool_]:
    """Return which cells count which of some objects, themselves or by an input: indices of cells × objects."""
    out = np.zeros((len(model.graph), len(who)), np.bool_)
    counted = np.zeros(len(model.problem.objects), np.bool_)
    for cells in model.graph:  # inputs come first
        if isinstance(cells, Tally):
            counted[:] = False
            counted[cells.member] = True
            out[cells.index] = counted[who]
        for source in cells.inputs:
            out[cells.index] |= out[source.index]
    return out
