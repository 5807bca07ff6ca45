"""The averaging bound: what a sum of convex maps must cost at least, because the amounts they map add up to a constant.

If every placement of an object adds to some amount, ``Σ_s U_s`` is known, and for any multiplier λ

    Σ_s c_s f(a_s U_s + b_s)  >=  Σ_s min_U [c_s f(a_s U + b_s) - λ U] + λ Σ_s U_s        (Lagrangian duality)

which is best for the λ at which the minimisers add up to the same sum: the load spread perfectly. It holds for steps as
well, which cost the same however large an amount is, up to the most that it may be: as many as the load fills at least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.opened import Floats
from rebalancer.model import Cells, Family, Function, Gather, Gathering, Grid, Map, Reduce, Tally
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
    if (coef < 0).any() or (form.slope == 0).any():
        return None
    used = np.flatnonzero(coef)
    key, slope, const, coef = form.key[used], form.slope[used], form.const[used], coef[used]
    if len(np.unique(key)) < len(key) or not len(key):
        return None
    reach = totals(form.tally, key)
    if reach is None:
        return None
    low_total, high_total = reach
    if steps:
        scaled = coef.astype(np.float64) * divided
        return _of_steps(Affine(form.tally, key, slope, const), scaled, lost * float(coef.sum()), totals, limits)
    squared = isinstance(source, Map) and source.function is Function.SQUARE
    total = -lost * float(coef.sum())
    owner = key // form.tally.items
    for group in np.unique(owner).tolist():
        rows = owner == group
        scale = coef[rows] * divided, slope[rows].astype(np.float64), const[rows].astype(np.float64)
        least, largest = float(low_total[group]), float(high_total[group])
        low, high = float(form.tally.low), float(form.tally.high)
        if form.per > 1:  # each rounds by half of a coarser unit at most, all together by half as many as there are
            off = np.count_nonzero(rows) / 2 + 1
            least, largest = np.floor(least / form.per - off), np.ceil(largest / form.per + off)
            low, high = np.floor(low / form.per), np.ceil(high / form.per)
        function = _square_dual if squared else _hinge_dual
        total += function(*scale, low, high, least, largest, float(divisor_of_x))
    return _whole(total)


def _whole(total: float) -> int | None:
    total -= abs(total) * SAFETY
    return int(np.ceil(total)) if total > 0 else None


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
    best, owner = 0.0, form.key // tally.items
    for other, most in alone if limits is None else limits(tally):
        reach = totals(other, form.key) if other is tally or at_once else None
        if reach is None:
            continue
        slope, const = (form.slope, form.const) if other is tally else (np.ones_like(form.slope), 0 * form.const)
        total = -lost
        for group in np.unique(owner).tolist():
            rows = owner == group
            scale = coef[rows], slope[rows].astype(np.float64), const[rows].astype(np.float64)
            high = most[form.key[rows]].astype(np.float64)
            total += _step_dual(*scale, float(other.low), high, float(reach[0][group]))
        best = max(best, total)
    return _whole(best)


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
    coef: Floats, slope: Floats, const: Floats, low: float, high: float, least: float, most: float, divisor: float
) -> float:
    """Return the dual bound of Σ coef · max(0, slope · U + const)."""
    corner = -const / slope
    points = np.clip(np.stack([np.full_like(corner, low), np.full_like(corner, high), corner]), low, high)
    costs = coef * np.maximum(0.0, slope * points + const)
    multipliers = np.unique(np.append(coef * slope, 0.0))

    def dual(multiplier: float) -> float:
        total = least if multiplier >= 0 else most
        terms = (costs - multiplier * points).min(axis=0)
        size = float(
            np.abs(costs).max(axis=0).sum()
            + abs(multiplier) * np.abs(points).max(axis=0).sum()
            + abs(multiplier * total)
        )
        return float(terms.sum()) + multiplier * total - size * SAFETY

    return _best_of(dual, multipliers)


def _step_dual(coef: Floats, slope: Floats, const: Floats, low: float, high: Floats, least: float) -> float:
    """Return the dual bound of Σ coef · [slope · U + const > 0], U at most ``high`` by cell; slopes are positive."""
    high = np.maximum(high, low)
    below = np.floor(-const / slope)  # the most that costs nothing
    free = np.clip(below, low, high)
    points = np.stack([np.full_like(high, low), free, high])
    costs = coef * np.stack([below < low, below < low, below < high])
    width = high - free
    multipliers = np.unique(np.append((coef / np.maximum(width, 1.0))[width > 0], 0.0))

    def dual(multiplier: float) -> float:
        terms = (costs - multiplier * points).min(axis=0)
        size = float(coef.sum() + multiplier * (np.abs(points).max(axis=0).sum() + abs(least)))
        return float(terms.sum()) + multiplier * least - size * SAFETY

    return _best_of(dual, multipliers)


def _square_dual(
    coef: Floats, slope: Floats, const: Floats, low: float, high: float, least: float, most: float, divisor: float
) -> float:
    """Return the dual bound of Σ coef · round((slope · U + const)² / divisor).

    Rounding loses at most half of each coefficient.
    """
    curve = 2 * coef * slope * slope / divisor

    def at(multiplier: float) -> Floats:
        return np.clip(multiplier / curve - const / slope, low, high)

    def dual(multiplier: float) -> float:
        total = least if multiplier >= 0 else most
        points = at(multiplier)
        squares = coef * (slope * points + const) ** 2 / divisor
        loss = coef.sum() / 2 if divisor > 1 else 0.0
        size = float(
            (coef * ((slope * points) ** 2 + const * const) / divisor).sum()
            + abs(multiplier) * np.abs(points).sum()
            + abs(multiplier * total)
        )
        return float((squares - multiplier * points).sum()) + multiplier * total - loss - 4 * size * SAFETY

    best = dual(0.0)
    for total in {least, most}:
        bottom, top = (
            -float((curve * (abs(high) + abs(low) + np.abs(const / slope))).max()),
            float((curve * (abs(high) + abs(low) + np.abs(const / slope))).max()),
        )
        for _ in range(100):
            middle = (bottom + top) / 2
            bottom, top = (middle, top) if at(middle).sum() < total else (bottom, middle)
        best = max(best, dual((bottom + top) / 2))
    return best


def _best_of(dual: object, multipliers: Floats) -> float:
    """Return the largest value of a concave function over sorted points."""
    assert callable(dual)
    first, last = 0, len(multipliers) - 1
    while last - first > 3:
        third = (last - first) // 3
        if dual(multipliers[first + third]) < dual(multipliers[last - third]):
            first += third
        else:
            last -= third
    return max(float(dual(point)) for point in multipliers[first : last + 1])


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
