"""Combining cells: sums, extremes, order statistics, products, choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.cells import Cells, Extremum, Function, Gather, Gathering, Product, Ratio, Reduce
from rebalancer.model.formulas import Formulas
from rebalancer.model.grid import Grid, most_often
from rebalancer.model.param import Param, rational_gcd
from rebalancer.model.units import (
    COEFFICIENT_BITS,
    DISTANCE_LIMIT,
    EXACT_LIMIT,
    LARGE_LIMIT,
    PRODUCT_LIMIT,
    QUOTIENT_LIMIT,
    SCALAR_LIMIT,
    SQUARE_LIMIT,
    Amount,
    as_param,
    common_length,
    log2,
    scaled_range,
)


class Combining(Formulas):
    """Makes cells that combine several others."""

    def total(self, source: Cells, coef: Amount = 1, *, up: bool = False, large: bool = False) -> Cells:
        """Return the sum of all cells times ``coef``: shape (1, 1). ``up`` as in `regroup`.

        What is added up from everywhere mostly makes a goal, so it is rounded where integers get large: small ones are
        proven sooner. ``large`` keeps them, for what has to hold.
        """
        limit = LARGE_LIMIT if large else EXACT_LIMIT
        if source.groups * source.items == 1 and coef == 1 and source.largest <= limit:
            return source
        return self.regroup(source, None, None, 1, 1, coef, limit=limit, up=up)

    def sum_groups(self, source: Cells, coef: Amount = 1) -> Cells:
        """Return the sum over groups: shape (1, items)."""
        return self.regroup(source, None, np.arange(source.items), 1, source.items, coef)

    def sum_items(self, source: Cells, coef: Amount = 1) -> Cells:
        """Return the sum over items: shape (groups, 1)."""
        return self.regroup(source, np.arange(source.groups), None, source.groups, 1, coef)

    def regroup(
        self,
        source: Cells,
        group_map: NDArray[Any] | None,
        item_map: NDArray[Any] | None,
        groups: int,
        items: int,
        coef: Amount = 1,
        *,
        limit: int = LARGE_LIMIT,
        up: bool = False,
    ) -> Cells:
        """Return sums of the cells that map to each output cell; -1 leaves out, None sends all to 0.

        Exact where the integers stay below ``limit``, and it is not the coefficients that make them larger than
        `EXACT_LIMIT`. Otherwise rounded to the nearest or, of what is never negative, ``up``, so that what is above 0
        stays above 0.
        """
        factor = as_param(coef)
        count = self._most_inputs(source, group_map, item_map, groups, items, factor.grid)
        most = min(self._sums[source.index], source.largest * count)  # what any sum of inputs can be
        size = factor.largest() * source.unit * most
        exact = source.unit * abs(factor.unit)
        unit, error = exact, factor.largest() * source.error * count + factor.slack * source.unit * most
        whole = int(factor.grid.largest_magnitude())
        if size / exact > (limit if whole <= 2**COEFFICIENT_BITS else EXACT_LIMIT):
            bits = min(COEFFICIENT_BITS, whole.bit_length())
            source = self.rounded(source, max(1, (EXACT_LIMIT >> bits) * source.largest // most), up)
            most = min(self._sums[source.index], source.largest * count)
            unit = source.unit * abs(factor.unit)
            error = factor.largest() * source.error * count + factor.slack * source.unit * most
            if factor.largest() * source.unit * most / unit > EXACT_LIMIT:
                unit = Fraction(2) ** math.ceil(log2(size) - math.log2(EXACT_LIMIT) + 1)
                error += unit * most / (1 if up else 2)
        if not most:  # of nothing but zeros it makes no difference, but a coefficient has to fit
            unit = factor.largest() * source.unit or unit
        integers = factor.scaled(source.unit).in_units(unit, "up" if up else "nearest")
        low, high = scaled_range(source, integers)
        together = int(integers.largest_magnitude()) * most
        if count != 1 or not (_all_of(group_map, groups) and _all_of(item_map, items)):
            low, high = max(-together, count * min(0, low)), min(together, count * max(0, high))
        return self._add(
            Reduce(
                len(self.cells),
                groups,
                items,
                unit,
                low,
                high,
                error,
                source,
                Gathering.SUM,
                group_map,
                item_map,
                integers,
                factor,
            )
        )

    @staticmethod
    def _most_inputs(
        source: Cells,
        group_map: NDArray[Any] | None,
        item_map: NDArray[Any] | None,
        groups: int,
        items: int,
        coef: Grid | None = None,
    ) -> int:
        """Return how many cells map to one output cell, at most; of those with a coefficient, where only few have."""
        whole = coef is not None and (coef.groups, coef.items) == (source.groups, source.items)
        if coef is not None and whole and len(coef.keys) and not coef.table.any():
            group, item = coef.keys // source.items, coef.keys % source.items
            to_group = np.zeros_like(group) if group_map is None else group_map[group]
            to_item = np.zeros_like(item) if item_map is None else item_map[item]
            to = (to_group * items + to_item)[(to_group >= 0) & (to_item >= 0)]
            return most_often(to)
        by_group = (
            source.groups
            if group_map is None
            else int(np.bincount(group_map[group_map >= 0], minlength=groups).max(initial=0))
        )
        by_item = (
            source.items
            if item_map is None
            else int(np.bincount(item_map[item_map >= 0], minlength=items).max(initial=0))
        )
        return by_group * by_item

    def largest(
        self,
        source: Cells,
        group_map: NDArray[Any] | None = None,
        item_map: NDArray[Any] | None = None,
        groups: int = 1,
        items: int = 1,
        *,
        smallest: bool = False,
    ) -> Cells:
        """Return the largest (or smallest) of the cells that map to each output cell; 0 where none does."""
        one = Param.constant(1)
        return self._add(
            Reduce(
                len(self.cells),
                groups,
                items,
                source.unit,
                min(0, source.low),
                max(0, source.high),
                source.error,
                source,
                Gathering.MIN if smallest else Gathering.MAX,
                group_map,
                item_map,
                Grid.constant(1, 1, 1),
                one,
            )
        )

    def in_one_unit(self, sources: Sequence[Cells]) -> tuple[Cells, ...]:
        """Return cells in a unit that they have in common, rounded up where none is fine enough for all."""
        unit = rational_gcd([cells.unit for cells in sources])
        same = tuple(
            cells if cells.unit == unit else self._map(Function.IDENTITY, [(cells, 1)], 0, EXACT_LIMIT, finest=unit)
            for cells in sources
        )
        if any(cells.unit != same[0].unit for cells in same):
            size = max(cells.largest * cells.unit for cells in sources)
            unit = Fraction(2) ** (math.ceil(log2(size)) - SCALAR_LIMIT.bit_length() + 1)
            same = tuple(self.raised(cells, unit) for cells in sources)
        return same

    def largest_of(self, sources: Sequence[Cells], *, smallest: bool = False) -> Cells:
        """Return the largest (or smallest) of several cells of one shape, cell by cell."""
        same = self.in_one_unit(sources)
        pick = min if smallest else max
        return self._add(
            Extremum(
                len(self.cells),
                same[0].groups,
                same[0].items,
                same[0].unit,
                pick(c.low for c in same),
                pick(c.high for c in same),
                max(c.error for c in same),
                same,
                not smallest,
            )
        )

    def nth_largest(self, source: Cells, rank: int) -> Cells:
        """Return the cell with ``rank`` others above it (of too few cells, the smallest): shape (1, 1)."""
        return self._ordered(source, None, 1, rank, Gathering.NTH_LARGEST)

    def all_but_largest(self, source: Cells, rank: int) -> Cells:
        """Return, for every item, the sum over groups without the ``rank`` largest: shape (1, items)."""
        return self._ordered(source, np.arange(source.items), source.items, rank, Gathering.ALL_BUT_LARGEST)

    def _ordered(
        self, source: Cells, item_map: NDArray[np.int64] | None, items: int, rank: int, how: Gathering
    ) -> Cells:
        count = self._most_inputs(source, None, item_map, 1, items) if how is Gathering.ALL_BUT_LARGEST else 1
        if count * source.largest > LARGE_LIMIT:
            source = self.rounded(source, LARGE_LIMIT // count)
        return self._add(
            Reduce(
                len(self.cells),
                1,
                items,
                source.unit,
                count * min(0, source.low),
                count * max(0, source.high),
                count * source.error,
                source,
                how,
                None,
                item_map,
                Grid.constant(1, 1, 1),
                Param.constant(1),
                rank,
            )
        )

    def product(self, left: Cells, right: Cells) -> Cells:
        """Return left · right, cell by cell; an axis of length 1 is repeated."""
        left, right = self.rounded(left, PRODUCT_LIMIT), self.rounded(right, PRODUCT_LIMIT)
        groups, items = common_length([left.groups, right.groups]), common_length([left.items, right.items])
        largest = left.largest * right.largest
        divisor = 1 if largest <= SQUARE_LIMIT else 2 ** math.ceil(math.log2(largest / SQUARE_LIMIT))
        unit = left.unit * right.unit * divisor
        error = (
            left.error * (right.largest * right.unit + right.error)
            + right.error * left.largest * left.unit
            + (unit / 2 if divisor > 1 else 0)
        )
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = ((bound + divisor // 2) // divisor for bound in (min(corners), max(corners)))
        return self._add(Product(len(self.cells), groups, items, unit, low, high, error, left, right, divisor))

    def ratio(self, over: Cells, under: Cells) -> Cells:
        """Return over / under, cell by cell; no integer of ``under`` may be below 1.

        Exact where ``under`` can only be a few small integers: then one unit divides by all of them. Small integers
        also are what CP-SAT can square.
        """
        if under.low < 1:
            raise ValueError("a ratio needs a positive denominator")
        over = self.rounded(over, PRODUCT_LIMIT)
        room = max(1, QUOTIENT_LIMIT // max(1, over.largest))
        multiple = _common_multiple(under.low, under.high, room)
        factor = multiple or max(1, 2 ** math.floor(math.log2(room)))
        unit = over.unit / (under.unit * factor)
        error = (
            (0 if multiple else unit / 2)
            + over.error / (under.unit * under.low)
            + over.largest * over.unit * under.error / (under.unit * under.low) ** 2
        )
        bounds = [(2 * factor * a + b) // (2 * b) for a in (over.low, over.high) for b in (under.low, under.high)]
        return self._add(
            Ratio(len(self.cells), over.groups, over.items, unit, min(bounds), max(bounds), error, over, under, factor)
        )

    def gather(self, source: Cells, group: NDArray[Any], item: NDArray[Any]) -> Cells:
        """Return chosen cells in a row: shape (1, n)."""
        if source.groups == 1 and np.array_equal(item, np.arange(source.items)):
            return source
        return self._add(
            Gather(
                len(self.cells),
                1,
                len(group),
                source.unit,
                source.low,
                source.high,
                source.error,
                source,
                np.asarray(group, np.int64),
                np.asarray(item, np.int64),
            )
        )

    def spread(self, source: Cells) -> Cells:
        """Return Σv² − (Σv)²/n over all n cells, as the sum of squared distances from their mean: shape (1, 1).

        Both are rounded before they are subtracted, if they have to be: then one more in a cell changes that one's
        distance alone, most of the time, and the mean is as much off for all.
        """
        count = source.groups * source.items
        mean = self.total(source, Fraction(1, count))
        if source.largest and count * source.largest > DISTANCE_LIMIT:
            source = self.rounded(source, DISTANCE_LIMIT)
            finer = max(0, DISTANCE_LIMIT.bit_length() - 1 - source.largest.bit_length())
            mean = self.rounded_to(mean, source.unit / 2**finer)
        return self.total(self.square(self.linear([(source, 1), (mean, -1)])))


def _all_of(mapping: NDArray[Any] | None, outputs: int) -> bool:
    """Whether something maps to every output."""
    return mapping is None or len(np.unique(mapping[mapping >= 0])) == outputs


def _common_multiple(low: int, high: int, limit: int) -> int | None:
    """Return the least common multiple of all integers from ``low`` to ``high``; None where it is above ``limit``."""
    multiple = 1
    for number in range(low, high + 1):
        multiple = math.lcm(multiple, number)
        if multiple > limit:
            return None
    return multiple
