"""Parts of a problem that is encoded as a whole: what is not freed is fixed where the best answer has it.

Where the whole is not too large this is faster than a model of the part, which takes Python several times as long as
CP-SAT takes to drop what is fixed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.run import QUICK, solve
from rebalancer.engines.heat import container_heat
from rebalancer.engines.incumbent import Found
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.kinds import Scene
from rebalancer.model import CellValues
from rebalancer.problem import UNPLACED
from rebalancer.problem.numbers import IntArray

#: What a part costs for each candidate of the whole where the clock does not count, besides CP-SAT's work.
_ENTRY = 2e-6


class Fixed:
    """Solves parts of a position, the earlier ones held as its encoding holds them.

    Parameters
    ----------
    position : Position
        Of a search that has an answer; without squares, whose encoding is exact at some places only.
    """

    def __init__(self, position: Position) -> None:
        self._position, self._literals = position, position.encoding.literals
        self._problem = position.search.model.problem
        self._bulk = position.encoding.bulk.copy()
        self._keys = self._key(self._literals.object, self._literals.container)
        self._chosen = np.full(self._literals.count, -1)
        self._bulk.minimize(position.objective.var, position.objective.coef)
        found = position.search.found
        assert found is not None
        self._settle(found)

    def scene(self, _position: int) -> Scene:
        """Return what the kinds of parts choose from, at the best answer."""
        found = self._position.search.found
        assert found is not None
        if found.version != self._found.version:
            self._settle(found)
        return Scene(self._found.assignment, self._problem.initial, self._heat)

    def solve(self, choice: Choice, _position: int, budget: Budget, request: Request) -> tuple[float, bool]:
        """Solve a part; return by how much the position is better, and whether the part was solved to its end."""
        objective, literals = self._position.objective, self._literals
        freed = self._freed(choice)
        better = self._position.number_of(self._found) - int(objective.scale)  # less would not show in its integer
        self._bulk.within(-INFINITE, better - objective.constant)
        self._bulk.bound(freed, np.zeros_like(freed), np.ones_like(freed))
        budget.spend(_ENTRY * literals.count)
        outcome = solve(self._bulk, request, budget, **QUICK)
        self._bulk.bound(freed, self._chosen[freed], self._chosen[freed])
        solved = outcome.status in ("OPTIMAL", "INFEASIBLE")
        if outcome.values is None:
            return 0.0, solved
        return self._keep(literals.assignment(outcome.values[: literals.count] > 0)), solved

    def _freed(self, choice: Choice) -> IntArray:
        """Return the literals of a choice."""
        local = choice.literals
        places = np.append(choice.containers, UNPLACED)[local.container]
        keys = self._key(choice.objects[local.object], places)
        literals = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: IntArray = literals[self._keys[literals] == keys]
        return found

    def _key(self, obj: IntArray, container: IntArray) -> IntArray:
        count = len(self._problem.containers)
        return obj * (count + 1) + np.where(container < 0, count, container)

    def _keep(self, assignment: NDArray[np.int32]) -> float:
        """Offer a better answer; where others were faster, as a change of what they have found."""
        search, number = self._position.search, self._position.number
        found = search.found
        assert found is not None
        if found.version != self._found.version:
            assignment = np.where(assignment != self._found.assignment, assignment, found.assignment)
        return float(max(1, found.integers[number] - search.integers[number])) if search.offer(assignment) else 0.0

    def _settle(self, found: Found) -> None:
        """Fix everything where an answer has it."""
        chosen = self._literals.chosen(found.assignment).astype(np.int64)
        changed = np.flatnonzero(chosen != self._chosen)
        self._bulk.bound(changed, chosen[changed], chosen[changed])
        values = CellValues(self._problem, found.assignment)
        known, hint = self._position.encoding.solution(values)
        self._bulk.hint(np.flatnonzero(known), hint[known])
        self._found, self._chosen = found, chosen
        self._heat = container_heat(self._position.search.model, self._position.number, values)


__all__ = ["Fixed"]
