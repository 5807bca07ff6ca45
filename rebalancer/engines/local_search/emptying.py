"""What it may pay to empty as a whole: containers, racks, whatever a step asks about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.averaging import affine
from rebalancer.engines.local_search.flat.records import packed
from rebalancer.model import Function, Map, Model
from rebalancer.problem.numbers import IntArray


def worth_emptying(model: Model) -> tuple[IntArray, NDArray[np.int32]]:
    """Return the scope items of which a step of the model asks whether they hold anything: starts and containers."""
    sets: dict[bytes, NDArray[np.int32]] = {}
    for cells in model.graph:
        if isinstance(cells, Map) and cells.function is Function.STEP:
            form = affine(cells, through=True)
            if form is not None and form.tally.groups == 1:
                item_of, items = form.tally.item_of[:-1], np.unique(form.key)
                order = np.argsort(item_of, kind="stable").astype(np.int32)
                cuts = np.searchsorted(item_of[order], np.append(items, items + 1)).reshape(2, -1)
                for first, last in cuts.T.tolist():
                    sets.setdefault(order[first:last].tobytes(), order[first:last])
    return packed([found for found in sets.values() if len(found)])


__all__ = ["worth_emptying"]
