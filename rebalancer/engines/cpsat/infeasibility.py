"""Problems without any answer: a second proof, and a small set of constraints that cannot hold together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.candidates import ALL_PAIRS, all_candidates, every_pair
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.run import Outcome, solve
from rebalancer.model import CellValues, Model

#: Seconds for each question "does it go without this one?", for all of them, and for all where the time is up already.
_EACH, _ALL, _OVERTIME = 2.0, 12.0, 1.0

NO_REASON = "no assignment holds every hard constraint"


def second_opinion(encoding: Encoding, request: Request, budget: Budget) -> Outcome:
    """Ask again in another way whether there is any answer: without presolve, by one worker, with another seed."""
    return solve(
        encoding.bulk,
        replace(request, seed=request.seed + 1),
        _extended(budget, budget.remaining),
        cp_model_presolve=False,
        num_workers=1,
        stop_after_first_solution=True,
    )


def without_candidates(model: Model, request: Request, budget: Budget, literals: Literals) -> str | None:
    """Return why there is no answer where some object has no candidate left; None where CP-SAT does not confirm it.

    CP-SAT is asked about all placements of the objects that are stuck, not only about the candidates.
    """
    problem = model.problem
    stuck = literals.per_object == 0
    every = every_pair(model)
    encoding = encode(replace(model, tuple_positions=()), every, CellValues(problem, problem.initial))
    if second_opinion(encoding, request, budget).status != "INFEASIBLE":
        return None
    name = problem.objects[int(np.flatnonzero(stuck)[0])]
    others = f" and {int(stuck.sum()) - 1} more" if stuck.sum() > 1 else ""
    why = reason(model, request, budget) or NO_REASON
    return f"{why}: no {problem.container_name} is left for {problem.object_name} '{name}'{others}"


def reason(model: Model, request: Request, budget: Budget) -> str | None:
    """Return a sentence naming constraints that cannot hold together, each needed for that; None: not known."""
    problem = model.problem
    if len(problem.objects) * (len(problem.containers) + 1) > ALL_PAIRS:
        return None
    share = _extended(budget, min(_ALL, budget.remaining))
    kept = sorted({hard.constraint for hard in model.hard})
    if not _impossible(model, kept, request, share):
        return None
    for index in list(kept):
        if share.over:
            break
        fewer = [other for other in kept if other != index]
        if _impossible(model, fewer, request, share):
            kept = fewer
    names = [_called(model, index) for index in kept]
    if len(names) == 1:
        return f"no assignment holds {names[0]}"
    return f"no assignment holds {', '.join(names[:-1])} and {names[-1]} together"


def _called(model: Model, index: int) -> str:
    constraint = model.constraints[index]
    meaning = " (what is placed stays placed)" if constraint.implicit else ""
    return f"'{constraint.name}'{meaning}"


def _impossible(model: Model, constraints: list[int], request: Request, budget: Budget) -> bool:
    hard = tuple(hard for hard in model.hard if hard.constraint in constraints)
    part = replace(model, hard=hard, tuple_positions=())
    literals = all_candidates(part)
    if (literals.per_object == 0).any():
        return True
    encoding = encode(part, literals, CellValues(model.problem, model.problem.initial))
    return solve(encoding.bulk, request, budget.part(_EACH), stop_after_first_solution=True).status == "INFEASIBLE"


def _extended(budget: Budget, seconds: float) -> Budget:
    """Return a budget of some seconds, and of a little more than nothing where the time is up."""
    limit = max(_OVERTIME, seconds)
    return Budget(None if limit == float("inf") else limit, budget.deterministic, budget.stop)
