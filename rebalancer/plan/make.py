"""Makes plans: orders moves, breaks cycles, and has everything verified before it is handed out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import CellValues, Model, evaluate_cells
from rebalancer.plan.checks import final_demands
from rebalancer.plan.exact import MOST_LEGS, earliest_waves, fewest_waves, lower_bound
from rebalancer.plan.ledger import Legs
from rebalancer.plan.obstacles import obstacles
from rebalancer.plan.order import Priority, priority
from rebalancer.plan.plan import Plan
from rebalancer.plan.route import Route
from rebalancer.plan.staging import travel
from rebalancer.plan.states import search
from rebalancer.plan.steps import Blocked, Steps
from rebalancer.plan.undo import undoing, way_back
from rebalancer.plan.verify import replay
from rebalancer.plan.waves import Journey
from rebalancer.problem import Fault, FaultList, InputError
from rebalancer.scenario.plan_section import PlanOptions, plan_faults, with_fields
from rebalancer.search import InternalError

if TYPE_CHECKING:
    from rebalancer.solution import Evaluation


def plan_moves(
    solution: Evaluation, options: PlanOptions | None = None, *, created: datetime | None = None, **fields: Any
) -> Plan:
    """Return a safe plan that carries out a solution.

    Parameters
    ----------
    solution : Solution or Evaluation
        What `Rebalancer.solve` or `Rebalancer.evaluate` returned.
    options : PlanOptions, optional
        Caps on moves in flight and the like; left out: the scenario's section ``plan``, or none.
    created : datetime, optional
        When the plan was made, with its time zone; left out: now.
    **fields
        Fields of the options that are stated anew, as in a scenario: ``max_in_flight=100, max_per_group={"job": 1}``.

    Raises
    ------
    InputError
        There is no solution, or it breaks what has to hold, or the options are wrong.
    InternalError
        The plan did not pass its own verification; please report it.
    """
    _check_arguments(solution, options, created)
    return draft_moves(solution, options, **fields).plan(created)


def draft_moves(solution: Evaluation, options: PlanOptions | None = None, **fields: Any) -> Draft:
    """Return the order of moves of `plan_moves`, not yet verified, for who may not want a plan of all of them."""
    model, final = solution._model, solution._assignment
    if not getattr(solution, "found", True):
        raise InputError([Fault("no-solution", f"there is nothing to plan: {getattr(solution, 'reason', None)}")])
    if solution.worsened:
        names = ", ".join(f"'{name}'" for name in solution.worsened)
        raise InputError([Fault("unsafe-end", f"the assignment breaks what has to hold: {names}")])
    stated = with_fields(options or solution._plan_options or PlanOptions(), fields)
    return draft(model, model.problem.initial, final, stated)


def _check_arguments(solution: Any, options: Any, created: Any) -> None:
    """Raise InputError where an argument of `plan_moves` is none of what it takes."""
    from rebalancer.solution import Evaluation

    faults = FaultList()
    if not isinstance(solution, Evaluation):
        faults.report("wrong-type", f"expected what solve or evaluate returned, got {solution!r}", (), solution)
    if not isinstance(options, PlanOptions | None):
        hint = "; fields are given by name" if isinstance(options, dict) else ""
        faults.report("wrong-type", f"options: expected PlanOptions, got {options!r}{hint}", ("options",), options)
    if not isinstance(created, datetime | None):
        faults.report("wrong-type", f"created: expected a datetime, got {created!r}", ("created",), created)
    elif created is not None and created.tzinfo is None:
        faults.report("no-time-zone", "the time when a plan was made needs its time zone", (), str(created))
    faults.raise_if_any()


def make_plan(
    model: Model,
    start: NDArray[np.int32],
    end: NDArray[np.int32],
    options: PlanOptions,
    created: datetime | None = None,
) -> Plan:
    """Return a safe plan from one assignment to another; see `plan_moves`.

    Parameters
    ----------
    start, end : int32 arrays, one per object
    """
    return draft(model, start, end, options).plan(created)


def draft(model: Model, start: NDArray[np.int32], end: NDArray[np.int32], options: PlanOptions) -> Draft:
    """Return the order of moves of `make_plan`, not yet verified."""
    faults = [fault.below(("plan",)) for fault in plan_faults(options, model.problem)]
    if faults:
        raise InputError(faults)
    found = _drafted(Route.of(model, start, end, options))
    if len(found.journey.waiting) and _breaks_at_end(model, start, end, found.steps):
        # what has to hold at the end would not, as not everything gets there: it holds all along instead
        strict = _drafted(Route.of(model, start, end, options, strict=True))
        return replace(strict, least_blocked=found.least_blocked)  # what is proven with less to hold
    return found


@dataclass(frozen=True, eq=False)
class Draft:
    """An order of moves that is worth a plan, once it has passed verification.

    Parameters
    ----------
    route : Route
    legs : Legs
        The moves, by priority.
    worth : Priority
    journey : Journey
    steps : Steps
    lower_bound : int
    exact : bool
    staged : tuple of (int, int)
    least_blocked : int
        Every plan leaves so many moves blocked.
    """

    route: Route
    legs: Legs
    worth: Priority
    journey: Journey
    steps: Steps
    lower_bound: int
    exact: bool
    staged: tuple[tuple[int, int], ...]
    least_blocked: int

    def plan(self, created: datetime | None = None) -> Plan:
        """Return the plan, verified, with its way back.

        Raises
        ------
        InternalError
            It did not pass verification.
        """
        route = self.route
        model, start, options = route.model, route.start, route.options
        forward = replay(model, start, self.steps, options, route.end, scored=True)
        undone = undoing(route, self.steps)
        back = way_back(Route.of(model, forward.end, start, options), self.steps, undone)
        backward = replay(model, forward.end, back, options, beyond=undone.beyond)
        for what, report in (("plan", forward), ("way back", backward)):
            if not report.safe:
                wave, message = report.problems[0]
                raise InternalError(f"the {what} does not pass verification: wave {wave}: {message}")
        if not np.array_equal(backward.end, start):
            raise InternalError("the way back does not end where the plan starts")
        blocked = tuple(_blocked(self.journey))
        return Plan(
            "PARTIAL" if blocked else "COMPLETE",
            self.steps,
            back,
            blocked,
            tuple(forward.excess),
            tuple(forward.peaks),
            self.lower_bound,
            self.exact,
            tuple(_reasons(self.steps, self.worth, self.legs, self.staged)),
            self.staged,
            options,
            created or datetime.now(UTC),
            tuple(backward.beyond),
            self.least_blocked,
            model,
            start,
        )


def _drafted(route: Route) -> Draft:
    legs = route.legs()
    worth = priority(route.model, route.always, legs, route.start)
    legs = legs.take(worth.order)
    journey, flown = _travelled(route, legs, route.options.staging)
    journey, blocked = search(route, journey, flown) if len(journey.waiting) else (journey, 0)
    steps, bound, exact = _fewest(route, flown, journey, blocked)
    return Draft(route, legs, worth, journey, steps, bound, exact, _staged_steps(steps), blocked)


def _breaks_at_end(model: Model, start: NDArray[np.int32], end: NDArray[np.int32], steps: Steps) -> bool:
    values = CellValues(model.problem, steps.end(start))
    return any(
        demand.exceeded(evaluate_cells(values, demand.hard.cells).integers)
        for demand in final_demands(model, start, end)
    )


def _travelled(route: Route, legs: Legs, staging: bool) -> tuple[Journey, Legs]:
    """Return the journey, and the legs in its order; what was staged to no avail stays where it is."""
    journey = travel(route.journey(legs), staging)
    if not len(journey.waiting):
        return journey, legs
    # some that are useful have taken for good what others only need for a while: those others first
    draws = journey.always.draws(np.arange(len(legs)))
    if draws.any() and not draws.all():
        patient = legs.take(np.argsort(draws, kind="stable"))
        second = travel(route.journey(patient), staging)
        if len(second.waiting) < len(journey.waiting):
            journey, legs = second, patient
    if len(journey.waiting) and journey.staged:
        plain = travel(route.journey(legs), False)
        if len(plain.waiting) <= len(journey.waiting):
            return plain, legs
    return journey, legs


def _flown(route: Route, journey: Journey) -> Steps:
    order = np.concatenate([np.empty(0, np.int64), *journey.waves])
    wave = np.repeat(np.arange(len(journey.waves)), [len(part) for part in journey.waves])
    who, goes = journey.flown(order)
    known = journey.always, journey.between, order
    steps = route.steps(Legs(who, np.array(journey.source, np.int32)[order], goes), wave, known)
    tight = route.squeezed(steps, known)
    return tight if tight is steps or _as_good(route, tight, steps) else steps


def _safe(route: Route, steps: Steps) -> bool:
    return replay(route.model, route.start, steps, route.options, route.end).safe


def _as_good(route: Route, steps: Steps, known: Steps) -> bool:
    """Return whether steps are safe, and no more waves of their way back exceed a cap than of others."""
    return _safe(route, steps) and len(undoing(route, steps).beyond) <= len(undoing(route, known).beyond)


def _fewest(route: Route, legs: Legs, journey: Journey, blocked: int) -> tuple[Steps, int, bool]:
    """Return the steps with as few waves as is known, a lower bound, and whether it is reached.

    Parameters
    ----------
    blocked : int
        Every order leaves so many legs waiting.
    """
    steps = _flown(route, journey)
    number = np.arange(len(legs))  # these legs were the first that the journey had
    direct = not len(journey.waiting) and not journey.staged
    stuck = {journey.who[leg] for leg in journey.waiting.tolist()}
    moved = number[[obj not in stuck for obj in legs.who.tolist()]]
    earliest = earliest_waves(journey.always, moved)
    bound = lower_bound(journey.always, moved, None if journey.staged else earliest)
    if journey.staged and not stuck and earliest.min() < 0:
        bound = max(bound, 2)  # some object has to move twice
    if direct and steps.waves == bound:
        return steps, bound, True
    if not len(legs) or len(legs) > MOST_LEGS or blocked:
        return steps, bound, False
    known = steps.waves if direct else None
    found = fewest_waves(journey.always, journey.between, number, known, route.options.exact_time)
    if found.wave is not None:
        better = route.steps(legs, found.wave)
        if _as_good(route, better, steps) or (not direct and _safe(route, better)):
            _arrived(journey)
            return better, found.bound, True
    if direct:
        return steps, found.bound, steps.waves == found.bound
    return steps, max(bound, 2 if found.impossible and not stuck else 0), False


def _arrived(journey: Journey) -> None:
    """Note that nothing waits any more: another method has found an order."""
    journey.waiting = np.empty(0, np.int64)


def _staged_steps(steps: Steps) -> tuple[tuple[int, int], ...]:
    """Return the pairs of steps of the same object."""
    order = np.argsort(steps.who, kind="stable")
    again = np.flatnonzero(steps.who[order][1:] == steps.who[order][:-1])
    return tuple(zip(order[again].tolist(), order[again + 1].tolist(), strict=True))


def _blocked(journey: Journey) -> Iterator[Blocked]:
    problem = journey.model.problem
    containers = [*problem.containers, None]
    nobody = np.empty(0, np.int64)
    for leg in journey.waiting.tolist():
        ends = containers[journey.source[leg]], containers[journey.destination[leg]]
        yield Blocked(problem.objects[journey.who[leg]], *ends, obstacles(journey, leg, nobody))


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


__all__ = ["Draft", "draft", "draft_moves", "make_plan", "plan_moves"]
