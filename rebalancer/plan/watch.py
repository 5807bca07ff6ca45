"""Keeps count of the cells of a constraint while a plan is carried out on paper.

Most cells depend on the counts at their own place alone (what is on a host, how many of a job are in a rack). Of those
only the ones that a wave touches are counted anew, so that a thousand small waves over a large fleet are verified as
fast as one that moves everything. All other cells are evaluated as a whole, wave by wave.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, CellValues, Function, Gather, Grid, Map, Model, Tally, evaluate_cells
from rebalancer.model.evaluate import Value, apply_function
from rebalancer.model.grid import DENSE_CELLS
from rebalancer.plan.checks import Demand
from rebalancer.plan.flight import Flight, Leaf, leaves
from rebalancer.problem.membership import ByObject, spans
from rebalancer.problem.numbers import IntArray

#: Places (``group * items + item``) and the amounts there.
Found: TypeAlias = tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class Flights:
    """What is about to fly: objects, and where they come from and go to, as container indices."""

    who: IntArray
    source: NDArray[np.int32]
    destination: NDArray[np.int32]


class Ground:
    """Where objects are while a plan is carried out on paper, and what counts them there; all watches share it.

    Parameters
    ----------
    model : Model
    demands : list of Demand
    start : int32 array, one per object
    flights : Flights
        Everything that will fly.
    whole : bool
        Whether to evaluate all cells of all demands every time, from where the objects are.
    """

    def __init__(
        self, model: Model, demands: list[Demand], start: NDArray[np.int32], flights: Flights, whole: bool = False
    ) -> None:
        self.now = start.copy()
        self._model = model
        self._everything = flights
        self._counts: dict[tuple[int, str], Count] = {}
        self._aloft: Flights | None = None
        self._values = CellValues(model.problem, self.now)
        self._flight: Flight | None = None
        local = [not whole and _is_local(demand.hard.cells) for demand in demands]
        self.watches = [
            LocalWatch(self, demand) if near else Watch(self, demand)
            for demand, near in zip(demands, local, strict=True)
        ]
        far = [] if whole else [demand.hard.cells for demand, near in zip(demands, local, strict=True) if not near]
        self._below = _cells_below(far)
        for cells in self._below:
            if isinstance(cells, Tally):
                self.count(Leaf(cells, "all", Grid.constant(1, 1, 1)))
        kept = {cells.index for cells in self._below}
        self._values.known = {index: value for index, value in self._values.known.items() if index in kept}
        self._every = [number for number, near in enumerate(local) if not near] if whole else []
        self._readers = _Readers(self.watches)

    def start(self, flights: Flights) -> list[int]:
        """Let objects start; return the numbers of the watches of which something counts some of them."""
        self._aloft, self._flight = flights, None
        for count in self._counts.values():
            count.start(flights)
        self._touched = np.zeros(len(self._model.graph), np.bool_)
        for cells in self._below:  # inputs come first
            self._touched[cells.index] = (
                len(self._counts[cells.index, "all"].touched) > 0
                if isinstance(cells, Tally)
                else any(self._touched[source.index] for source in cells.inputs)
            )
        far = [
            number
            for number, watch in enumerate(self.watches)
            if type(watch) is Watch and self._touched[watch.demand.hard.cells.index]
        ]
        return self._every or sorted({*far, *self._readers.of_touched()})

    def land(self) -> None:
        """Let them arrive."""
        assert self._aloft is not None
        self.now[self._aloft.who] = self._aloft.destination
        for count in self._counts.values():
            count.land()
        if self._every:
            self._values = CellValues(self._model.problem, self.now)
        else:
            self._values = self._values.moved(self.now, self._touched)
            for cells in self._below:
                if isinstance(cells, Tally) and self._touched[cells.index]:
                    self._values.known[cells.index] = Value(self._counts[cells.index, "all"].grids()[0])
        self._aloft = self._flight = None

    def count(self, leaf: Leaf) -> Count:
        """Return what keeps count of a leaf."""
        key = leaf.tally.index, leaf.share
        if key not in self._counts:
            self._counts[key] = Count(leaf, self.now, self._everything)
            if self._aloft is not None:
                self._counts[key].start(self._aloft)
        return self._counts[key]

    def value(self, cells: Cells) -> Grid:
        """Return the integers of cells now."""
        return evaluate_cells(self._values, cells).integers

    def most(self, cells: Cells) -> Grid:
        """Return the most that cells can be while objects are on their way."""
        if self._flight is None:
            assert self._aloft is not None
            who, goes = self._aloft.who, self._aloft.destination
            counted = None if self._every else lambda leaf: self.count(leaf).grids()
            self._flight = Flight(self._model.problem, self.now, who, goes, counted)
        return self._flight.bounds(cells)[1]

    def disagreeing(self, now: NDArray[np.int32]) -> Watch | None:
        """Return a watch whose count differs from the model's own graph at an assignment that the plan has reached."""
        true = CellValues(self._model.problem, now)
        return next(
            (watch for watch in self.watches if watch.differs(evaluate_cells(true, watch.demand.hard.cells).integers)),
            None,
        )


class Watch:
    """The cells of a demand, evaluated as a whole.

    Parameters
    ----------
    ground : Ground
    demand : Demand
    """

    def __init__(self, ground: Ground, demand: Demand) -> None:
        self.demand = demand
        #: Places that were above 0 before objects arrived, and are not since.
        self.fallen: list[int] = []
        self._ground = ground
        self._standing = _listed(_positive(ground.value(demand.hard.cells)))

    def flight(self) -> Found:
        """Return the places that are above 0 with objects on their way, and by how much."""
        return _positive(self._ground.most(self.demand.hard.cells))

    def landed(self) -> Found:
        """Return the places that are above 0 once they have arrived."""
        found = _positive(self._ground.value(self.demand.hard.cells))
        before, self._standing = self._standing, _listed(found)
        self.fallen = [place for place in before if place not in self._standing]
        return found

    def standing(self) -> Found:
        """Return all places that are above 0 now."""
        return np.array(list(self._standing), np.int64), np.array(list(self._standing.values()), np.int64)

    def differs(self, true: Grid) -> bool:
        """Return whether the count differs from the cells' integers, evaluated anew."""
        return _listed(_positive(true)) != self._standing

    def reach(self) -> list[Reached]:
        """Return which counts the cells depend on, and on which of their places; None: on all."""
        return []


class LocalWatch(Watch):
    """The cells of a demand, counted where something changes."""

    def __init__(self, ground: Ground, demand: Demand) -> None:
        super().__init__(ground, demand)
        self._root = self._node(demand.hard.cells)
        self._touched: IntArray = np.empty(0, np.int64)
        self._ever: list[IntArray] = []

    def flight(self) -> Found:
        """Return the places among those that objects on their way touch that are above 0, and by how much."""
        self._touched = np.unique(np.concatenate([np.empty(0, np.int64), *self._root.touched()]))
        self._ever.append(self._touched)
        return _above_zero(self._touched, self._root.bounds(self._touched)[1])

    def landed(self) -> Found:
        """Return the places among those that they touched that are above 0 once they have arrived."""
        level = self._root.bounds(self._touched)[1]
        self.fallen = [place for place in self._touched[level <= 0].tolist() if place in self._standing]
        for place in self.fallen:
            del self._standing[place]
        found = _above_zero(self._touched, level)
        self._standing.update(_listed(found))
        return found

    def differs(self, true: Grid) -> bool:
        """Return whether the counts differ from the cells' integers somewhere where something has ever been."""
        places = np.unique(np.concatenate([_positive(true)[0], *self._ever]))
        items = max(1, self.demand.hard.cells.items)
        level = self._root.bounds(places)[1]
        return super().differs(true) or not np.array_equal(true.at(places // items, places % items), level)

    def reach(self) -> list[Reached]:
        """Return which counts the cells depend on, and on which of their places; None: on all."""
        return self._root.reach(None)

    def _node(self, cells: Cells) -> _Node:
        if isinstance(cells, Gather):
            return _Picked(cells, self._node(cells.source))
        if isinstance(cells, Tally):
            return _Counted(self._ground.count(Leaf(cells, "all", Grid.constant(1, 1, 1))))
        assert isinstance(cells, Map)
        inner, others = leaves(cells)
        parts = [(leaf.coef, _Counted(self._ground.count(leaf))) for leaf in inner]
        return _Formed(cells, [*parts, *((coef, self._node(source)) for source, coef in others)])


class _Readers:
    """Which watches depend on which places of which counts: of thousands of small rules, a wave concerns few."""

    def __init__(self, watches: list[Watch]) -> None:
        self._counts: dict[int, tuple[Count, list[int], list[IntArray], list[IntArray]]] = {}
        for number, watch in enumerate(watches):
            for count, places in watch.reach():
                _, everywhere, some, whose = self._counts.setdefault(id(count), (count, [], [], []))
                if places is None:
                    everywhere.append(number)
                else:
                    some.append(places)
                    whose.append(np.full(len(places), number))
        self._sorted: list[tuple[Count, list[int], IntArray, IntArray]] = []
        for count, everywhere, some, whose in self._counts.values():
            place, number_of = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (some, whose))
            order = np.argsort(place, kind="stable")
            self._sorted.append((count, everywhere, place[order], number_of[order]))

    def of_touched(self) -> set[int]:
        """Return the numbers of the watches that depend on a place that objects on their way touch."""
        out: set[int] = set()
        for count, everywhere, place, number_of in self._sorted:
            if len(count.touched):
                out.update(everywhere)
                begin, end = (np.searchsorted(place, count.touched, side=side) for side in ("left", "right"))
                out.update(number_of[spans(begin, end)[0]].tolist())
        return out


def _cells_below(roots: list[Cells]) -> list[Cells]:
    """Return cells and everything that they read, inputs first."""
    found: dict[int, Cells] = {}
    stack = list(roots)
    while stack:
        cells = stack.pop()
        if cells.index not in found:
            found[cells.index] = cells
            stack.extend(cells.inputs)
    return [found[index] for index in sorted(found)]


def _listed(found: Found) -> dict[int, int]:
    return dict(zip(found[0].tolist(), found[1].tolist(), strict=True))


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
    parts: list[tuple[Grid, _Node]]

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

    def reach(self, places: IntArray | None) -> list[Reached]:
        return self.source.reach(self._key if places is None else self._key[places])

    def bounds(self, places: IntArray) -> tuple[IntArray, IntArray]:
        return self.source.bounds(self._key[places])


def _read(grid: Grid, at: tuple[IntArray, IntArray]) -> IntArray:
    """Return the values of a grid, repeated along an axis where it has length 1."""
    if grid.table.size == 1 and not len(grid.keys):
        return np.full(len(at[0]), grid.table[0, 0], np.int64)
    sizes = grid.groups, grid.items
    group, item = (part if size > 1 else np.zeros_like(part) for part, size in zip(at, sizes, strict=True))
    return np.broadcast_to(np.asarray(grid.at(group, item), np.int64), at[0].shape)


_Node: TypeAlias = _Counted | _Formed | _Picked
#: A count, and the places there; None: all.
Reached: TypeAlias = tuple[Count, IntArray | None]
