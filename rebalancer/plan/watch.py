"""Keeps count of the cells of a constraint while a plan is carried out on paper.

Most cells depend on the counts at their own place alone (what is on a host, how many of a job are in a rack). Of those
only the ones that a wave touches are counted anew, so that a thousand small waves over a large fleet are verified as
fast as one that moves everything. All other cells are evaluated as a whole, wave by wave.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, CellValues, Function, Gather, Grid, Map, Model, Tally, evaluate_cells
from rebalancer.model.evaluate import apply_function
from rebalancer.model.grid import DENSE_CELLS
from rebalancer.plan.checks import Demand
from rebalancer.plan.flight import Flight, Leaf, leaves
from rebalancer.problem.numbers import IntArray

#: Places (``group * items + item``) and the amounts there.
Found: TypeAlias = tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class Flights:
    """What is about to fly: objects, and where they come from and go to, as container indices."""

    who: IntArray
    source: NDArray[np.int32]
    destination: NDArray[np.int32]


class Watch:
    """The cells of a demand, evaluated as a whole.

    Parameters
    ----------
    model : Model
    demand : Demand
    start : int32 array, one per object
    """

    def __init__(self, model: Model, demand: Demand, start: NDArray[np.int32]) -> None:
        self.demand = demand
        #: Places that were above 0 before objects arrived, and are not since; only where not all are looked at.
        self.fallen: list[int] = []
        self._model = model
        self._now = start.copy()
        self._flights: Flights | None = None

    def flight(self, flights: Flights) -> Found:
        """Let objects start; return the places that are above 0 with them on their way, and by how much."""
        self._flights = flights
        flight = Flight(self._model.problem, self._now, flights.who, flights.destination)
        return _positive(flight.bounds(self.demand.hard.cells)[1])

    def landed(self) -> Found:
        """Let them arrive; return the places that are above 0 then."""
        assert self._flights is not None
        self._now[self._flights.who] = self._flights.destination
        return _positive(self._evaluated())

    def standing(self) -> Found:
        """Return all places that are above 0 now."""
        return _positive(self._evaluated())

    def disagrees(self, now: NDArray[np.int32]) -> bool:
        """Return whether the count differs from the model's own, at an assignment that the plan has reached."""
        return not np.array_equal(now, self._now)

    def _evaluated(self) -> Grid:
        return evaluate_cells(CellValues(self._model.problem, self._now), self.demand.hard.cells).integers


class LocalWatch(Watch):
    """The cells of a demand, counted where something changes.

    Parameters
    ----------
    model, demand, start
        As for `Watch`.
    flights : Flights
        Everything that will fly.
    """

    def __init__(self, model: Model, demand: Demand, start: NDArray[np.int32], flights: Flights) -> None:
        super().__init__(model, demand, start)
        self._counts: list[Count] = []
        self._root = self._node(demand.hard.cells, flights)
        self._touched: IntArray = np.empty(0, np.int64)
        self._ever: list[IntArray] = []
        self._standing = dict(zip(*(part.tolist() for part in _positive(self._evaluated())), strict=True))

    def flight(self, flights: Flights) -> Found:
        """Let objects start; return the places among those they touch that are above 0, and by how much."""
        self._flights = flights
        for count in self._counts:
            count.start(flights)
        self._touched = np.unique(np.concatenate([np.empty(0, np.int64), *self._root.touched()]))
        self._ever.append(self._touched)
        return _above_zero(self._touched, self._root.bounds(self._touched)[1])

    def landed(self) -> Found:
        """Let them arrive; return the places among those they touch that are above 0 then."""
        assert self._flights is not None
        self._now[self._flights.who] = self._flights.destination
        for count in self._counts:
            count.land()
        level = self._root.bounds(self._touched)[1]
        self.fallen = [place for place in self._touched[level <= 0].tolist() if place in self._standing]
        for place in self.fallen:
            del self._standing[place]
        found = _above_zero(self._touched, level)
        self._standing.update(zip(*(part.tolist() for part in found), strict=True))
        return found

    def standing(self) -> Found:
        """Return all places that are above 0 now."""
        return np.array(list(self._standing), np.int64), np.array(list(self._standing.values()), np.int64)

    def disagrees(self, now: NDArray[np.int32]) -> bool:
        """Return whether the counts differ from the model's own graph somewhere."""
        true = self._evaluated()
        places = np.unique(np.concatenate([_positive(true)[0], *self._ever]))
        items = max(1, self.demand.hard.cells.items)
        level = self._root.bounds(places)[1]
        return super().disagrees(now) or not np.array_equal(true.at(places // items, places % items), level)

    def _node(self, cells: Cells, flights: Flights) -> _Node:
        if isinstance(cells, Gather):
            return _Picked(cells, self._node(cells.source, flights))
        if isinstance(cells, Tally):
            leaf = Leaf(cells, "all", Grid.constant(1, 1, 1))
            return _Counted(self._counted(leaf, flights))
        assert isinstance(cells, Map)
        inner, others = leaves(cells)
        parts = [(leaf.coef, _Counted(self._counted(leaf, flights))) for leaf in inner]
        return _Formed(cells, [*parts, *((coef, self._node(source, flights)) for source, coef in others)])

    def _counted(self, leaf: Leaf, flights: Flights) -> Count:
        count = Count(leaf, self._now, flights)
        self._counts.append(count)
        return count


def watches(
    model: Model, demands: list[Demand], start: NDArray[np.int32], flights: Flights, whole: bool = False
) -> Iterator[Watch]:
    """Yield who keeps count of each demand, at ``start``.

    Parameters
    ----------
    flights : Flights
        Everything that will fly.
    whole : bool
        Whether to evaluate all cells of all demands every time.
    """
    for demand in demands:
        local = not whole and _is_local(demand.hard.cells)
        yield LocalWatch(model, demand, start, flights) if local else Watch(model, demand, start)


def _is_local(cells: Cells) -> bool:
    """Return whether each cell depends on counts at one place alone, and rises or falls with all of them."""
    if isinstance(cells, Tally):
        return True
    if isinstance(cells, Gather):
        keys = cells.group * cells.source.items + cells.item
        return len(np.unique(keys)) == len(keys) and _is_local(cells.source)
    if not isinstance(cells, Map) or cells.function in (Function.SQUARE, Function.MOD):
        return False
    shape = cells.groups, cells.items
    return all((source.groups, source.items) == shape and _is_local(source) for source in cells.inputs)


def _positive(grid: Grid) -> Found:
    group, item = grid.where(lambda v: v > 0)
    return group * grid.items + item, grid.at(group, item)


def _above_zero(places: IntArray, amounts: IntArray) -> Found:
    kept = amounts > 0
    return places[kept], amounts[kept]


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
        self._first = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=len(start)))]).astype(np.int64)
        self._rows = np.argsort(member, kind="stable")
        place, weight = self._at(np.arange(len(member)), start[member])
        self._keys: IntArray | None = None  # None: every place has its slot
        size = leaf.tally.groups * leaf.tally.items
        if size > DENSE_CELLS:
            rows, owner = self._memberships(flights.who)
            ends = [self._at(rows, end[owner])[0] for end in (flights.source, flights.destination)]
            self._keys = np.unique(np.concatenate([place, *ends]))
            self._keys = self._keys[self._keys >= 0]
            size = len(self._keys)
        self._level = np.zeros(size, np.int64)
        self._add(place, weight)
        self.touched: IntArray = np.empty(0, np.int64)
        self._low = self._high = np.empty(0, np.int64)
        self._change: tuple[Found, Found] | None = None

    def _memberships(self, who: IntArray) -> tuple[IntArray, IntArray]:
        """Return the memberships of objects, and whose each is, as a position in ``who``."""
        often = self._first[who + 1] - self._first[who]
        owner = np.repeat(np.arange(len(who)), often)
        offset = np.arange(len(owner)) - np.repeat(np.cumsum(often) - often, often)
        return self._rows[np.repeat(self._first[who], often) + offset], owner

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
        rows, owner = self._memberships(flights.who)
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

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        return self.count.bounds(places)


@dataclass(frozen=True, eq=False)
class _Formed:
    """A map over nodes of its own shape."""

    cells: Map
    parts: list[tuple[Grid, _Node]]

    def touched(self) -> list[IntArray]:
        return [places for _, part in self.parts for places in part.touched()]

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        at = places // max(1, self.cells.items), places % max(1, self.cells.items)
        low = high = _read(self.cells.const, at)
        for coef, part in self.parts:
            factor = _read(coef, at)
            ends = [factor * end for end in part.bounds(places)]
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
        row = replace(self.cells, divisor=Grid(1, len(places), _read(self.cells.divisor, at)[None, :]))
        return self._applied(row, low), self._applied(row, high)

    @staticmethod
    def _applied(row: Map, x: IntArray) -> IntArray:
        return np.asarray(apply_function(row, Grid(1, len(x), x[None, :])).table[0])


@dataclass(frozen=True, eq=False)
class _Picked:
    """Chosen cells of a node in a row, each chosen once."""

    cells: Gather
    source: _Node
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

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        return self.source.bounds(self._key[places])


def _read(grid: Grid, at: tuple[IntArray, IntArray]) -> IntArray:
    """Return the values of a grid, repeated along an axis where it has length 1."""
    sizes = grid.groups, grid.items
    group, item = (part if size > 1 else np.zeros_like(part) for part, size in zip(at, sizes, strict=True))
    return np.broadcast_to(np.asarray(grid.at(group, item), np.int64), at[0].shape)


_Node: TypeAlias = _Counted | _Formed | _Picked
