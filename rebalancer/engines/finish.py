"""From the best that was found to the answer."""

from __future__ import annotations

import numpy as np

from rebalancer.engines.base import Answer, Status
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.tidy import undo_idle_moves
from rebalancer.model import Model


def finish(incumbent: Incumbent, engine: str) -> Answer:
    """Return the answer of a search that has ended: free moves undone, OPTIMAL where the bounds say so.

    Where nothing was found it is UNKNOWN, or INFEASIBLE where there is nothing that could be placed otherwise.
    """
    model, found = incumbent.model, incumbent.found
    if found is None and not len(model.problem.objects):
        names = ", ".join(f"'{name}'" for name in model.evaluate(model.problem.initial).worsened)
        reason = f"there is nothing to place, and {names} does not hold"
        return Answer(Status.INFEASIBLE, None, tuple(incumbent.bounds), reason, engine)
    if found is None:
        return Answer(Status.UNKNOWN, None, tuple(incumbent.bounds), least_violation(model), engine)
    if not len(model.problem.objects):
        return Answer(Status.OPTIMAL, found.assignment, found.integers, None, engine)
    assignment = undo_idle_moves(model, found.assignment, incumbent.budget, incumbent.target)
    if not np.array_equal(assignment, found.assignment):
        incumbent.offer(assignment)  # what was undone may have been worse than idle
    status = Status.OPTIMAL if incumbent.closed else Status.FEASIBLE
    return Answer(status, assignment, tuple(incumbent.bounds), None, engine)


def least_violation(model: Model) -> str:
    """Return a sentence with what the initial assignment breaks."""
    score = model.evaluate(model.problem.initial)
    broken = [
        f"'{constraint.name}' by {violation:g}"
        for constraint, violation in zip(model.constraints, score.violations.tolist(), strict=True)
        if violation > 0 and constraint.name in score.worsened
    ]
    start = ", ".join(broken) or "some of them"
    return f"no assignment that holds every hard constraint was found in the time; the start breaks {start}"


__all__ = ["finish", "least_violation"]
