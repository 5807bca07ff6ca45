"""From one assignment to another: what has to hold on the way, and the steps with who waits for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.caps import cap_cells, turned_caps
from rebalancer.plan.checks import Demand, demands, sort_demands
from rebalancer.plan.ledger import Ledger, Legs
from rebalancer.plan.room import Room
from rebalancer.plan.steps import Steps
from rebalancer.plan.waiting import depths, waiting
from rebalancer.plan.waves import Journey
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.plan_section import PlanOptions

#: Room of what holds always, and of what holds between waves, and the numbers that some legs have in both.
Numbered: TypeAlias = tuple[Room, Room, IntArray]


@dataclass(frozen=True, eq=False)
class Route:
    """What has to hold between two assignments.

    Parameters
    ----------
    model : Model
    start, end : int32 arrays, one per object
    options : PlanOptions
    always, between : Ledger
        Of what holds at every moment, caps included, and of net changes between waves.
    turned : Ledger
        Of the caps that the way back meets otherwise than the way there.
    checks : list of Demand
        What no ledger can keep.
    """

    model: Model
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    options: PlanOptions
    always: Ledger
    between: Ledger
    turned: Ledger
    checks: list[Demand]

    @staticmethod
    def of(
        model: Model, start: NDArray[np.int32], end: NDArray[np.int32], options: PlanOptions, strict: bool = False
    ) -> Route:
        """Return the route from one assignment to another; strict: what has to hold at the end holds between waves."""
        stated = sort_demands(demands(model, start, end, strict))
        problem = model.problem
        return Route(
            model, start, end, options,
            Ledger(problem, stated.always, cap_cells(options, problem), start, end),
            Ledger(problem, stated.between, [], start, end),
            Ledger(problem, [], turned_caps(options, problem), start, end),
            stated.checks,
        )  # fmt: skip

    def legs(self) -> Legs:
        """Return the direct way of every object that has to move."""
        who = np.flatnonzero(self.start != self.end).astype(np.int64)
        return Legs(who, self.start[who], self.end[who])

    def journey(self, legs: Legs) -> Journey:
        """Return a journey at its start; legs by priority."""
        rooms = Room(self.always), Room(self.between), Room(self.turned)
        return Journey.begin(self.model, rooms, self.checks, legs, self.start)

    def steps(self, legs: Legs, wave: IntArray, known: Numbered | None = None) -> Steps:
        """Return legs as steps, sorted by wave and otherwise as given, with what each has to wait for.

        Parameters
        ----------
        known : Numbered, optional
            Rooms that have the legs already.
        """
        order = np.argsort(wave, kind="stable")
        legs, wave = legs.take(order), wave[order]
        room, between, number = self._numbered(legs) if known is None else (*known[:2], known[2][order])
        which, row = between.entries(number)
        batches = [(between.slot[row], which)]
        for demand in self.checks:
            step = np.flatnonzero(demand.counted(len(self.start))[legs.who])
            batches.append((np.zeros(len(step), np.int64), step))
        waits = waiting(room, number, wave, legs.who, batches)
        return Steps(legs.who, legs.source, legs.destination, wave, waits)

    def _numbered(self, legs: Legs) -> Numbered:
        room, between = Room(self.always), Room(self.between)
        room.add(legs)
        between.add(legs)
        return room, between, np.arange(len(legs))

    def squeezed(self, steps: Steps, known: Numbered) -> Steps:
        """Return the steps each in the earliest wave that what it waits for allows."""
        if not len(steps) or steps.waits.wave.max() >= 0:
            return steps
        depth = depths(steps.waits, len(steps))
        if int(depth.max()) + 1 >= steps.waves:
            return steps
        return self.steps(Legs(steps.who, steps.source, steps.destination), depth, known)
