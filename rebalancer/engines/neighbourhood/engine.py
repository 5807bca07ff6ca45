"""Neighbourhood search as an engine of its own: for problems of any size."""

from __future__ import annotations

from rebalancer.engines.base import Answer, Request
from rebalancer.engines.bounds import bounding
from rebalancer.engines.budget import Budget
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood.repair import Repair
from rebalancer.engines.neighbourhood.search import Neighbourhoods
from rebalancer.model import Model

#: Parts without gain after which the next tuple position is tried.
_PATIENCE = 100
#: Seconds of repairing after which to see whether somebody else has found an answer.
_LOOK_UP = 2.0


class NeighbourhoodEngine:
    """Improves the start part by part; repairs it first where it breaks something."""

    name = "neighbourhood"

    def solve(self, model: Model, request: Request) -> Answer:
        """Return the best assignment found within the request's limits."""
        incumbent = Incumbent.of(model, request)
        if len(model.problem.objects):
            with bounding(incumbent):
                improve(model, incumbent, incumbent.budget, request)
        return finish(incumbent, self.name)


def improve(model: Model, incumbent: Incumbent, budget: Budget, request: Request) -> None:
    """Improve a shared incumbent until the budget is over, or every position is good enough.

    One position after the other, each until it stops paying or has used half of the time that remains; then all over
    again, as a later one may have opened up an earlier one. Where there is no answer yet it looks for one first, unless
    somebody else is faster.

    Parameters
    ----------
    model : Model
    incumbent : Incumbent
        Of that model; others may improve it at the same time.
    budget : Budget
    request : Request
        Its workers are the threads of one CP-SAT solve.
    """
    repair: Repair | None = None
    while incumbent.found is None and not budget.over:
        repair = repair or Repair(incumbent, request)
        repair.go_on(budget.part(_LOOK_UP))
    if budget.over:
        return
    search = Neighbourhoods(incumbent, request)
    last = model.positions - 1
    while not (budget.over or incumbent.all_enough()):
        for position in range(model.positions):
            incumbent.turn_to(position)
            share = budget.remaining if position == last else budget.remaining / 2
            search.improve(position, budget.part(share), incumbent.bounds[position], _PATIENCE if last else None)
            if budget.over:
                return


__all__ = ["NeighbourhoodEngine", "improve"]
