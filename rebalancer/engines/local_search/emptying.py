"""Which containers it may pay to empty as a whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, Family, Function, Map, Model, Tally


def worth_emptying(model: Model) -> NDArray[np.int32]:
    """Return the containers that are in items of which a step of the model asks whether they hold anything."""
    found = np.zeros(len(model.problem.containers), np.bool_)
    for cells in model.graph:
        if isinstance(cells, Map) and cells.function is Function.STEP:
            inside = _inside(cells)
            if isinstance(inside, Tally) and inside.groups == 1 and inside.family is Family.AFTER:
                found |= inside.item_of[:-1] >= 0
    return np.flatnonzero(found).astype(np.int32)


def _inside(cells: Map) -> Cells:
    """Return what a map is of, below what only scales it."""
    inside: Cells = cells
    while isinstance(inside, Map) and len(inside.terms) == 1:
        if inside is not cells and inside.function is not Function.IDENTITY:
            break
        inside = inside.terms[0].cells
    return inside


__all__ = ["worth_emptying"]
