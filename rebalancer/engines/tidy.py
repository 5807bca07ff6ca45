"""Undoing moves that bring nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.model import Model

#: Seconds that tidying may take (the second: when the time limit has passed already), and the most evaluations.
_SECONDS, _OVERTIME, _EVALUATIONS = 5.0, 0.25, 2_000


def undo_idle_moves(model: Model, assignment: NDArray[np.int32], request: Request) -> NDArray[np.int32]:
    """Return moved objects to where they started wherever that keeps the answer feasible and costs nothing.

    Halves of what is left are tried together first, so that few evaluations suffice where most moves matter or most do not.
    """
    initial = model.problem.initial
    best = model.evaluate(assignment)
    deadline = request.seconds + min(_SECONDS, max(_OVERTIME, request.remaining))
    pending = [np.flatnonzero(assignment != initial)]
    current = assignment
    for _ in range(_EVALUATIONS):
        if not pending or request.seconds > deadline or request.stop.is_set():
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
