"""Keeps count of the cells of a constraint while a plan is carried out on paper.

Most cells depend on the counts at few places (what is on a host, how many of a job are in a rack). Of those only the
ones that a wave touches are counted anew, so that a thousand small waves over a large fleet are verified as fast as one
that moves everything. All other cells are evaluated as a whole, wave by wave, where something that they count moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, CellValues, Grid, Model, Tally, evaluate_cells
from rebalancer.model.evaluate import Value
from rebalancer.plan.checks import Demand
from rebalancer.plan.counting import Count, Flights, Found, Reached, is_local, node_of
from rebalancer.plan.flight import Flight, Leaf
from rebalancer.problem.membership import spans
from rebalancer.problem.numbers import IntArray


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
        local = [not whole and is_local(demand.hard.cells) for demand in demands]
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
        self._root = node_of(demand.hard.cells, ground.count)
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


def _positive(grid: Grid) -> Found:
    group, item = grid.where(lambda v: v > 0)
    return group * grid.items + item, grid.at(group, item)


def _above_zero(places: IntArray, amounts: IntArray) -> Found:
    kept = amounts > 0
    return places[kept], amounts[kept]
