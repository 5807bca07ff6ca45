"""Which containers an objective hurts at.

Each cell's share of it, brought back to the containers that the cell is about.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import (
    Cells,
    CellValues,
    Extremum,
    Function,
    Gather,
    Gathering,
    Grid,
    Map,
    Model,
    Reduce,
    Tally,
    evaluate_cells,
)
from rebalancer.model.grid import apply

#: Cells with more entries than this are not traced.
_MOST_CELLS = 2_000_000


def container_heat(model: Model, position: int, values: CellValues) -> NDArray[np.float64]:
    """Return each container's share of a tuple position's objective, up to a factor.

    Zeros where nothing can be traced.
    """
    heat = np.zeros(len(model.problem.containers))
    objective = model.tuple_positions[position].objective
    _spread(objective, Grid.constant(1, 1, 1.0, np.float64), values, heat)
    return heat


def _spread(cells: Cells, weight: Grid, values: CellValues, heat: NDArray[np.float64]) -> None:
    """Follow linear cells down, with the weight that each carries, to those that bend, and charge their containers."""
    if cells.groups * cells.items > _MOST_CELLS:
        return
    if isinstance(cells, Map) and cells.function in (Function.IDENTITY, Function.ROUND):
        for term in cells.terms:
            inner = term.cells
            share = apply(
                lambda a, b: np.asarray(a * np.abs(b), np.float64), cells.groups, cells.items, weight, term.coef
            )
            if (inner.groups, inner.items) == (cells.groups, cells.items):
                _spread(inner, share, values, heat)
            else:
                _spread(
                    inner,
                    Grid.constant(inner.groups, inner.items, float(share.dense().mean()), np.float64),
                    values,
                    heat,
                )
    elif isinstance(cells, Reduce) and cells.how is Gathering.SUM and cells.groups * cells.items == 1:
        factor = float(weight.dense()[0, 0])
        _spread(cells.source, cells.coef.map(lambda v: np.asarray(np.abs(v) * factor, np.float64)), values, heat)
    else:
        value = evaluate_cells(values, cells).integers
        if cells.groups * cells.items > _MOST_CELLS:
            return
        paid = np.broadcast_to(np.abs(value.dense()) * weight.dense(), (cells.groups, cells.items))
        _charge(cells, paid, heat)


def _charge(cells: Cells, paid: NDArray[np.float64], heat: NDArray[np.float64]) -> None:
    """Charge what each cell pays to the containers of the scope item that it is about."""
    shape = paid.shape
    while not isinstance(cells, Tally):
        if isinstance(cells, Gather):
            back = np.zeros((cells.source.groups, cells.source.items))
            np.add.at(back, (cells.group, cells.item), paid.reshape(-1))
            cells, paid = cells.source, back
        else:
            inner = next((source for source in cells.inputs if (source.groups, source.items) == shape), None)
            if inner is None or (isinstance(cells, Reduce) and not isinstance(cells, Extremum)):
                return
            cells = inner
        shape = paid.shape
    item = cells.item_of[:-1]
    inside = item >= 0
    members = np.bincount(item[inside], minlength=cells.items)
    per_item = paid.sum(axis=0) / np.maximum(1, members)
    heat[inside] += per_item[item[inside]]
