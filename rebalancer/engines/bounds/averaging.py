"""The averaging bound: what a sum of convex maps must cost at least, because the amounts they map add up to a constant.

If every placement of an object adds to some amount, ``Σ_s U_s`` is known, and for any multiplier λ

    Σ_s c_s f(a_s U_s + b_s)  >=  Σ_s min_U [c_s f(a_s U + b_s) - λ U] + λ Σ_s U_s        (Lagrangian duality)

which is best for the λ at which the minimisers add up to the same sum: the load spread perfectly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.cpsat.literals import Literals
from rebalancer.model import Cells, Family, Function, Gather, Gathering, Grid, Map, Model, Reduce, Tally
from rebalancer.problem.numbers import IntArray

_MOST_CELLS = 2_000_000
#: Float results are lowered by this share of all that was added up: far more than rounding can lose.
SAFETY = 2.0**-44


@dataclass(frozen=True, eq=False)
class Affine:
    """Cells that are ``slope · tally[key] + const`` each."""

    tally: Tally
    key: IntArray
    slope: IntArray
    const: IntArray


#: Returns, by group, the least and the most that chosen cells of a tally can add up to; None where it cannot tell.
Totals = Callable[[Tally, IntArray], tuple[IntArray, IntArray] | None]


def averaging_bound(model: Model, literals: Literals, cells: Reduce) -> int | None:
    """Return a lower bound of a sum of convex cells in its own integers, or None where there is none to be had.

    Parameters
    ----------
    literals : Literals
        The candidate placements: the bound holds for these.
    """
    return bound_by_totals(cells, lambda tally, key: _totals(model, literals, tally, key))


def bound_by_totals(cells: Reduce, totals: Totals) -> int | None:
    """Return the averaging bound, given what the amounts can add up to."""
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
    if (
        not isinstance(source, Map)
        or source.groups * source.items > _MOST_CELLS
        or source.function not in (Function.HINGE, Function.SQUARE)
    ):
        return None
    form = affine(source, through=True)
    if form is None or not _single(source.divisor):
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
    total = -lost * float(coef.sum())
    owner = key // form.tally.items
    for group in np.unique(owner).tolist():
        rows = owner == group
        scale = coef[rows] * divided, slope[rows].astype(np.float64), const[rows].astype(np.float64)
        function = _hinge_dual if source.function is Function.HINGE else _square_dual
        total += function(
            *scale,
            float(form.tally.low),
            float(form.tally.high),
            float(low_total[group]),
            float(high_total[group]),
            float(source.divisor.table[0, 0]),
        )
    total -= abs(total) * SAFETY
    return int(np.ceil(total)) if total > 0 else None


def _single(grid: Grid) -> bool:
    """Whether a grid is one number."""
    return grid.table.size == 1 and not len(grid.keys)


def affine(cells: Cells, through: bool = False) -> Affine | None:
    """Return cells as affine forms of one tally, or None. ``through`` looks at a `Map`'s x instead of its value."""
    if isinstance(cells, Tally):
        if cells.family is not Family.AFTER:
            return None
        size = cells.groups * cells.items
        return Affine(cells, np.arange(size), np.ones(size, np.int64), np.zeros(size, np.int64))
    if isinstance(cells, Gather):
        inner = affine(cells.source)
        if inner is None:
            return None
        at = cells.group * cells.source.items + cells.item
        return Affine(inner.tally, inner.key[at], inner.slope[at], inner.const[at])
    if not isinstance(cells, Map) or len(cells.terms) != 1 or not (through or cells.function is Function.IDENTITY):
        return None
    term = cells.terms[0]
    shape = (cells.groups, cells.items)
    if (term.cells.groups, term.cells.items) != shape or cells.groups * cells.items > _MOST_CELLS:
        return None
    inner = affine(term.cells)
    if inner is None:
        return None
    coef = np.broadcast_to(term.coef.dense(), shape).ravel().astype(np.int64)
    const = np.broadcast_to(cells.const.dense(), shape).ravel().astype(np.int64)
    return Affine(inner.tally, inner.key, coef * inner.slope, coef * inner.const + const)


def _totals(model: Model, literals: Literals, tally: Tally, key: IntArray) -> tuple[IntArray, IntArray]:
    """Return, by group, the least and the most that the chosen cells of a tally can add up to."""
    chosen = np.zeros(tally.groups * tally.items, bool)
    chosen[key] = True
    counts = literals.per_object[tally.member]
    membership = np.repeat(np.arange(len(tally.member)), counts)
    lit = (
        np.arange(len(membership))
        - np.repeat(np.cumsum(counts) - counts, counts)
        + literals.start[tally.member[membership]]
    )
    container = literals.container[lit]
    item = tally.item_of[container]
    counted = (item >= 0) & chosen[np.where(item >= 0, tally.group[membership] * tally.items + item, 0)]
    amount = np.where(counted, tally.weight_at(membership, container, len(model.problem.objects)), 0)
    first = np.cumsum(counts) - counts
    least, most = np.zeros(tally.groups, np.int64), np.zeros(tally.groups, np.int64)
    if len(first):
        np.add.at(least, tally.group, np.minimum.reduceat(amount, first))
        np.add.at(most, tally.group, np.maximum.reduceat(amount, first))
    return least, most


Floats = NDArray[np.float64]


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


__all__ = ["SAFETY", "Affine", "Totals", "affine", "averaging_bound", "bound_by_totals"]
