"""Verification: carries a plan out on paper, wave by wave, and recounts everything from where the objects are.

Nothing here reads what the planner reckoned: cells are counted from the model's own graph, after each wave and while it
is on its way; caps are counted from the steps.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.cap_counts import caps_broken
from rebalancer.plan.checks import demands, final_demands
from rebalancer.plan.counting import Flights, Found
from rebalancer.plan.flight import ALWAYS, AT_END
from rebalancer.plan.labels import place_of, title
from rebalancer.plan.steps import Excess, Peak, Steps
from rebalancer.plan.watch import Ground
from rebalancer.plan.work import evaluations
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.search import InternalError

#: Cells that are listed as broken, and as exceeded, at most.
_LISTED = 10_000
#: Work that scoring the waves of a plan may take; see `evaluations`.
_SCORING = 60_000_000


@dataclass
class Replay:
    """What came out of a replay.

    Parameters
    ----------
    problems : list of (wave, message)
        What does not hold; empty: the plan is safe. Waves are counted from 1.
    excess : list of Excess
        What is above its limit on the way, and may be.
    peaks : list of Peak
        One per wave.
    end : int32 array
        Where everything is at the end.
    beyond : list of (wave, message)
        Caps that are exceeded, and may be.
    """

    problems: list[tuple[int, str]]
    excess: list[Excess]
    peaks: list[Peak]
    end: NDArray[np.int32] = field(repr=False)
    beyond: list[tuple[int, str]] = field(default_factory=list)

    @property
    def safe(self) -> bool:
        """Whether everything held."""
        return not self.problems


def replay(
    model: Model,
    start: NDArray[np.int32],
    steps: Steps,
    options: PlanOptions,
    reference: NDArray[np.int32] | None = None,
    scored: bool = False,
    whole: bool = False,
    beyond: Collection[int] = (),
) -> Replay:
    """Carry out steps on paper.

    Parameters
    ----------
    model : Model
    start : int32 array, one per object
    steps : Steps
    options : PlanOptions
        The caps.
    reference : int32 array, optional
        A cell may be as bad as at the start, or as at this assignment; where left out: as where the steps end.
    scored : bool
        Whether peaks have the objective: of every wave, or of as many as there is time for.
    whole : bool
        Whether to evaluate all cells in every wave, not only those that it touches.
    beyond : collection of int
        Waves, counted from 0, that may exceed caps.
    """
    report = Replay([], [], [], start.copy())
    if not _chained(model, start, steps, report):
        return report
    other = steps.end(start) if reference is None else reference
    stated = [*demands(model, start, other), *final_demands(model, start, other)]
    everything = Flights(steps.who, steps.source, steps.destination)
    ground = Ground(model, stated, start, everything, whole)
    tallies = _Tallies(model, report, ground)
    tallies.note_standing(0)
    now = start.copy()
    stride = -(-steps.waves // max(1, evaluations(model, _SCORING)))
    for wave in range(steps.waves):
        rows = steps.in_wave(wave)
        flights = Flights(steps.who[rows], steps.source[rows], steps.destination[rows])
        for message in caps_broken(model, steps, rows, options):
            (report.beyond if wave in beyond else report.problems).append((wave + 1, message))
        tallies.carry_out(flights, wave, last=wave == steps.waves - 1)
        now[flights.who] = flights.destination
        counts = scored and ((wave + 1) % stride == 0 or wave == steps.waves - 1)
        objective = tuple(float(value) for value in model.objective(now)) if counts else ()
        report.peaks.append(Peak(wave + 1, len(rows), _amounts(model, flights.who), objective))
    report.end = now
    tallies.note_standing(max(0, steps.waves - 1))
    report.excess = tallies.excess()
    wrong = ground.disagreeing(now)
    if wrong is not None:
        name = model.constraints[wrong.demand.hard.constraint].name
        raise InternalError(f"the recount of {name} differs from its evaluation")
    return report


def _chained(model: Model, start: NDArray[np.int32], steps: Steps, report: Replay) -> bool:
    """Check that every step begins where its object is, and that no object is twice in one wave."""
    names, containers = model.problem.objects, model.problem.containers
    now = start.copy()
    for wave in range(steps.waves):
        rows = steps.in_wave(wave)
        who = steps.who[rows]
        wrong = rows[now[who] != steps.source[rows]]
        for row in wrong[:_LISTED].tolist():
            here = int(now[steps.who[row]])
            where = f"on {containers[here]}" if here >= 0 else "in no container"
            report.problems.append((wave + 1, f"{names[int(steps.who[row])]} is {where}, not where its step begins"))
        unique, count = np.unique(who, return_counts=True)
        report.problems += [(wave + 1, f"{names[obj]} moves twice in one wave") for obj in unique[count > 1].tolist()]
        now[who] = steps.destination[rows]
    report.end = now
    return not report.problems


class _Tallies:
    """What is noted while a plan is carried out: what does not hold, and what is above its limit and may be."""

    def __init__(self, model: Model, report: Replay, ground: Ground) -> None:
        self.watches = ground.watches
        self._ground = ground
        self._model = model
        self._report = report
        self._found: dict[tuple[int, int], list[int]] = {}  # first and last wave, and the most

    def carry_out(self, flights: Flights, wave: int, last: bool) -> None:
        """Carry out a wave, and judge it: on its way first."""
        constraints = self._model.constraints
        touched = self._ground.start(flights)
        for number in touched:
            watch = self.watches[number]
            found, demand = watch.flight(), watch.demand
            if demand.moment == ALWAYS:
                self._judge(number, found, wave, "in flight")
            if demand.moment == ALWAYS or not constraints[demand.hard.constraint].implicit:
                self._note(number, found, wave)
        self._ground.land()
        for number in touched:
            watch = self.watches[number]
            found = watch.landed()
            if watch.demand.moment != AT_END:
                self._extend(number, watch.fallen, wave - 1)
                self._judge(number, found, wave, "after the wave")
                self._note(number, found, wave)
        for number, watch in enumerate(self.watches if last else []):
            if watch.demand.moment == AT_END:
                self._judge(number, watch.standing(), wave, "at the end")

    def note_standing(self, wave: int) -> None:
        """Note all places that are above their limits between two waves."""
        for number, watch in enumerate(self.watches):
            if watch.demand.moment != AT_END:
                self._note(number, watch.standing(), wave)

    def _judge(self, number: int, found: Found, wave: int, when: str) -> None:
        demand = self.watches[number].demand
        place, amount = found
        items = max(1, demand.hard.cells.items)
        over = np.flatnonzero(amount > demand.allowed.at(place // items, place % items))
        for key in place[over[:_LISTED]].tolist():
            name = title(self._model, demand.hard.constraint, demand.hard.cells, key)
            self._report.problems.append((wave + 1, f"{name} does not hold {when}"))

    def _note(self, number: int, found: Found, wave: int) -> None:
        for key, amount in zip(found[0].tolist(), found[1].tolist(), strict=True):
            known = self._found.setdefault((number, key), [wave, wave, 0])
            known[1], known[2] = wave, max(known[2], amount)

    def _extend(self, number: int, places: list[int], wave: int) -> None:
        """Note that places were above their limits up to a wave, as nothing had touched them."""
        for place in places:
            known = self._found[number, place]
            known[1] = max(known[1], wave)

    def excess(self) -> list[Excess]:
        """Return what was noted, the most exceeded first within each constraint."""
        worst = sorted(self._found.items(), key=lambda entry: (entry[0][0], -entry[1][2], entry[0][1]))[:_LISTED]
        out = []
        for (number, key), (first, last, amount) in worst:
            demand = self.watches[number].demand
            hard = demand.hard
            item, group = place_of(self._model, hard.constraint, hard.cells, key)
            name = self._model.constraints[hard.constraint].name
            much = float(amount * hard.cells.unit)
            out.append(Excess(name, item, group, first + 1, last + 1, much, demand.moment))
        return out


def _amounts(model: Model, who: IntArray) -> dict[str, float]:
    return {
        name: float(dimension.values[who].sum(axis=0).max(initial=0)) / dimension.scale
        for name, dimension in model.problem.object_dimensions.items()
        if dimension.dynamic is None
    }
