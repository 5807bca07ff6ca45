"""Verification: carries a plan out on paper, wave by wave, and recounts everything from where the objects are.

Nothing here reads what the planner reckoned: cells are evaluated in the model's own graph, at the assignment after each
wave and, with `Flight`, while each wave is on its way; caps are counted from the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import CellValues, Grid, Model, evaluate_cells
from rebalancer.model.grid import apply
from rebalancer.plan.checks import Demand, demands
from rebalancer.plan.flight import ALWAYS, AT_END, Flight, moment
from rebalancer.plan.labels import place_of, title
from rebalancer.plan.steps import Excess, Peak, Steps
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.plan_section import Cap, PlanOptions
from rebalancer.specs.fields import exact

#: Cells that are listed as broken, and as exceeded, at most.
_LISTED = 10_000
#: Waves up to which each is scored.
_SCORED = 200


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
    """

    problems: list[tuple[int, str]]
    excess: list[Excess]
    peaks: list[Peak]
    end: NDArray[np.int32] = field(repr=False)

    @property
    def safe(self) -> bool:
        """Whether everything held."""
        return not self.problems


def replay(
    model: Model,
    start: NDArray[np.int32],
    steps: Steps,
    options: PlanOptions,
    rollback: bool = False,
    end: NDArray[np.int32] | None = None,
) -> Replay:
    """Carry out steps on paper.

    Parameters
    ----------
    model : Model
    start : int32 array, one per object
    steps : Steps
    options : PlanOptions
        The caps.
    rollback : bool
        Whether the way back is replayed: caps into and out of containers are those of the way there.
    end : int32 array, optional
        Where the whole plan ends, if these steps are a part of it.
    """
    report = Replay([], [], [], start.copy())
    if not _chained(model, start, steps, report):
        return report
    stated = demands(model, start, steps.end(start) if end is None else end)
    at_end = _at_end(model)
    found: dict[tuple[int, int], list[float]] = {}
    now = start.copy()
    score = steps.waves <= _SCORED
    for wave in range(steps.waves):
        rows = steps.in_wave(wave)
        who, goes = steps.who[rows], steps.destination[rows]
        for message in _caps_broken(model, steps, rows, options, rollback):
            report.problems.append((wave + 1, message))
        flight = Flight(model.problem, now, who, goes)
        for number, demand in enumerate(stated):
            if demand.moment == ALWAYS:
                _judge(model, report, found, number, demand, flight.bounds(demand.hard.cells)[1], wave, "in flight")
        after = now.copy()
        after[who] = goes
        values = CellValues(model.problem, after)
        for number, demand in enumerate(stated):
            reached = evaluate_cells(values, demand.hard.cells).integers
            _judge(model, report, found, number, demand, reached, wave, "after the wave")
            if demand.moment != ALWAYS and not model.constraints[demand.hard.constraint].implicit:
                _note(found, number, demand, flight.bounds(demand.hard.cells)[1], wave)
        for number, demand in enumerate(at_end, len(stated)):
            _note(found, number, demand, flight.bounds(demand.hard.cells)[1], wave)
        now = after
        objective = tuple(float(value) for value in model.evaluate(now).objective) if score else ()
        report.peaks.append(Peak(wave + 1, len(rows), _amounts(model, who), objective))
    report.end = now
    report.excess = _listed(model, [*stated, *at_end], found)
    return report


def _at_end(model: Model) -> list[Demand]:
    """Return what has to hold at the end only; nothing of it is judged on the way, but listed."""
    known: dict[int, tuple[bool, bool]] = {}
    nothing = Grid.constant(1, 1, np.iinfo(np.int64).max)
    every = ((hard, moment(model.constraints[hard.constraint].in_flight, hard, known)) for hard in model.hard)
    return [Demand(hard, when, nothing) for hard, when in every if when == AT_END]


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


def _judge(
    model: Model, report: Replay, found: dict[tuple[int, int], list[float]], number: int, demand: Demand, high: Grid,
    wave: int, when: str,
) -> None:  # fmt: skip
    _note(found, number, demand, high, wave)
    if not demand.exceeded(high):
        return
    cells = demand.hard.cells
    over = apply(np.greater, cells.groups, cells.items, high, demand.allowed)
    group, item = over.where(lambda v: v)
    for one, other in zip(group[:_LISTED].tolist(), item[:_LISTED].tolist(), strict=True):
        name = title(model, demand.hard.constraint, cells, one * cells.items + other)
        report.problems.append((wave + 1, f"{name} does not hold {when}"))


def _note(found: dict[tuple[int, int], list[float]], number: int, demand: Demand, high: Grid, wave: int) -> None:
    """Remember the cells that are above their limit: first and last wave, and the most."""
    cells = demand.hard.cells
    group, item = high.where(lambda v: v > 0)
    if not len(group):
        return
    amounts = high.at(group, item)
    for key, amount in zip((group * cells.items + item).tolist(), amounts.tolist(), strict=True):
        known = found.setdefault((number, key), [wave, wave, 0])
        known[1], known[2] = wave, max(known[2], amount)


def _listed(model: Model, stated: Sequence[Demand], found: dict[tuple[int, int], list[float]]) -> list[Excess]:
    worst = sorted(found.items(), key=lambda entry: (entry[0][0], -entry[1][2], entry[0][1]))[:_LISTED]
    out = []
    for (number, key), (first, last, amount) in worst:
        hard = stated[number].hard
        item, group = place_of(model, hard.constraint, hard.cells, key)
        name = model.constraints[hard.constraint].name
        much = float(int(amount) * hard.cells.unit)
        out.append(Excess(name, item, group, int(first) + 1, int(last) + 1, much, stated[number].moment))
    return out


# -- caps ---------------------------------------------------------------------------------------------------------


def _caps_broken(model: Model, steps: Steps, rows: IntArray, options: PlanOptions, rollback: bool) -> list[str]:
    problem = model.problem
    who, source, destination = steps.who[rows], steps.source[rows], steps.destination[rows]
    if rollback:
        source, destination = destination, source
    out = []
    if options.max_in_flight is not None and len(rows) > options.max_in_flight:
        out.append(f"max_in_flight: {len(rows)} in flight, {options.max_in_flight} allowed")
    for name, cap, places in (
        ("max_in_per_container", options.max_in_per_container, destination),
        ("max_out_per_container", options.max_out_per_container, source),
    ):
        if cap is not None:
            out += _over(name, cap, problem.containers, np.bincount(places[places >= 0], minlength=1))
    for name, cap in options.max_per_scope_item.items():
        scope = problem.scopes[name]
        ends = np.sort(np.stack([scope.item_of[source], scope.item_of[destination]]), axis=0)
        touched = np.concatenate([ends[0], ends[1][ends[0] != ends[1]]])
        counted = np.bincount(touched[touched >= 0], minlength=1)
        out += _over(f"max_per_scope_item.{name}", cap, scope.items, counted)
    for name, cap in options.max_per_group.items():
        partition = problem.partitions[name]
        flying = np.isin(partition.member, who)
        out += _over(f"max_per_group.{name}", cap, partition.groups, np.bincount(partition.group[flying], minlength=1))
    for name, allowed in options.max_amount.items():
        dimension = problem.dimension(name)
        if dimension.dynamic is None:
            amount = int(dimension.values[who].sum(axis=0).max(initial=0))
        else:
            item_of = problem.scopes[dimension.dynamic.scope].item_of
            ends = np.stack([dimension.dynamic.at(item_of[place], who, len(problem.objects))
                             for place in (source, destination)])  # fmt: skip
            amount = int(ends.max(axis=0).sum())
        if Fraction(amount, dimension.scale) > exact(allowed):
            out.append(f"max_amount.{name}: {amount / dimension.scale:g} in flight, {float(allowed):g} allowed")
    return out


def _over(name: str, cap: Cap, names: Sequence[str], counted: NDArray[np.int64]) -> list[str]:
    out = []
    for index in np.flatnonzero(counted).tolist():
        allowed = cap.values.get(names[index], cap.default)
        if allowed is not None and counted[index] > allowed:
            out.append(f"{name} of {names[index]}: {counted[index]} in flight, {allowed} allowed")
    return out


def _amounts(model: Model, who: IntArray) -> dict[str, float]:
    return {
        name: float(dimension.values[who].sum(axis=0).max(initial=0)) / dimension.scale
        for name, dimension in model.problem.object_dimensions.items()
        if dimension.dynamic is None
    }
