"""The running state of a ledger: how much slack is left where, and which legs fit into it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.plan.ledger import Ledger, Legs
from rebalancer.problem.membership import spans
from rebalancer.problem.numbers import IntArray

#: After so many entries of a room the loop has taken half as long as compiling it does, which then pays.
_COMPILE_AFTER = 1_000_000


class Room:
    """Slack of the resources that some legs touch.

    Legs are numbered as they are added; what each takes and gives is kept as compressed rows.

    Parameters
    ----------
    ledger : Ledger
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.keys: IntArray = np.empty(0, np.int64)
        self.slack: IntArray = np.empty(0, np.int64)
        self.start: IntArray = np.zeros(1, np.int64)
        self.slot: IntArray = np.empty(0, np.int64)
        self.take: IntArray = np.empty(0, np.int64)
        self.give: IntArray = np.empty(0, np.int64)
        self._looked_at: IntArray = np.zeros(1, np.int64)  # entries, in all calls; copies go on counting
        self._shared_by: tuple[int, IntArray, IntArray] = (0, self.keys, self.keys)  # once so many legs were there

    def copy(self) -> Room:
        """Return a copy whose slack changes on its own."""
        other = Room(self.ledger)
        other.__dict__.update(self.__dict__)
        other.slack = self.slack.copy()
        return other

    def add(self, legs: Legs) -> None:
        """Add legs; their numbers follow those that are there."""
        uses = self.ledger.uses(legs)
        new = np.setdiff1d(uses.key, self.keys, assume_unique=False)
        if len(new):
            keys = np.union1d(self.keys, new)
            slack = np.empty(len(keys), np.int64)
            slack[np.searchsorted(keys, new)] = self.ledger.slack(new)
            moved = np.searchsorted(keys, self.keys)
            slack[moved] = self.slack
            self.slot = moved[self.slot]
            self.keys, self.slack = keys, slack
        self.slot = np.concatenate([self.slot, np.searchsorted(self.keys, uses.key)])
        self.take = np.concatenate([self.take, uses.take])
        self.give = np.concatenate([self.give, uses.give])
        count = np.bincount(uses.leg, minlength=len(legs))
        self.start = np.concatenate([self.start, self.start[-1] + np.cumsum(count)])

    def entries(self, legs: IntArray) -> tuple[IntArray, IntArray]:
        """Return the entries of legs: which of them, and the row of each."""
        row, which = spans(self.start[legs], self.start[legs + 1])
        return which, row

    def fits(self, legs: IntArray, slack: IntArray | None = None) -> NDArray[np.bool_]:
        """Return which legs fit, each alone."""
        return self._suffices(legs, slack, landed=False)

    def lands(self, legs: IntArray, slack: IntArray | None = None) -> NDArray[np.bool_]:
        """Return which legs leave nothing overdrawn once they have arrived, each alone."""
        return self._suffices(legs, slack, landed=True)

    def _suffices(self, legs: IntArray, slack: IntArray | None, landed: bool) -> NDArray[np.bool_]:
        which, row = self.entries(legs)
        need = self.take[row] - self.give[row] if landed else self.take[row]
        short = need > (self.slack if slack is None else slack)[self.slot[row]]
        enough: NDArray[np.bool_] = np.bincount(which[short], minlength=len(legs)) == 0
        return enough

    def slack_of(self, keys: IntArray, initial: IntArray) -> IntArray:
        """Return the slack of resources, of those that no leg has touched the initial one that is handed in."""
        if not len(self.keys):
            return initial
        slot = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[slot] == keys, self.slack[slot], initial)

    def shortage(self, legs: IntArray, slack: IntArray | None = None) -> NDArray[np.float64]:
        """Return how far each leg is from fitting: the sum of the missing shares of what it takes."""
        which, row = self.entries(legs)
        need = self.take[row]
        missing = np.maximum(need - (self.slack if slack is None else slack)[self.slot[row]], 0)
        return np.bincount(which, missing / np.maximum(need, 1), len(legs)).astype(np.float64)

    def first_fit(self, legs: IntArray) -> IntArray:
        """Return which of the legs fly together, taken greedily in the order given."""
        chosen = np.zeros(len(legs), np.bool_)
        state = legs, self.start, self.slot, self.take, self.slack.copy(), *self._shared(), chosen
        patience = 0 if _compiled.cache_info().currsize else max(0, _COMPILE_AFTER - int(self._looked_at[0]))
        seen, looked = _fill(*state, 0, patience)
        self._looked_at += looked
        if seen < len(legs):
            _compiled()(*state, seen, len(self.slot))
        return legs[chosen]

    def _shared(self) -> tuple[IntArray, IntArray]:
        """Return what every leg takes some of, such as a cap on all in flight, and the least that any takes."""
        legs = len(self.start) - 1
        if self._shared_by[0] != legs:
            takes = np.flatnonzero(self.take > 0)
            shared = np.flatnonzero(np.bincount(self.slot[takes], minlength=len(self.keys)) == legs)
            least = np.full(len(self.keys), np.iinfo(np.int64).max)
            np.minimum.at(least, self.slot[takes], self.take[takes])
            self._shared_by = legs, shared, least[shared]
        return self._shared_by[1:]

    def fly(self, legs: IntArray) -> None:
        """Carry out legs: take what they take and give what they give."""
        _, row = self.entries(legs)
        np.add.at(self.slack, self.slot[row], self.give[row] - self.take[row])

    def draws(self, legs: IntArray) -> NDArray[np.bool_]:
        """Return which legs take something for good: more than they give back."""
        which, row = self.entries(legs)
        drawing: NDArray[np.bool_] = np.bincount(which[self.take[row] > self.give[row]], minlength=len(legs)) > 0
        return drawing

    def slack_beside(self, legs: IntArray, landed: bool = False, slack: IntArray | None = None) -> IntArray:
        """Return the slack while legs are in flight, or once they have landed, of what there is now or was left."""
        _, row = self.entries(legs)
        slack = (self.slack if slack is None else slack).copy()
        np.subtract.at(slack, self.slot[row], self.take[row] - (self.give[row] if landed else 0))
        return slack

    def after(self, leg: int) -> IntArray:
        """Return the slack once one leg has been carried out."""
        row = np.arange(self.start[leg], self.start[leg + 1])
        slack = self.slack.copy()
        slack[self.slot[row]] += self.give[row] - self.take[row]
        return slack

    def net_overdrawn(self, legs: IntArray) -> IntArray:
        """Return the legs that a set can do without to leave no resource overdrawn once all have arrived.

        The last of those that draw on an overdrawn resource, one per resource; empty: none is overdrawn.
        """
        which, row = self.entries(legs)
        change = self.take[row] - self.give[row]
        slots, place = np.unique(self.slot[row], return_inverse=True)
        total = np.zeros(len(slots), np.int64)
        np.add.at(total, place, change)
        over = total > self.slack[slots]
        guilty = np.flatnonzero(over[place] & (change > 0))
        last = np.full(len(slots), -1, np.int64)
        np.maximum.at(last, place[guilty], which[guilty])
        return np.unique(last[last >= 0])


def _fill(
    legs: Any, start: Any, slot: Any, take: Any, slack: Any, shared: Any, least: Any, chosen: Any, begin: int, most: int
) -> tuple[int, int]:
    """Choose legs from a position on until ``most`` entries have been looked at; return where it ends, and how many."""
    looked = 0
    for position in range(begin, len(legs)):
        for number in range(len(shared)):
            if slack[shared[number]] < least[number]:
                return len(legs), looked  # of this every leg takes some, and there is too little for any
        if looked >= most:
            return position, looked
        leg = legs[position]
        fits = True
        for row in range(start[leg], start[leg + 1]):
            looked += 1
            if take[row] > slack[slot[row]]:
                fits = False
                break
        if fits:
            chosen[position] = True
            for row in range(start[leg], start[leg + 1]):
                slack[slot[row]] -= take[row]
    return len(legs), looked


@cache
def _compiled() -> Any:
    import numba

    return numba.njit(nogil=True)(_fill)
