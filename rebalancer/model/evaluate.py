"""The exact evaluator: every cell at an assignment, in integers, and in float64 by the exact formula."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.cells import (
    Cells,
    Extremum,
    Family,
    Function,
    Gather,
    Gathering,
    Map,
    Product,
    Ratio,
    Reduce,
    Tally,
)
from rebalancer.model.grid import DENSE_CELLS, Grid, apply, linear, reduce_extremum, reduce_sum
from rebalancer.model.order import order_statistic, reduced
from rebalancer.problem import Problem
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Value:
    """Integers of cells and, where rounding separates the two, their values by the exact formula.

    Decisions (is it positive, which step) always come from the integers, so that every reader takes the same ones;
    magnitudes come from the
    exact formula.
    """

    integers: Grid
    precise: Grid | None = None


@dataclass
class CellValues:
    """Values of cells at one assignment, computed when first asked for."""

    problem: Problem
    assignment: NDArray[np.int32]
    known: dict[int, Value] = field(default_factory=dict)
    #: What a position of the objective adds up, in order: index of the cells that decide it, and its value.
    addends: dict[tuple[int, int], tuple[int, float]] = field(default_factory=dict)
    #: Broken components and the violation of each, by whose they are: constraints and fix-it goals ask for the same.
    violations: dict[Hashable, tuple[IntArray, NDArray[np.float64]]] = field(default_factory=dict)

    def moved(self, assignment: NDArray[np.int32], touched: NDArray[np.bool_]) -> CellValues:
        """Return the values at another assignment, where all but some cells are the same.

        Parameters
        ----------
        touched : bool array, by index of cells
            Which count an object that moves, themselves or by an input.
        """
        return CellValues(
            self.problem,
            assignment,
            {index: value for index, value in self.known.items() if not touched[index]},
            {key: addend for key, addend in self.addends.items() if not touched[addend[0]]},
        )


def evaluate_cells(values: CellValues, cells: Cells) -> Value:
    """Return the value of cells, evaluating their inputs first."""
    stack = [cells]
    while stack:
        top = stack[-1]
        missing = [source for source in top.inputs if source.index not in values.known]
        if top.index in values.known:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            values.known[top.index] = _evaluate(values, top)
            stack.pop()
    return values.known[cells.index]


def floats_of(cells: Cells, value: Value) -> Grid:
    """Return the true values of cells as float64."""
    if value.precise is not None:
        return value.precise
    unit = cells.unit
    up, down = float(unit.numerator), float(unit.denominator)
    return value.integers.astype(np.float64).map(lambda v: v * up / down)


def _evaluate(values: CellValues, cells: Cells) -> Value:
    if isinstance(cells, Tally):
        return Value(_tally(cells, values.assignment, len(values.problem.objects)))
    if isinstance(cells, Map):
        return _map(cells, values)
    if isinstance(cells, Reduce):
        return _reduce(cells, values)
    if isinstance(cells, Gather):
        source = values.known[cells.source.index]
        return Value(
            _row(source.integers.at(cells.group, cells.item)),
            None if source.precise is None else _row(source.precise.at(cells.group, cells.item)),
        )
    if isinstance(cells, Extremum):
        return _extremum(cells, values)
    if isinstance(cells, Product):
        return _product(cells, values)
    if isinstance(cells, Ratio):
        return _ratio(cells, values)
    raise TypeError(f"unknown cells {type(cells).__name__}")


def _row(values: NDArray[np.generic]) -> Grid:
    return Grid(1, len(values), values[None, :])


def _tally(tally: Tally, assignment: NDArray[np.int32], objects: int) -> Grid:
    place = assignment[tally.member]
    item = tally.item_of[place]
    counted = item >= 0
    if tally.family is Family.STAYED:
        counted &= item == tally.home[tally.member]
    rows = np.flatnonzero(counted)
    key = tally.group[rows] * tally.items + item[rows]
    weight = tally.weight_at(rows, place[rows].astype(np.int64), objects)
    if tally.groups * tally.items <= DENSE_CELLS:
        return Grid(
            tally.groups,
            tally.items,
            add_up(key, weight, tally.groups * tally.items).reshape(tally.groups, tally.items),
        )
    if not (key[1:] > key[:-1]).all():  # as they are where each group has one member, and these are in order
        key, slot = np.unique(key, return_inverse=True)
        weight = add_up(slot, weight, len(key))
    return Grid(tally.groups, tally.items, np.zeros((1, 1), np.int64), None, key, weight)


def add_up(slot: NDArray[np.int64], weight: IntArray, length: int) -> IntArray:
    """Return the sum of the weights of each slot, exactly."""
    if float(np.abs(weight).sum(dtype=np.float64)) < 2.0**52:  # every partial sum is a whole double
        return np.rint(np.bincount(slot, weight, length)).astype(np.int64)
    out = np.zeros(length, np.int64)
    np.add.at(out, slot, weight)
    return out


def linear_form(values: CellValues, cells: Map) -> Grid:
    """Return the integers of x in ``f(x)`` of a `Map` whose inputs are known or can be."""
    known = [evaluate_cells(values, term.cells) for term in cells.terms]
    grids = [grid for term, value in zip(cells.terms, known, strict=True) for grid in (term.coef, value.integers)]
    return apply(linear, cells.groups, cells.items, cells.const, *grids)


def _map(cells: Map, values: CellValues) -> Value:
    known = [values.known[term.cells.index] for term in cells.terms]
    x = linear_form(values, cells)
    function = cells.function
    integers = apply_function(cells, x)
    if not cells.error or function in (Function.STEP, Function.CEIL, Function.MOD):
        return Value(integers)
    known += [evaluate_cells(values, term.cells) for term in cells.beside]
    precise_grids = [
        grid
        for term, value in zip((*cells.terms, *cells.beside), known, strict=True)
        for grid in (term.exact.floats(), floats_of(term.cells, value))
    ]
    precise = apply(linear, cells.groups, cells.items, cells.exact_const.floats(), *precise_grids)
    if function is Function.HINGE:
        precise = apply(
            lambda v, decided: np.where(decided > 0, np.maximum(v, 0.0), 0.0), cells.groups, cells.items, precise, x
        )
    elif function is Function.SQUARE:
        precise = precise.map(np.square)
    return Value(integers, precise)


def apply_function(cells: Map, x: Grid) -> Grid:
    """Return f(x) of a `Map` in integers: the one definition that every reader shares."""
    function, groups, items = cells.function, x.groups, x.items
    if function is Function.IDENTITY:
        return x
    if function is Function.HINGE:
        return x.map(lambda v: np.maximum(v, 0))
    if function is Function.STEP:
        return x.map(lambda v: (v > 0).astype(np.int64))
    if function is Function.SQUARE:
        return apply(lambda v, d: (v * v + d // 2) // d, groups, items, x, cells.divisor)
    if function is Function.MOD:
        return apply(np.mod, groups, items, x, cells.divisor)
    if function is Function.ROUND:
        return apply(lambda v, d: (v + d // 2) // d, groups, items, x, cells.divisor)
    return apply(lambda v, d: -((-v) // d), groups, items, x, cells.divisor)


def _reduce(cells: Reduce, values: CellValues) -> Value:
    source = values.known[cells.source.index]
    if cells.how in (Gathering.NTH_LARGEST, Gathering.ALL_BUT_LARGEST):
        rest, maps = cells.how is Gathering.ALL_BUT_LARGEST, reduced(cells)
        picked = [
            None if grid is None else order_statistic(grid, maps, (cells.groups, cells.items), cells.rank, rest)
            for grid in (source.integers, source.precise)
        ]
        assert picked[0] is not None
        return Value(picked[0], picked[1])
    if cells.how is not Gathering.SUM:
        largest = cells.how is Gathering.MAX
        results = [
            None
            if grid is None
            else reduce_extremum(grid, cells.groups, cells.items, cells.group_map, cells.item_map, largest, 0)
            for grid in (source.integers, source.precise)
        ]
        assert results[0] is not None
        return Value(results[0], results[1])
    weighted = _weighted(source.integers, cells.coef)
    integers = Grid(
        cells.groups, cells.items, reduce_sum(weighted, cells.groups, cells.items, cells.group_map, cells.item_map)
    )
    if not cells.error:
        return Value(integers)
    weighted = _weighted(floats_of(cells.source, source), cells.exact_coef.floats())
    return Value(
        integers,
        Grid(
            cells.groups, cells.items, reduce_sum(weighted, cells.groups, cells.items, cells.group_map, cells.item_map)
        ),
    )


def _weighted(values: Grid, coef: Grid) -> Grid:
    """Return values times coefficients: where only few cells have one, these."""
    groups, items = values.groups, values.items
    if (coef.groups, coef.items) == (groups, items) and len(coef.keys) and not coef.table.any():
        weighted = values.at_keys(coef.keys) * coef.values
        return Grid(groups, items, np.zeros((1, 1), weighted.dtype), None, coef.keys, weighted)
    return apply(np.multiply, groups, items, values, coef)


def _extremum(cells: Extremum, values: CellValues) -> Value:
    known = [values.known[source.index] for source in cells.sources]
    pick = np.maximum if cells.largest_of else np.minimum

    def best(*parts: NDArray[np.generic]) -> NDArray[np.generic]:
        out = parts[0]
        for part in parts[1:]:
            out = pick(out, part)
        return out

    integers = apply(best, cells.groups, cells.items, *(value.integers for value in known))
    if not cells.error:
        return Value(integers)
    return Value(
        integers,
        apply(
            best,
            cells.groups,
            cells.items,
            *(floats_of(source, value) for source, value in zip(cells.sources, known, strict=True)),
        ),
    )


def _product(cells: Product, values: CellValues) -> Value:
    left, right = values.known[cells.left.index], values.known[cells.right.index]
    divisor = cells.divisor
    integers = apply(
        lambda a, b: (a * b + divisor // 2) // divisor, cells.groups, cells.items, left.integers, right.integers
    )
    if not cells.error:
        return Value(integers)
    return Value(
        integers,
        apply(np.multiply, cells.groups, cells.items, floats_of(cells.left, left), floats_of(cells.right, right)),
    )


def _ratio(cells: Ratio, values: CellValues) -> Value:
    over, under = values.known[cells.over.index], values.known[cells.under.index]
    factor = cells.factor
    integers = apply(
        lambda a, b: (2 * factor * a + b) // (2 * b), cells.groups, cells.items, over.integers, under.integers
    )
    return Value(
        integers,
        apply(np.divide, cells.groups, cells.items, floats_of(cells.over, over), floats_of(cells.under, under)),
    )
