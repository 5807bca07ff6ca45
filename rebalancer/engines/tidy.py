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
_CHECKS, _CHECKS_A_SECOND, _FEWEST, _MOST = 10_000, 100, 100, 2_000
#: So many objects are looked at, and returned, together at most.
_TOGETHER = 100


def undo_idle_moves(model: Model, assignment: NDArray[np.int32], budget: Budget) -> NDArray[np.int32]:
    """Return moved objects to where they started wherever that keeps the answer feasible and costs nothing.

    Some hundreds of them together first, then quarters of what is left, so that few checks suffice where most moves
    bring nothing, and little more than one for each where most matter.
    Where even looking at the model takes longer than there is time for, nothing is undone.
    """
    initial = model.problem.initial
    seconds = _OVERTIME if budget.stop.is_set() else min(_SECONDS, max(_OVERTIME, budget.remaining))
    moved = np.flatnonzero(assignment != initial)
    if not len(moved) or (len(assignment) * _PER_OBJECT > seconds and not budget.deterministic):
        return assignment
    deadline, overtime = time.monotonic() + seconds, time.monotonic() + _OVERTIME
    checks = _checks(budget)

    def goes_on() -> bool:
        now = time.monotonic()
        late = now > deadline and not budget.deterministic
        return checks > 0 and not (late or (budget.stop.is_set() and now > overtime))

    state = State(model, assignment)
    pending = [moved[first : first + _TOGETHER] for first in range(0, len(moved), _TOGETHER)]
    while pending and goes_on():
        some = pending.pop()
        choice = Choice.of(state.assignment, some, initial[some].astype(np.int64))
        try:
            part = state.slice(choice)
        except TooWide:
            pending += _quarters(some)
            checks -= 1
            continue
        here, home, integers = choice.local(state.assignment), choice.local(initial), state.integers
        tried = [np.arange(len(some))]
        while tried and goes_on():
            rows = tried.pop()
            local = here.copy()
            local[rows] = home[rows]
            score = local_score(part, local)
            checks -= 1
            if score is not None and score <= integers:
                here, integers = local, score
            else:
                tried += _quarters(rows)
        if (here != choice.local(state.assignment)).any():
            state.move(part, here)
    return state.assignment


def _quarters(some: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return a few objects, or what numbers them, in four; nothing where there is only one."""
    return [quarter for quarter in np.array_split(some, 4) if len(quarter)] if len(some) > 1 else []


def _checks(budget: Budget) -> int:
    """Return how many checks there may be."""
    if not budget.deterministic:
        return _CHECKS
    return _MOST if budget.limit is None else max(_FEWEST, min(_MOST, int(_CHECKS_A_SECOND * budget.limit)))


__all__ = ["undo_idle_moves"]
