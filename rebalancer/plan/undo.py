"""The way back: the last wave first, each undone in parts where the caps ask for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rebalancer.plan.ledger import Legs
from rebalancer.plan.room import Room
from rebalancer.plan.route import Route
from rebalancer.plan.steps import Steps
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Undoing:
    """In what order steps are undone.

    Parameters
    ----------
    order : int64 array
        The steps in the order of the way back.
    wave : int64 array
        Its waves, counted from 0, never falling.
    beyond : frozenset of int
        Those that exceed a cap, as nothing less of the wave that they undo was found to do.
    """

    order: IntArray
    wave: IntArray
    beyond: frozenset[int]


def undoing(route: Route, steps: Steps) -> Undoing:
    """Return how the steps of a way there are undone.

    A way back stands, after each wave that it has undone, where the way there stood. In between it has to see to
    itself what holds between waves.
    """
    legs = Legs(steps.who, steps.source, steps.destination)
    turned = Room(route.turned)
    turned.add(legs)
    waves = [steps.in_wave(wave) for wave in range(steps.waves)]
    parts = [[rows[::-1]] for rows in waves]
    if any(len(turned.first_fit(rows)) < len(rows) for rows in waves):
        journey = route.journey(legs)
        for wave, rows in enumerate(waves):
            parts[wave], rest = journey.undone(rows)
            if len(rest):
                parts[wave].append(rest)
            journey.fly(rows)
    flown = [part for undone in reversed(parts) for part in undone]
    return Undoing(
        np.concatenate([np.empty(0, np.int64), *flown]),
        np.repeat(np.arange(len(flown)), [len(part) for part in flown]),
        frozenset(wave for wave, part in enumerate(flown) if len(turned.first_fit(part)) < len(part)),
    )


def way_back(route: Route, steps: Steps, undone: Undoing) -> Steps:
    """Return the way back of steps, on the route from where they end to where they start."""
    rows = undone.order
    return route.steps(Legs(steps.who[rows], steps.destination[rows], steps.source[rows]), undone.wave)
