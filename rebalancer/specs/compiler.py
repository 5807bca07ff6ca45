"""From a problem and its specs to the model."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rebalancer.model import ConstraintCells, GoalCells, Model, ModelBuilder, assemble
from rebalancer.problem import FaultList, Problem
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
    builder = ModelBuilder(problem)
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
