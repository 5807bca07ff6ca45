"""Who leaves, and not to where: a relaxation that CP-SAT mostly solves in a fraction of a second, for a bound.

An object has two choices, to stay where it began or to be elsewhere. What those elsewhere add to the amounts is one
number for each cell, known only in total: they bring to all cells together what they take along. Every answer of the
model is one of the relaxation, of the same value, so what is proven of that is a bound. What it keeps is what linear
bounds lack: objects leave whole, and amounts are whole.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.encode import Encoder, Late
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.rows import Rows, counted_in
from rebalancer.engines.cpsat.run import solve
from rebalancer.engines.cpsat.sides import ABOVE, BELOW
from rebalancer.engines.incumbent import Incumbent
from rebalancer.model import Cells, CellValues, Family, Grid, Model, Tally
from rebalancer.problem.numbers import IntArray

_log = logging.getLogger(__name__)

#: Which of CP-SAT's searches close such models: in a hundredth of the time that its usual ones take. With one worker it
#: is the first.
_SEARCHES = ("max_lp", "pseudo_costs")
#: Seconds in which a bound has to be better than what is known, and seconds, and half of all, that it may then take to
#: rise further.
_HOPEFUL, _PATIENCE = 1.0, 3.0


@dataclass(frozen=True, eq=False)
class Entries:
    """Loose entries of rows: ``coef · var`` each, part of the row of a key."""

    key: IntArray
    var: IntArray
    coef: IntArray

    def __add__(self, other: Entries) -> Entries:
        return Entries(
            np.concatenate([self.key, other.key]),
            np.concatenate([self.var, other.var]),
            np.concatenate([self.coef, other.coef]),
        )

    def __neg__(self) -> Entries:
        return replace(self, coef=-self.coef)

    def __getitem__(self, chosen: NDArray[np.bool_]) -> Entries:
        return Entries(self.key[chosen], self.var[chosen], self.coef[chosen])

    def of(self, key: IntArray) -> Entries:
        """Return the same entries in rows of other keys."""
        return replace(self, key=key)


@dataclass(frozen=True, eq=False)
class Choices(Literals):
    """To stay in the container, or to leave it."""

    leaves: NDArray[np.bool_]

    def chosen(self, assignment: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which choices an assignment makes."""
        return np.asarray(super().chosen(assignment) != self.leaves)


def proven_of_leavers(
    search: Incumbent,
    number: int,
    candidates: Literals,
    budget: Budget,
    request: Request,
    known: int | None = None,
    **parameters: Any,
) -> tuple[int | None, bool]:
    """Return a lower bound of a position, None where there is none, and whether more cannot be proven in this way.

    The earlier positions are at what the best answer has.

    Parameters
    ----------
    candidates : Literals
        Every placement that an answer can have.
    known : int, optional
        What is proven already: whoever is below that for long gives up.
    parameters
        CP-SAT's own.
    """
    model = search.model
    assert search.best is not None
    here = CellValues(model.problem, search.best)
    try:
        encoding = Leavers(model, candidates, here).run(budget)
    except Late:
        return None, False
    for earlier in range(number):
        encoding.hold(earlier, search.integers[earlier])
    objective = encoding.objective(number)
    encoding.bulk.minimize(objective.var, objective.coef, objective.constant)
    encoding.hint_from(here)
    proven, risen = known, budget.seconds

    def note(number: float) -> None:
        nonlocal proven, risen
        bound = objective.proven(math.floor(number))
        if proven is None or bound > proven:
            proven, risen = bound, budget.seconds

    def in_vain() -> bool:
        patience = _HOPEFUL if proven == known else max(_PATIENCE, budget.seconds / 2)
        return not budget.deterministic and budget.seconds - risen > patience

    parameters |= {"subsolvers": _SEARCHES}
    outcome = solve(encoding.bulk, replace(request, gap=0.0), budget, None, note, in_vain, **parameters)
    _log.debug("who leaves: %s, proven %s after %.1f s", outcome.status, outcome.bound, budget.seconds)
    bound = None if outcome.bound is None else objective.proven(outcome.bound + objective.constant)
    return bound, outcome.status == "OPTIMAL"


class Leavers(Encoder):
    """Encodes a model over two choices for each object: where it began, and elsewhere.

    Parameters
    ----------
    model : Model
    candidates : Literals
        Every placement that an answer can have.
    start : CellValues
        As of `encode`.
    """

    def __init__(self, model: Model, candidates: Literals, start: CellValues) -> None:
        initial = model.problem.initial
        self._stays = candidates.container == initial[candidates.object]  # by candidate
        objects = len(candidates.start) - 1
        stayers = np.bincount(candidates.object[self._stays], minlength=objects)
        self._ways = candidates.per_object - stayers  # how many places elsewhere there are, by object
        has = np.stack([stayers > 0, self._ways > 0], axis=1)
        who, what = np.nonzero(has)
        first = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
        super().__init__(model, Choices(who, initial[who].astype(np.int64), first.astype(np.int64), what == 1), start)
        self.candidates = candidates
        self._stay, self._leave = first[:-1], first[1:] - 1
        # Tallies that are the same have the same amounts: what balance sees come is what moves pay for.
        self._same: dict[Hashable, Rows] = {}
        self._asked: dict[Hashable, int] = {}
        for cells in model.graph:
            if isinstance(cells, Tally):
                likeness = _likeness(cells)
                self._asked[likeness] = self._asked.get(likeness, 0) | self.sides.get(cells.index, 0)

    def exactly(self, cells: Cells) -> bool:
        """Whether rows are what cells are: those that only minimising reads are at most that."""
        return self.asked(cells)[1]

    def tally(self, tally: Tally) -> Rows:
        """Return the rows of a tally: who stays, and what those who leave bring, of which only bounds are known."""
        likeness = _likeness(tally)
        if likeness not in self._same:
            side = self._asked[likeness]
            self._same[likeness] = self._tally(tally, bool(side & BELOW), bool(side & ABOVE))
        return self._same[likeness]

    def _tally(self, tally: Tally, below: bool, above: bool) -> Rows:
        membership, candidate, item, weight = counted_in(tally, self.candidates)
        stays = self._stays[candidate]
        owner, key = tally.group[membership], tally.group[membership] * tally.items + item
        staying = Entries(key, self._stay[tally.member[membership]], weight)[stays]
        least, most = self._brought(tally, membership[~stays], key[~stays], weight[~stays])
        known, more = staying + least, replace(most, coef=most.coef - least.coef)
        keys = np.unique(more.key[more.coef > 0])
        # A group of fewer members than cells need not crowd anywhere: what they bring to all together tells nothing.
        cells, members = (np.bincount(each, minlength=tally.groups) for each in (keys // tally.items, tally.group))
        tied = members > cells
        if not above:
            keys = keys[tied[keys // tally.items]]
        if not len(keys):
            return self._rows(tally, known)
        group = keys // tally.items
        unit = _units(tally.groups, owner, weight)[group]
        amounts = Entries(keys, self.plain(-(-tally.low // unit), tally.high // unit), unit)
        unsure = np.isin(known.key, keys)
        self._between(tally, known[unsure] + -amounts, -INFINITE, 0)
        if above:
            self._between(tally, known[unsure] + more[np.isin(more.key, keys)] + -amounts, 0, INFINITE)
        known = known[~unsure] + amounts
        together = self._brought(tally, membership[~stays], owner[~stays], weight[~stays])
        for wanted, brought, low, high in zip((below, above), together, (0, -INFINITE), (INFINITE, 0), strict=True):
            if wanted:
                sums = known.of(known.key // tally.items) + -(staying.of(staying.key // tally.items) + brought)
                self._between(tally, sums[tied[sums.key]], low, high)
        return self._rows(tally, known)

    def _brought(self, tally: Tally, membership: IntArray, key: IntArray, weight: IntArray) -> tuple[Entries, Entries]:
        """Return the least and the most that each membership brings to each key if its object leaves.

        Parameters
        ----------
        membership, key, weight : int64 arrays
            Of each candidate elsewhere that counts.
        """
        order = np.lexsort((key, membership))
        membership, key, weight = membership[order], key[order], weight[order]
        first = np.flatnonzero(np.diff(membership, prepend=-1) | np.diff(key, prepend=-1))
        member = tally.member[membership[first]]
        least, most = (pick.reduceat(weight, first) if len(first) else weight for pick in (np.minimum, np.maximum))
        avoidable = np.diff(np.append(first, len(key))) < self._ways[member]
        leave = self._leave[member]
        return (
            Entries(key[first], leave, np.where(avoidable, np.minimum(least, 0), least)),
            Entries(key[first], leave, np.where(avoidable, np.maximum(most, 0), most)),
        )

    def _rows(self, tally: Tally, entries: Entries) -> Rows:
        const = Grid.constant(tally.groups, tally.items, 0)
        return self.algebra.collect(tally.groups, tally.items, entries.key, entries.var, entries.coef, const)

    def _between(self, tally: Tally, entries: Entries, low: int, high: int) -> None:
        """Demand that all rows of these entries are within two bounds."""
        rows = self._rows(tally, entries)
        self.bulk.linear(rows, np.full(len(rows.key), low), np.full(len(rows.key), high))


def _likeness(tally: Tally) -> Hashable:
    """Return what is the same for tallies that are the same."""
    if tally.dynamic is not None:
        return tally.index
    parts: list[NDArray[Any]] = [tally.group, tally.member, tally.weight, tally.item_of]
    if tally.family is Family.STAYED:
        parts.append(tally.home)
    return tally.groups, tally.items, tally.family, *(part.tobytes() for part in parts)


def _units(groups: int, owner: IntArray, weight: IntArray) -> IntArray:
    """Return, by group, what all weights are multiples of."""
    unit = np.zeros(groups, np.int64)
    np.gcd.at(unit, owner, weight)
    return np.maximum(unit, 1)


__all__ = ["Leavers", "proven_of_leavers"]
