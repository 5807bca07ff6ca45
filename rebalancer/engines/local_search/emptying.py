"""Which containers it may pay to empty as a whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.averaging import affine
from rebalancer.model import Function, Map, Model


def worth_emptying(model: Model) -> NDArray[np.int32]:
    """Return the containers that are in items of which a step of the model asks whether they hold anything."""
    found = np.zeros(len(model.problem.containers), np.bool_)
    for cells in model.graph:
        if isinstance(cells, Map) and cells.function is Function.STEP:
            form = affine(cells, through=True)
            if form is not None and form.tally.groups == 1:
                found |= np.isin(form.tally.item_of[:-1], form.key)
    return np.flatnonzero(found).astype(np.int32)


__all__ = ["worth_emptying"]
