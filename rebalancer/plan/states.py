"""Whether there is a way at all: looks at every state that moves lead to, where those are few.

Staging is a heuristic: it takes one object after the other out of the way. Where that gets stuck, the states around
are searched, those first that promise the fewest moves (A*). What a wave has to keep is asked of the same ledgers and
checks. They allow as much at a state however it was reached, so a wave of which a part can land by itself is two
waves, and only the smallest that land are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rebalancer.plan.checks import Demand, broken_by
from rebalancer.plan.flight import ALWAYS, direction
from rebalancer.plan.ledger import Legs
from rebalancer.plan.route import Route
from rebalancer.plan.waves import Journey
from rebalancer.plan.work import costs
from rebalancer.problem.numbers import IntArray

#: States, and moves out of each, that are looked at, at most; and the work that all of it may take, see `evaluations`.
_STATES = 20_000
_MOVES = 20_000
_WORK = 20_000_000
#: What looking at a state costs in that unit, and what a wave does, apart from what they take and what is checked.
_STATE = 3_000
_WAVE = 1_000


def search(route: Route, journey: Journey, legs: Legs) -> tuple[Journey, int]:
    """Return a journey that leaves fewer moves waiting, if one is found, and how many every journey leaves, proven.

    Parameters
    ----------
    journey : Journey
        One that is stuck; all objects are where they start or where they should end. It stays as it is.
    legs : Legs
        The direct ways, which are its first legs.
    """
    states = _States(route, journey)
    states.explore(journey.assignment)
    states.explore(route.start)  # where there is a way from here to there, but none back
    path = states.way()
    if len(path) == 1:  # nothing is better than where it is stuck
        return journey, states.bound()
    from_here = np.array_equal(path[0], journey.assignment)
    return _carried(journey.copy() if from_here else route.journey(legs), legs, path), states.bound()


def _carried(journey: Journey, legs: Legs, path: list[NDArray[np.int32]]) -> Journey:
    """Carry a journey on from state to state, as many of the waves together as may fly."""
    wave = np.empty(0, np.int64)
    for before, after in pairwise(path):
        who = np.flatnonzero(before != after)
        added = journey.add(Legs(who, before[who], after[who]))
        together = np.concatenate([wave, added])
        if np.isin(journey.flown(wave)[0], who).any() or not journey.may_fly(together):
            journey.fly(wave)
            together = added
        wave = together
    journey.fly(wave)
    objects, often = np.unique(journey.flown(np.concatenate(journey.waves))[0], return_counts=True)
    journey.staged = objects[often > 1].tolist()
    journey.waiting = np.flatnonzero(journey.assignment[legs.who] != legs.destination)
    return journey


class _States:
    """The states that have been looked at: where the objects are that may move, as bytes."""

    def __init__(self, route: Route, journey: Journey) -> None:
        self._here = journey.assignment
        self._start, self._end = route.start, route.end
        self._model = route.model
        self._always, self._between = journey.always.copy(), journey.between.copy()
        self._checks = route.checks
        self._cost = int(costs(route.model, [demand.hard.cells for demand in route.checks]).sum())
        self._places = np.append(np.arange(len(route.model.problem.containers)), -1).astype(np.int32)
        moving = route.start != route.end
        movers = np.flatnonzero(moving | (route.start >= 0)) if route.options.staging else np.flatnonzero(moving)
        # those first that cannot get through, then those that are in their way
        stuck = (self._here != route.end)[movers]
        beside = np.isin(self._here[movers], route.end[movers][stuck])
        most = _MOVES // len(self._places)
        self._who = np.sort(movers[np.lexsort((~beside, ~stuck))][:most])
        self._all = len(self._who) == len(movers)
        end = route.end[self._who][:, None]
        may = (self._places >= 0) if route.options.staging else np.bool_(False)
        self._may = may | (self._places == end)
        self._first = np.full(self._may.shape, -1)  # the number of the first leg of an object from a place
        self._from: dict[bytes, tuple[int, bytes | None]] = {}  # moves up to a state, and the one before it
        self._seen: set[bytes] = set()
        self._work = _WORK
        # how many moves a state leaves, of those where a plan may end
        self._best = self._left(self._here[self._who]), self._here[self._who].tobytes()

    def explore(self, begin: NDArray[np.int32]) -> None:
        """Look at all states that are reached from an assignment, up to the end, if it is one of them."""
        rest = np.ones(len(begin), np.bool_)
        rest[self._who] = False
        known = begin[self._who].tobytes()
        if known in self._seen or not np.array_equal(begin[rest], self._here[rest]):
            return
        self._from[known] = 0, None
        queue = [(0, self._left(begin[self._who]), 0, known)]
        while queue and self._goes_on and self._best[0]:
            *_, left, _, known = heappop(queue)
            if known in self._seen:
                continue
            self._seen.add(known)
            state = np.frombuffer(known, np.int32)
            if left < self._best[0] and ((state == self._start[self._who]) | (state == self._end[self._who])).all():
                self._best = left, known
            moves = self._from[known][0]
            for wave, after in self._waves(state):
                total = moves + len(wave)
                if after.tobytes() not in self._from or total < self._from[after.tobytes()][0]:
                    self._from[after.tobytes()] = total, known
                    left = self._left(after)
                    heappush(queue, (total + left, left, len(self._from), after.tobytes()))

    def way(self) -> list[NDArray[np.int32]]:
        """Return the assignments on the way to the state that leaves fewest moves."""
        out = []
        known: bytes | None = self._best[1]
        while known is not None:
            out.append(self._whole(np.frombuffer(known, np.int32)))
            known = self._from[known][1]
        return out[::-1]

    def bound(self) -> int:
        """Return how many moves every order leaves, proven; 0 where not all states were looked at."""
        known: dict[int, tuple[bool, bool]] = {}
        flying = [demand.hard.cells for demand in self._checks if demand.moment == ALWAYS]
        exact = all(any(direction(cells, known)) for cells in flying)  # else: on the safe side
        whole = self._goes_on and self._all and self._start[self._who].tobytes() in self._seen
        return self._best[0] if whole and exact else 0

    def _left(self, state: NDArray[np.int32]) -> int:
        return int((state != self._end[self._who]).sum())

    @property
    def _goes_on(self) -> bool:
        return self._work > 0 and len(self._seen) < _STATES

    def _waves(self, state: NDArray[np.int32]) -> Iterator[tuple[IntArray, NDArray[np.int32]]]:
        """Yield the smallest waves that may fly at a state and land, and the state after each."""
        first = self._numbered(state)
        row, goes = np.nonzero(self._may & (self._places != state[:, None]))
        legs = first[row] + goes
        self._work -= _STATE + int((self._always.start[legs + 1] - self._always.start[legs]).sum())
        moved = self._moved(state)
        room = [room.slack_beside(moved, landed=True) for room in (self._always, self._between)]
        stack = [(np.empty(0, np.int64), *room)]
        while stack:
            chosen, free, landed = stack.pop()
            rest = np.arange(chosen[-1] + 1 if len(chosen) else 0, len(legs))
            rest = rest[~np.isin(row[rest], row[chosen])]
            rest = rest[self._always.fits(legs[rest], free)]
            for one, lands in zip(rest.tolist(), self._lands(legs[rest], landed).tolist(), strict=True):
                if self._work <= 0:
                    return
                wave = np.append(chosen, one)
                after = state.copy()
                after[row[wave]] = self._places[goes[wave]]
                self._work -= _WAVE
                if after.tobytes() in self._seen:
                    continue
                broken = self._broken(state, row[wave], after)
                if lands and not broken:
                    yield wave, after
                elif all(demand.moment != ALWAYS for demand in broken):
                    leg = legs[[one]]
                    beside = self._always.slack_beside(leg, slack=free)
                    stack.append((wave, beside, self._between.slack_beside(leg, landed=True, slack=landed)))

    def _lands(self, legs: IntArray, slack: IntArray) -> NDArray[np.bool_]:
        """Return which legs, each alone, leave nothing overdrawn once landed, of the slack that others have left."""
        below = slack < 0
        which, row = self._between.entries(legs)
        mends = np.bincount(which[below[self._between.slot[row]]], minlength=len(legs)) == below.sum()
        return np.asarray(mends & self._between.lands(legs, slack))

    def _numbered(self, state: NDArray[np.int32]) -> IntArray:
        """Return the numbers of the first legs of all objects from where they are: one to each place, in that order."""
        rows = np.arange(len(state))
        new = rows[self._first[rows, state] < 0]
        if len(new):
            number = len(self._always.start) - 1
            legs = Legs(
                np.repeat(self._who[new], len(self._places)),
                np.repeat(state[new], len(self._places)),
                np.tile(self._places, len(new)),
            )
            self._always.add(legs)
            self._between.add(legs)
            self._first[new, state[new]] = number + np.arange(len(new)) * len(self._places)
        return np.asarray(self._first[rows, state])

    def _moved(self, state: NDArray[np.int32]) -> IntArray:
        """Return legs that lead to a state from where the journey stands."""
        here = self._here[self._who]
        row = np.flatnonzero(state != here)
        return np.asarray(self._numbered(here)[row] + state[row] % len(self._places))

    def _broken(self, state: NDArray[np.int32], row: IntArray, after: NDArray[np.int32]) -> list[Demand]:
        if not self._checks:
            return []
        self._work -= self._cost
        return broken_by(self._model, self._checks, self._whole(state), self._who[row], after[row])

    def _whole(self, state: NDArray[np.int32]) -> NDArray[np.int32]:
        out = self._here.copy()
        out[self._who] = state
        return out


__all__ = ["search"]
