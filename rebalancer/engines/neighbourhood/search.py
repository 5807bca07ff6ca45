"""Frees a few objects, solves that part exactly, keeps what is better. Again and again."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.candidates import pruned
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.run import solve
from rebalancer.engines.heat import container_heat
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood.arms import Arms
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.kinds import Scene, kinds_of
from rebalancer.engines.neighbourhood.slices import Slice, TooWide
from rebalancer.engines.neighbourhood.state import State, local_score
from rebalancer.model import CellValues, Model

_log = logging.getLogger(__name__)

#: Seconds for one part at first, and at most, once rounds bring nothing.
_SECONDS, _MOST_SECONDS = 0.3, 2.0
#: What a round costs besides CP-SAT's work where the clock does not count: for itself, and for each candidate.
_ROUND, _ENTRY = 0.02, 1e-5


class Neighbourhoods:
    """Improves a shared incumbent part by part. One thread uses one of these.

    Parameters
    ----------
    incumbent : Incumbent
        Has an answer.
    request : Request
        For its seed, workers and determinism.
    workers : int, optional
        Threads of one CP-SAT solve; those of the request where left out.
    """

    def __init__(self, incumbent: Incumbent, request: Request, workers: int | None = None) -> None:
        found = incumbent.found
        assert found is not None
        self.incumbent = incumbent
        self.model: Model = incumbent.model
        # One worker alone gets much further than several that wait for each other to stay in step.
        count = 1 if request.deterministic else request.workers if workers is None else workers
        self._request = replace(request, gap=0.0, workers=count)
        self._rng = np.random.default_rng(request.seed)
        self._kinds = kinds_of(self.model)
        self._state = State(self.model, found.assignment)
        self._version = found.version
        self._arms: dict[int, Arms] = {}
        self._heat: dict[int, tuple[int, NDArray[np.float64]]] = {}

    def improve(self, position: int, budget: Budget, bound: int | None = None, patience: int | None = None) -> int:
        """Improve one tuple position, the earlier ones held at what they are or better.

        Parameters
        ----------
        bound : int or None
            What is proven of the position: reaching it ends the search.
        patience : int or None
            Rounds without a better answer after which to leave the rest of the budget to others; None: never.

        Returns
        -------
        int
            How many parts brought something.
        """
        arms, idle, gains = self._arms.setdefault(position, Arms(self._kinds)), 0, 0
        kinds = list(self._kinds.values())
        while not budget.over and not self.incumbent.enough(position, bound):
            if patience is not None and idle >= patience:
                break
            self._catch_up()
            arm = arms.draw(self._rng)
            before = time.monotonic(), budget.seconds
            choice = kinds[arm](self._scene(position), arms.size(arm), self._rng)
            gain, solved = 0.0, True
            if choice is not None:
                turn = budget.part(min(_SECONDS * (1 + idle / 8), _MOST_SECONDS))
                gain, solved = self._round(choice, position, turn)
            budget.tick()
            budget.spend(_ROUND)
            cost = budget.seconds - before[1] if budget.deterministic else time.monotonic() - before[0]
            arms.tell(arm, gain, cost, solved)
            idle, gains = (0, gains + 1) if gain > 0 else (idle + 1, gains)
        return gains

    def _catch_up(self) -> None:
        """Go on from the best answer, whoever found it."""
        found = self.incumbent.found
        assert found is not None
        if found.version != self._version:
            self._state.follow(found.assignment)
            self._version = found.version

    def _scene(self, position: int) -> Scene:
        version, heat = self._heat.get(position, (0, None))
        if heat is None or version != self._version:
            heat = container_heat(self.model, position, self._state.values)
            self._heat[position] = self._version, heat
        return Scene(self._state.assignment, self.model.problem.initial, heat)

    def _round(self, choice: Choice, position: int, budget: Budget) -> tuple[float, bool]:
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
        outcome = solve(
            encoding.bulk,
            replace(self._request, seed=int(self._rng.integers(2**31))),
            budget,
            cp_model_probing_level=0,
            symmetry_level=0,
        )
        solved = outcome.status == "OPTIMAL"
        if outcome.values is None:
            return 0.0, solved
        local = literals.assignment(outcome.values[: literals.count] > 0)
        score = local_score(part, local)
        if score is None or score >= before:
            return 0.0, solved
        return self._keep(part, local, score, before, position), solved

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
        found = self.incumbent.found
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
        if not self.incumbent.offer(whole, score):
            return 0.0
        self._state.move(part, local)
        mine = self.incumbent.found
        if mine is not None and np.array_equal(mine.assignment, whole):
            self._version = mine.version
        return float(max(1, before[position] - score[position]))


__all__ = ["Neighbourhoods"]
