"""How much work it is to evaluate a model, counted rather than timed, so that plans do not depend on the machine."""

from __future__ import annotations

from rebalancer.model import Cells, Model, Tally
from rebalancer.model.grid import DENSE_CELLS

#: What an evaluation costs apart from its cells, in the same unit: one membership or cell.
_FIXED = 20_000


def evaluations(model: Model, work: int) -> int:
    """Return how many evaluations of a model an amount of work allows; a second is some 15 million units."""
    roots = [goal.cells for goal in model.goals] + [part.cells for one in model.constraints for part in one.components]
    seen: set[int] = set()
    total, stack = _FIXED, roots
    while stack:
        cells: Cells = stack.pop()
        if cells.index not in seen:
            seen.add(cells.index)
            size = cells.groups * cells.items
            total += len(cells.member) if isinstance(cells, Tally) else size if size <= DENSE_CELLS else 0
            stack.extend(cells.inputs)
    return work // total
