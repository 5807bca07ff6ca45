"""Undoing moves that bring nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import Budget
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.slices import Slice, TooWide
from rebalancer.engines.neighbourhood.state import State, local_score
from rebalancer.model import Model

#: Seconds that tidying may take, and that it takes even when nothing is left or somebody waits for the answer.
_SECONDS, _OVERTIME = 5.0, 0.25
#: Seconds that it takes to begin, per object.
_PER_OBJECT = 1e-6
#: The most checks; where the clock must not decide, there are so many per second of the limit, between these two.
_CHECKS, _CHECKS_A_SECOND, _FEWEST, _MOST = 10_000, 100, 500, 2_000
#: So many objects are looked at, and returned, together at most.
_TOGETHER = 100


def undo_idle_moves(
    model: Model, assignment: NDArray[np.int32], budget: Budget, target: tuple[int, ...] = ()
) -> NDArray[np.int32]:
    """Return moved objects to where they started wherever that keeps the answer feasible and costs nothing.

    What a position gains beyond its ``target`` pays for nothing that another one loses; what it has beyond that is
    kept all the same, as it may be what is proven. A hundred of them together first, then quarters of what is left, so
    that few checks suffice where most moves bring nothing, and little more than one for each where most matter.
    Where even looking at the model takes longer than there is time for, nothing is undone.
    """
    initial = model.problem.initial
    seconds = _OVERTIME if budget.stop.is_set() else min(_SECONDS, max(_OVERTIME, budget.remaining))
    moved = np.flatnonzero(assignment != initial)
    if not len(moved) or (len(assignment) * _PER_OBJECT > seconds and not budget.deterministic):
        return assignment
    turns = _turns(budget, seconds, time.monotonic())
    state = State(model, assignment)
    pending = [moved[first : first + _TOGETHER] for first in range(0, len(moved), _TOGETHER)]
    for _ in turns:
        if not pending:
            break
        some = pending.pop()
        choice = Choice.of(state.assignment, some, initial[some].astype(np.int64))
        try:
            part = state.slice(choice)
        except TooWide:
            pending += _quarters(some)
            continue
        here = choice.local(state.assignment)
        tidied = _returned(part, here, choice.local(initial), state.integers, target, turns)
        if (tidied != here).any():
            state.move(part, tidied)
    return state.assignment


def _returned(
    part: Slice,
    here: NDArray[np.int32],
    home: NDArray[np.int32],
    integers: tuple[int, ...],
    target: tuple[int, ...],
    turns: Iterator[None],
) -> NDArray[np.int32]:
    """Return where the objects of a slice are once those are home that cost nothing there.

    ``integers`` is what the answer is worth with all of them ``here``.
    """
    pending = [np.arange(len(here))]
    for _ in turns:
        if not pending:
            break
        some = pending.pop()
        local = here.copy()
        local[some] = home[some]
        score = local_score(part, local)
        if score is not None and score <= integers and _trimmed(score, target) <= _trimmed(integers, target):
            here, integers = local, score
        else:
            pending += _quarters(some)
    return here


def _trimmed(integers: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Return the first positions, nothing better than what is good enough of each."""
    return tuple(map(max, integers, target))


def _turns(budget: Budget, seconds: float, began: float) -> Iterator[None]:
    """Yield as often as something may be checked, for so many seconds from when tidying began."""
    deadline, overtime = began + seconds, began + _OVERTIME
    for _ in range(_checks(budget)):
        now = time.monotonic()
        late = now > deadline and not budget.deterministic
        if late or (budget.stop.is_set() and now > overtime):
            return
        yield


def _quarters(some: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return a few objects, or what numbers them, in four; nothing where there is only one."""
    return [quarter for quarter in np.array_split(some, 4) if len(quarter)] if len(some) > 1 else []


def _checks(budget: Budget) -> int:
    """Return how many checks there may be."""
    if not budget.deterministic:
        return _CHECKS
    return _MOST if budget.limit is None else max(_FEWEST, min(_MOST, int(_CHECKS_A_SECOND * budget.limit)))


__all__ = ["undo_idle_moves"]
