"""From a problem and its specs to the model."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import ConstraintCells, GoalCells, Model, ModelBuilder, assemble
from rebalancer.problem import UNPLACED, FaultList, Problem
from rebalancer.specs.entries import Constraint, Goal, named
from rebalancer.specs.placed import PlacedSpec


def compile_model(problem: Problem, goals: Sequence[Goal], constraints: Sequence[Constraint]) -> Model:
    """Compile specs that have passed `check_entries`.

    The implicit constraint ``placed`` is added last unless a constraint of that spec is stated.

    Raises
    ------
    InputError
        A spec of one's own has a goal that is not one cell.
    """
    named_goals, named_constraints = named(list(goals), list(constraints))
    for entry in named_constraints:
        problem = entry.spec.prepare(problem)
    builder = ModelBuilder(problem, _stays(problem, named_constraints))
    compiled = [
        ConstraintCells(
            entry.name or "",
            entry.spec.key,
            entry.spec.effective_policy(entry.policy.value),
            entry.invalid_cost,
            entry.invalid_state,
            entry.tuple_pos_if_broken,
            tuple(entry.spec.components(builder)),
            in_flight=entry.spec.in_flight if entry.in_flight is None else entry.in_flight.value,
        )
        for entry in named_constraints
    ]
    if not any(isinstance(entry.spec, PlacedSpec) for entry in named_constraints):
        compiled.append(
            ConstraintCells(
                "placed",
                PlacedSpec.key,
                "DEFAULT",
                Fraction(100),
                Fraction(10000),
                0,
                tuple(PlacedSpec().components(builder)),
                True,
                PlacedSpec.in_flight,
            )
        )
    minimised = [
        GoalCells(entry.name or "", entry.spec.key, entry.weight, entry.tuple_pos, entry.spec.goal(builder))
        for entry in named_goals
    ]
    faults = FaultList()
    for own, cells in zip(named_goals, (goal.cells for goal in minimised), strict=True):
        if (cells.groups, cells.items) != (1, 1):
            key = own.spec.key
            message = (
                f"the goal of {key} is {cells.groups} × {cells.items} cells; it has to be one, such as their total"
            )
            faults.report("not-one-cell", message, (*own.path, key), key)
    faults.raise_if_any()
    return assemble(builder, minimised, compiled)


def _stays(problem: Problem, constraints: Sequence[Constraint]) -> NDArray[np.bool_]:
    """Return which objects have to be in some container."""
    stated = [entry for entry in constraints if isinstance(entry.spec, PlacedSpec)]
    stays = np.zeros(len(problem.objects), np.bool_)
    before = (problem.initial != UNPLACED) & (problem.origin != UNPLACED)
    for entry in stated or [Constraint(PlacedSpec())]:
        policy = entry.spec.effective_policy(entry.policy.value)
        if isinstance(entry.spec, PlacedSpec) and policy in ("DEFAULT", "HARD"):
            members = entry.spec.members(problem)
            stays[members] |= True if policy == "HARD" else before[members]
    return stays
