"""Plans: an assignment carried out in waves that are safe at every moment, proven by replay, with the way back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.checks import broken_by
from rebalancer.plan.exact import MOST_LEGS, fewest_waves, lower_bound
from rebalancer.plan.labels import shortage
from rebalancer.plan.ledger import Legs
from rebalancer.plan.order import Priority, priority
from rebalancer.plan.room import Room
from rebalancer.plan.route import Route
from rebalancer.plan.staging import travel
from rebalancer.plan.steps import Blocked, Excess, Peak, Steps
from rebalancer.plan.verify import replay
from rebalancer.plan.waves import Journey
from rebalancer.problem import Fault, InputError
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.search import InternalError

if TYPE_CHECKING:
    import pandas as pd

    from rebalancer.solution import Evaluation

log = logging.getLogger(__name__)

#: Reasons that are given for a move that is blocked.
_REASONS = 5


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How to get from one assignment to another; it has passed `replay`, and so has the way back.

    Parameters
    ----------
    status : str
        COMPLETE, or PARTIAL where some moves are blocked.
    steps : Steps
    rollback : Steps
        From the end back to the start; from any wave onwards, its last steps.
    blocked : tuple of Blocked
    excess : tuple of Excess
        What is above its limit on the way, and may be.
    peaks : tuple of Peak
        One per wave.
    lower_bound : int
        No plan of these moves has fewer waves; where none is staged, no plan that makes each of them directly.
    exact : bool
        Whether there are proven to be as few waves as that.
    reasons : tuple of str
        Of each step.
    staged : tuple of (int, int)
        Steps that take an object to where it waits, and the step that fetches it from there.
    options : PlanOptions
    """

    status: str
    steps: Steps
    rollback: Steps
    blocked: tuple[Blocked, ...]
    excess: tuple[Excess, ...]
    peaks: tuple[Peak, ...]
    lower_bound: int
    exact: bool
    reasons: tuple[str, ...]
    staged: tuple[tuple[int, int], ...]
    options: PlanOptions
    model: Model = field(repr=False)
    start: NDArray[np.int32] = field(repr=False)

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"at least {self.lower_bound}"
        return (
            f"Plan({self.status}, {len(self.steps)} steps, {self.steps.waves} waves ({how}), "
            f"{len(self.staged)} staged, {len(self.blocked)} blocked)"
        )

    @property
    def waves(self) -> int:
        """How many waves there are."""
        return self.steps.waves

    @property
    def table(self) -> pd.DataFrame:
        """One row per step: id, object, source, destination, wave, after (ids), reason. Waves count from 1."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the steps as plain values."""
        yield from (
            {**row, "reason": reason} for row, reason in zip(self._rows(self.steps, "s"), self.reasons, strict=True)
        )

    def rollback_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the steps of the way back as plain values; each names the step that it undoes."""
        steps, back = self.steps, self.rollback
        undoes: dict[tuple[int, int, int], list[int]] = {}
        ends = zip(steps.who.tolist(), steps.source.tolist(), steps.destination.tolist(), strict=True)
        for number, key in enumerate(ends):
            undoes.setdefault(key, []).append(number)
        ends = zip(back.who.tolist(), back.destination.tolist(), back.source.tolist(), strict=True)
        for row, key in zip(self._rows(back, "r"), ends, strict=True):
            yield {**row, "undoes": f"s{undoes[key].pop() + 1}"}

    def _rows(self, steps: Steps, letter: str) -> Iterator[dict[str, Any]]:
        problem = self.model.problem
        containers = [*problem.containers, None]  # the index -1 finds None
        barrier = steps.waits.wave.tolist()
        ends = zip(
            steps.who.tolist(), steps.source.tolist(), steps.destination.tolist(), steps.wave.tolist(), strict=True
        )
        for number, (who, source, destination, wave) in enumerate(ends):
            yield {
                "id": f"{letter}{number + 1}",
                "object": problem.objects[who],
                "source": containers[source],
                "destination": containers[destination],
                "wave": wave + 1,
                "after": [f"{letter}{other + 1}" for other in steps.waits.of(number)],
                **({"after_wave": barrier[number] + 1} if barrier[number] >= 0 else {}),
            }


def plan_moves(solution: Evaluation, options: PlanOptions | None = None) -> Plan:
    """Return a safe plan that carries out a solution.

    Parameters
    ----------
    solution : Solution or Evaluation
        What `Rebalancer.solve` or `Rebalancer.evaluate` returned.
    options : PlanOptions, optional
        Caps on moves in flight and the like; a scenario's are ``scenario.plan``.

    Raises
    ------
    InputError
        The assignment breaks what has to hold, or the options name what is not there.
    InternalError
        The plan did not pass its own verification; please report it.
    """
    model, final = solution._model, solution._assignment
    if solution.worsened:
        names = ", ".join(f"'{name}'" for name in solution.worsened)
        raise InputError([Fault("unsafe-end", f"the assignment breaks what has to hold: {names}")])
    return make_plan(model, model.problem.initial, final, options or PlanOptions())


def make_plan(model: Model, start: NDArray[np.int32], end: NDArray[np.int32], options: PlanOptions) -> Plan:
    """Return a safe plan from one assignment to another; see `plan_moves`.

    Parameters
    ----------
    start, end : int32 arrays, one per object
    """
    from rebalancer.scenario.plan_section import plan_faults

    faults = [fault.below(("plan",)) for fault in plan_faults(options, model.problem)]
    if faults:
        raise InputError(faults)
    route = Route.of(model, start, end, options)
    legs = route.legs()
    worth = priority(model, route.always, legs, start)
    legs = legs.take(worth.order)
    journey = _travelled(route, legs, options.staging)
    steps, bound, exact = _fewest(route, legs, journey, options)
    steps, staged = _staged_steps(steps)
    blocked = tuple(_blocked(journey)) if journey is not None else ()
    forward = replay(model, start, steps, options)
    back_route = Route.of(model, forward.end, start, options)
    back = back_route.back(steps)
    backward = replay(model, forward.end, back, options)
    for what, report in (("plan", forward), ("way back", backward)):
        if not report.safe:
            wave, message = report.problems[0]
            raise InternalError(f"the {what} does not pass verification: wave {wave}: {message}")
    if not np.array_equal(backward.end, start):
        raise InternalError("the way back does not end where the plan starts")
    return Plan(
        "PARTIAL" if blocked else "COMPLETE",
        steps,
        back,
        blocked,
        tuple(forward.excess),
        tuple(forward.peaks),
        bound,
        exact,
        tuple(_reasons(steps, worth, legs, staged)),
        staged,
        options,
        model,
        start,
    )


def _travelled(route: Route, legs: Legs, staging: bool) -> Journey:
    """Return the journey; what was staged to no avail stays where it is."""
    journey = travel(route.journey(legs), staging)
    if len(journey.waiting) and journey.staged:
        plain = travel(route.journey(legs), False)
        if len(plain.waiting) <= len(journey.waiting):
            return plain
    return journey


def _flown(route: Route, journey: Journey) -> Steps:
    order = np.concatenate([np.empty(0, np.int64), *journey.waves])
    wave = np.repeat(np.arange(len(journey.waves)), [len(part) for part in journey.waves])
    legs = Legs(
        np.array(journey.who, np.int64)[order],
        np.array(journey.source, np.int32)[order],
        np.array(journey.destination, np.int32)[order],
    )
    steps = route.steps(legs, wave)
    tight = route.squeezed(steps)
    return tight if tight is steps or replay(route.model, route.start, tight, route.options).safe else steps


def _fewest(route: Route, legs: Legs, journey: Journey, options: PlanOptions) -> tuple[Steps, int, bool]:
    """Return the steps with as few waves as is known, a lower bound, and whether it is reached."""
    steps = _flown(route, journey)
    always, between = Room(route.always), Room(route.between)
    always.add(legs)
    between.add(legs)
    number = np.arange(len(legs))
    direct = not len(journey.waiting) and not journey.staged
    stuck = {journey.who[leg] for leg in journey.waiting.tolist()}
    bound = lower_bound(always, number[[obj not in stuck for obj in legs.who.tolist()]])
    if direct and steps.waves == bound:
        return steps, bound, True
    if not len(legs) or len(legs) > MOST_LEGS:
        return steps, bound, False
    found = fewest_waves(always, between, number, steps.waves if direct else None, options.exact_time)
    if found.wave is not None:
        better = route.steps(legs, found.wave)
        if replay(route.model, route.start, better, options).safe:
            _arrived(journey)
            return better, found.bound, True
    if direct:
        return steps, found.bound, steps.waves == found.bound
    twice = 2 if found.impossible and not stuck else 0  # somebody has to move twice
    return steps, max(bound, twice), False


def _arrived(journey: Journey) -> None:
    """Note that nothing waits any more: another method has found an order."""
    journey.waiting = np.empty(0, np.int64)


def _staged_steps(steps: Steps) -> tuple[Steps, tuple[tuple[int, int], ...]]:
    """Return the steps, and the pairs of steps of the same object."""
    order = np.argsort(steps.who, kind="stable")
    again = np.flatnonzero(steps.who[order][1:] == steps.who[order][:-1])
    return steps, tuple(zip(order[again].tolist(), order[again + 1].tolist(), strict=True))


def _blocked(journey: Journey) -> Iterator[Blocked]:
    problem = journey.model.problem
    containers = [*problem.containers, None]
    for leg in journey.waiting.tolist():
        reasons = []
        for room, net in ((journey.always, False), (journey.between, True)):
            rows = np.arange(room.start[leg], room.start[leg + 1])
            need = room.take[rows] - (room.give[rows] if net else 0)
            for row, much in zip(rows[need > room.slack[room.slot[rows]]].tolist(),
                                 need[need > room.slack[room.slot[rows]]].tolist(), strict=True):  # fmt: skip
                kind, cell = room.ledger.kind_of(int(room.keys[room.slot[row]]))
                reasons.append(shortage(journey.model, kind, cell, much, int(room.slack[room.slot[row]])))
        who, goes = journey.who[leg], journey.destination[leg]
        if not reasons:
            flight = np.array([who], np.int64), np.array([goes], np.int32)
            broken = broken_by(journey.model, journey.checks, journey.assignment, *flight)
            reasons = [f"{journey.model.constraints[demand.hard.constraint].name} would not hold" for demand in broken]
        yield Blocked(
            problem.objects[who], containers[journey.source[leg]], containers[goes], tuple(reasons[:_REASONS])
        )


def _reasons(steps: Steps, worth: Priority, legs: Legs, staged: tuple[tuple[int, int], ...]) -> Iterator[str]:
    position = dict(zip(legs.who.tolist(), worth.order.tolist(), strict=True))
    out, home = {first for first, _ in staged}, {second for _, second in staged}
    for number, who in enumerate(steps.who.tolist()):
        move = position.get(who)
        if number in out:
            yield "waits elsewhere to make room"
        elif move is None:
            yield "goes back where it was" if number in home else "moves"
        elif worth.repairs[move] > 0:
            yield "repairs what is broken"
        else:
            yield _gain(worth.gain[move])


def _gain(gain: NDArray[np.float64]) -> str:
    for position, value in enumerate(gain.tolist()):
        if abs(value) > 1e-12:
            return f"gains {value:.6g} at position {position}" if value > 0 else "makes other moves possible or good"
    return "changes no value by itself"


__all__ = ["Plan", "make_plan", "plan_moves"]
