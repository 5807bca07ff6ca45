"""Greedy waves: as much as fits flies together, the most useful first; what is stuck is staged on a third container."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.checks import Demand, broken_by
from rebalancer.plan.ledger import Legs, Uses
from rebalancer.plan.room import Room
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Ways:
    """Legs that may be flown some time, what they take and give, and the slack of that at the start."""

    legs: Legs
    uses: Uses
    slack: IntArray


@dataclass(eq=False)
class Journey:
    """Where a plan stands while it is made.

    Parameters
    ----------
    model : Model
    always, between : Room
        What legs take and give at every moment, and between waves; the same legs in both.
    turned : Room
        What they take of the caps when they go back; the same legs again.
    checks : list of Demand
    assignment : int32 array, one per object
        Where everything is after the waves so far.
    target : int32 array, one per object
        Where it should end.
    waiting : int64 array
        Legs still to fly, by priority.
    who, source, destination : list of int
        Of every leg so far.
    waves : list of int64 array
        The legs of each wave.
    staged : list of int
        Objects that were sent to a third container.
    touched : int64 array, one per container
        How many legs have left it or arrived there.
    away : int64 array
        Legs of those that only made room and go back when that was of use.
    reached : bool
        Whether something has flown since the last object was staged.
    ways : dict
        The ways from a container to any other, by object and container; all copies share it.
    """

    model: Model
    always: Room
    between: Room
    turned: Room
    checks: list[Demand]
    assignment: NDArray[np.int32]
    target: NDArray[np.int32]
    waiting: IntArray
    who: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    destination: list[int] = field(default_factory=list)
    waves: list[IntArray] = field(default_factory=list)
    staged: list[int] = field(default_factory=list)
    touched: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    away: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    reached: bool = False
    ways: dict[tuple[int, int], Ways] = field(default_factory=dict)
    _ends: tuple[IntArray, NDArray[np.int32]] = (np.empty(0, np.int64), np.empty(0, np.int32))

    @staticmethod
    def begin(
        model: Model, rooms: tuple[Room, Room, Room], checks: list[Demand], legs: Legs, start: NDArray[np.int32]
    ) -> Journey:
        """Return a journey that has to fly some legs, given by priority, with rooms that have none so far."""
        target = start.copy()
        target[legs.who] = legs.destination
        journey = Journey(model, *rooms, checks, start.copy(), target, np.empty(0, np.int64))
        journey.waiting = journey.add(legs)
        journey.touched = np.zeros(len(model.problem.containers), np.int64)
        return journey

    def copy(self) -> Journey:
        """Return a copy that goes on by itself."""
        return Journey(
            self.model, self.always.copy(), self.between.copy(), self.turned.copy(), self.checks,
            self.assignment.copy(), self.target, self.waiting, self.who.copy(), self.source.copy(),
            self.destination.copy(), self.waves.copy(), self.staged.copy(), self.touched.copy(), self.away,
            self.reached, self.ways, self._ends,
        )  # fmt: skip

    def add(self, legs: Legs) -> IntArray:
        """Add legs; return their numbers."""
        first = len(self.who)
        self.always.add(legs)
        self.between.add(legs)
        self.turned.add(legs)
        self.who += legs.who.tolist()
        self.source += legs.source.tolist()
        self.destination += legs.destination.tolist()
        return np.arange(first, first + len(legs))

    def next_wave(self) -> bool:
        """Fly the next wave, one that can be undone within the caps if there is any; return whether there was one."""
        wave = self.fitting(self.waiting)
        if not len(wave):
            return False
        if len(self.undone(wave)[1]):
            both_ways = self.fitting(self.waiting, both_ways=True)
            wave = both_ways if len(both_ways) else wave
        self.fly(wave)
        flies = np.zeros(len(self.who), np.bool_)
        flies[wave] = True
        self.waiting = self.waiting[~flies[self.waiting]]
        return True

    def fitting(self, legs: IntArray, both_ways: bool = False) -> IntArray:
        """Return as many of the legs as may fly together now, taken greedily in the order given.

        Parameters
        ----------
        both_ways : bool
            Whether they have to be within the caps also when they go back together.
        """
        while len(legs):
            first = self.always.first_fit(legs)
            wave = self.turned.first_fit(first) if both_ways else first
            while len(wave):
                surplus = self.between.net_overdrawn(wave)
                if not len(surplus):
                    break
                wave = np.delete(wave, surplus)
            passing = self._passing(wave)
            if len(passing) or not len(first):
                return passing
            if len(wave):  # who does not pass the checks keeps no room from others
                legs = legs[~np.isin(legs, wave)]
                continue
            # nor does who could only arrive beside others
            alone = self.between.lands(legs) & (self.turned.fits(legs) if both_ways else True)
            if alone.all():
                return wave
            legs = legs[alone]
        return legs

    def flown(self, legs: IntArray) -> tuple[IntArray, NDArray[np.int32]]:
        """Return objects and destinations of legs."""
        if len(self._ends[0]) != len(self.who):
            self._ends = np.array(self.who, np.int64), np.array(self.destination, np.int32)
        return self._ends[0][legs], self._ends[1][legs]

    def fetch(self) -> bool:
        """Let those that made room go back; return whether there are any."""
        back, self.away = self.away, np.empty(0, np.int64)
        self.waiting = np.concatenate([self.waiting, back])
        return len(back) > 0

    def fly(self, wave: IntArray) -> None:
        """Carry out legs together, as a wave of their own."""
        self.always.fly(wave)
        self.between.fly(wave)
        who, goes = self.flown(wave)
        for ends in (self.assignment[who], goes):
            np.add.at(self.touched, ends[ends >= 0], 1)
        self.assignment[who] = goes
        self.waves.append(wave)

    def may_fly(self, wave: IntArray) -> bool:
        """Return whether legs may fly together now."""
        alone = self.always.first_fit(wave)
        return len(alone) == len(wave) and not len(self.between.net_overdrawn(wave)) and self._passes(wave)

    def undone(self, wave: IntArray) -> tuple[list[IntArray], IntArray]:
        """Return how a wave that may fly now goes back once it has arrived, and the legs for which no way is found.

        Whoever of a wave has gone back already, what holds at every moment holds: any of them may be on its way, or
        not. So only the caps, and what has to hold between waves, say who goes back together. A leg that may not go
        back at all goes alone.

        Returns
        -------
        list of int64 array, int64 array
            Parts, each a wave of the way back; the rest of the wave can only go back together.
        """
        parts, rest = [], wave[::-1]
        while len(rest):
            part = self.turned.first_fit(rest)
            if not len(part):
                part = rest[:1]
            if len(part) < len(rest):
                part = self._returning(rest, part)
            if not len(part):
                break
            parts.append(part)
            rest = rest[~np.isin(rest, part)]
        return parts, rest

    def _returning(self, there: IntArray, part: IntArray) -> IntArray:
        """Return as many of a part as can go back while the others that are there stay."""

        def holds(part: IntArray) -> bool:
            stays = there[~np.isin(there, part)]
            return not len(self.between.net_overdrawn(stays)) and self._passes(stays)

        return _most(part, holds)

    def _passes(self, wave: IntArray) -> bool:
        who, goes = self.flown(wave)
        return not broken_by(self.model, self.checks, self.assignment, who, goes)

    def _passing(self, wave: IntArray) -> IntArray:
        """Return as many of the legs as pass the checks."""
        if not self.checks or not len(wave):
            return wave
        return _most(wave, lambda legs: not len(self.between.net_overdrawn(legs)) and self._passes(legs))


def _most(legs: IntArray, good: Callable[[IntArray], bool]) -> IntArray:
    """Return as many of the legs as are good together: halves of halves, each added where it does no harm."""
    accepted = np.empty(0, np.int64)
    blocks = [legs]
    while blocks:
        block = blocks.pop()
        together = np.concatenate([accepted, block])
        if good(together):
            accepted = together
        elif len(block) > 1:
            blocks += [half for half in reversed(np.array_split(block, 2)) if len(half)]
    return accepted
