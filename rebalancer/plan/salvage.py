"""What of a plan can be carried out from another state: wave by wave, as many of its steps as do no harm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.checks import final_demands
from rebalancer.plan.ledger import Legs
from rebalancer.plan.obstacles import obstacles
from rebalancer.plan.route import Route
from rebalancer.plan.steps import Steps
from rebalancer.plan.verify import replay
from rebalancer.plan.waves import Journey
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.search import InternalError

#: Steps of one wave that do not fit with the others and are tried once more, where trying takes a whole evaluation.
_TRIED_AGAIN = 200


def salvage(
    model: Model, now: NDArray[np.int32], legs: Legs, wave: IntArray, options: PlanOptions
) -> tuple[Steps, IntArray, dict[int, str]]:
    """Return what can be carried out, wave by wave, and why the rest cannot.

    No cell gets worse than it is now, or is in the model's initial assignment: so much may be broken already. Whoever
    waited for a step that is lost is kept where there is room without it.

    Parameters
    ----------
    now : int32 array, one per object
    legs : Legs
        What is still to be done, by wave.
    wave : int64 array, one per leg
    options : PlanOptions
        The caps.

    Returns
    -------
    Steps, int64 array, dict of int to str
        The steps with what each has to wait for; their rows in ``legs``; the reasons of all other rows.

    Raises
    ------
    InternalError
        What is left does not pass verification; please report it.
    """
    reference = model.problem.initial
    for strict in (False, True):
        route = Route.of(model, now, reference, options, strict)
        journey = route.journey(legs)  # it numbers them as they are here
        kept, reasons = _kept(journey, legs, wave)
        dense = np.unique(wave[kept], return_inverse=True)[1].astype(np.int64)
        steps = route.steps(legs.take(kept), dense, (journey.always, journey.between, kept))
        # what has to hold at the end would not, where not everything gets there: then it holds all along instead
        if strict or not final_demands(model, now, reference) or replay(model, now, steps, options, reference).safe:
            break
    report = replay(model, now, steps, options, reference)
    if not report.safe:
        number, message = report.problems[0]
        raise InternalError(f"what is left of the plan does not pass verification: wave {number}: {message}")
    return steps, kept, reasons


def _kept(journey: Journey, legs: Legs, wave: IntArray) -> tuple[IntArray, dict[int, str]]:
    kept: list[IntArray] = []
    reasons: dict[int, str] = {}
    for number in np.unique(wave).tolist():
        rows = np.arange(*np.searchsorted(wave, [number, number + 1]))
        there = journey.assignment[legs.who[rows]] == legs.source[rows]
        reasons |= dict.fromkeys(rows[~there].tolist(), "its object does not get to where it begins")
        rows = rows[there]
        flies = _most(journey, rows)
        for row in np.setdiff1d(rows, flies).tolist():
            broken = "; ".join(obstacles(journey, row, flies)) or "too much else in the wave does not fit"
            reasons[row] = f"wave {number}: {broken}"
        if len(flies):
            journey.fly(flies)
            kept.append(flies)
    return np.concatenate([np.empty(0, np.int64), *kept]), reasons


def _most(journey: Journey, legs: IntArray) -> IntArray:
    """Return legs of a wave that may fly together, such that none of the others may fly beside them."""
    kept = np.sort(journey.fitting(legs))
    while True:
        rest = np.setdiff1d(legs, kept)
        rest = rest[journey.always.fits(rest, journey.always.slack_beside(kept))]
        if not len(rest) or (journey.checks and len(rest) > _TRIED_AGAIN):
            return kept
        added = _first_beside(journey, kept, rest)
        if added is None:
            return kept
        kept = np.sort(np.append(kept, added))


def _first_beside(journey: Journey, kept: IntArray, rest: IntArray) -> int | None:
    """Return the first of some legs that may fly beside others."""
    landing = journey.between.lands(rest, journey.between.slack_beside(kept, landed=True))
    for leg in rest[landing].tolist():
        if journey.may_fly(np.append(kept, leg)):
            return int(leg)
    return None


__all__ = ["salvage"]
