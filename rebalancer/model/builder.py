"""Makes cells. Specs call this, and only this: amounts of a dimension, formulas over them, sums, extremes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.cells import Cells, Extremum, Family, Function, Gather, Gathering, Map, Product, Ratio, Reduce, Tally, Term
from rebalancer.model.evaluate import CellValues, add_up, evaluate_cells
from rebalancer.model.grid import Grid, reduce_sum
from rebalancer.model.param import Param, rational_gcd
from rebalancer.problem import DynamicValues, FixedPoint, Problem, fix
from rebalancer.problem.numbers import IntArray, Overflow

#: Integers of a linear form stay below this where they can be exact …
EXACT_LIMIT = 2**52
#: … and are scaled to about this where a constant has to be rounded.
ROUNDED_LIMIT = 2**40
#: Where coefficients have to be rounded, they keep at least this many bits.
COEFFICIENT_BITS = 20
#: Single cells of different units are first cut to the first of these, and added up in a unit in which they stay below the second.
SCALAR_LIMIT, SCALED_LIMIT = 2**36, 2**44
#: What is squared stays below the first, its square below the second.
SQUARED_LIMIT = 2**28
SQUARE_LIMIT = 2**46
#: The factors of a product stay below this.
PRODUCT_LIMIT = 2**30

Amount: TypeAlias = Param | Fraction | int

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


def as_param(value: Amount) -> Param:
    """Return a number or parameter as a parameter."""
    return value if isinstance(value, Param) else Param.constant(value)


class ModelBuilder:
    """Builds the graph of cells over one problem. Equal tallies are made once.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.cells: list[Cells] = []
        self._tallies: dict[tuple[Any, ...], Tally] = {}
        self._initial: CellValues | None = None
        #: By index: the magnitudes of all cells together never exceed this. Far less than each at its largest, as an object is in one place only.
        self._sums: dict[int, int] = {}

    def _add(self, cells: Cells) -> Cells:
        self.cells.append(cells)
        self._sums[cells.index] = min(cells.groups * cells.items * cells.largest, *self._sum_bounds(cells))
        return cells

    def _sum_bounds(self, cells: Cells) -> list[int]:
        """Return bounds on the sum of the magnitudes of all cells, from what they are made of."""
        if isinstance(cells, Product):
            often = (cells.groups * cells.items) // max(1, cells.left.groups * cells.left.items)
            return [2 * often * self._sums[cells.left.index] * cells.right.largest // cells.divisor]
        if isinstance(cells, Reduce):
            factor = int(cells.coef.largest_magnitude())
            return [factor * self._sums[cells.source.index]]
        if isinstance(cells, Gather):
            often = np.unique(cells.group * cells.source.items + cells.item, return_counts=True)[1].max(initial=0)
            return [int(often) * self._sums[cells.source.index]]
        if isinstance(cells, Extremum):
            return [sum(self._sums[source.index] for source in cells.inputs)]
        if not isinstance(cells, Map):
            return [cells.groups * cells.items * cells.largest]
        positive = cells.function in (Function.HINGE, Function.STEP)
        x = _magnitudes(cells.const, cells.groups, cells.items, positive)
        for term in cells.terms:
            least, most = _extremes(term.coef)
            if positive and ((most <= 0 and term.cells.low >= 0) or (least >= 0 and term.cells.high <= 0)):
                continue
            repeats = (cells.groups * cells.items) // max(1, term.cells.groups * term.cells.items)
            x += max(abs(least), abs(most)) * self._sums[term.cells.index] * repeats
        divisor = max(1, _extremes(cells.divisor)[0])
        if cells.function is Function.SQUARE:
            x *= max(abs(cells.x_low), abs(cells.x_high))
        if cells.function is Function.CEIL:
            return [x // divisor + cells.groups * cells.items]
        if cells.function is Function.MOD:
            return [x if cells.x_low >= 0 else cells.groups * cells.items * cells.largest]
        return [x if divisor == 1 else 2 * x // divisor]  # rounding to the nearest at most doubles

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
            self._tallies[key] = self.custom_tally(group, member, groups, item_of, count, dimension, family=family, component=component)
        return self._tallies[key]

    def _item_of(self, scope: str, kept: tuple[int, ...] | None) -> tuple[NDArray[np.int32], int]:
        """Return the position of each container's item among the kept ones, and how many there are."""
        known = self.problem.scopes[scope]
        if kept is None:
            return known.item_of, len(known.items)
        position = np.full(len(known.items) + 1, -1, np.int32)
        position[list(kept)] = np.arange(len(kept), dtype=np.int32)
        return position[known.item_of], len(kept)

    def _memberships(self, partition: str | None) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        if partition is None:
            count = len(self.problem.objects)
            return np.zeros(count, np.int64), np.arange(count), 1
        groups = self.problem.partitions[partition]
        return groups.group.astype(np.int64), groups.member.astype(np.int64), len(groups.groups)

    def custom_tally(self, group: NDArray[np.int64], member: NDArray[np.int64], groups: int, item_of: NDArray[np.int32], items: int, dimension: str = "",
                     *, family: str = "AFTER", component: int = 0, weight: IntArray | None = None, unit: Fraction | None = None) -> Tally:
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
        tally = Tally(len(self.cells), groups, items, Fraction(1, known.scale) if unit is None else unit, low, high, Fraction(0), group, member, weights, dynamic, dynamic_item, item_of,
                      Family(family), item_of[self.problem.origin])
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
        """Return the amount of a dimension under a metric (see `METRICS`); of a vector dimension, its largest component.

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
        """Return the amount of some objects together under a metric, by any grouping of the containers: shape (1, items)."""
        group = np.zeros(len(member), np.int64)

        def tally(family: str, component: int) -> Cells:
            return self.custom_tally(group, np.asarray(member, np.int64), 1, item_of, items, dimension, family=family, component=component)

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
        most = {"OLD": int(start.largest() / after.unit), "MOVED_DATA": after.high + int(start.largest() / after.unit)}.get(metric, after.high)
        low, high = max(0, cells.low), min(most, cells.high)
        tight = replace(cells, low=low, high=high, x_low=low, x_high=high)
        self.cells[cells.index] = tight
        self._sums[cells.index] = min(self._sums[cells.index], tight.groups * tight.items * tight.largest)
        return tight

    def located(self, item_of: NDArray[np.int32], items: NDArray[Any], member: NDArray[Any], value: Sequence[Fraction], *,
                memberships: tuple[NDArray[np.int64], NDArray[np.int64], int] | None = None) -> Cells:
        """Return ``Σ value[i] · [object member[i] is in item items[i]]``: shape (1, 1). Pairs that occur twice add up.

        A cost per (object, item) for a sparse table of pairs.

        Parameters
        ----------
        item_of : int32 array, containers + 1
            Item of each container; -1 for none; last entry: of unplaced objects.
        memberships : (group, member, groups), optional
            Sum over the objects of each group instead: shape (groups, 1).
        """
        objects = len(self.problem.objects)
        worth: dict[int, Fraction] = {}
        for key, amount in zip((np.asarray(items, np.int64) * objects + member).tolist(), value, strict=True):
            worth[key] = worth.get(key, Fraction(0)) + amount
        keys = np.array(sorted(worth), np.int64)
        fixed, error = _fixed([worth[key] for key in keys.tolist()])
        owner, slot = np.unique(keys % max(1, objects), return_inverse=True)
        least, most = np.zeros(len(owner), np.int64), np.zeros(len(owner), np.int64)
        np.minimum.at(least, slot, fixed.integers)
        np.maximum.at(most, slot, fixed.integers)
        group, who, groups = (np.zeros(len(owner), np.int64), owner.astype(np.int64), 1) if memberships is None else memberships
        position = np.full(objects, -1, np.int64)
        position[owner] = np.arange(len(owner))
        paying = position[who] >= 0
        group, who = group[paying], who[paying]
        low, high = (add_up(group, part[position[who]], groups) for part in (least, most))
        often = int(np.bincount(group, minlength=1).max(initial=0))
        dynamic = DynamicValues("", keys, fixed.integers, 0)
        inside = np.where(item_of >= 0, np.int32(0), np.int32(-1)).astype(np.int32)
        tally = Tally(
            len(self.cells), groups, 1, Fraction(1, fixed.scale), int(low.min(initial=0)), int(high.max(initial=0)), error * often,
            group, who, np.zeros(len(who), np.int64), dynamic, item_of, inside,
            Family.AFTER, inside[self.problem.origin],
        )
        return self._add(tally)

    def at(self, member: NDArray[Any], container: NDArray[Any]) -> Cells:
        """Return how many objects ``member[i]`` are in ``container[i]``: shape (1, 1)."""
        scope = self.problem.scopes[self.problem.container_name]
        return self.located(scope.item_of, container, member, [Fraction(1)] * len(member))

    # -- formulas ---------------------------------------------------------------------------------------------------

    def linear(self, terms: Sequence[tuple[Cells, Amount]], const: Amount = 0, *, limit: int = EXACT_LIMIT) -> Cells:
        """Return ``Σ coefficient · cells + const``; shapes of length 1 are repeated. ``limit`` bounds the integers."""
        return self._map(Function.IDENTITY, terms, const, limit)

    def hinge(self, x: Cells) -> Cells:
        """Return max(0, x)."""
        if x.low >= 0:
            return x
        return self._map_of(Function.HINGE, x)

    def step(self, x: Cells) -> Cells:
        """Return 1 where x > 0, else 0."""
        return self._map_of(Function.STEP, x)

    def square(self, x: Cells) -> Cells:
        """Return x²."""
        if isinstance(x, Map) and x.function is Function.IDENTITY:
            terms = [(term.cells, term.exact) for term in x.terms]
            if self._unit_of(terms, x.exact_const, SQUARED_LIMIT, [])[0] is not None:
                return self._map(Function.SQUARE, terms, x.exact_const, SQUARED_LIMIT)
        return self._map(Function.SQUARE, [(self.rounded(x, SQUARED_LIMIT), 1)], 0, SQUARED_LIMIT)

    def rounded(self, x: Cells, limit: int) -> Cells:
        """Return x in units so coarse that its integers stay below ``limit``."""
        if x.largest <= limit:
            return x
        divisor = 2 ** math.ceil(math.log2(x.largest / limit))
        return self._map(Function.ROUND, [(x, 1)], 0, EXACT_LIMIT, Param.constant(divisor * x.unit))

    def ceil(self, x: Cells, divisor: Param) -> Cells:
        """Return ⌈x / divisor⌉ with a positive divisor for every cell."""
        return self._map(Function.CEIL, [(x, 1)], 0, EXACT_LIMIT, divisor)

    def _map_of(self, function: Function, x: Cells) -> Cells:
        """Apply a function to x, taking over the linear form if x is one."""
        if isinstance(x, Map) and x.function is Function.IDENTITY:
            return self._finish(function, x.groups, x.items, x.terms, x.const, x.exact_const, x.x_unit, x.x_low, x.x_high, x.error, None)
        return self._map(function, [(x, 1)], 0, EXACT_LIMIT)

    def _map(self, function: Function, terms: Sequence[tuple[Cells, Amount]], const: Amount, limit: int, divisor: Param | None = None, finest: Fraction | None = None) -> Cells:
        given = [(cells, as_param(coef)) for cells, coef in terms]
        given = [(cells, coef) for cells, coef in given if not coef.is_zero and cells.largest]
        offset = as_param(const)
        shapes = [(cells.groups, cells.items) for cells, _ in terms] + [(p.grid.groups, p.grid.items) for p in (offset, *(coef for _, coef in given))]
        if divisor is not None:
            shapes.append((divisor.grid.groups, divisor.grid.items))
        groups, items = (_common([shape[axis] for shape in shapes]) for axis in (0, 1))
        others = [known for known in (divisor.unit if divisor is not None else None, finest) if known is not None]
        unit, error = self._unit_of(given, offset, limit, others)
        if unit is None and function is Function.IDENTITY and groups * items == 1:
            return self._scalar(given, offset)
        if unit is None:  # neither coefficients nor constant can be exact: coarser inputs, so that both keep enough digits
            room = limit >> (COEFFICIENT_BITS + max(1, len(given)).bit_length())
            given = [(self.rounded(cells, room), coef) for cells, coef in given]
            size = _size(given, offset)
            unit = Fraction(2) ** math.ceil(_log2(size) - math.log2(limit) + 1)
            error = sum((_error(cells, coef) + unit * cells.largest / 2 for cells, coef in given), unit + offset.slack)
        integer_terms = tuple(Term(cells, coef.scaled(cells.unit).in_units(unit, "nearest"), coef) for cells, coef in given)
        integer_const = offset.in_units(unit, "up")
        low, high = _range(integer_terms, integer_const)
        return self._finish(function, groups, items, integer_terms, integer_const, offset, unit, low, high, error, divisor)

    def _scalar(self, given: list[tuple[Cells, Param]], offset: Param) -> Cells:
        """Return one linear form of single cells that have no common unit: each is rounded to it as a whole, ``round(x · p/q)``.

        So the error is a share of the unit and not of each coefficient, however different the cells' ranges are.
        """
        given = [(self.rounded(cells, SCALAR_LIMIT), coef) for cells, coef in given]
        unit = Fraction(2) ** (math.ceil(_log2(_size(given, offset))) - SCALED_LIMIT.bit_length() + 1)
        error, terms = unit + offset.slack, []
        for cells, coef in given:
            factor = coef.unit * int(coef.grid.table[0, 0])
            ratio = abs(factor) * cells.unit / unit
            room = max(1, math.floor(2**60 / max(1, cells.largest)))
            up, down = _ratio(ratio, room)
            y = self._map(Function.ROUND, [(cells, up)], 0, 2**61, Param.constant(down * cells.unit))
            error += _error(cells, coef) + unit / 2 + abs(ratio - Fraction(up, down)) * cells.largest * unit
            terms.append(Term(y, Grid.constant(1, 1, 1 if factor > 0 else -1), Param.constant(factor / up)))
        const = offset.in_units(unit, "up")
        low, high = _range(tuple(terms), const)
        return self._finish(Function.IDENTITY, 1, 1, tuple(terms), const, offset, unit, low, high, error, None)

    @staticmethod
    def _unit_of(given: list[tuple[Cells, Param]], offset: Param, limit: int, others: Sequence[Fraction] = ()) -> tuple[Fraction | None, Fraction]:
        """Return the unit in which the form is exact, or exact but for its constant, and its error; None where there is no such unit."""
        factors = [abs(coef.unit) * cells.unit for cells, coef in given]
        size = _size(given, offset)
        error = sum((_error(cells, coef) for cells, coef in given), offset.slack)
        unit = rational_gcd(factors + ([] if offset.is_zero else [offset.unit]) + list(others))
        if size / unit <= limit:
            return unit, error
        fine = rational_gcd(factors)
        if size / fine > limit:
            return None, error
        halvings = max(0, math.floor(math.log2(max(1.0, min(limit, ROUNDED_LIMIT) / float(size / fine)))))
        return fine / 2**halvings, error + fine / 2**halvings

    def _finish(self, function: Function, groups: int, items: int, terms: tuple[Term, ...], const: Grid, exact_const: Param, unit: Fraction, low: int, high: int,
                error: Fraction, divisor: Param | None) -> Cells:
        x_low, x_high, x_unit = low, high, unit
        by = Grid.constant(1, 1, 1)
        if function is Function.HINGE:
            low, high = max(0, low), max(0, high)
        elif function is Function.STEP:
            low, high, unit, error = int(low > 0), int(high > 0), Fraction(1), Fraction(0)
        elif function is Function.SQUARE:
            top = max(abs(low), abs(high))
            shift = 1 if top * top <= SQUARE_LIMIT else 2 ** math.ceil(math.log2(top * top / SQUARE_LIMIT))
            by = Grid.constant(1, 1, shift)
            bottom = 0 if low <= 0 <= high else min(abs(low), abs(high)) ** 2
            error = 2 * top * unit * error + error * error + (unit * unit * shift / 2 if shift > 1 else 0)
            low, high, unit = (bottom + shift // 2) // shift, (top * top + shift // 2) // shift, unit * unit * shift
        elif function is Function.MOD:
            assert divisor is not None
            by = divisor.in_units(unit, "nearest", high + 1 if low >= 0 else None).map(lambda v: np.maximum(v, 1))
            low, high = 0, _extremes(by)[1] - 1
        elif function in (Function.CEIL, Function.ROUND):
            assert divisor is not None
            beyond = max(abs(low), abs(high)) + 1  # every larger divisor gives the same
            by = divisor.in_units(unit, "nearest", beyond).map(lambda v: np.clip(v, 1, beyond))
            least = _extremes(by)[0]
            low, high = min(0, low // least), max(0, -(-high // least))
            if function is Function.CEIL:
                unit, error = Fraction(1), Fraction(0)
            else:
                unit, error = unit * least, error + unit * least / 2
        return self._add(Map(len(self.cells), groups, items, unit, low, high, error, terms, const, exact_const, function, by, x_unit, x_low, x_high))

    # -- combining --------------------------------------------------------------------------------------------------

    def total(self, source: Cells, coef: Amount = 1) -> Cells:
        """Return the sum of all cells times ``coef``: shape (1, 1)."""
        return self.regroup(source, None, None, 1, 1, coef)

    def sum_groups(self, source: Cells, coef: Amount = 1) -> Cells:
        """Return the sum over groups: shape (1, items)."""
        return self.regroup(source, None, np.arange(source.items), 1, source.items, coef)

    def sum_items(self, source: Cells, coef: Amount = 1) -> Cells:
        """Return the sum over items: shape (groups, 1)."""
        return self.regroup(source, np.arange(source.groups), None, source.groups, 1, coef)

    def regroup(self, source: Cells, group_map: NDArray[Any] | None, item_map: NDArray[Any] | None, groups: int, items: int, coef: Amount = 1) -> Cells:
        """Return sums of the cells that map to each output cell; -1 leaves out, None sends all to 0."""
        factor = as_param(coef)
        count = self._most_inputs(source, group_map, item_map, groups, items)
        most = min(self._sums[source.index], source.largest * count)  # what any sum of inputs can be
        size = factor.largest() * source.unit * most
        exact = source.unit * abs(factor.unit)
        unit, error = exact, factor.largest() * source.error * count + factor.slack * source.unit * most
        if size / exact > EXACT_LIMIT:
            whole = int(factor.grid.largest_magnitude())
            bits = min(COEFFICIENT_BITS, whole.bit_length())
            source = self.rounded(source, max(1, (EXACT_LIMIT >> bits) * source.largest // most))
            most = min(self._sums[source.index], source.largest * count)
            unit = source.unit * abs(factor.unit)
            error = factor.largest() * source.error * count + factor.slack * source.unit * most
            if factor.largest() * source.unit * most / unit > EXACT_LIMIT:
                unit = Fraction(2) ** math.ceil(_log2(size) - math.log2(EXACT_LIMIT) + 1)
                error += unit * most / 2
        integers = factor.scaled(source.unit).in_units(unit, "nearest")
        low, high = _scaled_range(source, integers)
        together = int(integers.largest_magnitude()) * most
        if count != 1:
            low, high = max(-together, count * min(0, low)), min(together, count * max(0, high))
        return self._add(
            Reduce(len(self.cells), groups, items, unit, low, high, error, source, Gathering.SUM, group_map, item_map, integers, factor)
        )

    @staticmethod
    def _most_inputs(source: Cells, group_map: NDArray[Any] | None, item_map: NDArray[Any] | None, groups: int, items: int) -> int:
        by_group = source.groups if group_map is None else int(np.bincount(group_map[group_map >= 0], minlength=groups).max(initial=0))
        by_item = source.items if item_map is None else int(np.bincount(item_map[item_map >= 0], minlength=items).max(initial=0))
        return by_group * by_item

    def largest(self, source: Cells, group_map: NDArray[Any] | None = None, item_map: NDArray[Any] | None = None, groups: int = 1, items: int = 1,
                *, smallest: bool = False) -> Cells:
        """Return the largest (or smallest) of the cells that map to each output cell; 0 where none does."""
        one = Param.constant(1)
        return self._add(Reduce(len(self.cells), groups, items, source.unit, min(0, source.low), max(0, source.high), source.error, source,
                                Gathering.MIN if smallest else Gathering.MAX, group_map, item_map, Grid.constant(1, 1, 1), one))

    def largest_of(self, sources: Sequence[Cells], *, smallest: bool = False) -> Cells:
        """Return the largest (or smallest) of several cells of one shape, cell by cell."""
        unit = rational_gcd([cells.unit for cells in sources])
        same = tuple(cells if cells.unit == unit else self._map(Function.IDENTITY, [(cells, 1)], 0, EXACT_LIMIT, finest=unit) for cells in sources)
        if any(cells.unit != same[0].unit for cells in same):
            raise ValueError("extremes need cells of one unit")
        pick = min if smallest else max
        return self._add(Extremum(len(self.cells), same[0].groups, same[0].items, same[0].unit, pick(c.low for c in same), pick(c.high for c in same),
                                  max(c.error for c in same), same, not smallest))

    def nth_largest(self, source: Cells, rank: int) -> Cells:
        """Return the cell with ``rank`` others above it (of too few cells, the smallest): shape (1, 1)."""
        return self._ordered(source, None, None, 1, 1, rank, Gathering.NTH_LARGEST)

    def all_but_largest(self, source: Cells, rank: int) -> Cells:
        """Return, for every item, the sum over groups without the ``rank`` largest: shape (1, items)."""
        return self._ordered(source, None, np.arange(source.items), 1, source.items, rank, Gathering.ALL_BUT_LARGEST)

    def _ordered(self, source: Cells, group_map: NDArray[Any] | None, item_map: NDArray[Any] | None, groups: int, items: int, rank: int, how: Gathering) -> Cells:
        count = self._most_inputs(source, group_map, item_map, groups, items) if how is Gathering.ALL_BUT_LARGEST else 1
        if count * source.largest > EXACT_LIMIT:
            source = self.rounded(source, EXACT_LIMIT // count)
        return self._add(Reduce(len(self.cells), groups, items, source.unit, count * min(0, source.low), count * max(0, source.high), count * source.error, source, how,
                                group_map, item_map, Grid.constant(1, 1, 1), Param.constant(1), rank))

    def product(self, left: Cells, right: Cells) -> Cells:
        """Return left · right, cell by cell; an axis of length 1 is repeated."""
        left, right = self.rounded(left, PRODUCT_LIMIT), self.rounded(right, PRODUCT_LIMIT)
        groups, items = _common([left.groups, right.groups]), _common([left.items, right.items])
        largest = left.largest * right.largest
        divisor = 1 if largest <= SQUARE_LIMIT else 2 ** math.ceil(math.log2(largest / SQUARE_LIMIT))
        unit = left.unit * right.unit * divisor
        error = left.error * (right.largest * right.unit + right.error) + right.error * left.largest * left.unit + (unit / 2 if divisor > 1 else 0)
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = ((bound + divisor // 2) // divisor for bound in (min(corners), max(corners)))
        return self._add(Product(len(self.cells), groups, items, unit, low, high, error, left, right, divisor))

    def ratio(self, over: Cells, under: Cells) -> Cells:
        """Return over / under, cell by cell; no integer of ``under`` may be below 1."""
        if under.low < 1:
            raise ValueError("a ratio needs a positive denominator")
        over = self.rounded(over, PRODUCT_LIMIT)
        factor = max(1, 2 ** math.floor(math.log2(ROUNDED_LIMIT / max(1, over.largest))))
        unit = over.unit / (under.unit * factor)
        error = unit / 2 + over.error / (under.unit * under.low) + over.largest * over.unit * under.error / (under.unit * under.low) ** 2
        bounds = [(2 * factor * a + b) // (2 * b) for a in (over.low, over.high) for b in (under.low, under.high)]
        return self._add(Ratio(len(self.cells), over.groups, over.items, unit, min(bounds), max(bounds), error, over, under, factor))

    def mod(self, x: Cells, divisor: Param) -> Cells:
        """Return the remainder of x / divisor (positive), 0 or more."""
        return self._map(Function.MOD, [(x, 1)], 0, EXACT_LIMIT, divisor)

    def gather(self, source: Cells, group: NDArray[Any], item: NDArray[Any]) -> Cells:
        """Return chosen cells in a row: shape (1, n)."""
        return self._add(Gather(len(self.cells), 1, len(group), source.unit, source.low, source.high, source.error, source,
                                np.asarray(group, np.int64), np.asarray(item, np.int64)))

    def spread(self, source: Cells) -> Cells:
        """Return Σv² − (Σv)²/n over all n cells, as the sum of squared distances from their mean: shape (1, 1)."""
        count = source.groups * source.items
        mean = self.total(source, Fraction(1, count))
        return self.total(self.square(self.linear([(source, 1), (mean, -1)])))

    # -- the start --------------------------------------------------------------------------------------------------

    def initial(self, cells: Cells) -> Grid:
        """Return the integers of cells at the initial assignment."""
        if self._initial is None:
            self._initial = CellValues(self.problem, self.problem.initial)
        return evaluate_cells(self._initial, cells).integers


def _fixed(values: list[Fraction]) -> tuple[FixedPoint, Fraction]:
    """Return values as fixed point, and by how much each may be off: 0 unless they cannot be held exactly."""
    try:
        return fix(values), Fraction(0)
    except Overflow:
        size = sum(map(abs, values), Fraction(0))
        resolution = Fraction(2) ** min(0, math.ceil(_log2(size)) - EXACT_LIMIT.bit_length())
        return fix(values, resolution), resolution / 2


def _magnitudes(grid: Grid, groups: int, items: int, positive: bool) -> int:
    """Return at least the sum of the magnitudes (or of the positive numbers) of a grid repeated to a shape."""
    each = grid.astype(np.float64).map(lambda v: np.maximum(v, 0.0) if positive else np.abs(v))
    total = float(reduce_sum(each, 1, 1, None, None)[0, 0]) * (groups * items // max(1, grid.groups * grid.items))
    return math.ceil(total * (1 + 2.0**-30))


def _dynamic_range(dynamic: DynamicValues, member: NDArray[np.int64], objects: int) -> tuple[IntArray, IntArray]:
    """Return the least (at most 0) and the most (at least 0) that each member can weigh."""
    least = np.full(objects, min(0, dynamic.default), np.int64)
    most = np.full(objects, max(0, dynamic.default), np.int64)
    who = dynamic.key % max(1, objects)
    np.minimum.at(least, who, dynamic.value)
    np.maximum.at(most, who, dynamic.value)
    return least[member], most[member]


def _log2(value: Fraction) -> float:
    """Return the binary logarithm of any positive fraction, to float accuracy."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return shift + math.log2(value / Fraction(2) ** shift)


def _common(lengths: list[int]) -> int:
    """Return the length that all can be repeated to; empty cells stay empty."""
    longest = 0 if 0 in lengths else max(lengths, default=1)
    if any(length not in (1, longest) for length in lengths):
        raise ValueError(f"cells of lengths {sorted(set(lengths))} cannot be combined")
    return longest


def _error(cells: Cells, coef: Param) -> Fraction:
    """Return how far coefficient · cells may be from what is meant, with the coefficient itself taken as it is held."""
    return coef.largest() * cells.error + coef.slack * cells.unit * cells.largest


def _ratio(value: Fraction, room: int) -> tuple[int, int]:
    """Return the fraction nearest to a positive value whose numerator is at most ``room``."""
    if value.numerator <= room:
        return value.numerator, value.denominator
    inverse = (1 / value).limit_denominator(room)  # the denominator of 1/value is the numerator of value
    if not inverse:
        return math.ceil(value), 1
    return inverse.denominator, inverse.numerator


def _size(given: list[tuple[Cells, Param]], offset: Param) -> Fraction:
    return sum((coef.largest() * cells.unit * cells.largest for cells, coef in given), offset.largest())


def _range(terms: tuple[Term, ...], const: Grid) -> tuple[int, int]:
    low, high = _extremes(const)
    for term in terms:
        below, above = _scaled_range(term.cells, term.coef)
        low, high = low + below, high + above
    return low, high


def _scaled_range(cells: Cells, coef: Grid) -> tuple[int, int]:
    least, most = _extremes(coef)
    corners = [least * cells.low, least * cells.high, most * cells.low, most * cells.high]
    return min(corners), max(corners)


def _extremes(grid: Grid) -> tuple[int, int]:
    parts = [part for part in (grid.table, grid.values) if part.size]
    if not parts:
        return 0, 0
    return int(min(part.min() for part in parts)), int(max(part.max() for part in parts))
