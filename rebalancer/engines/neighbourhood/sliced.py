"""Parts as slices of the model: setting one up costs what its objects reach, however large the problem is."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.candidates import pruned
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.run import QUICK, solve
from rebalancer.engines.heat import container_heat
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.kinds import Scene
from rebalancer.engines.neighbourhood.slices import Slice, TooWide
from rebalancer.engines.neighbourhood.state import State, local_score
from rebalancer.model import CellValues

_log = logging.getLogger(__name__)

#: What a part costs for each candidate where the clock does not count, besides CP-SAT's work.
_ENTRY = 1e-5


class Sliced:
    """Solves parts as models of their own.

    Parameters
    ----------
    incumbent : Incumbent
        Has an answer.
    """

    def __init__(self, incumbent: Incumbent) -> None:
        found = incumbent.found
        assert found is not None
        self._incumbent = incumbent
        self._state = State(incumbent.model, found.assignment)
        self._version = found.version
        self._heat: dict[int, tuple[int, NDArray[np.float64]]] = {}

    def scene(self, position: int) -> Scene:
        """Return what the kinds of parts choose from, at the best answer."""
        self._catch_up()
        version, heat = self._heat.get(position, (0, None))
        if heat is None or version != self._version:
            heat = container_heat(self._incumbent.model, position, self._state.values)
            self._heat[position] = self._version, heat
        return Scene(self._state.assignment, self._incumbent.model.problem.initial, heat)

    def solve(self, choice: Choice, position: int, budget: Budget, request: Request) -> tuple[float, bool]:
        """Solve a part; return by how much its position is better, and whether the part was solved to its end."""
        before = self._state.integers
        try:
            part = self._state.slice(choice)
        except TooWide as error:
            _log.debug("a part is too wide: %s", error)
            return 0.0, False
        here = choice.local(self._state.assignment)
        literals = pruned(part.model, choice.literals)
        if literals.count == len(literals.start) - 1:  # nobody can go anywhere
            return 0.0, True
        encoding = encode(part.model, literals, CellValues(part.model.problem, here))
        budget.spend(_ENTRY * literals.count)
        if not self._aim(encoding, before, position):
            return 0.0, True
        encoding.hint_from(CellValues(part.model.problem, here))
        outcome = solve(encoding.bulk, request, budget, **QUICK)
        solved = outcome.status == "OPTIMAL"
        if outcome.values is None:
            return 0.0, solved
        local = literals.assignment(outcome.values[: literals.count] > 0)
        score = local_score(part, local)
        if score is None or score >= before:
            return 0.0, solved
        return self._keep(part, local, score, before, position), solved

    def _catch_up(self) -> None:
        """Go on from the best answer, whoever found it."""
        found = self._incumbent.found
        assert found is not None
        if found.version != self._version:
            self._state.follow(found.assignment)
            self._version = found.version

    def _aim(self, encoding: Encoding, before: tuple[int, ...], position: int) -> bool:
        """Minimise a position, the earlier ones no worse than before; return whether there is anything to minimise."""
        for earlier in range(position):
            rows = encoding.objectives[earlier]
            if len(rows.key):
                most = before[earlier] - int(rows.const.dense()[0, 0])
                encoding.bulk.linear_of(rows.var, rows.coef, -INFINITE, most)
        rows = encoding.objectives[position]
        if not len(rows.key):
            return False
        objective = encoding.exact[position] or rows
        encoding.bulk.minimize(objective.var, objective.coef)
        return True

    def _keep(
        self, part: Slice, local: NDArray[np.int32], score: tuple[int, ...], before: tuple[int, ...], position: int
    ) -> float:
        """Offer a better part; where others were faster, as a change of what they have found."""
        whole = part.choice.whole(self._state.assignment, local)
        found = self._incumbent.found
        assert found is not None
        if found.version != self._version:
            objects = part.choice.objects
            self._catch_up()
            choice = Choice.of(self._state.assignment, objects, whole[objects].astype(np.int64))
            before = self._state.integers
            try:
                part = self._state.slice(choice)
            except TooWide:
                return 0.0
            local = choice.local(whole)
            again = local_score(part, local)
            if again is None or again >= before:
                return 0.0
            score, whole = again, choice.whole(self._state.assignment, local)
        if not self._incumbent.offer(whole, score):
            return 0.0
        self._state.move(part, local)
        mine = self._incumbent.found
        if mine is not None and np.array_equal(mine.assignment, whole):
            self._version = mine.version
        return float(max(1, before[position] - score[position]))


__all__ = ["Sliced"]
