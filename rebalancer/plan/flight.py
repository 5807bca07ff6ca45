"""What cells can be while objects are in flight, and when a constraint has to hold.

An object in flight counts, cell by cell, where that makes the cell worse: at both ends for what is bounded from above
(once, where both ends are the same scope item), at neither for what is bounded from below. `Flight` bounds every cell
from both sides on that assumption, by interval arithmetic over the graph of the model: exact for a tally and for
whatever rises or falls with all of its inputs, on the safe side elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import (
    Cells,
    CellValues,
    Extremum,
    Family,
    Function,
    Gather,
    Gathering,
    Grid,
    HardCells,
    Map,
    Product,
    Ratio,
    Reduce,
    Tally,
    evaluate_cells,
)
from rebalancer.model.evaluate import Value, add_up, apply_function
from rebalancer.model.grid import DENSE_CELLS, apply
from rebalancer.problem import Problem
from rebalancer.problem.numbers import IntArray

#: Which of a tally's objects: all, those that are not at home, or those that are.
Share: TypeAlias = Literal["all", "away", "home"]
Bounds: TypeAlias = tuple[Grid, Grid]

ALWAYS, BETWEEN_WAVES, AT_END = "always", "between_waves", "at_end"


@dataclass(frozen=True, eq=False)
class Leaf:
    """One addend of a linear form that objects enter independently of the others: a tally, or a part of one."""

    tally: Tally
    share: Share
    coef: Grid

    def counts(self, who: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the objects ``who`` count in the items where they are."""
        inside: NDArray[np.bool_] = item >= 0
        if self.share == "all" and self.tally.family is Family.AFTER:
            return inside
        at_home: NDArray[np.bool_] = item == self.tally.home[who]
        inside &= ~at_home if self.share == "away" else at_home
        return inside


def leaves(cells: Map) -> tuple[list[Leaf], list[tuple[Cells, Grid]]]:
    """Split a linear form into leaves and other terms.

    Where objects finally are, and where they are still at home, are two tallies of the same placements: what is away
    and what is at home are independent, so the form is rewritten over those. DURING then loses nothing where an object
    has not left yet.
    """
    tallies = [(term.cells, term.coef) for term in cells.terms if isinstance(term.cells, Tally)]
    others = [(term.cells, term.coef) for term in cells.terms if not isinstance(term.cells, Tally)]
    out: list[Leaf] = []
    paired: set[int] = set()
    for tally, coef in tallies:
        if tally.family is not Family.STAYED:
            continue
        twin = next((known for known in tallies if _same_placements(known[0], tally)), None)
        if twin is not None and tally.index not in paired and twin[0].index not in paired:
            paired |= {tally.index, twin[0].index}
            both = apply(np.add, cells.groups, cells.items, coef, twin[1])
            out += [Leaf(twin[0], "away", twin[1]), Leaf(twin[0], "home", both)]
    out += [Leaf(tally, "all", coef) for tally, coef in tallies if tally.index not in paired]
    return out, others


def _same_placements(after: Tally, stayed: Tally) -> bool:
    return (
        after.family is Family.AFTER
        and (after.groups, after.items, after.unit) == (stayed.groups, stayed.items, stayed.unit)
        and after.dynamic is stayed.dynamic
        and all(
            left is right or np.array_equal(left, right)
            for left, right in (
                (after.member, stayed.member),
                (after.group, stayed.group),
                (after.weight, stayed.weight),
                (after.item_of, stayed.item_of),
                (after.home, stayed.home),
            )
        )
    )


# -- when a constraint has to hold ------------------------------------------------------------------------------------


def moment(stated: str | None, hard: HardCells, known: dict[int, tuple[bool, bool]]) -> str:
    """Return when hard cells have to hold: as stated, or always where every object pushes them the same way."""
    if stated is not None:
        return stated
    rises, falls = direction(hard.cells, known)
    return ALWAYS if rises or falls else BETWEEN_WAVES


def direction(cells: Cells, known: dict[int, tuple[bool, bool]]) -> tuple[bool, bool]:
    """Return whether cells never fall, and whether they never rise, as objects are added; ``known`` is a cache."""
    stack = [cells]
    while stack:
        top = stack[-1]
        missing = [source for source in top.inputs if source.index not in known]
        if missing and top.index not in known:
            stack.extend(missing)
            continue
        known.setdefault(top.index, _direction(top, known))
        stack.pop()
    return known[cells.index]


def _direction(cells: Cells, known: dict[int, tuple[bool, bool]]) -> tuple[bool, bool]:
    if isinstance(cells, Tally):
        return _signs(cells)
    if isinstance(cells, Map):
        inner, others = leaves(cells)
        parts = [_turned(_signs(leaf.tally), leaf.coef) for leaf in inner]
        parts += [_turned(known[source.index], coef) for source, coef in others]
        together = all(part[0] for part in parts), all(part[1] for part in parts)
        if cells.function is Function.MOD or (cells.function is Function.SQUARE and cells.x_low < 0):
            return together if together == (True, True) else (False, False)
        return together
    sources = [known[source.index] for source in cells.inputs]
    together = all(part[0] for part in sources), all(part[1] for part in sources)
    if isinstance(cells, Reduce) and cells.how is Gathering.SUM:
        return _turned(sources[0], cells.coef)
    if isinstance(cells, Product) and min(cells.left.low, cells.right.low) < 0:
        return together if together == (True, True) else (False, False)
    if isinstance(cells, Ratio):
        (up, down), (under_up, under_down) = sources
        return (up and under_down, down and under_up) if cells.over.low >= 0 else (False, False)
    return together


def _signs(tally: Tally) -> tuple[bool, bool]:
    weights = [tally.weight] if tally.dynamic is None else [tally.dynamic.value, np.array([tally.dynamic.default])]
    return (
        all(int(part.min(initial=0)) >= 0 for part in weights),
        all(int(part.max(initial=0)) <= 0 for part in weights),
    )


def _turned(part: tuple[bool, bool], coef: Grid) -> tuple[bool, bool]:
    values = [array for array in (coef.table, coef.values) if array.size]
    up = all(array.min() >= 0 for array in values)
    down = all(array.max() <= 0 for array in values)
    rises, falls = part
    return (rises and up) or (falls and down) or (up and down), (falls and up) or (rises and down) or (up and down)


# -- bounds in flight -------------------------------------------------------------------------------------------------


@dataclass
class Flight:
    """Bounds of cells while some objects are on their way.

    Parameters
    ----------
    problem : Problem
    assignment : int32 array, one per object
        Where every object is; those in flight: where they come from.
    moving : int64 array
        The objects in flight, each once.
    destination : int32 array of the same length
    counted : callable, optional
        Tells the bounds of a leaf; they are counted from the assignment where left out.
    """

    problem: Problem
    assignment: NDArray[np.int32]
    moving: NDArray[np.int64]
    destination: NDArray[np.int32]
    counted: Callable[[Leaf], Bounds] | None = None
    _known: dict[int, Bounds] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note who flies where."""
        self._goes = self.assignment.copy()
        self._goes[self.moving] = self.destination
        self._flies = np.zeros(len(self.assignment), np.bool_)
        self._flies[self.moving] = True

    def bounds(self, cells: Cells) -> Bounds:
        """Return the least and the most that cells can be."""
        stack = [cells]
        while stack:
            top = stack[-1]
            missing = [source for source in top.inputs if source.index not in self._known]
            if missing and top.index not in self._known:
                stack.extend(missing)
                continue
            if top.index not in self._known:
                self._known[top.index] = self._bounds(top)
            stack.pop()
        return self._known[cells.index]

    def _bounds(self, cells: Cells) -> Bounds:
        if isinstance(cells, Tally):
            return self._leaf(Leaf(cells, "all", Grid.constant(1, 1, 1)))
        if isinstance(cells, Map):
            return self._map(cells)
        if isinstance(cells, Reduce) and cells.how is Gathering.SUM:
            return self._sum(cells)
        if isinstance(cells, Reduce | Gather | Extremum):  # rise with every input
            low, high = (self._at_side(cells, side) for side in (0, 1))
            return low, high
        if isinstance(cells, Product | Ratio):
            return self._corners(cells)
        raise TypeError(f"unknown cells {type(cells).__name__}")

    def _at_side(self, cells: Cells, side: int) -> Grid:
        values = CellValues(self.problem, self.assignment)
        values.known = {source.index: Value(self._known[source.index][side]) for source in cells.inputs}
        return evaluate_cells(values, cells).integers

    def _corners(self, cells: Product | Ratio) -> Bounds:
        first, second = (self._known[source.index] for source in cells.inputs)
        corners = []
        for left in first:
            for right in second:
                values = CellValues(self.problem, self.assignment)
                pair = zip(cells.inputs, (left, right), strict=True)
                values.known = {source.index: Value(grid) for source, grid in pair}
                corners.append(evaluate_cells(values, cells).integers)
        return _fold(np.minimum, cells, corners), _fold(np.maximum, cells, corners)

    def _sum(self, cells: Reduce) -> Bounds:
        low, high = self._known[cells.source.index]
        shape = (cells.source.groups, cells.source.items)
        worst = [apply(_scaled(pick), *shape, cells.coef, low, high) for pick in (np.minimum, np.maximum)]
        out = []
        for grid in worst:
            # the coefficients are in the worst already
            plain = Reduce(**{**vars(cells), "coef": Grid.constant(1, 1, 1), "error": cells.error * 0})
            values = CellValues(self.problem, self.assignment)
            values.known = {cells.source.index: Value(grid)}
            out.append(evaluate_cells(values, plain).integers)
        return out[0], out[1]

    def _map(self, cells: Map) -> Bounds:
        inner, others = leaves(cells)
        shape = (cells.groups, cells.items)
        low = high = cells.const
        pairs = [(leaf.coef, self._leaf(leaf)) for leaf in inner]
        pairs += [(coef, self._known[source.index]) for source, coef in others]
        for coef, (least, most) in pairs:
            low = apply(_added(np.minimum), *shape, low, coef, least, most)
            high = apply(_added(np.maximum), *shape, high, coef, least, most)
        if not pairs:
            low = high = apply(lambda v: v, *shape, cells.const)
        return self._function(cells, low, high)

    def _function(self, cells: Map, low: Grid, high: Grid) -> Bounds:
        first, last = apply_function(cells, low), apply_function(cells, high)
        shape = (cells.groups, cells.items)
        if cells.function is Function.SQUARE:
            least = apply(lambda a, b, c, d: np.where((a <= 0) & (b >= 0), 0, np.minimum(c, d)), *shape, low, high,
                          first, last)  # fmt: skip
            return least, _fold(np.maximum, cells, [first, last])
        if cells.function is Function.MOD:
            least = apply(lambda a, b, c: np.where(a == b, c, 0), *shape, low, high, first)
            most = apply(lambda a, b, c, d: np.where(a == b, c, d - 1), *shape, low, high, first, cells.divisor)
            return least, most
        return first, last

    def _leaf(self, leaf: Leaf) -> Bounds:
        """Return the bounds of what a leaf counts, without its coefficient."""
        if self.counted is not None:
            return self.counted(leaf)
        tally = leaf.tally
        member = tally.member.astype(np.int64)

        def contribution(rows: NDArray[np.int64], place: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
            item = tally.item_of[place]
            weight = tally.weight_at(rows, place.astype(np.int64), len(self.problem.objects))
            return item.astype(np.int64), np.where(leaf.counts(member[rows], item), weight, 0)

        item, weight = contribution(np.arange(len(member)), self.assignment[member])
        flies = np.flatnonzero(self._flies[member])  # few: the others are at one end only
        other, arriving = contribution(flies, self._goes[member[flies]])
        here, same = weight[flies], item[flies] == other
        most, least = weight.copy(), weight.copy()
        most[flies] = np.maximum(np.where(same, np.maximum(here, arriving), here), 0)
        least[flies] = np.minimum(np.where(same, np.minimum(here, arriving), here), 0)
        group = tally.group[flies[~same]]
        key = np.concatenate([tally.group * tally.items + item, group * tally.items + other[~same]])
        highs = [most, np.maximum(arriving[~same], 0)]
        lows = [least, np.minimum(arriving[~same], 0)]
        return _grid(tally, key, np.concatenate(lows)), _grid(tally, key, np.concatenate(highs))


def _grid(tally: Tally, key: NDArray[np.int64], weight: NDArray[np.int64]) -> Grid:
    kept = weight != 0  # what is in no item weighs nothing
    key, weight = key[kept], weight[kept]
    size = tally.groups * tally.items
    if size <= DENSE_CELLS:
        return Grid(tally.groups, tally.items, add_up(key, weight, size).reshape(tally.groups, tally.items))
    keys, slot = np.unique(key, return_inverse=True)
    return Grid(tally.groups, tally.items, np.zeros((1, 1), np.int64), None, keys, add_up(slot, weight, len(keys)))


def _fold(pick: Callable[..., Any], cells: Cells, grids: list[Grid]) -> Grid:
    out = grids[0]
    for grid in grids[1:]:
        out = apply(pick, cells.groups, cells.items, out, grid)
    return out


def _scaled(pick: Callable[..., Any]) -> Callable[..., Any]:
    return lambda coef, least, most: pick(coef * least, coef * most)


def _added(pick: Callable[..., Any]) -> Callable[..., Any]:
    return lambda total, coef, least, most: total + pick(coef * least, coef * most)
