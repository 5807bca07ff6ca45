"""Why no assignment holds every hard constraint: a small set of them that cannot hold together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.cpsat.candidates import ALL_PAIRS, all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.run import solve
from rebalancer.model import CellValues, Model

#: Seconds for each question "does it go without this one?", and for all of them.
_EACH, _ALL = 2.0, 12.0


def reason(model: Model, request: Request) -> str | None:
    """Return a sentence naming constraints that cannot hold together, each of them needed for that; None where that could not be found out."""
    problem = model.problem
    if len(problem.objects) * (len(problem.containers) + 1) > ALL_PAIRS:
        return None
    kept = sorted({hard.constraint for hard in model.hard})
    if not _impossible(model, kept, request):
        return None
    began = request.seconds
    for index in list(kept):
        fewer = [other for other in kept if other != index]
        if request.seconds - began > _ALL or request.stop.is_set():
            break
        if _impossible(model, fewer, request):
            kept = fewer
    names = [f"'{model.constraints[index].name}'" for index in kept]
    if len(names) == 1:
        return f"no assignment holds {names[0]}"
    return f"no assignment holds {', '.join(names[:-1])} and {names[-1]} together"


def _impossible(model: Model, constraints: list[int], request: Request) -> bool:
    part = replace(model, hard=tuple(hard for hard in model.hard if hard.constraint in constraints))
    literals = all_candidates(part)
    if (literals.per_object == 0).any():
        return True
    encoding = encode(part, literals, CellValues(model.problem, model.problem.initial))
    quick = Request(_EACH, 0.0, request.seed, request.workers, stop=request.stop)
    return solve(encoding.bulk, quick, _EACH, stop_after_first_solution=True).status == "INFEASIBLE"


def least_violation(model: Model, assignment: NDArray[np.int32]) -> str:
    """Return a sentence with what an assignment that holds less breaks."""
    score = model.evaluate(assignment)
    broken = [
        f"'{model.constraints[index].name}' by {score.violations[index]:g}"
        for index in np.flatnonzero(score.violations > 0).tolist()
        if model.constraints[index].name in score.worsened
    ]
    return f"no assignment that holds every hard constraint was found in the time; the start breaks {', '.join(broken) or 'some of them'}"
