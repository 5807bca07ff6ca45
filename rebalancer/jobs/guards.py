"""What a night may do by itself: how much must be gained, how much may move, and what of a plan is carried out then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rebalancer.jobs.fields import Guards
from rebalancer.plan import Draft, Plan, draft, make_plan

if TYPE_CHECKING:
    from rebalancer.model import Model, Score

#: Shorter plans that are tried at most where one is too long.
_MOST_TRIED = 20
#: Violations that differ by less than this share are the same: they are sums of rounded numbers.
_SAME = 1e-9


class Refused(Exception):
    """A guard says no.

    Attributes
    ----------
    guard : str
        As it is called in the job file.
    reasons : tuple of str
    """

    def __init__(self, guard: str, *reasons: str) -> None:
        super().__init__(f"{guard}: {'; '.join(reasons)}")
        self.guard = guard
        self.reasons = reasons


def moved_objects(plan: Plan | Draft) -> int:
    """Return how many objects a plan moves."""
    return len(np.unique(plan.steps.who))


def gain(before: Score, after: Score) -> float:
    """Return how much better an assignment is, relative to what it was, at the first tuple position that differs.

    Negative where it is worse; 0 where nothing differs.
    """
    for position, (old, new) in enumerate(zip(before.integers, after.integers, strict=True)):
        if old != new:
            value = float(before.objective[position])
            return (value - float(after.objective[position])) / max(1e-12, abs(value))
    return 0.0


def repairs(model: Model, before: Score, after: Score) -> bool:
    """Whether something that is broken gets repaired, or less broken. Constraints with the policy SOFT do not count."""
    judged = [row for row, constraint in enumerate(model.constraints) if constraint.policy != "SOFT"]
    fewer = after.broken_components[judged] < before.broken_components[judged]
    less = after.violations[judged] < before.violations[judged] * (1 - _SAME)
    return bool((fewer | less).any())


def is_better(model: Model, before: Score, after: Score) -> bool:
    """Whether an assignment is better than another, and breaks nothing that has to hold and held before."""
    if set(after.worsened) - set(before.worsened):
        return False
    # What is HARD and broken costs nothing, so that the objective alone does not say that its repair is better.
    return after.integers < before.integers or (not before.feasible and repairs(model, before, after))


def is_worth_it(model: Model, before: Score, after: Score, least: float) -> bool:
    """Whether an assignment is enough better than another to move anything.

    Parameters
    ----------
    least : float
        Relative gain below which it is not; 0: any gain will do. What repairs something always will.
    """
    if not is_better(model, before, after):
        return False
    return repairs(model, before, after) or gain(before, after) >= least


class MoveLimits:
    """How many steps a plan may have, and how many objects it may move.

    Parameters
    ----------
    guards : Guards
    objects : int
        How many there are.
    """

    def __init__(self, guards: Guards, objects: int) -> None:
        self.steps = guards.max_moves
        share = guards.max_moved_fraction
        self.objects = None if share is None else int(share * objects)
        self._share = share

    def complaints(self, steps: int, moved: int) -> list[tuple[str, str]]:
        """Return what is too much about a plan: the guard, and one sentence.

        Parameters
        ----------
        steps, moved : int
            How many steps it has, and how many objects they move.
        """
        found = []
        if self.steps is not None and steps > self.steps:
            found.append(("max_moves", f"the plan has {_count(steps, 'step')}; max_moves allows {self.steps}"))
        if self.objects is not None and self._share is not None and moved > self.objects:
            message = (
                f"the plan moves {_count(moved, 'object')}; max_moved_fraction allows {self.objects} "
                f"({float(self._share) * 100:g} % of all)"
            )
            found.append(("max_moved_fraction", message))
        return found

    @property
    def most_steps(self) -> int | None:
        """Steps that a plan may have in any case."""
        return min((limit for limit in (self.steps, self.objects) if limit is not None), default=None)


def trimmed(plan: Draft, limits: MoveLimits) -> Plan | None:
    """Return a plan that is cut down to its first waves, as many as are allowed; None where nothing useful is left.

    It is planned anew to where everything is after those waves, so that its way back, its peaks and its verification
    are its own; nothing that comes after them is verified. It ends where nothing is broken that was not, and
    everything is better than at the start; if possible, where no object is waiting for another to leave.
    """
    most = limits.most_steps
    if not most:
        return None
    model, start, options = plan.route.model, plan.route.start, plan.route.options
    whole = plan.steps.end(start)
    if plan.steps.waves and len(plan.steps.in_wave(0)) > most:  # waves as large as the plan leave nothing to cut
        at_once = most if options.max_in_flight is None else min(most, options.max_in_flight)
        plan = draft(model, start, whole, options.model_copy(update={"max_in_flight": at_once}))
    before = model.evaluate(start)
    tried = 0
    for waves in _by_preference(plan, most):
        tried += 1
        if tried > _MOST_TRIED:
            return None
        end = _end_after(plan, waves)
        if not is_better(model, before, model.evaluate(end)):
            continue
        shorter = make_plan(model, start, end, options)
        if not limits.complaints(len(shorter.steps), moved_objects(shorter)) and not shorter.blocked:
            return shorter
    return None


def _end_after(plan: Draft, waves: int) -> NDArray[np.int32]:
    """Return where everything is after the first waves of a plan."""
    out = plan.route.start.copy()
    steps = np.flatnonzero(plan.steps.wave < waves)
    out[plan.steps.who[steps]] = plan.steps.destination[steps]
    return out


def _by_preference(plan: Draft, most: int) -> Iterator[int]:
    """Yield numbers of waves to keep, the largest first; those that leave an object waiting come last."""
    sizes = np.cumsum(np.bincount(plan.steps.wave, minlength=plan.steps.waves))
    fitting = [waves for waves in range(plan.steps.waves, 0, -1) if sizes[waves - 1] <= most]
    waiting = np.zeros(plan.steps.waves + 2, np.int64)
    for out, back in plan.staged:
        waiting[plan.steps.wave[out] + 1] += 1
        waiting[plan.steps.wave[back] + 1] -= 1
    waiting = np.cumsum(waiting)
    yield from (waves for waves in fitting if not waiting[waves])
    yield from (waves for waves in fitting if waiting[waves])


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun if amount == 1 else noun + 's'}"
