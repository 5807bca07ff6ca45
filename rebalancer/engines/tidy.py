"""Undoing moves that bring nothing."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import Budget
from rebalancer.model import Model

#: Seconds that tidying may take, and that it takes even when nothing is left or somebody waits for the answer.
_SECONDS, _OVERTIME = 5.0, 0.25
#: The most evaluations; where the clock must not decide, this alone ends it.
_EVALUATIONS, _EVALUATIONS_DETERMINISTIC = 2_000, 500


def undo_idle_moves(model: Model, assignment: NDArray[np.int32], budget: Budget) -> NDArray[np.int32]:
    """Return moved objects to where they started wherever that keeps the answer feasible and costs nothing.

    All of them together first, then halves of what is left, so that few evaluations suffice where most moves matter or
    most do not.
    """
    initial = model.problem.initial
    best = model.evaluate(assignment)
    deadline = time.monotonic() + min(_SECONDS, max(_OVERTIME, budget.remaining))
    overtime = time.monotonic() + _OVERTIME
    pending = [np.flatnonzero(assignment != initial)]
    current = assignment
    for _ in range(_EVALUATIONS_DETERMINISTIC if budget.deterministic else _EVALUATIONS):
        late = not budget.deterministic and time.monotonic() > deadline
        if not pending or late or (budget.stop.is_set() and time.monotonic() > overtime):
            break
        some = pending.pop()
        if not len(some):
            continue
        candidate = current.copy()
        candidate[some] = initial[some]
        score = model.evaluate(candidate)
        if score.feasible and score.integers <= best.integers:
            current, best = candidate, score
        elif len(some) > 1:
            pending += [some[: len(some) // 2], some[len(some) // 2 :]]
    return current
