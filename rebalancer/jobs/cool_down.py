"""Objects that a plan moved not long ago stay where they are, unless that keeps something broken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem import UNPLACED, Problem
from rebalancer.scenario.reader import Scenario
from rebalancer.solver import Rebalancer
from rebalancer.specs.avoid_moving import AvoidMovingSpec
from rebalancer.specs.entries import Constraint, Goal

if TYPE_CHECKING:
    from rebalancer.model import Model

#: Assignments that are scored at most to find out who stands where something is broken.
_MOST_SCORED = 400


def cooled_down(problem: Problem, sent: Mapping[str, str]) -> NDArray[np.int64]:
    """Return the objects that have arrived where plans sent them.

    One that is anywhere else was not moved by the plan, or only to where it waits until there is room.

    Parameters
    ----------
    sent : mapping of object to container
        Names; those that the problem does not know are gone.
    """
    objects = problem.objects.lookup(list(sent)).astype(np.int64)
    destinations = problem.containers.lookup(list(sent.values()))
    arrived = (objects >= 0) & (destinations >= 0)
    objects, destinations = objects[arrived], destinations[arrived]
    staying = (problem.initial[objects] == destinations) & ~problem.in_progress[objects]
    return np.compress(staying, objects)


def without_repairs(model: Model, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the objects without those that stand where something is broken: they have to be free to leave.

    Whoever stands in one container is judged together. Containers whose objects, taken away, change no violation are
    ruled out in groups, and the others tried one by one; where there are too many of those, all that are left count as
    standing where something is broken.

    Parameters
    ----------
    model : Model
    objects : int64 array
        All of them in some container.
    """
    start = model.problem.initial
    judged = [row for row, constraint in enumerate(model.constraints)
              if constraint.policy != "SOFT" and constraint.spec_key != "placed"]  # fmt: skip
    before = model.evaluate(start).violations[judged]
    broken = before > 0
    if not len(objects) or not broken.any():
        return objects
    home = start[objects]
    free: list[int] = []
    scored = 0
    groups: list[NDArray[np.int32]] = [np.unique(home)]
    while groups:
        containers = groups.pop()
        if scored == _MOST_SCORED:
            free += containers.tolist()
            continue
        scored += 1
        away = start.copy()
        away[objects[np.isin(home, containers)]] = UNPLACED
        after = model.evaluate(away).violations[judged]
        if not (after != before)[broken].any():
            continue
        if len(containers) > 1:
            groups += np.array_split(containers, 2)
        elif (after < before)[broken].any():
            free += containers.tolist()
    return np.compress(~np.isin(home, free), objects)


def with_staying(scenario: Scenario, staying: Iterable[str]) -> Rebalancer:
    """Return a solver of a scenario in which some objects, given by name, stay where they are."""
    solver = Rebalancer.from_scenario(scenario)
    entries: list[Constraint | Goal] = [*scenario.constraints, *scenario.goals]
    taken = {entry.name or entry.spec.name for entry in entries}
    name, again = "cool-down", 1
    while name in taken:
        again += 1
        name = f"cool-down {again}"
    solver.add_constraint(AvoidMovingSpec(objects=tuple(staying)), name=name, policy="HARD")
    return solver
