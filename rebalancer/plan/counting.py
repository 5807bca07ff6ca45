"""Counts of what cells depend on, kept while objects fly on paper, and what cells make of them place by place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, Extremum, Function, Gather, Gathering, Grid, Map, Reduce, Tally
from rebalancer.model.evaluate import add_up, apply_function
from rebalancer.model.grid import DENSE_CELLS, reduce_extremum
from rebalancer.model.order import order_statistic, reduced
from rebalancer.plan.flight import Leaf, leaves
from rebalancer.problem.membership import ByObject, spans
from rebalancer.problem.numbers import IntArray

#: Places (``group * items + item``) and the amounts there.
Found: TypeAlias = tuple[IntArray, IntArray]
#: What is made of so small a part of the cells each, 1 of this, is put together anew where something changes …
_FEW = 16
#: … from so many at a time, about.
_BLOCK = 1_000_000


@dataclass(frozen=True, eq=False)
class Flights:
    """What is about to fly: objects, and where they come from and go to, as container indices."""

    who: IntArray
    source: NDArray[np.int32]
    destination: NDArray[np.int32]


def is_local(cells: Cells) -> bool:
    """Return whether each cell depends on counts at few places, and rises or falls with all of them."""
    if isinstance(cells, Tally):
        return True
    if isinstance(cells, Gather):
        keys = cells.group * cells.source.items + cells.item
        return len(np.unique(keys)) == len(keys) and is_local(cells.source)
    if isinstance(cells, Reduce):
        size = cells.source.groups * cells.source.items
        few = all(array.size for array in reduced(cells)) and size <= DENSE_CELLS and _most_inputs(cells) * _FEW <= size
        return few and is_local(cells.source)
    if isinstance(cells, Map) and cells.function in (Function.SQUARE, Function.MOD):
        return False
    shape = cells.groups, cells.items
    return isinstance(cells, Map | Extremum) and all(
        (source.groups, source.items) == shape and is_local(source) for source in cells.inputs
    )


def _most_inputs(cells: Reduce) -> int:
    """Return how many cells one is made of, at most."""
    often = [int(np.bincount(part[part >= 0], minlength=1).max()) for part in reduced(cells)]
    return often[0] * often[1]


def node_of(cells: Cells, count: Callable[[Leaf], Count]) -> Node:
    """Return what tells the bounds of cells that are local, with what keeps count of their leaves."""
    if isinstance(cells, Gather):
        return _Picked(cells, node_of(cells.source, count))
    if isinstance(cells, Tally):
        return _Counted(count(Leaf(cells, "all", Grid.constant(1, 1, 1))))
    if isinstance(cells, Extremum):
        return _Best(cells, [node_of(source, count) for source in cells.sources])
    if isinstance(cells, Reduce):
        return _Reduced(cells, node_of(cells.source, count))
    assert isinstance(cells, Map)
    inner, others = leaves(cells)
    parts = [(leaf.coef, _Counted(count(leaf))) for leaf in inner]
    return _Formed(cells, [*parts, *((coef, node_of(source, count)) for source, coef in others)])


class Count:
    """What a leaf counts at every place that something will ever touch, and what the objects in flight make of it.

    Parameters
    ----------
    leaf : Leaf
    start : int32 array, one per object
    flights : Flights
        Everything that will fly.
    """

    def __init__(self, leaf: Leaf, start: NDArray[np.int32], flights: Flights) -> None:
        self._leaf = leaf
        self._objects = len(start)
        member = leaf.tally.member
        self._by_object = ByObject(member)
        place, weight = self._at(np.arange(len(member)), start[member])
        self._keys: IntArray | None = None  # None: every place has its slot
        size = leaf.tally.groups * leaf.tally.items
        if size > DENSE_CELLS:
            rows, owner = self._by_object.of(flights.who)
            ends = [self._at(rows, end[owner])[0] for end in (flights.source, flights.destination)]
            self._keys = np.unique(np.concatenate([place, *ends]))
            self._keys = self._keys[self._keys >= 0]
            size = len(self._keys)
        self._level = np.zeros(size, np.int64)
        self._add(place, weight)
        self.touched: IntArray = np.empty(0, np.int64)
        self._low = self._high = np.empty(0, np.int64)
        self._change: tuple[Found, Found] | None = None

    def _at(self, rows: IntArray, container: NDArray[np.int32]) -> Found:
        """Return place and weight of memberships whose objects are in containers; place -1 where none counts."""
        tally = self._leaf.tally
        item = tally.item_of[container]
        counts = self._leaf.counts(tally.member[rows], item)
        weight = np.where(counts, tally.weight_at(rows, container.astype(np.int64), self._objects), 0)
        return np.where(item >= 0, tally.group[rows] * tally.items + item, -1), weight

    def _add(self, place: IntArray, weight: IntArray) -> None:
        kept = place >= 0
        slot = place[kept] if self._keys is None else np.searchsorted(self._keys, place[kept])
        np.add.at(self._level, slot, weight[kept])

    def start(self, flights: Flights) -> None:
        """Let objects start: each counts, at either end, where that is worse."""
        rows, owner = self._by_object.of(flights.who)
        here, weight = self._at(rows, flights.source[owner])
        there, arriving = self._at(rows, flights.destination[owner])
        same = here == there
        low = np.minimum(np.where(same, np.minimum(weight, arriving), weight), 0) - weight
        high = np.maximum(np.where(same, np.maximum(weight, arriving), weight), 0) - weight
        away = ~same
        place = np.concatenate([here, there[away]])
        lows = np.concatenate([low, np.minimum(arriving[away], 0)])
        highs = np.concatenate([high, np.maximum(arriving[away], 0)])
        kept = place >= 0
        self.touched, slot = np.unique(place[kept], return_inverse=True)
        self._low, self._high = np.zeros(len(self.touched), np.int64), np.zeros(len(self.touched), np.int64)
        np.add.at(self._low, slot, lows[kept])
        np.add.at(self._high, slot, highs[kept])
        self._change = (here, -weight), (there, arriving)

    def land(self) -> None:
        """Let them arrive."""
        assert self._change is not None
        for place, weight in self._change:
            self._add(place, weight)
        self._low, self._high = np.zeros(len(self.touched), np.int64), np.zeros(len(self.touched), np.int64)

    def grids(self) -> tuple[Grid, Grid]:
        """Return the least and the most that is counted, everywhere."""
        tally = self._leaf.tally
        out = []
        for change in (self._low, self._high):
            level = self._level.copy()
            level[self.touched if self._keys is None else np.searchsorted(self._keys, self.touched)] += change
            out.append(
                Grid(tally.groups, tally.items, level.reshape(tally.groups, tally.items))
                if self._keys is None
                else Grid(tally.groups, tally.items, np.zeros((1, 1), np.int64), None, self._keys, level)
            )
        return out[0], out[1]

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return the least and the most that is counted at places."""
        level = self._level[places] if self._keys is None else _looked_up(self._keys, self._level, places)
        low, high = (_looked_up(self.touched, change, places) for change in (self._low, self._high))
        return level + low, level + high


def _looked_up(keys: IntArray, values: IntArray, wanted: IntArray) -> IntArray:
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    slot = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[slot] == wanted, values[slot], 0)


@dataclass(frozen=True, eq=False)
class _Counted:
    """A leaf."""

    count: Count

    def touched(self) -> list[IntArray]:
        return [self.count.touched]

    def reach(self, places: IntArray | None) -> list[Reached]:
        return [(self.count, places)]

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        return self.count.bounds(places)


@dataclass(frozen=True, eq=False)
class _Formed:
    """A map over nodes of its own shape."""

    cells: Map
    parts: list[tuple[Grid, Node]]

    def touched(self) -> list[IntArray]:
        return [places for _, part in self.parts for places in part.touched()]

    def reach(self, places: IntArray | None) -> list[Reached]:
        return [reached for _, part in self.parts for reached in part.reach(places)]

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        at = places // max(1, self.cells.items), places % max(1, self.cells.items)
        low = high = _read(self.cells.const, at)
        for coef, part in self.parts:
            factor = _read(coef, at)
            ends = [factor * end for end in part.bounds(places)]
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
        row = self.cells
        if row.divisor.size > 1:
            row = replace(row, divisor=Grid(1, len(places), _read(row.divisor, at)[None, :]))
        return self._applied(row, low), self._applied(row, high)

    @staticmethod
    def _applied(row: Map, x: IntArray) -> IntArray:
        return np.asarray(apply_function(row, Grid(1, len(x), x[None, :])).table[0])


@dataclass(frozen=True, eq=False)
class _Picked:
    """Chosen cells of a node in a row, each chosen once."""

    cells: Gather
    source: Node
    _key: IntArray = field(init=False)
    _order: IntArray = field(init=False)

    def __post_init__(self) -> None:
        key = self.cells.group * self.cells.source.items + self.cells.item
        object.__setattr__(self, "_order", np.argsort(key, kind="stable"))
        object.__setattr__(self, "_key", key)

    def touched(self) -> list[IntArray]:
        known = self._key[self._order]
        out = []
        for places in self.source.touched():
            slot = np.minimum(np.searchsorted(known, places), max(0, len(known) - 1))
            out.append(self._order[slot[known[slot] == places]] if len(known) else np.empty(0, np.int64))
        return out

    def reach(self, places: IntArray | None) -> list[Reached]:
        return self.source.reach(self._key if places is None else self._key[places])

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        return self.source.bounds(self._key[places])


@dataclass(frozen=True, eq=False)
class _Best:
    """The largest or smallest of nodes, place by place."""

    cells: Extremum
    parts: list[Node]

    def touched(self) -> list[IntArray]:
        return [places for part in self.parts for places in part.touched()]

    def reach(self, places: IntArray | None) -> list[Reached]:
        return [reached for part in self.parts for reached in part.reach(places)]

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        pick = np.maximum if self.cells.largest_of else np.minimum
        low, high = zip(*(part.bounds(places) for part in self.parts), strict=True)
        return np.asarray(pick.reduce(low)), np.asarray(pick.reduce(high))


@dataclass(frozen=True, eq=False)
class _Reduced:
    """What is made of few places of a node each: put together anew where one of them changes."""

    cells: Reduce
    source: Node
    _maps: list[tuple[IntArray, IntArray]] = field(init=False)  # by axis: inputs by output, and the outputs, sorted
    _most: int = field(init=False)

    def __post_init__(self) -> None:
        orders = [(part, np.argsort(part, kind="stable")) for part in reduced(self.cells)]
        object.__setattr__(self, "_maps", [(order, part[order]) for part, order in orders])
        object.__setattr__(self, "_most", _most_inputs(self.cells))

    def touched(self) -> list[IntArray]:
        to_group, to_item = reduced(self.cells)
        out = []
        for places in self.source.touched():
            group, item = to_group[places // self.cells.source.items], to_item[places % self.cells.source.items]
            out.append((group * self.cells.items + item)[(group >= 0) & (item >= 0)])
        return out

    def reach(self, places: IntArray | None) -> list[Reached]:
        return self.source.reach(None if places is None else self._inputs(places)[0])

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        blocks = np.array_split(places, 1 + len(places) * self._most // _BLOCK)
        low, high = zip(*(self._bounds(block) for block in blocks), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def _bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        inputs, owner = self._inputs(places)
        low, high = self.source.bounds(inputs)
        if self.cells.how is Gathering.SUM:
            items = self.cells.source.items
            factor = _read(self.cells.coef, (inputs // items, inputs % items))
            low, high = np.minimum(factor * low, factor * high), np.maximum(factor * low, factor * high)
        return self._together(low, owner, len(places)), self._together(high, owner, len(places))

    def _inputs(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return the places of the source that make up places, and which place each is of, as a position."""
        ends = [
            [np.searchsorted(outputs, wanted, side=side) for side in ("left", "right")]
            for (_, outputs), wanted in zip(self._maps, np.divmod(places, self.cells.items), strict=True)
        ]
        (groups, first_group), (items, first_item) = ((end - begin, begin) for begin, end in ends)
        number, owner = spans(np.zeros(len(places), np.int64), groups * items)
        group = self._maps[0][0][first_group[owner] + number // items[owner]]
        return group * self.cells.source.items + self._maps[1][0][first_item[owner] + number % items[owner]], owner

    def _together(self, values: IntArray, owner: IntArray, length: int) -> IntArray:
        cells = self.cells
        if cells.how is Gathering.SUM:
            return add_up(owner, values, length)
        row, maps = Grid(1, len(values), values[None, :]), (np.zeros(1, np.int64), owner)
        if cells.how in (Gathering.MAX, Gathering.MIN):
            out = reduce_extremum(row, 1, length, *maps, cells.how is Gathering.MAX, 0)
        else:
            out = order_statistic(row, maps, (1, length), cells.rank, cells.how is Gathering.ALL_BUT_LARGEST)
        return np.asarray(out.dense()[0])


def _read(grid: Grid, at: tuple[IntArray, IntArray]) -> IntArray:
    """Return the values of a grid, repeated along an axis where it has length 1."""
    if grid.table.size == 1 and not len(grid.keys):
        return np.full(len(at[0]), grid.table[0, 0], np.int64)
    sizes = grid.groups, grid.items
    group, item = (part if size > 1 else np.zeros_like(part) for part, size in zip(at, sizes, strict=True))
    return np.broadcast_to(np.asarray(grid.at(group, item), np.int64), at[0].shape)


Node: TypeAlias = _Counted | _Formed | _Picked | _Best | _Reduced
#: A count, and the places there; None: all.
Reached: TypeAlias = tuple[Count, IntArray | None]
