"""What searchers side by side share: the best answer, what each of them finds on its own, and the work itself."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.kernels.cross import cross, parts
from rebalancer.engines.local_search.kernels.trail import (
    M_BEST,
    M_NOW,
    NEVER,
    T_BEST,
    T_KEPT,
    T_LENGTH,
    T_POSITION,
    appraise,
    follow,
)
from rebalancer.model import Model

if TYPE_CHECKING:
    from rebalancer.engines.local_search.searcher import Searcher

#: Seconds that pass between two answers that are handed over. Searchers that take over from each other do so earlier,
#: after one change in so many containers, as later what they found touches the same ones; but not before so many
#: seconds, nor sooner than so many times what it took last.
_SHARE, _CHANGES, _BRIEFEST, _COSTS = 0.25, 250, 0.05, 10.0
#: Answers that differ in more than this share of what is away come from different descents.
_KIN = 0.25


class Crew:
    """The searchers at work on one incumbent.

    Parameters
    ----------
    _model : Model
        What `Incumbent.once` makes it of; nothing depends on it.
    """

    def __init__(self, _model: Model) -> None:
        self._numbers = count()
        self._present: list[int] = []

    def number(self) -> int:
        """Return the number of a new searcher."""
        return next(self._numbers)

    @contextmanager
    def at_work(self, number: int) -> Iterator[None]:
        """Count a searcher as one of those who divide the work."""
        self._present.append(number)
        try:
            yield
        finally:
            self._present.remove(number)

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return len(self._present) > 1

    def own(self, number: int, things: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of some containers or objects are one searcher's to begin with."""
        present = sorted(self._present)
        if number not in present:
            return np.ones(len(things), bool)
        return np.asarray(things % len(present) == present.index(number))


class Sharing:
    """One searcher's dealings with the others.

    Parameters
    ----------
    searcher : Searcher

    Attributes
    ----------
    number : int
        Of this searcher.
    taken : float
        What it has gained by taking over from others.
    """

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._incumbent = searcher.incumbent
        self._crew = self._incumbent.once(Crew)
        self.number = self._crew.number()
        self._handed = time.monotonic()
        self._seen = self._changes = 0
        self._took = self.taken = 0.0
        self._hope: float | None = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count as one of those who divide the work."""
        with self._crew.at_work(self.number):
            yield

    @property
    def accompanied(self) -> bool:
        """Whether others are at work as well."""
        return self._crew.several

    @contextmanager
    def taking_over(self) -> Iterator[None]:
        """Take over from the others while kernels are at work, and begin with what is one's own."""
        self.expect(math.inf)
        try:
            yield
        finally:
            self._hope = None

    def expect(self, gain: float) -> None:
        """Say what this searcher will soon have gained by itself: another descent has to be better by more."""
        self._hope = gain

    def own_first(self, order: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return some containers or objects in order, but one's own before the others'."""
        if self._hope is None:
            return order
        own = self._crew.own(self.number, order)
        return np.concatenate([order[own], order[~own]])

    def hand_over(self, patient: bool = False) -> None:
        """Take over from the others if that is on, then offer the best answer; where ``patient``, only now and then."""
        searcher, trail = self._searcher, self._searcher.trail
        if patient and not self._due():
            return
        at_best = trail.numbers[T_BEST] == trail.numbers[T_LENGTH] and trail.merits[M_NOW] == trail.merits[M_BEST]
        if self._hope is not None and at_best and trail.merits[M_NOW] < NEVER:
            began = time.monotonic()
            self.join()
            self._handed = time.monotonic()
            self._took = self._handed - began
        if trail.merits[M_BEST] >= NEVER:  # no answer yet that holds every bound
            return
        integers = tuple(trail.best.tolist())
        known = self._incumbent.integers
        if known and integers >= known:
            return
        searcher.harvest()
        containers = searcher.containers
        self._incumbent.offer(np.where(searcher.best == containers, -1, searcher.best).astype(np.int32), integers)
        self._handed = time.monotonic()

    def _due(self) -> bool:
        if self._incumbent.budget.deterministic:
            return True
        waited = time.monotonic() - self._handed
        changes = int(self._searcher.trail.numbers[T_KEPT]) - self._changes
        early = self._hope is not None and changes * _CHANGES > self._searcher.containers
        return waited >= (max(_BRIEFEST, _COSTS * self._took) if early else _SHARE)

    def join(self) -> None:
        """Take over what is better in the shared answer.

        Of one that comes from the same descent each part that is better; all of it where it is better still, by more
        than what this searcher expects to gain.
        """
        searcher, found = self._searcher, self._incumbent.found
        if found is None or found.version == self._seen:
            return
        flat, trail = searcher.flat, searcher.trail
        self._changes = int(trail.numbers[T_KEPT])
        place = np.where(found.assignment < 0, searcher.containers, found.assignment).astype(np.int32)
        part = np.empty_like(place)
        before = appraise(flat, trail)
        differ = parts(flat, place, part, np.empty(searcher.containers, np.int32))
        hope = self._hope or 0.0
        if differ <= _KIN * np.count_nonzero(place != flat.home):
            hope = 0.0
            searcher.clear_log()
            objects = np.argsort(part, kind="stable")[len(part) - differ :]
            starts = np.flatnonzero(np.diff(part[objects], prepend=-1, append=-1))
            cross(flat, trail, objects, starts, place, searcher.least)
            appraise(flat, trail)
        mine, position = tuple(trail.marks.tolist()), int(trail.numbers[T_POSITION])
        if found.integers < (*mine[:position], mine[position] - hope, *mine[position + 1 :]):
            follow(flat, place)
            searcher.start_here()
        elif found.integers < mine:
            return  # it may be worth having later
        self._seen = found.version
        self.taken += before - searcher.merit


__all__ = ["Crew", "Sharing"]
