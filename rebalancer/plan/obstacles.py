"""Why a leg does not fly: what it would need, and what is there."""

from __future__ import annotations

import numpy as np

from rebalancer.plan.checks import broken_by
from rebalancer.plan.labels import shortage
from rebalancer.plan.room import Room
from rebalancer.plan.waves import Journey
from rebalancer.problem.numbers import IntArray

#: Reasons that are given for a leg.
_REASONS = 5


def obstacles(journey: Journey, leg: int, beside: IntArray) -> tuple[str, ...]:
    """Return what a leg would break, beside others that fly, from where a journey stands; empty: nothing.

    Parameters
    ----------
    beside : int64 array
        Legs that are in flight already.
    """
    reasons = [
        *_short(journey, journey.always, leg, journey.always.slack_beside(beside), landed=False),
        *_short(journey, journey.between, leg, journey.between.slack_beside(beside, landed=True), landed=True),
    ]
    if not reasons and journey.checks:
        who, goes = journey.flown(np.append(beside, leg))
        broken = broken_by(journey.model, journey.checks, journey.assignment, who, goes)
        reasons = [f"{journey.model.constraints[demand.hard.constraint].name} would not hold" for demand in broken]
    return tuple(reasons[:_REASONS])


def _short(journey: Journey, room: Room, leg: int, slack: IntArray, landed: bool) -> list[str]:
    row = np.arange(room.start[leg], room.start[leg + 1])
    need, free = room.take[row] - (room.give[row] if landed else 0), slack[room.slot[row]]
    out = []
    for at in np.flatnonzero(need > free).tolist():
        kind, cell = room.ledger.kind_of(int(room.keys[room.slot[row[at]]]))
        out.append(shortage(journey.model, kind, cell, int(need[at]), int(free[at])))
    return out
