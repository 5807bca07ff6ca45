"""Undoing moves that bring nothing."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import Budget
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.slices import TooWide
from rebalancer.engines.neighbourhood.state import State, local_score
from rebalancer.model import Model

#: Seconds that tidying may take, and that it takes even when nothing is left or somebody waits for the answer.
_SECONDS, _OVERTIME = 5.0, 0.25
#: Seconds that it takes to begin, per object.
_PER_OBJECT = 1e-6
#: The most checks; where the clock must not decide, there are so many per second of the limit, between these two.
_CHECKS, _CHECKS_A_SECOND, _FEWEST, _MOST = 5_000, 20, 40, 1_000
#: So many objects are returned together at most.
_TOGETHER = 500


def undo_idle_moves(model: Model, assignment: NDArray[np.int32], budget: Budget) -> NDArray[np.int32]:
    """Return moved objects to where they started wherever that keeps the answer feasible and costs nothing.

    Some hundreds of them together first, then halves of what is left, so that few checks suffice where most moves
    matter or most do not.
    Where even looking at the model takes longer than there is time for, nothing is undone.
    """
    initial = model.problem.initial
    seconds = _OVERTIME if budget.stop.is_set() else min(_SECONDS, max(_OVERTIME, budget.remaining))
    moved = np.flatnonzero(assignment != initial)
    if not len(moved) or (len(assignment) * _PER_OBJECT > seconds and not budget.deterministic):
        return assignment
    deadline, overtime = time.monotonic() + seconds, time.monotonic() + _OVERTIME
    state = State(model, assignment)
    pending = [moved[first : first + _TOGETHER] for first in range(0, len(moved), _TOGETHER)]
    for _ in range(_checks(budget)):
        now = time.monotonic()
        late = now > deadline and not budget.deterministic
        if not pending or late or (budget.stop.is_set() and now > overtime):
            break
        some = pending.pop()
        if not _return(state, some, initial) and len(some) > 1:
            pending += [some[: len(some) // 2], some[len(some) // 2 :]]
    return state.assignment


def _checks(budget: Budget) -> int:
    """Return how many checks there may be."""
    if not budget.deterministic:
        return _CHECKS
    return _MOST if budget.limit is None else max(_FEWEST, min(_MOST, int(_CHECKS_A_SECOND * budget.limit)))


def _return(state: State, some: NDArray[np.int64], initial: NDArray[np.int32]) -> bool:
    """Move objects to where they started if that is feasible and no worse; return whether it was."""
    choice = Choice.of(state.assignment, some, initial[some].astype(np.int64))
    try:
        part = state.slice(choice)
    except TooWide:
        return False
    local = choice.local(initial)
    score = local_score(part, local)
    if score is None or score > state.integers:
        return False
    state.move(part, local)
    return True
