"""Which containers an objective hurts at.

Each cell's share of it, brought back to the containers that the cell is about. Only cells that pay are followed, so
that what it costs does not grow with groups × items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import (
    Cells,
    CellValues,
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
from rebalancer.model.grid import GridTooLarge, apply
from rebalancer.problem.numbers import IntArray

Floats = NDArray[np.float64]


def container_heat(model: Model, position: int, values: CellValues) -> Floats:
    """Return each container's share of a tuple position's objective, up to a factor.

    Parameters
    ----------
    values : CellValues
        At the assignment in question.

    Returns
    -------
    float64 array, one per container
        Zeros where nothing can be traced.
    """
    heat = np.zeros(len(model.problem.containers))
    objective = model.tuple_positions[position].objective
    _spread(objective, Grid.constant(1, 1, 1.0, np.float64), values, heat)
    return heat


def _spread(cells: Cells, weight: Grid, values: CellValues, heat: Floats) -> None:
    """Follow linear cells down, with the weight that each carries, to those that bend, and charge their containers."""
    if isinstance(cells, Map) and cells.function in (Function.IDENTITY, Function.ROUND):
        for term in cells.terms:
            inner = term.cells
            if (inner.groups, inner.items) == (cells.groups, cells.items):
                _spread(inner, _weighted(cells, weight, term.coef), values, heat)
            else:
                mean = float(weight.table.mean()) * float(np.abs(term.coef.table).mean())
                _spread(inner, Grid.constant(inner.groups, inner.items, mean, np.float64), values, heat)
    elif isinstance(cells, Reduce) and cells.groups * cells.items == 1:
        factor = float(weight.dense()[0, 0])
        if cells.how is Gathering.SUM:
            _spread(cells.source, cells.coef.map(lambda v: np.asarray(np.abs(v) * factor, np.float64)), values, heat)
        else:
            _charge_the_largest(cells, factor, values, heat)
    else:
        group, item = evaluate_cells(values, cells).integers.where(lambda v: v != 0)
        paid = np.abs(evaluate_cells(values, cells).integers.at(group, item)) * _at(weight, group, item, cells)
        _charge(cells, group * cells.items + item, paid, heat)


def _weighted(cells: Cells, weight: Grid, coef: Grid) -> Grid:
    try:
        return apply(lambda a, b: np.asarray(a * np.abs(b), np.float64), cells.groups, cells.items, weight, coef)
    except GridTooLarge:
        return weight


def _at(weight: Grid, group: IntArray, item: IntArray, cells: Cells) -> Floats:
    none = np.zeros(len(group), np.int64)
    return weight.at(
        group if weight.groups == cells.groups else none, item if weight.items == cells.items else none
    ).astype(np.float64)


def _charge_the_largest(cells: Reduce, factor: float, values: CellValues, heat: Floats) -> None:
    """Charge the cells that make up an extreme or an order statistic: those that are no better than it."""
    source = cells.source
    result = int(evaluate_cells(values, cells).integers.dense()[0, 0])
    integers = evaluate_cells(values, source).integers
    if cells.how is Gathering.MIN:
        group, item = integers.where(lambda v: v <= result)
    elif cells.how is Gathering.ALL_BUT_LARGEST:
        group, item = integers.where(lambda v: v != 0)
    else:
        group, item = integers.where(lambda v: v >= result)
    _charge(source, group * source.items + item, np.full(len(group), factor), heat)


def _charge(cells: Cells, keys: IntArray, paid: Floats, heat: Floats) -> None:
    """Charge what some cells pay to the containers of the scope item that each is about."""
    while not isinstance(cells, Tally):
        if isinstance(cells, Gather):
            keys = cells.group[keys] * cells.source.items + cells.item[keys]
            cells = cells.source
            continue
        shape = (cells.groups, cells.items)
        inner = next((source for source in cells.inputs if (source.groups, source.items) == shape), None)
        if inner is None or isinstance(cells, Reduce):
            return
        cells = inner
    item = cells.item_of[:-1]
    inside = item >= 0
    members = np.bincount(item[inside], minlength=cells.items)
    per_item = np.bincount(keys % cells.items, paid, cells.items) / np.maximum(1, members)
    heat[inside] += per_item[item[inside]]
