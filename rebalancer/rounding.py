"""Weights so far apart that the integer objective of a tuple position cannot tell small differences of some goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rebalancer.problem import Fault

if TYPE_CHECKING:
    from rebalancer.model import Model
    from rebalancer.specs.entries import Constraint, Goal

#: A goal's value should be told to this.
_FINE = 1e-3


def coarse_goals(model: Model, goals: Sequence[Goal], constraints: Sequence[Constraint]) -> list[Fault]:
    """Return a warning for every goal and fix-it goal of which the rounding of its tuple position hides differences.

    Parameters
    ----------
    model : Model
    goals, constraints
        What it was compiled from, in order; paths start with those of the entries.
    """
    warnings = []
    paths = [entry.path for entry in constraints] + [()] * (len(model.constraints) - len(constraints))  # `placed`
    for index, position in enumerate(model.tuple_positions):
        if position.epsilon == 0:
            continue
        parts = [
            (f"goal '{goal.name}'", "weight", abs(float(goal.weight)), entry.path)
            for goal, entry in zip(model.goals, goals, strict=True)
            if goal.tuple_pos == index
        ]
        if position.fixes:
            parts += [
                (f"repairing '{constraint.name}'", "invalid_cost", float(constraint.invalid_cost), path)
                for constraint, path in zip(model.constraints, paths, strict=True)
                if any(fix.component is part for fix in position.fixes for part in constraint.components)
            ]
        for what, field, factor, path in parts:
            if 0 < _FINE * factor < position.epsilon:
                seen = position.epsilon / factor
                message = (
                    f"tuple position {index} is rounded to {position.epsilon:.2g}, so differences of {what} below"
                    f" {seen:.2g} are not seen; bring the weights closer together, or use another tuple position"
                )
                warnings.append(Fault("coarse", message, (*path, field), factor))
    return warnings
