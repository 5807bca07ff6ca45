"""Frees a few objects, solves that part exactly, keeps what is better. Again and again."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

import numpy as np

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood.arms import Arms
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.kinds import Scene, kinds_of
from rebalancer.engines.neighbourhood.sliced import Sliced

#: Seconds for one part at first, and at most, once rounds bring nothing.
_SECONDS, _MOST_SECONDS = 0.3, 2.0
#: What a round costs where the clock does not count, besides what solving its part says.
_ROUND = 0.02


class Parts(Protocol):
    """Who solves parts, and keeps step with the best answer, whoever finds it."""

    def scene(self, position: int) -> Scene:
        """Return what the kinds of parts choose from: the best answer, and where a position hurts at it."""

    def solve(self, choice: Choice, position: int, budget: Budget, request: Request) -> tuple[float, bool]:
        """Minimise a position over a part, the earlier ones no worse than they are, and offer what is better.

        Returns
        -------
        float, bool
            By how much the position's integer is better, and whether the part was solved to its end.
        """


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
    parts : Parts, optional
        Who solves parts: by default slices of the model, which problems of any size have.
    """

    def __init__(
        self, incumbent: Incumbent, request: Request, workers: int | None = None, parts: Parts | None = None
    ) -> None:
        self._incumbent = incumbent
        # One worker alone gets much further than several that wait for each other to stay in step.
        count = 1 if request.deterministic else request.workers if workers is None else workers
        self._request = replace(request, gap=0.0, workers=count)
        self._rng = np.random.default_rng(request.seed)
        self._kinds = kinds_of(incumbent.model)
        self._parts = Sliced(incumbent) if parts is None else parts
        self._arms: dict[int, Arms] = {}

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
        while not budget.over and not self._incumbent.enough(position, bound):
            if patience is not None and idle >= patience:
                break
            arm = arms.draw(self._rng)
            before = time.monotonic(), budget.seconds
            choice = kinds[arm](self._parts.scene(position), arms.size(arm), self._rng)
            gain, solved = 0.0, True
            if choice is not None:
                turn = budget.part(min(_SECONDS * (1 + idle / 8), _MOST_SECONDS))
                request = replace(self._request, seed=int(self._rng.integers(2**31)))
                gain, solved = self._parts.solve(choice, position, turn, request)
            budget.tick()
            budget.spend(_ROUND)
            cost = budget.seconds - before[1] if budget.deterministic else time.monotonic() - before[0]
            arms.tell(arm, gain, cost, solved)
            idle, gains = (0, gains + 1) if gain > 0 else (idle + 1, gains)
        return gains


__all__ = ["Neighbourhoods", "Parts"]
