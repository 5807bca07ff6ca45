"""The averaging bound: what a sum of convex maps must cost at least, because the amounts they map add up to a constant.

If every placement of an object adds to some amount, ``Σ_s U_s`` is known, and for any multiplier λ

    Σ_s c_s f(a_s U_s + b_s)  >=  Σ_s min_U [c_s f(a_s U + b_s) - λ U] + λ Σ_s U_s        (Lagrangian duality)

which is best for the λ at which the minimisers add up to the same sum: the load spread perfectly. It holds for steps as
well, which cost the same however large an amount is, up to the most that it may be: as many as the load fills at least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.opened import Floats
from rebalancer.model import Cells, Family, Function, Gather, Gathering, Grid, Map, Reduce, Tally
from rebalancer.model.order import targets
from rebalancer.problem.numbers import IntArray

#: No numbers are written down for more cells than this.
MOST_CELLS = 2_000_000
#: Float results are lowered by this share of all that was added up: far more than rounding can lose.
SAFETY = 2.0**-44


@dataclass(frozen=True, eq=False)
class Affine:
    """Cells that are ``slope · round(tally[key] / per) + const`` each."""

    tally: Tally
    key: IntArray
    slope: IntArray
    const: IntArray
    per: int = 1


#: Returns, by group, the least and the most that chosen cells of a tally can add up to; None where it cannot tell.
Totals = Callable[[Tally, IntArray], tuple[IntArray, IntArray] | None]
#: Returns the tallies that are 0 wherever a tally of objects is, which comes first, with the most that each of their
#: cells can be.
Limits = Callable[[Tally], Iterable[tuple[Tally, IntArray]]]


def bound_by_totals(cells: Reduce, totals: Totals, limits: Limits | None = None) -> int | None:
    """Return the averaging bound, given what the amounts can add up to, and what each can be at most."""
    source, divided, lost = cells.source, 1.0, 0.0
    if cells.how is not Gathering.SUM or cells.groups * cells.items != 1:
        return None
    if isinstance(source, Map) and source.function is Function.ROUND and _single(source.divisor):
        # coarser units: each cell rounds down by less than half of the divisor
        inner = source.terms[0] if len(source.terms) == 1 else None
        if inner is None or not _single(inner.coef) or source.const.largest_magnitude():
            return None
        divisor, factor = int(source.divisor.table[0, 0]), int(inner.coef.table[0, 0])
        divided, lost, source = factor / divisor, (divisor - 1 - divisor // 2) / divisor, inner.cells
        if factor <= 0 or (source.groups, source.items) != (cells.source.groups, cells.source.items):
            return None
    steps = isinstance(source, Map) and source.function is Function.STEP
    divisor_of_x = 1 if steps else _divisor_of_convex(source)
    if divisor_of_x is None or source.groups * source.items > MOST_CELLS:
        return None
    form = affine(source, through=True, coarse=not steps)
    if form is None:
        return None
    coef = np.broadcast_to(cells.coef.dense(), (source.groups, source.items)).ravel().astype(np.int64)
    coef = np.where(targets(cells) >= 0, coef, 0)
    if (coef < 0).any() or (form.slope == 0).any():
        return None
    used = np.flatnonzero(coef)
    key, slope, const, coef = form.key[used], form.slope[used], form.const[used], coef[used]
    if not len(key) or not np.diff(np.sort(key)).all():
        return None
    reach = totals(form.tally, key)
    if reach is None:
        return None
    if steps:
        scaled = coef.astype(np.float64) * divided
        return _of_steps(Affine(form.tally, key, slope, const), scaled, lost / divided, totals, limits)
    cells_of = _ByGroup(key // form.tally.items, slope, const, coef)
    least, most = (part[cells_of.group].astype(np.float64) for part in reach)
    low, high = float(form.tally.low), float(form.tally.high)
    if form.per > 1:  # each rounds by half of a coarser unit at most, all together by half as many as there are
        off = cells_of.total(np.ones(1)) / 2 + 1
        least, most = np.floor(least / form.per - off), np.ceil(most / form.per + off)
        low, high = np.floor(low / form.per), np.ceil(high / form.per)
    costs, slopes, consts = (cells_of.floats(part) for part in (coef, slope, const))
    form_of = cells_of, costs * divided, slopes, consts, low, high, least, most
    squared = isinstance(source, Map) and source.function is Function.SQUARE
    total = _square_dual(*form_of, float(divisor_of_x)) if squared else _hinge_dual(*form_of)
    return _whole(total - lost * cells_of.total(costs)) or None


class _ByGroup:
    """Cells group by group, those in a row that are alike as one, which most of them are.

    Parameters
    ----------
    owner : int64 array
        Group of each cell.
    *numbers : arrays of the same length
        What tells cells apart.

    Attributes
    ----------
    group : int64 array
        The groups that have some.
    """

    def __init__(self, owner: IntArray, *numbers: NDArray[Any]) -> None:
        order = np.argsort(owner, kind="stable")
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = np.any([part[order[1:]] != part[order[:-1]] for part in (owner, *numbers)], axis=0)
        begin = np.flatnonzero(fresh)
        self._rows = order[begin]
        self.group, self._first, self._size = np.unique(owner[self._rows], return_index=True, return_counts=True)
        self._count = np.diff(np.append(begin, len(order)))

    def floats(self, values: NDArray[Any]) -> Floats:
        """Return numbers of all cells as those of the cells that stand for them, which is how methods take them."""
        return values[self._rows].astype(np.float64)

    def total(self, values: Floats) -> Floats:
        """Return the sum over all cells of each group."""
        return np.asarray(np.add.reduceat(values * self._count, self._first), np.float64)

    def each(self, values: Floats) -> Floats:
        """Return what belongs to each group for each of its cells."""
        return np.repeat(values, self._size)

    def best(self, dual: Callable[[Floats], Floats], points: Floats) -> Floats:
        """Return the largest value by group of concave functions, over points by cell and 0."""
        group = np.arange(len(self.group))
        group, points = np.append(group, np.repeat(group, self._size)), np.append(np.zeros(len(group)), points)
        order = np.lexsort((points, group))
        group, points = group[order], points[order]
        kept = np.append(True, (group[1:] != group[:-1]) | (points[1:] != points[:-1]))
        points, end = points[kept], np.cumsum(np.bincount(group[kept]))
        first, last = np.append(0, end[:-1]), end - 1
        while (wide := last - first > 3).any():
            third = (last - first) // 3
            rising = dual(points[first + third]) < dual(points[last - third])
            first, last = first + third * (wide & rising), last - third * (wide & ~rising)
        ends = [dual(points[np.minimum(first + step, last)]) for step in range(4)]
        return np.asarray(np.max(ends, axis=0), np.float64)


def _whole(totals: Floats) -> int:
    """Return what bounds by group add up to: what a group costs is a whole number, and not negative."""
    whole = np.ceil(totals - np.abs(totals) * SAFETY)
    return int(whole[whole > 0].sum())


def _of_steps(form: Affine, coef: Floats, lost: float, totals: Totals, limits: Limits | None) -> int | None:
    """Return the bound of steps, each of which costs its coefficient.

    Where a step is paid as soon as anything is there, so it is for whatever else of the same objects is there:
    containers in use are enough to hold the memory of all.
    """
    tally = form.tally
    if (form.slope < 0).any():
        return None
    lightest = int(tally.weight[tally.weight > 0].min(initial=tally.high))
    at_once = bool((form.const <= 0).all() and (form.slope * lightest + form.const > 0).all())
    alone = [(tally, np.full(tally.groups * tally.items, tally.high))]
    best = 0
    for other, most in alone if limits is None else limits(tally):
        reach = totals(other, form.key) if other is tally or at_once else None
        if reach is None:
            continue
        slope, const = (form.slope, form.const) if other is tally else (np.ones_like(form.slope), 0 * form.const)
        cells_of = _ByGroup(form.key // tally.items, slope, const, coef, most[form.key])
        costs, slopes, consts, high = (cells_of.floats(part) for part in (coef, slope, const, most[form.key]))
        least = reach[0][cells_of.group].astype(np.float64)
        total = _step_dual(cells_of, costs, slopes, consts, high, float(other.low), least)
        best = max(best, _whole(total - lost * cells_of.total(costs)))
    return best or None


def counted_everywhere(tally: Tally, key: IntArray) -> NDArray[np.bool_]:
    """Return, by group, whether who is in any container is in one of the chosen cells of a tally."""
    chosen = np.zeros((tally.groups, tally.items), bool)
    chosen.ravel()[key] = True
    items = np.unique(tally.item_of[:-1])
    return np.asarray(np.all(chosen[:, items], axis=1) & bool((items >= 0).all()))


def _divisor_of_convex(cells: Cells) -> int | None:
    """Return what a square or hinge is divided by; what is straight and never negative is a hinge. None: neither."""
    if isinstance(cells, Tally):
        return 1 if cells.low >= 0 else None
    if not isinstance(cells, Map) or not _single(cells.divisor):
        return None
    straight = cells.function is Function.IDENTITY and cells.x_low >= 0
    return int(cells.divisor.table[0, 0]) if straight or cells.function in (Function.HINGE, Function.SQUARE) else None


def _single(grid: Grid) -> bool:
    """Whether a grid is one number."""
    return grid.table.size == 1 and not len(grid.keys)


def affine(cells: Cells, through: bool = False, coarse: bool = False) -> Affine | None:
    """Return cells as affine forms of one tally, or None.

    ``through`` looks at a `Map`'s x instead of its value; ``coarse`` takes a tally in coarser units as well.
    """
    if isinstance(cells, Tally):
        size = cells.groups * cells.items
        return _of_tally(cells, np.arange(size)) if size <= MOST_CELLS else None
    if isinstance(cells, Gather):
        at = cells.group * cells.source.items + cells.item
        if isinstance(cells.source, Tally):
            return _of_tally(cells.source, at)
        inner = affine(cells.source)
        if inner is None:
            return None
        return Affine(inner.tally, inner.key[at], inner.slope[at], inner.const[at])
    if not isinstance(cells, Map) or len(cells.terms) != 1:
        return None
    term, shape = cells.terms[0], (cells.groups, cells.items)
    if (term.cells.groups, term.cells.items) != shape or cells.groups * cells.items > MOST_CELLS:
        return None
    if coarse and not through and cells.function is Function.ROUND and isinstance(term.cells, Tally):
        whole = all(_single(grid) for grid in (term.coef, cells.const, cells.divisor))
        if not whole or int(term.coef.table[0, 0]) != 1 or cells.const.largest_magnitude():
            return None
        inner = affine(term.cells)
        return None if inner is None else replace(inner, per=int(cells.divisor.table[0, 0]))
    if not (through or cells.function is Function.IDENTITY):
        return None
    inner = affine(term.cells, coarse=coarse)
    if inner is None:
        return None
    coef = np.broadcast_to(term.coef.dense(), shape).ravel().astype(np.int64)
    const = np.broadcast_to(cells.const.dense(), shape).ravel().astype(np.int64)
    return Affine(inner.tally, inner.key, coef * inner.slope, coef * inner.const + const, inner.per)


def _of_tally(tally: Tally, key: IntArray) -> Affine | None:
    """Return some cells of a tally as they are."""
    if tally.family is not Family.AFTER:
        return None
    return Affine(tally, key, np.ones(len(key), np.int64), np.zeros(len(key), np.int64))


def _hinge_dual(
    cells: _ByGroup,
    coef: Floats,
    slope: Floats,
    const: Floats,
    low: float,
    high: float,
    least: Floats,
    most: Floats,
) -> Floats:
    """Return the dual bound of Σ coef · max(0, slope · U + const) by group."""
    corner = -const / slope
    points = np.clip(np.stack([np.full_like(corner, low), np.full_like(corner, high), corner]), low, high)
    costs = coef * np.maximum(0.0, slope * points + const)
    cost, point = (cells.total(np.abs(part).max(axis=0)) for part in (costs, points))

    def dual(multiplier: Floats) -> Floats:
        load = multiplier * np.where(multiplier >= 0, least, most)
        terms = (costs - cells.each(multiplier) * points).min(axis=0)
        size = cost + np.abs(multiplier) * point + np.abs(load)
        return cells.total(terms) + load - size * SAFETY

    return cells.best(dual, coef * slope)


def _step_dual(
    cells: _ByGroup, coef: Floats, slope: Floats, const: Floats, high: Floats, low: float, least: Floats
) -> Floats:
    """Return the dual bound of Σ coef · [slope · U + const > 0] by group.

    U is at most ``high`` by cell; slopes are positive.
    """
    high = np.maximum(high, low)
    below = np.floor(-const / slope)  # the most that costs nothing
    free = np.clip(below, low, high)
    points = np.stack([np.full_like(high, low), free, high])
    costs = coef * np.stack([below < low, below < low, below < high])
    width = high - free
    cost, point = cells.total(coef), cells.total(np.abs(points).max(axis=0))

    def dual(multiplier: Floats) -> Floats:
        terms = (costs - cells.each(multiplier) * points).min(axis=0)
        size = cost + multiplier * (point + np.abs(least))
        return cells.total(terms) + multiplier * least - size * SAFETY

    return cells.best(dual, np.where(width > 0, coef / np.maximum(width, 1.0), 0.0))


def _square_dual(
    cells: _ByGroup,
    coef: Floats,
    slope: Floats,
    const: Floats,
    low: float,
    high: float,
    least: Floats,
    most: Floats,
    divisor: float,
) -> Floats:
    """Return the dual bound of Σ coef · round((slope · U + const)² / divisor) by group.

    Rounding loses at most half of each coefficient.
    """
    curve = 2 * coef * slope * slope / divisor
    loss = cells.total(coef) / 2 if divisor > 1 else 0.0

    def at(multiplier: Floats) -> Floats:
        return np.clip(cells.each(multiplier) / curve - const / slope, low, high)

    def dual(multiplier: Floats) -> Floats:
        load = multiplier * np.where(multiplier >= 0, least, most)
        points, factor = at(multiplier), cells.each(multiplier)
        squares = coef * (slope * points + const) ** 2 / divisor
        size = (
            cells.total(coef * ((slope * points) ** 2 + const * const) / divisor)
            + cells.total(np.abs(factor * points))
            + np.abs(load)
        )
        return cells.total(squares - factor * points) + load - loss - 4 * size * SAFETY

    none = np.zeros_like(least)
    best = dual(none)
    steepest = (curve * (abs(high) + abs(low) + np.abs(const / slope))).max() + none
    for total in (least, most):
        bottom, top = -steepest, steepest
        for _ in range(100):
            middle = (bottom + top) / 2
            short = cells.total(at(middle)) < total
            bottom, top = np.where(short, middle, bottom), np.where(short, top, middle)
        best = np.maximum(best, dual((bottom + top) / 2))
    return best


__all__ = [
    "MOST_CELLS",
    "SAFETY",
    "Affine",
    "Floats",
    "Limits",
    "Totals",
    "affine",
    "bound_by_totals",
    "counted_everywhere",
]
