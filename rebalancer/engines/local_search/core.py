"""The core of a problem: the placements that a good answer may have, as its linear relaxation tells them.

An answer costs what the relaxation does, and for each placement its reduced cost besides. So a good one hardly has any
whose reduced cost is a large share of what is open between them. Where walks leave those out, they look at far fewer
moves, and find better ones (Balas and Zemel, 1980, call it the core of a knapsack problem).
"""

from __future__ import annotations

import logging
import math
import threading
from dataclasses import dataclass, field

import numpy as np

from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.relaxation import relax
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.opened import Floats
from rebalancer.model import Model

_log = logging.getLogger(__name__)

#: Up to so many pairs of object and container a core is worth what it takes: so many seconds for each, if that is at
#: most this share of the time left. GLOP takes so many steps for each, at most.
MOST_PAIRS = 20_000
_SECONDS, _SHARE, _STEPS = 1.2e-4, 0.35, 4
#: Shares of all placements that walks have in turn, those of the lowest reduced costs; the share that led farthest has
#: every other turn.
WIDTHS = (0.45, 0.4, 0.55, 0.65, 1.0)


@dataclass(eq=False)
class Core:
    """The relaxation of a position, and how much of it has served best so far.

    Parameters
    ----------
    value : float
        What the relaxation has, in the position's integers.
    reduced : float64 array
        Reduced cost of each object in each container, and of being in none.
    """

    value: float
    reduced: Floats
    ends: dict[int, float] = field(default_factory=dict)
    turns: int = 0

    def next(self) -> int:
        """Return the number of the next width."""
        turn, self.turns = self.turns, self.turns + 1
        if turn < len(WIDTHS):
            return turn
        if turn % 2 and self.ends:
            return min(self.ends, key=lambda number: self.ends[number])
        return turn // 2 % len(WIDTHS)

    def most(self, number: int) -> float:
        """Return the highest reduced cost that is within a width."""
        share = WIDTHS[number]
        costs = self.reduced[self.reduced < np.inf]
        return math.inf if share == 1 or not len(costs) else float(np.quantile(costs, share)) + 1e-9 * self.value

    def learn(self, number: int, end: float) -> None:
        """Note where a walk of some width has ended."""
        self.ends[number] = end


class Cores:
    """The cores of a model's positions, which all searchers share."""

    def __init__(self, model: Model) -> None:
        self._model, self._lock = model, threading.Lock()
        self._known: dict[int, Core | None] = {}

    def at(self, position: int, incumbent: Incumbent, budget: Budget) -> Core | None:
        """Return the core of a position; None where it has none, or there is too little time for it."""
        problem, found = self._model.problem, incumbent.found
        pairs = len(problem.objects) * (len(problem.containers) + 1)
        seconds = _SECONDS * pairs
        with self._lock:
            if position in self._known:
                return self._known[position]
            if found is None or pairs > MOST_PAIRS or seconds > _SHARE * budget.remaining:
                return None
            began = budget.seconds
            relaxation = relax(self._model, position, found, _STEPS * pairs, budget.stop)
            budget.spend(seconds)
            _log.debug("relaxation of position %d after %.1f s", position, budget.seconds - began)
            core = None if relaxation is None else Core(relaxation.value, relaxation.reduced.ravel())
            self._known[position] = core
            return core


__all__ = ["MOST_PAIRS", "WIDTHS", "Core", "Cores"]
