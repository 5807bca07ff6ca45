"""What every leg takes while it is in flight and gives back when it has arrived, and how much of it there is.

An upper bound on a container's load, a lower bound on a job's presence and a cap on moves in flight are all the same
to a planner: a *resource* with some slack. A leg (one object's way from one place to another) takes slack when it
starts and gives some when it is done, and a set of legs may fly together iff no resource runs out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.plan.caps import CapCells
from rebalancer.plan.linear import Counter, LinearCells
from rebalancer.problem import Problem
from rebalancer.problem.numbers import IntArray

_Rows: TypeAlias = tuple[IntArray, IntArray, IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class Legs:
    """Ways of objects.

    Parameters
    ----------
    who : int64 array
    source, destination : int32 arrays of the same length
        Container indices, -1 for unplaced.
    """

    who: IntArray
    source: NDArray[np.int32]
    destination: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.who)

    def take(self, rows: NDArray[np.int64]) -> Legs:
        """Return some of the legs."""
        return Legs(self.who[rows], self.source[rows], self.destination[rows])


@dataclass(frozen=True, eq=False)
class Uses:
    """What legs take and give: entry ``i`` is of leg ``leg[i]`` and resource ``key[i]``; sorted by leg, then key."""

    leg: IntArray
    key: IntArray
    take: IntArray
    give: IntArray


class Ledger:
    """The resources of a plan. Keys number them without gaps between the kinds, but most are never touched.

    Parameters
    ----------
    problem : Problem
    linear : sequence of LinearCells
    caps : sequence of CapCells
    start, end : int32 arrays, one per object
        A cell that is broken at either may be as bad as that on the way.
    """

    def __init__(
        self,
        problem: Problem,
        linear: list[LinearCells],
        caps: list[CapCells],
        start: NDArray[np.int32],
        end: NDArray[np.int32],
    ) -> None:
        self.problem = problem
        self.linear = linear
        self.caps = caps
        self.counter = Counter(problem)
        sizes = [cells.size for cells in linear] + [cap.size for cap in caps]
        self.offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._start = [self._levels(cells, start) for cells in linear]
        self._end = [self._levels(cells, end) for cells in linear]

    def _levels(self, cells: LinearCells, assignment: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
        """Return the cells that hold something at an assignment, sorted, and how much."""
        who = np.arange(len(assignment))
        parts = [self.counter.count(path, cells.items, who, assignment) for path in cells.paths]
        return _added_up(
            np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int64),
            np.concatenate([part[2] for part in parts]) if parts else np.empty(0, np.int64),
        )

    def kind_of(self, key: int) -> tuple[LinearCells | CapCells, int]:
        """Return what a resource belongs to, and its cell there."""
        position = int(np.searchsorted(self.offset, key, side="right")) - 1
        kinds: list[LinearCells | CapCells] = [*self.linear, *self.caps]
        return kinds[position], int(key - self.offset[position])

    def slack(self, keys: IntArray) -> IntArray:
        """Return how much of resources there is at the start; never negative."""
        out = np.zeros(len(keys), np.int64)
        kind = np.searchsorted(self.offset, keys, side="right") - 1
        for position in np.unique(kind).tolist():
            mine = np.flatnonzero(kind == position)
            cell = keys[mine] - self.offset[position]
            if position >= len(self.linear):
                out[mine] = self.caps[position - len(self.linear)].limit(cell)
                continue
            cells = self.linear[position]
            base = cells.base(cell)
            before = base + _look_up(self._start[position], cell)
            after = base + _look_up(self._end[position], cell)
            out[mine] = np.maximum(np.maximum(before, after), cells.limit(cell)) - before
        return out

    def excess(self, keys: IntArray) -> IntArray:
        """Return by how much resources are overdrawn at the start, against what simply holds; 0 for caps."""
        out = np.zeros(len(keys), np.int64)
        kind = np.searchsorted(self.offset, keys, side="right") - 1
        for position in np.unique(kind[kind < len(self.linear)]).tolist():
            mine = np.flatnonzero(kind == position)
            cells, cell = self.linear[position], keys[mine] - self.offset[position]
            level = cells.base(cell) + _look_up(self._start[position], cell)
            out[mine] = np.maximum(level - cells.limit(cell), 0)
        return out

    def uses(self, legs: Legs) -> Uses:
        """Return what legs take and give; entries that do neither are left out."""
        found: list[_Rows] = []
        for position, cells in enumerate(self.linear):
            for path in cells.paths:
                before = self.counter.count(path, cells.items, legs.who, legs.source)
                after = self.counter.count(path, cells.items, legs.who, legs.destination)
                found.append(_flight(before, after, int(self.offset[position])))
        for position, cap in enumerate(self.caps):
            leg, cell, amount = cap.count(legs.who, legs.source, legs.destination)
            found.append((leg, cell + self.offset[len(self.linear) + position], amount, amount))
        if not found:
            empty = np.empty(0, np.int64)
            return Uses(empty, empty, empty, empty)
        leg, key, take, give = (np.concatenate([part[column] for part in found]) for column in range(4))
        order = np.lexsort((key, leg))
        leg, key, take, give = leg[order], key[order], take[order], give[order]
        first = np.flatnonzero(np.concatenate([[True], (leg[1:] != leg[:-1]) | (key[1:] != key[:-1])]))
        if not len(leg):
            return Uses(leg, key, take, give)
        take, give = np.add.reduceat(take, first), np.add.reduceat(give, first)
        kept = (take != 0) | (give != 0)
        return Uses(leg[first][kept], key[first][kept], take[kept], give[kept])


def _flight(before: _Rows, after: _Rows, offset: int) -> _Rows:
    """Return what legs take and give along one path: in flight, an object counts at an end where that is worse.

    Once where both ends are the same cell of the leaf; of these, a cell at the end of the path may add up several.
    """
    owner, cell, leaf = (np.concatenate([before[column], after[column]]) for column in (0, 1, 3))
    here = np.concatenate([before[2], np.zeros(len(after[2]), np.int64)])
    there = np.concatenate([np.zeros(len(before[2]), np.int64), after[2]])
    order = np.lexsort((leaf, owner))
    owner, cell, leaf, here, there = owner[order], cell[order], leaf[order], here[order], there[order]
    if not len(owner):
        return owner, cell, here, there
    first = np.flatnonzero(np.concatenate([[True], (owner[1:] != owner[:-1]) | (leaf[1:] != leaf[:-1])]))
    here, there = np.add.reduceat(here, first), np.add.reduceat(there, first)
    worst = np.maximum(np.maximum(here, there), 0)
    return owner[first], cell[first] + offset, worst - here, worst - there


def _added_up(cell: IntArray, amount: IntArray) -> tuple[IntArray, IntArray]:
    keys, slot = np.unique(cell, return_inverse=True)
    out = np.zeros(len(keys), np.int64)
    np.add.at(out, slot, amount)
    return keys, out


def _look_up(levels: tuple[IntArray, IntArray], cell: IntArray) -> IntArray:
    keys, values = levels
    if not len(keys):
        return np.zeros(len(cell), np.int64)
    slot = np.minimum(np.searchsorted(keys, cell), len(keys) - 1)
    return np.where(keys[slot] == cell, values[slot], 0)
