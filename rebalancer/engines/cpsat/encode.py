"""The model in CP-SAT: which cells need variables, and what ties them to the placements.

Every cell is asked for from below (its variable may not be smaller than the cell: all that minimising needs), from
above, or exactly, and gets only the constraints that this takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.bends import encode_bend
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.objective import ExactObjective, Objective, Unrounded, direct
from rebalancer.engines.cpsat.proto import INFINITE, BulkModel
from rebalancer.engines.cpsat.rows import (
    RowAlgebra,
    Rows,
    broadcast_index,
    constant_rows,
    merge_rows,
    single_rows,
    take_rows,
    with_values,
)
from rebalancer.engines.cpsat.secants import Squares
from rebalancer.engines.cpsat.sides import ABOVE, BELOW, consumers_of, sides_of
from rebalancer.engines.cpsat.special import encode_mod, encode_ordered, encode_product, encode_ratio
from rebalancer.engines.cpsat.totals import averaging_bound
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
from rebalancer.model.order import targets
from rebalancer.problem import Fault, InputError
from rebalancer.problem.numbers import IntArray

#: What the variables of a row may add up to, one by one: CP-SAT 9.15 has refused 2^62.3.
_ROOM = 2.0**61
#: What the widths of all variables' domains may add up to: CP-SAT refuses a model where that is not an int64.
_WIDTHS = 2**63 - 1
#: Tallies as wide as this are no variables, though several cells read them: a few would take all of that.
_WIDE = 2**56


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
    what : {"value", "positive", "x", "square"}
        The variables are the cells' integers, or 1 where these are positive, or the x that a `Map` maps, or its square.
    unit : int64 array, optional
        The variables count these, rounded up: 1 where nothing is said.
    """

    first: int
    cells: Cells
    key: IntArray
    what: str = "value"
    unit: IntArray | None = None


def _reads(cells: Cells, source: Cells) -> bool:
    """Whether cells are made of others, or are these."""
    waiting, seen = [cells], {cells.index}
    while waiting:
        top = waiting.pop()
        if top.index == source.index:
            return True
        fresh = [known for known in top.inputs if source.index <= known.index not in seen]
        seen.update(known.index for known in fresh)
        waiting += fresh
    return False


@dataclass
class Encoding:
    """The CP-SAT model of a `Model`, and the way back.

    ``doubted`` says whether what CP-SAT proves of it is to be confirmed.
    """

    model: Model
    literals: Literals
    algebra: RowAlgebra
    bulk: BulkModel
    objectives: list[Rows] = field(default_factory=list)
    exact: list[ExactObjective | None] = field(default_factory=list)
    auxiliaries: list[Auxiliary] = field(default_factory=list)
    squares: list[Squares] = field(default_factory=list)
    doubted: bool = False

    def hint_from(self, values: CellValues) -> None:
        """Hint variables from an assignment, auxiliary ones with their cells' values.

        Helpers of special cells are left out: CP-SAT completes them.
        """
        known, hint = self.solution(values)
        self.bulk.hint(np.flatnonzero(known), hint[known])

    def objective(self, number: int) -> Objective:
        """Return what to minimise of a position: the exact formula where there is one."""
        return self.exact[number] or direct(self.model, number, self.objectives[number])

    def hold(self, number: int, value: int) -> None:
        """Have a position stay at a value, or better."""
        rows = self.objectives[number]
        if len(rows.key):
            self.bulk.linear_of(rows.var, rows.coef, -INFINITE, value - int(rows.const.dense()[0, 0]))

    def solution(self, values: CellValues) -> tuple[NDArray[np.bool_], IntArray]:
        """Return which variables are known at an assignment, and the values of all, 0 where they are not."""
        hint = np.zeros(self.algebra.variables, np.int64)
        known = np.zeros(self.algebra.variables, bool)
        known[: self.literals.count] = True
        hint[: self.literals.count] = self.literals.chosen(values.assignment)
        for auxiliary in self.auxiliaries:
            cells = auxiliary.cells
            if auxiliary.what in ("x", "square"):
                assert isinstance(cells, Map)
                grid = linear_form(values, cells)
            else:
                grid = evaluate_cells(values, cells).integers
            integers = grid.at(auxiliary.key // cells.items, auxiliary.key % cells.items)
            if auxiliary.unit is not None:
                integers = -(-integers // auxiliary.unit)
            if auxiliary.what == "positive":
                integers = integers > 0
            elif auxiliary.what == "square":
                integers = integers * integers
            known[auxiliary.first : auxiliary.first + len(integers)] = True
            hint[auxiliary.first : auxiliary.first + len(integers)] = integers
        return known, hint


class Late(Exception):
    """The time was over before a model was compiled."""


def encode(model: Model, literals: Literals, start: CellValues, budget: Budget | None = None) -> Encoding:
    """Return the CP-SAT model over some candidate placements.

    Parameters
    ----------
    start : CellValues
        A good assignment: where curved cells get their first secants.
    budget : Budget, optional
        What it may take; between two cells somebody looks.

    Raises
    ------
    Late
    """
    return Encoder(model, literals, start).run(budget)


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
        self.candidates = literals
        self.bulk = BulkModel()
        self.out = Encoding(model, literals, self.algebra, self.bulk)
        self.rows: dict[int, Rows] = {}
        self.sides = sides_of(model)
        self.consumers = consumers_of(model, self.sides)

    def run(self, budget: Budget | None = None) -> Encoding:
        """Return the encoding; raise `Late` where a budget is over before."""
        self.bulk.add_booleans(self.algebra.literals.count)
        self.bulk.exactly_one(self.algebra.literals.start)
        for cells in self.model.graph:
            if budget is not None and budget.over:
                raise Late
            if self.sides.get(cells.index):
                self.rows[cells.index] = self._settled(cells, self._encode(cells))
        for hard in self.model.hard:
            self._demand(self.rows[hard.cells.index], hard.bound)
        for position in self.model.tuple_positions:
            self.out.objectives.append(self.rows[position.objective.index])
            self.out.exact.append(Unrounded(self.model, position.objective, self.rows, self.algebra).objective())
        self._check_widths()
        return self.out

    def _check_widths(self) -> None:
        """Refuse what CP-SAT would refuse, naming who asks for the widest variables."""
        low, high = self.algebra.auxiliary_bounds()
        width = high - low
        if width.astype(np.float64).sum() < _WIDTHS / 2 or int(width.sum(dtype=object)) <= _WIDTHS:
            return
        widest = int(np.argmax(width)) + self.candidates.count
        cells = next((a.cells for a in self.out.auxiliaries if a.first <= widest < a.first + len(a.key)), None)
        asking = [(goal.name, [goal.cells]) for goal in self.model.goals]
        asking += [(known.name, [each.cells for each in known.components]) for known in self.model.constraints]
        names = [f"'{name}'" for name, made in asking if cells and any(_reads(each, cells) for each in made)]
        who = " and ".join(names) or "what is asked for"
        message = (
            f"the amounts of {who} are too large for CP-SAT in the unit that they need: give them in coarser steps"
        )
        raise InputError([Fault("too-large", message)])

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

    def exactly(self, cells: Cells) -> bool:
        """Whether rows are what cells are, and not at most that."""
        return True

    def as_variables(self, cells: Cells, rows: Rows, what: str = "value") -> Rows:
        """Return the rows as one variable each, tied to what they are."""
        long = rows.lengths > 1
        if not long.any():
            return rows
        picked = np.flatnonzero(long)
        part = take_rows(rows, picked)
        variables = self.new(cells, rows.key[picked], part.low, part.high, what)
        offset = part.const_at_key
        least = -offset if self.exactly(cells) else np.full(len(picked), -INFINITE)
        self.bulk.linear(part, least, -offset, extra=variables, factor=np.full(len(picked), -1))
        key = rows.key[picked]
        single = single_rows(
            (rows.groups, rows.items),
            key,
            variables,
            with_values(rows.const, key, np.zeros(len(key), np.int64)),
            part.low,
            part.high,
        )
        return merge_rows(single, take_rows(rows, np.flatnonzero(~long)))

    # -- cells ------------------------------------------------------------------------------------------------------

    def _settled(self, cells: Cells, rows: Rows) -> Rows:
        """Return rows within the bounds that the model knows of the cells.

        Where these are much tighter than the sum of the variables' own, the row becomes a variable with the tight
        domain: whatever reads it then cannot overflow.
        """
        low = np.maximum(rows.low, cells.low) if self.exactly(cells) else rows.low
        high = np.minimum(rows.high, cells.high)
        loose = bool(len(rows.key)) and bool((rows.high - rows.low > 2 * (high - low)).any())
        rows = replace(rows, low=low, high=high)
        return self.as_variables(cells, rows) if loose else rows

    def tally(self, tally: Tally) -> Rows:
        """Return the rows of a tally."""
        return self.algebra.tally(tally)

    def _encode(self, cells: Cells) -> Rows:
        if isinstance(cells, Tally):
            rows = self.tally(cells)
            shared = self.consumers[cells.index] > 1 and cells.largest < _WIDE
            return self.as_variables(cells, rows) if shared else rows
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
        if self.algebra.magnitude(x) > _ROOM:
            parts = [
                (self.as_variables(term.cells, rows), coef)
                for term, (rows, coef) in zip(cells.terms, parts, strict=True)
            ]
            x = self.algebra.combine(cells.groups, cells.items, parts, cells.const)
        if cells.function is Function.IDENTITY:
            return self.as_variables(cells, x) if self.consumers[cells.index] > 1 and len(x.var) > 4 * len(x.key) else x
        const = apply_function(cells, x.const)
        if not len(x.key):
            return constant_rows(const)
        if cells.function is Function.MOD:
            return encode_mod(self, cells, x, const)
        return encode_bend(self, cells, x, const)

    def _sum(self, cells: Reduce) -> Rows:
        rows = self.rows[cells.source.index]
        weighted = apply(np.multiply, rows.groups, rows.items, rows.const, cells.coef)
        const = reduce_sum(weighted, cells.groups, cells.items, cells.group_map, cells.item_map)
        out = self.algebra.regroup(rows, cells.groups, cells.items, cells.group_map, cells.item_map, cells.coef, const)
        if self.sides[cells.index] & BELOW and len(out.key):
            bound = averaging_bound(self.model, self.candidates, cells)
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
            return constant_rows(const)
        rows = self.as_variables(source, rows)
        to = targets(cells)
        return self._pick(cells, [(rows, np.flatnonzero(to >= 0), to[to >= 0])], const, largest)

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
        for rows, source_keys, output_keys in parts:
            values = rows.const.at(source_keys // rows.items, source_keys % rows.items).tolist()
            position = {key: row for row, key in enumerate(rows.key.tolist())}
            for key, target, value in zip(source_keys.tolist(), output_keys.tolist(), values, strict=True):
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
        most = bound.at(*broadcast_index(rows, bound)).astype(np.int64)
        binding = np.flatnonzero(rows.high > most)
        part = take_rows(rows, binding)
        self.bulk.linear(part, np.full(len(binding), -INFINITE), most[binding] - part.const_at_key)
