"""Makes cells. Specs call this, and only this: amounts of a dimension, formulas over them, sums, extremes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.cells import (
    Cells,
    Family,
    Map,
    Tally,
)
from rebalancer.model.combining import Combining
from rebalancer.model.evaluate import CellValues, add_up, evaluate_cells
from rebalancer.model.grid import Grid
from rebalancer.model.param import Param
from rebalancer.model.units import (
    EXACT_LIMIT,
    Amount,
    log2,
)
from rebalancer.problem import DynamicValues, FixedPoint, Problem, fix
from rebalancer.problem.numbers import LARGEST_SUM, IntArray, Overflow

#: Every way to count objects in a scope item, as (final, initial, stayed) multiples; design, section 4.
METRICS: dict[str, tuple[int, int, int]] = {
    "AFTER": (1, 0, 0),
    "INITIAL": (0, 1, 0),
    "STAYED": (0, 0, 1),
    "DURING": (1, 1, -1),
    "NEW": (1, 0, -1),
    "OLD": (0, 1, -1),
    "MOVED_DATA": (1, 1, -2),
}


class ModelBuilder(Combining):
    """Builds the graph of cells over one problem. Equal tallies are made once.

    Parameters
    ----------
    problem : Problem
    stays : bool array (objects), optional
        Who is in some container wherever the hard cells hold; nobody is known to be where left out.
    """

    def __init__(self, problem: Problem, stays: NDArray[np.bool_] | None = None) -> None:
        super().__init__()
        self.problem = problem
        self.stays = np.zeros(len(problem.objects), np.bool_) if stays is None else stays
        self._tallies: dict[tuple[Any, ...], Tally] = {}
        self._initial: CellValues | None = None

    # -- leaves -----------------------------------------------------------------------------------------------------

    def tally(
        self,
        scope: str,
        dimension: str = "",
        *,
        partition: str | None = None,
        family: str = "AFTER",
        component: int = 0,
        items: NDArray[Any] | None = None,
    ) -> Cells:
        """Return the amount of a dimension in each item of a scope, by group: shape (groups or 1, items).

        Parameters
        ----------
        items : int64 array, optional
            The scope items to keep, in that order; all where left out.
        """
        kept = None if items is None or len(items) == len(self.problem.scopes[scope].items) else tuple(items.tolist())
        key = (scope, dimension or self.problem.count_dimension, partition, family, component, kept)
        if key not in self._tallies:
            group, member, groups = self._memberships(partition)
            item_of, count = self._item_of(scope, kept)
            self._tallies[key] = self.custom_tally(
                group, member, groups, item_of, count, dimension, family=family, component=component
            )
        return self._tallies[key]

    def _item_of(self, scope: str, kept: tuple[int, ...] | None) -> tuple[NDArray[np.int32], int]:
        """Return the position of each container's item among the kept ones, and how many there are."""
        known = self.problem.scopes[scope]
        if kept is None:
            return known.item_of, len(known.items)
        return known.among(np.array(kept, np.int64)), len(kept)

    def _memberships(self, partition: str | None) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        if partition is None:
            count = len(self.problem.objects)
            return np.zeros(count, np.int64), np.arange(count), 1
        groups = self.problem.partitions[partition]
        return groups.group.astype(np.int64), groups.member.astype(np.int64), len(groups.groups)

    def custom_tally(
        self,
        group: NDArray[np.int64],
        member: NDArray[np.int64],
        groups: int,
        item_of: NDArray[np.int32],
        items: int,
        dimension: str = "",
        *,
        family: str = "AFTER",
        component: int = 0,
        weight: IntArray | None = None,
        unit: Fraction | None = None,
    ) -> Tally:
        """Return a tally over any memberships and any grouping of the containers.

        Parameters
        ----------
        group, member : int64 arrays
            Memberships: object ``member[i]`` counts in group ``group[i]``.
        groups, items : int
        item_of : int32 array, containers + 1
            Item of each container; -1 for none; last entry: of unplaced objects.
        weight : int64 array, optional
            Fixed-point weight of each membership in the dimension's scale, instead of the dimension's values.
        unit : Fraction, optional
            Of ``weight``, where it is in another scale.
        """
        known = self.problem.dimension(dimension)
        dynamic = known.dynamic if weight is None else None
        weights = known.values[member, component] if weight is None else weight
        if dynamic is None:
            kept = np.flatnonzero(weights)
            group, member, weights = group[kept], member[kept], weights[kept]
            least, most = np.minimum(weights, 0), np.maximum(weights, 0)
        else:
            least, most = _dynamic_range(dynamic, member, len(self.problem.objects))
        low, high = int(add_up(group, least, groups).min(initial=0)), int(add_up(group, most, groups).max(initial=0))
        dynamic_item = self.problem.scopes[dynamic.scope].item_of if dynamic is not None else None
        tally = Tally(
            len(self.cells),
            groups,
            items,
            Fraction(1, known.scale) if unit is None else unit,
            low,
            high,
            Fraction(0),
            group,
            member,
            weights,
            dynamic,
            dynamic_item,
            item_of,
            Family(family),
            item_of[self.problem.origin],
        )
        self.cells.append(tally)
        self._sums[tally.index] = int(np.maximum(-least, most).sum(dtype=object)) if len(member) else 0
        return tally

    def initial_amounts(self, tally: Tally) -> Param:
        """Return what a tally counts at the origin, as constants."""
        rows = np.arange(len(tally.member))
        place = self.problem.origin[tally.member].astype(np.int64)
        item = tally.item_of[place]
        weight = tally.weight_at(rows, place, len(self.problem.objects))
        kept = item >= 0
        key, slot = np.unique(tally.group[kept] * tally.items + item[kept], return_inverse=True)
        values = add_up(slot.astype(np.int64), weight[kept], len(key))
        return Param(Grid(tally.groups, tally.items, np.zeros((1, 1), np.int64), None, key, values), tally.unit)

    def amount(
        self,
        scope: str,
        dimension: str = "",
        metric: str = "AFTER",
        *,
        partition: str | None = None,
        items: NDArray[Any] | None = None,
    ) -> Cells:
        """Return an amount under a metric (see `METRICS`); of a vector dimension, its largest component.

        Parameters
        ----------
        items : int64 array, optional
            The scope items to keep, in that order; all where left out.

        Returns
        -------
        Cells
            Shape (groups or 1, items).
        """

        def tally(family: str, component: int) -> Cells:
            return self.tally(scope, dimension, partition=partition, family=family, component=component, items=items)

        return self._amount(tally, dimension, metric)

    def custom_amount(
        self, member: NDArray[Any], item_of: NDArray[np.int32], items: int, dimension: str = "", metric: str = "AFTER"
    ) -> Cells:
        """Return the amount of some objects together under a metric, by any grouping of the containers.

        Shape (1, items).
        """
        group = np.zeros(len(member), np.int64)

        def tally(family: str, component: int) -> Cells:
            return self.custom_tally(
                group, np.asarray(member, np.int64), 1, item_of, items, dimension, family=family, component=component
            )

        return self._amount(tally, dimension, metric)

    def _amount(self, tally: Callable[[str, int], Cells], dimension: str, metric: str) -> Cells:
        final, _, stay = METRICS[metric]
        parts = []
        for component in range(self.problem.dimension(dimension).components):
            if (final, stay) == (0, 1):
                parts.append(tally("STAYED", component))
            elif stay:
                parts.append(self._metric(metric, tally("AFTER", component), tally("STAYED", component)))
            else:
                parts.append(self._metric(metric, tally("AFTER", component), None))
        return parts[0] if len(parts) == 1 else self.largest_of(parts)

    def _metric(self, metric: str, after: Cells, stayed: Cells | None) -> Cells:
        assert isinstance(after, Tally)
        final, initial, stay = METRICS[metric]
        if (final, initial, stay) == (1, 0, 0):
            return after
        terms: list[tuple[Cells, Amount]] = [(after, final)] if final else []
        if stayed is not None:
            terms.append((stayed, stay))
        start = self.initial_amounts(after)
        cells = self.linear(terms, start.scaled(Fraction(initial)) if initial else 0)
        if after.dynamic is not None or after.low < 0 or cells.unit != after.unit or not isinstance(cells, Map):
            return cells
        # what objects weigh is not negative, so no amount is; and no object counts twice in one item
        most = {
            "OLD": int(start.largest() / after.unit),
            "MOVED_DATA": after.high + int(start.largest() / after.unit),
        }.get(metric, after.high)
        low, high = max(0, cells.low), min(most, cells.high)
        tight = replace(cells, low=low, high=high, x_low=low, x_high=high)
        self.cells[cells.index] = tight
        self._sums[cells.index] = min(self._sums[cells.index], tight.groups * tight.items * tight.largest)
        return tight

    def located(
        self,
        item_of: NDArray[np.int32],
        items: NDArray[Any],
        member: NDArray[Any],
        value: Sequence[Fraction] | FixedPoint,
        *,
        memberships: tuple[NDArray[np.int64], NDArray[np.int64], int] | None = None,
    ) -> Cells:
        """Return ``Σ value[i] · [object member[i] is in item items[i]]``: shape (1, 1). Pairs that occur twice add up.

        A cost per (object, item) for a sparse table of pairs.

        Parameters
        ----------
        item_of : int32 array, containers + 1
            Item of each container; -1 for none; last entry: of unplaced objects.
        value : sequence of Fraction, or FixedPoint
            Of each pair; where there may be one for each object of a large problem, as fixed point.
        memberships : (group, member, groups), optional
            Sum over the objects of each group instead: shape (groups, 1).
        """
        objects = len(self.problem.objects)
        keys, worth, unit, error = _summed(np.asarray(items, np.int64) * objects + member, value)
        owner, slot = np.unique(keys % max(1, objects), return_inverse=True)
        least, most = np.zeros(len(owner), np.int64), np.zeros(len(owner), np.int64)
        np.minimum.at(least, slot, worth)
        np.maximum.at(most, slot, worth)
        group, who, groups = (
            (np.zeros(len(owner), np.int64), owner.astype(np.int64), 1) if memberships is None else memberships
        )
        position = np.full(objects, -1, np.int64)
        position[owner] = np.arange(len(owner))
        paying = position[who] >= 0
        group, who = group[paying], who[paying]
        low, high = (add_up(group, part[position[who]], groups) for part in (least, most))
        often = int(np.bincount(group, minlength=1).max(initial=0))
        dynamic = DynamicValues("", keys, worth, 0)
        inside = np.where(item_of >= 0, np.int32(0), np.int32(-1)).astype(np.int32)
        tally = Tally(
            len(self.cells),
            groups,
            1,
            unit,
            int(low.min(initial=0)),
            int(high.max(initial=0)),
            error * often,
            group,
            who,
            np.zeros(len(who), np.int64),
            dynamic,
            item_of,
            inside,
            Family.AFTER,
            inside[self.problem.origin],
        )
        return self._add(tally)

    def at(self, member: NDArray[Any], container: NDArray[Any]) -> Cells:
        """Return how many objects ``member[i]`` are in ``container[i]``: shape (1, 1)."""
        scope = self.problem.scopes[self.problem.container_name]
        return self.located(scope.item_of, container, member, FixedPoint(np.ones(len(member), np.int64), 1))

    # -- the start --------------------------------------------------------------------------------------------------

    def initial(self, cells: Cells) -> Grid:
        """Return the integers of cells at the initial assignment."""
        if self._initial is None:
            self._initial = CellValues(self.problem, self.problem.initial)
        return evaluate_cells(self._initial, cells).integers


def _summed(keys: IntArray, value: Sequence[Fraction] | FixedPoint) -> tuple[IntArray, IntArray, Fraction, Fraction]:
    """Return the keys that occur, in order, the sum of each one's values, their unit, how far each may be off."""
    if isinstance(value, FixedPoint):
        known, slot = np.unique(keys, return_inverse=True)
        if np.abs(value.integers).sum(dtype=np.float64) < LARGEST_SUM // 2:
            sums = add_up(slot, value.integers, len(known))
            common = math.gcd(value.scale, int(np.gcd.reduce(sums)))
            return known, sums // common, Fraction(common, value.scale), Fraction(0)
    amounts = value.fractions().tolist() if isinstance(value, FixedPoint) else value
    worth: dict[int, Fraction] = {}
    for key, amount in zip(keys.tolist(), amounts, strict=True):
        worth[key] = worth.get(key, Fraction(0)) + amount
    known = np.array(sorted(worth), np.int64)
    return known, *_fixed([worth[key] for key in known.tolist()])


def _fixed(values: list[Fraction]) -> tuple[IntArray, Fraction, Fraction]:
    """Return values as integers, their unit, and by how much each may be off: 0 unless they cannot be held exactly."""
    try:
        fixed, unit, error = fix(values), Fraction(1), Fraction(0)
    except Overflow:
        size = sum(map(abs, values), Fraction(0))
        unit = Fraction(2) ** (math.ceil(log2(size)) - EXACT_LIMIT.bit_length())
        fixed, error = fix([round(value / unit) for value in values]), unit / 2
    return fixed.integers, unit / fixed.scale, error


def _dynamic_range(dynamic: DynamicValues, member: NDArray[np.int64], objects: int) -> tuple[IntArray, IntArray]:
    """Return the least (at most 0) and the most (at least 0) that each member can weigh."""
    least = np.full(objects, min(0, dynamic.default), np.int64)
    most = np.full(objects, max(0, dynamic.default), np.int64)
    who = dynamic.key % max(1, objects)
    np.minimum.at(least, who, dynamic.value)
    np.maximum.at(most, who, dynamic.value)
    return least[member], most[member]
