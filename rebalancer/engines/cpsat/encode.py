"""The model in CP-SAT: which cells need variables, and what ties them to the placements.

Every cell is asked for from below (its variable may not be smaller than the cell: all that minimising needs), from
above, or exactly, and gets only the constraints that this takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from rebalancer.engines.bounds.averaging import averaging_bound
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.proto import INFINITE, BulkModel
from rebalancer.engines.cpsat.rows import RowAlgebra, Rows, constant_rows, single_rows, with_values
from rebalancer.engines.cpsat.secants import first_secants
from rebalancer.engines.cpsat.sides import ABOVE, BELOW, consumers_of, sides_of
from rebalancer.engines.cpsat.special import encode_mod, encode_ordered, encode_product, encode_ratio
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
    Product,
    Ratio,
    Reduce,
    Tally,
    evaluate_cells,
)
from rebalancer.model.evaluate import apply_function, linear_form
from rebalancer.model.grid import apply, reduce_extremum, reduce_sum
from rebalancer.problem.numbers import IntArray

#: Functions of rows with at most this many values are variables with no other values than theirs.
_FEW_VALUES = 64


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """Variables that stand for cells, and so can be hinted from the evaluator.

    Parameters
    ----------
    first : int
        First variable; the others follow.
    cells : Cells
    key : int64 array
        Cell of each variable.
    what : {"value", "positive", "x"}
        The variables are the cells' integers, or 1 where these are positive, or the x that a `Map` maps.
    unit : int64 array, optional
        The variables count these, rounded up: 1 where nothing is said.
    """

    first: int
    cells: Cells
    key: IntArray
    what: str = "value"
    unit: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Squares:
    """Epigraph variables of squared cells whose secants are not all there yet.

    Parameters
    ----------
    cells : Map
    key : int64 array
    x : Rows
        The linear forms that are squared, one row per variable.
    variable : int64 array
    divisor : int64 array
    """

    cells: Map
    key: IntArray
    x: Rows
    variable: IntArray
    divisor: IntArray


@dataclass
class Encoding:
    """The CP-SAT model of a `Model`, and the way back."""

    model: Model
    literals: Literals
    algebra: RowAlgebra
    bulk: BulkModel
    objectives: list[Rows] = field(default_factory=list)
    auxiliaries: list[Auxiliary] = field(default_factory=list)
    squares: list[Squares] = field(default_factory=list)

    def hint_from(self, values: CellValues) -> None:
        """Hint variables from an assignment, auxiliary ones with their cells' values.

        Helpers of special cells are left out: CP-SAT completes them.
        """
        hint = np.zeros(self.algebra.variables, np.int64)
        known = np.zeros(self.algebra.variables, bool)
        known[: self.literals.count] = True
        hint[: self.literals.count] = self.literals.chosen(values.assignment)
        for auxiliary in self.auxiliaries:
            cells = auxiliary.cells
            if auxiliary.what == "x":
                assert isinstance(cells, Map)
                grid = linear_form(values, cells)
            else:
                grid = evaluate_cells(values, cells).integers
            integers = grid.at(auxiliary.key // cells.items, auxiliary.key % cells.items)
            if auxiliary.unit is not None:
                integers = -(-integers // auxiliary.unit)
            known[auxiliary.first : auxiliary.first + len(integers)] = True
            hint[auxiliary.first : auxiliary.first + len(integers)] = (
                integers > 0 if auxiliary.what == "positive" else integers
            )
        self.bulk.hint(np.flatnonzero(known), hint[known])


def encode(model: Model, literals: Literals, start: CellValues) -> Encoding:
    """Return the CP-SAT model over some candidate placements.

    Parameters
    ----------
    start : CellValues
        A good assignment: where curved cells get their first secants.
    """
    return Encoder(model, literals, start).run()


class Encoder:
    """Goes through the cells that something needs, in topological order, and gives each its rows.

    Parameters
    ----------
    model, literals, start
        As of `encode`.
    """

    def __init__(self, model: Model, literals: Literals, start: CellValues) -> None:
        self.model = model
        self.start = start
        self.algebra = RowAlgebra(literals)
        self.bulk = BulkModel()
        self.out = Encoding(model, literals, self.algebra, self.bulk)
        self.rows: dict[int, Rows] = {}
        self.sides = sides_of(model)
        self.consumers = consumers_of(model, self.sides)

    def run(self) -> Encoding:
        """Return the encoding."""
        self.bulk.add_booleans(self.algebra.literals.count)
        self.bulk.exactly_one(self.algebra.literals.start)
        for cells in self.model.graph:
            if self.sides.get(cells.index):
                self.rows[cells.index] = self._settled(cells, self._encode(cells))
        for hard in self.model.hard:
            self._demand(self.rows[hard.cells.index], hard.bound)
        self.out.objectives = [self.rows[position.objective.index] for position in self.model.tuple_positions]
        return self.out

    # -- variables --------------------------------------------------------------------------------------------------

    def new(
        self,
        cells: Cells,
        key: IntArray,
        low: IntArray,
        high: IntArray,
        what: str = "value",
        unit: IntArray | None = None,
    ) -> IntArray:
        """Return new variables that stand for cells; ``what`` and ``unit`` as in `Auxiliary`."""
        variables = self.algebra.new_variables(low, high)
        self.bulk.add_integers(low, high)
        if len(key):
            self.out.auxiliaries.append(Auxiliary(int(variables[0]), cells, key, what, unit))
        return variables

    def plain(self, low: IntArray, high: IntArray) -> IntArray:
        """Return new variables that stand for no cell, and so are not hinted."""
        self.bulk.add_integers(low, high)
        return self.algebra.new_variables(low, high)

    def asked(self, cells: Cells) -> tuple[bool, bool]:
        """Return whether cells are asked for from below, and from above."""
        side = self.sides[cells.index]
        return bool(side & BELOW), bool(side & ABOVE)

    def as_variables(self, cells: Cells, rows: Rows, what: str = "value") -> Rows:
        """Return the rows as one variable each, tied to what they are."""
        long = rows.lengths > 1
        if not long.any():
            return rows
        picked = np.flatnonzero(long)
        part = _take(rows, picked)
        variables = self.new(cells, rows.key[picked], part.low, part.high, what)
        offset = part.const_at_key
        self.bulk.linear(part, -offset, -offset, extra=variables, factor=np.full(len(picked), -1))
        key = rows.key[picked]
        single = single_rows(
            (rows.groups, rows.items),
            key,
            variables,
            with_values(rows.const, key, np.zeros(len(key), np.int64)),
            part.low,
            part.high,
        )
        return _merge(single, _take(rows, np.flatnonzero(~long)))

    # -- cells ------------------------------------------------------------------------------------------------------

    def _settled(self, cells: Cells, rows: Rows) -> Rows:
        """Return rows within the bounds that the model knows of the cells.

        Where these are much tighter than the sum of the variables' own, the row becomes a variable with the tight
        domain: whatever reads it then cannot overflow.
        """
        low, high = np.maximum(rows.low, cells.low), np.minimum(rows.high, cells.high)
        loose = bool(len(rows.key)) and bool((rows.high - rows.low > 2 * (high - low)).any())
        rows = replace(rows, low=low, high=high)
        return self.as_variables(cells, rows) if loose else rows

    def _encode(self, cells: Cells) -> Rows:
        if isinstance(cells, Tally):
            rows = self.algebra.tally(cells)
            return self.as_variables(cells, rows) if self.consumers[cells.index] > 1 else rows
        if isinstance(cells, Map):
            return self._map(cells)
        if isinstance(cells, Reduce):
            if cells.how in (Gathering.NTH_LARGEST, Gathering.ALL_BUT_LARGEST):
                return encode_ordered(self, cells)
            return self._sum(cells) if cells.how is Gathering.SUM else self._extremum_of_group(cells)
        if isinstance(cells, Gather):
            return self.algebra.gather(self.rows[cells.source.index], cells.group, cells.item)
        if isinstance(cells, Product):
            return encode_product(self, cells)
        if isinstance(cells, Ratio):
            return encode_ratio(self, cells)
        assert isinstance(cells, Extremum)
        return self._extremum(cells)

    def _map(self, cells: Map) -> Rows:
        parts = []
        for term in cells.terms:
            rows = self.rows[term.cells.index]
            if (rows.groups, rows.items) != (cells.groups, cells.items) and len(rows.key):
                rows = self.rows[term.cells.index] = self.as_variables(
                    term.cells, rows
                )  # it stands in many rows: as one variable
            parts.append((rows, term.coef))
        x = self.algebra.combine(cells.groups, cells.items, parts, cells.const)
        if cells.function is Function.IDENTITY:
            return self.as_variables(cells, x) if self.consumers[cells.index] > 1 and len(x.var) > 4 * len(x.key) else x
        const = apply_function(cells, x.const)
        if not len(x.key):
            return constant_rows(const)
        if cells.function is Function.MOD:
            return encode_mod(self, cells, x, const)
        return {
            Function.HINGE: self._hinge,
            Function.STEP: self._step,
            Function.SQUARE: self._square,
            Function.CEIL: self._divided,
            Function.RAISE: self._divided,
            Function.ROUND: self._divided,
        }[cells.function](cells, x, const)

    def _hinge(self, cells: Map, x: Rows, const: Grid) -> Rows:
        """Hinges in the steps of their rows: with the finest of units CP-SAT finds no cuts.

        x takes only the values ``step · y + offset``. With its smallest positive one ``first``, and n = max(0, the
        number of such values up to x), it is ``max(0, x) = step · n - (step - first) · [n > 0]``.
        """
        never, always = x.high <= 0, x.low >= 0
        const = with_values(const, x.key[never], np.zeros(int(never.sum()), np.int64))
        const = with_values(const, x.key[always & ~never], x.const_at_key[always & ~never])
        part = _take(x, np.flatnonzero(~never & ~always))
        key, offset, step = part.key, part.const_at_key, _steps(part)
        first = (offset - 1) % step + 1
        part = replace(part, coef=part.coef // np.repeat(step, part.lengths))
        none = (first - offset) // step - 1  # what the terms of the row, in steps, come to where n = 0
        zeros, ones, infinite = np.zeros(len(key), np.int64), np.ones(len(key), np.int64), np.full(len(key), INFINITE)
        count = self.new(cells, key, zeros, np.maximum(0, (part.high - first) // step + 1), unit=step)
        asked_below, asked_above = self.asked(cells)
        short = np.arange(len(key)) if asked_above else np.flatnonzero(first < step)
        above = self.new(cells, key[short], zeros[short], ones[short], "positive")
        counts = single_rows((x.groups, x.items), key[short], count[short], x.const, zeros[short], infinite[short])
        self.bulk.linear(counts, zeros[short], infinite[short], extra=above, factor=-ones[short])
        if asked_below:
            self.bulk.linear(part, -infinite, none, extra=count, factor=-ones)
        if asked_above:
            self.bulk.linear(part, none, infinite, above, count, -ones)
            self.bulk.linear(part, -infinite, none, -above - 1)
            self.bulk.linear(counts, -infinite, zeros, -above - 1)
        hinges = self.algebra.collect(
            cells.groups,
            cells.items,
            np.concatenate([key, key[short]]),
            np.concatenate([count, above]),
            np.concatenate([step, (first - step)[short]]),
            with_values(const, key, zeros),
        )
        low = np.maximum(hinges.low, 0)
        return _merge(replace(hinges, low=low), _take(x, np.flatnonzero(always & ~never)))

    def _step(self, cells: Map, x: Rows, const: Grid) -> Rows:
        decided = (x.high <= 0) | (x.low > 0)
        const = with_values(const, x.key[decided], (x.low[decided] > 0).astype(np.int64))
        part = _take(x, np.flatnonzero(~decided))
        key, offset = part.key, part.const_at_key
        ones = np.ones(len(key), np.int64)
        variables = self.new(cells, key, 0 * ones, ones)
        if self.sides[cells.index] & BELOW:
            self.bulk.linear(part, np.full(len(key), -INFINITE), -offset, -variables - 1)
        if self.sides[cells.index] & ABOVE:
            self.bulk.linear(part, 1 - offset, np.full(len(key), INFINITE), variables)
        return single_rows(
            (cells.groups, cells.items), key, variables, with_values(const, key, 0 * ones), 0 * ones, ones
        )

    def _divided(self, cells: Map, x: Rows, const: Grid) -> Rows:
        """CEIL, RAISE and ROUND: an integer between two lines."""
        divisor = cells.divisor.at(*_broadcast_index(x, cells.divisor)).astype(np.int64)
        shift = divisor // 2 - divisor + 1 if cells.function is Function.ROUND else np.zeros(len(x.key), np.int64)
        low, high = (-((-(bound + shift)) // divisor) for bound in (x.low, x.high))
        variables = self.new(cells, x.key, low, high)
        offset = x.const_at_key
        self._name_few(x, variables, high - low, lambda row, value: -((-(value + shift[row])) // divisor[row]))
        infinite = np.full(len(x.key), INFINITE)
        if self.sides[cells.index] & BELOW:  # divisor · y >= x + shift
            self.bulk.linear(x, -infinite, -offset - shift, extra=variables, factor=-divisor)
        if self.sides[cells.index] & ABOVE:  # divisor · y <= x + shift + divisor - 1
            self.bulk.linear(x, 1 - divisor - offset - shift, infinite, extra=variables, factor=-divisor)
        return single_rows(
            (cells.groups, cells.items),
            x.key,
            variables,
            with_values(const, x.key, np.zeros(len(x.key), np.int64)),
            low,
            high,
        )

    def _name_few(
        self, x: Rows, variables: IntArray, width: IntArray, value: Callable[[int, IntArray], IntArray]
    ) -> None:
        """Leave variables that are functions of rows with few values only what these become: CP-SAT cannot tell.

        ``width`` is how far apart the bounds of each variable are, ``value`` the function of a row.
        """
        if not len(x.key):
            return
        step = _steps(x)
        first = x.low + (x.const_at_key - x.low) % step  # a row is its constant and multiples of its step
        further = (x.high - first) // step
        for row in np.flatnonzero(further < np.minimum(_FEW_VALUES, width)).tolist():
            reachable = first[row] + step[row] * np.arange(further[row] + 1)
            self.bulk.restrict(int(variables[row]), np.unique(value(row, reachable)))

    def _square(self, cells: Map, x: Rows, const: Grid) -> Rows:
        x = self.as_variables(cells, x, "x")
        divisor = cells.divisor.at(*_broadcast_index(x, cells.divisor)).astype(np.int64)
        ends = np.maximum(x.low * x.low, x.high * x.high)
        high = (ends + divisor // 2) // divisor
        low = np.where(
            (x.low <= 0) & (x.high >= 0), 0, (np.minimum(x.low * x.low, x.high * x.high) + divisor // 2) // divisor
        )
        variables = self.new(cells, x.key, low, high)
        side = self.sides[cells.index]
        if side & ABOVE:
            self._exact_square(x, variables, divisor)
        elif side & BELOW:
            squares = Squares(cells, x.key, x, variables, divisor)
            if not first_secants(self.bulk, squares, self._at_start(cells, x)):
                self.out.squares.append(squares)
        return single_rows(
            (cells.groups, cells.items),
            x.key,
            variables,
            with_values(const, x.key, np.zeros(len(x.key), np.int64)),
            low,
            high,
        )

    def _at_start(self, cells: Map, x: Rows) -> IntArray:
        return np.clip(linear_form(self.start, cells).at(x.group, x.item).astype(np.int64), x.low, x.high)

    def _exact_square(self, x: Rows, variables: IntArray, divisor: IntArray) -> None:
        """Squares that something wants large: only a product says how large they are."""
        bases = self.algebra.new_variables(x.low, x.high)
        self.bulk.add_integers(x.low, x.high)
        offset = x.const_at_key
        self.bulk.linear(x, -offset, -offset, extra=bases, factor=np.full(len(bases), -1))
        ends = np.maximum(x.low * x.low, x.high * x.high)
        products = self.algebra.new_variables(np.zeros(len(bases), np.int64), ends)
        self.bulk.add_integers(np.zeros(len(bases), np.int64), ends)
        for base, target, variable, by in zip(
            bases.tolist(), products.tolist(), variables.tolist(), divisor.tolist(), strict=True
        ):
            factor = (np.array([base]), np.ones(1, np.int64), 0)
            self.bulk.product(target, [factor, factor])
            self.bulk.linear_of(np.array([variable, target]), np.array([by, -1]), by // 2 - by + 1, by // 2)

    def _sum(self, cells: Reduce) -> Rows:
        rows = self.rows[cells.source.index]
        weighted = apply(np.multiply, rows.groups, rows.items, rows.const, cells.coef)
        const = reduce_sum(weighted, cells.groups, cells.items, cells.group_map, cells.item_map)
        out = self.algebra.regroup(rows, cells.groups, cells.items, cells.group_map, cells.item_map, cells.coef, const)
        if self.sides[cells.index] & BELOW and len(out.key):
            bound = averaging_bound(self.model, self.algebra.literals, cells)
            if bound is not None and bound > int(out.low[0]):
                # as a variable of its own, so that every sum that reads it inherits the bound
                low, high = np.array([bound]), np.maximum(out.high, bound)
                out = self.as_variables(cells, Rows(1, 1, out.key, out.start, out.var, out.coef, out.const, low, high))
        return out

    def _extremum_of_group(self, cells: Reduce) -> Rows:
        source = cells.source
        rows = self.rows[source.index]
        largest = cells.how is Gathering.MAX
        const = reduce_extremum(rows.const, cells.groups, cells.items, cells.group_map, cells.item_map, largest, 0)
        if not len(rows.key):
            return constant_rows(Grid(cells.groups, cells.items, const))
        rows = self.as_variables(source, rows)
        all_group, all_item = np.divmod(np.arange(source.groups * source.items), source.items)
        to_group = np.zeros(len(all_group), np.int64) if cells.group_map is None else cells.group_map[all_group]
        to_item = np.zeros(len(all_item), np.int64) if cells.item_map is None else cells.item_map[all_item]
        to = np.where((to_group >= 0) & (to_item >= 0), to_group * cells.items + to_item, -1)
        return self._pick(
            cells, [(rows, np.flatnonzero(to >= 0), to[to >= 0])], Grid(cells.groups, cells.items, const), largest
        )

    def _extremum(self, cells: Extremum) -> Rows:
        parts = []
        every = np.arange(cells.groups * cells.items)
        pick = np.maximum if cells.largest_of else np.minimum
        const = None
        for source in cells.sources:
            rows = self.rows[source.index] = self.as_variables(source, self.rows[source.index])
            wide = np.broadcast_to(rows.const.dense(), (cells.groups, cells.items))
            const = wide if const is None else pick(const, wide)
            parts.append((rows, every, every))
        assert const is not None
        return self._pick(cells, parts, Grid(cells.groups, cells.items, np.array(const)), cells.largest_of)

    def _pick(self, cells: Cells, parts: list[tuple[Rows, IntArray, IntArray]], const: Grid, largest: bool) -> Rows:
        """Return the largest (smallest) per output key of source cells ``(rows, source key, output key)``."""
        groups: dict[int, list[tuple[IntArray, IntArray, int, int, int]]] = {}
        for rows, source_keys, targets in parts:
            values = rows.const.at(source_keys // rows.items, source_keys % rows.items).tolist()
            position = {key: row for row, key in enumerate(rows.key.tolist())}
            for key, target, value in zip(source_keys.tolist(), targets.tolist(), values, strict=True):
                row = position.get(key)
                if row is None:
                    entry = (np.empty(0, np.int64), np.empty(0, np.int64), int(value), int(value), int(value))
                else:
                    first, last = int(rows.start[row]), int(rows.start[row + 1])
                    entry = (
                        rows.var[first:last],
                        rows.coef[first:last],
                        int(value),
                        int(rows.low[row]),
                        int(rows.high[row]),
                    )
                groups.setdefault(target, []).append(entry)
        varying = sorted(target for target, entries in groups.items() if any(len(entry[0]) for entry in entries))
        if not varying:
            return constant_rows(const)
        pick = max if largest else min
        low = np.array([pick(entry[3] for entry in groups[target]) for target in varying], np.int64)
        high = np.array([pick(entry[4] for entry in groups[target]) for target in varying], np.int64)
        key = np.array(varying, np.int64)
        variables = self.new(cells, key, low, high)
        wanted, other = (BELOW, ABOVE) if largest else (ABOVE, BELOW)
        for target, variable in zip(varying, variables.tolist(), strict=True):
            if self.sides[cells.index] & other:
                self.bulk.largest(
                    variable, [(var, coef, const_) for var, coef, const_, _, _ in groups[target]], 1 if largest else -1
                )
            elif self.sides[cells.index] & wanted:
                for var, coef, const_, _, _ in groups[target]:
                    both = np.append(var, variable), np.append(coef, -1)
                    self.bulk.linear_of(*both, *((-INFINITE, -const_) if largest else (-const_, INFINITE)))
        return single_rows(
            (cells.groups, cells.items),
            key,
            variables,
            with_values(const, key, np.zeros(len(key), np.int64)),
            low,
            high,
        )

    # -- hard cells -------------------------------------------------------------------------------------------------

    def _demand(self, rows: Rows, bound: Grid) -> None:
        over = apply(np.greater, rows.groups, rows.items, rows.const, bound)
        group, item = over.where(lambda v: v)
        if len(group) and not np.isin(group * rows.items + item, rows.key).all():
            self.bulk.linear_of(
                np.empty(0, np.int64), np.empty(0, np.int64), 1, 1
            )  # a constant breaks it: nothing can be done
        most = bound.at(*_broadcast_index(rows, bound)).astype(np.int64)
        binding = np.flatnonzero(rows.high > most)
        part = _take(rows, binding)
        self.bulk.linear(part, np.full(len(binding), -INFINITE), most[binding] - part.const_at_key)


def _broadcast_index(rows: Rows, grid: Grid) -> tuple[IntArray, IntArray]:
    none = np.zeros(len(rows.key), np.int64)
    return rows.group if grid.groups == rows.groups else none, rows.item if grid.items == rows.items else none


def _take(rows: Rows, picked: IntArray) -> Rows:
    """Return some of the varying rows (the constant grid stays whole)."""
    lengths = rows.lengths[picked]
    first = rows.start[picked]
    entry = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(first, lengths)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Rows(
        rows.groups,
        rows.items,
        rows.key[picked],
        start,
        rows.var[entry],
        rows.coef[entry],
        rows.const,
        rows.low[picked],
        rows.high[picked],
    )


def _steps(rows: Rows) -> IntArray:
    """Return what the values of each row differ by multiples of."""
    return np.gcd.reduceat(np.abs(rows.coef), rows.start[:-1]) if len(rows.key) else np.empty(0, np.int64)


def _merge(one: Rows, other: Rows) -> Rows:
    """Return the varying rows of both, with the first one's constants."""
    if not len(other.key):
        return one
    key = np.concatenate([one.key, other.key])
    order = np.argsort(key)
    lengths = np.concatenate([one.lengths, other.lengths])
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    whole = Rows(
        one.groups,
        one.items,
        key,
        start,
        np.concatenate([one.var, other.var]),
        np.concatenate([one.coef, other.coef]),
        one.const,
        np.concatenate([one.low, other.low]),
        np.concatenate([one.high, other.high]),
    )
    return _take(whole, order)
