"""Proven lower bounds in a walk over the model: no search, no literals, for problems of any size.

Bounds go up through the formulas from the averaging bound of convex sums; see `averaging.py`.
They hold for every assignment that the hard cells allow, whatever the earlier tuple positions are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.averaging import (
    MOST_CELLS,
    Limits,
    Totals,
    affine,
    bound_by_totals,
    counted_everywhere,
)
from rebalancer.model import Cells, Family, Function, Gathering, Grid, Map, Model, Reduce, Tally
from rebalancer.model.evaluate import apply_function
from rebalancer.problem.numbers import IntArray

#: Functions that never fall.
_RISING = (Function.IDENTITY, Function.HINGE, Function.STEP, Function.CEIL, Function.RAISE, Function.ROUND)


#: What is known of each model: several parts of one run ask.
_KNOWN: WeakKeyDictionary[Model, dict[int, int]] = WeakKeyDictionary()


def known_bounds(model: Model) -> dict[int, int]:
    """Return proven lower bounds of all single cells, by index; they are worked out once."""
    if model not in _KNOWN:
        _KNOWN[model] = _known_bounds(model)
    return _KNOWN[model]


def _known_bounds(model: Model) -> dict[int, int]:
    placed = stays_placed(model)

    def totals(tally: Tally, key: IntArray) -> tuple[IntArray, IntArray] | None:
        return _totals(tally, key, placed)

    limits = HardLimits(model)
    known: dict[int, int] = {}
    for cells in model.graph:
        if cells.groups * cells.items == 1:
            known[cells.index] = max(cells.low, _below(cells, known, totals, limits))
    return known


def _below(cells: Cells, known: dict[int, int], totals: Totals, limits: Limits) -> int:
    """Return a lower bound of a single cell, given those of the single cells that it reads."""
    if isinstance(cells, Reduce) and cells.how is Gathering.SUM:
        bound = bound_by_totals(cells, totals, limits)
        return cells.low if bound is None else bound
    if not isinstance(cells, Map) or cells.function not in _RISING:
        return cells.low
    return int(apply_function(cells, Grid.constant(1, 1, inside_bound(cells, known))).dense()[0, 0])


def inside_bound(cells: Map, known: dict[int, int]) -> int:
    """Return a lower bound of the linear form inside a single cell, given those of the single cells that it reads."""
    x = int(cells.const.dense()[0, 0])
    for term in cells.terms:
        factor = int(term.coef.dense()[0, 0])
        x += factor * known[term.cells.index] if factor >= 0 else factor * term.cells.high
    return max(x, cells.x_low)


def _totals(tally: Tally, key: IntArray, placed: NDArray[np.bool_]) -> tuple[IntArray, IntArray] | None:
    """Return, by group, the least and the most that the chosen cells of a tally can add up to."""
    if tally.dynamic is not None or tally.family is not Family.AFTER:
        return None
    outside = int(tally.item_of[-1])
    counts_outside = np.isin(np.arange(tally.groups) * tally.items + outside, key) & (outside >= 0)
    always = counted_everywhere(tally, key)[tally.group] & (placed[tally.member] | counts_outside[tally.group])
    least, most = np.zeros(tally.groups, np.int64), np.zeros(tally.groups, np.int64)
    np.add.at(least, tally.group, np.where(always, tally.weight, np.minimum(tally.weight, 0)))
    np.add.at(most, tally.group, np.where(always, tally.weight, np.maximum(tally.weight, 0)))
    return least, most


class HardLimits:
    """What hard cells let amounts be at most.

    Called with a tally, it yields that, and the others that are 0 wherever that is, each with its limits by cell.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @cached_property
    def _most(self) -> dict[int, tuple[Tally, IntArray]]:
        """By tally that is limited: the most that each of its cells can be."""
        found: dict[int, tuple[Tally, IntArray]] = {}
        for hard in self._model.hard:
            form = affine(hard.cells) if hard.cells.groups * hard.cells.items <= MOST_CELLS else None
            if form is None:
                continue
            tally, rising = form.tally, form.slope > 0
            _, most = found.setdefault(tally.index, (tally, np.full(tally.groups * tally.items, tally.high)))
            bound = np.broadcast_to(hard.bound.dense(), (hard.cells.groups, hard.cells.items)).ravel()
            room = (bound[rising].astype(np.int64) - form.const[rising]) // form.slope[rising]
            np.minimum.at(most, form.key[rising], room)
        return found

    def __call__(self, tally: Tally) -> Iterator[tuple[Tally, IntArray]]:
        own = self._most.get(tally.index)
        yield own or (tally, np.full(tally.groups * tally.items, tally.high))
        there = _counted(tally)
        if there is None:
            return
        there.sort()
        for other, most in self._most.values():
            if other is not tally and _laid_out_alike(other, tally):
                here = _counted(other)
                if here is not None and (np.searchsorted(there, here) < np.searchsorted(there, here, "right")).all():
                    yield other, most


def _laid_out_alike(one: Tally, two: Tally) -> bool:
    return (one.groups, one.items) == (two.groups, two.items) and np.array_equal(one.item_of, two.item_of)


def _counted(tally: Tally) -> IntArray | None:
    """Return who counts in which group as one number each; None where weights may be negative or differ by place."""
    if tally.dynamic is not None or tally.family is not Family.AFTER or tally.low < 0:
        return None
    kept = tally.weight > 0
    return tally.member[kept] * tally.groups + tally.group[kept]


def stays_placed(model: Model) -> NDArray[np.bool_]:
    """Return which objects cannot be unplaced, because that alone would break a hard cell."""
    placed = np.zeros(len(model.problem.objects), bool)
    for hard in model.hard:
        cells, coef, const = hard.cells, Grid.constant(1, 1, 1), Grid.constant(1, 1, 0)
        if isinstance(cells, Map) and cells.function is Function.IDENTITY and len(cells.terms) == 1:
            coef, const, cells = cells.terms[0].coef, cells.const, cells.terms[0].cells
        if (
            not isinstance(cells, Tally)
            or (cells.groups, cells.items) != (hard.cells.groups, hard.cells.items)
            or cells.dynamic is not None
            or cells.family is not Family.AFTER
            or cells.low < 0
        ):
            continue
        item = int(cells.item_of[-1])
        if item < 0 and cells.items != 1:
            continue
        slope, base, bound = (_at(grid, cells, max(item, 0)) for grid in (coef, const, hard.bound))
        if item >= 0:  # it counts there, and alone is too much
            broken = (slope > 0) & (slope * cells.weight + base > bound)
        else:  # it counts nowhere then, and nobody else counts instead
            alone = np.bincount(cells.group, minlength=cells.groups)[cells.group] == 1
            broken = alone & (base > bound)
        placed[cells.member[broken]] = True
    return placed


def _at(grid: Grid, tally: Tally, item: int) -> IntArray:
    """Return the value of a grid for each membership of a tally in one item."""
    none = np.zeros(len(tally.group), np.int64)
    at = none + item if grid.items == tally.items else none
    return grid.at(tally.group if grid.groups == tally.groups else none, at).astype(np.int64)


__all__ = ["known_bounds", "stays_placed"]
