"""What solving and evaluating return: tables of goals, constraints and objective, and the moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from rebalancer.engines.base import Status
    from rebalancer.model import Model, Score
    from rebalancer.scenario.plan_section import PlanOptions


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How good an assignment is, next to the initial one.

    Parameters
    ----------
    goals : DataFrame
        One row per goal in order: name, spec, weight, tuple_pos, initial, final. Values are unweighted.
    constraints : DataFrame
        One row per constraint in order: name, spec, policy, initial_violation, final_violation; violations are summed
        over the components. The implicit ``placed`` is the last row where some object starts unplaced, and no row
        otherwise.
    objective : DataFrame
        One row per tuple position: tuple_pos, initial, final, bound, gap. The weighted sums, with what broken
        constraints add. An evaluation proves nothing: bound and gap are NaN.
    worsened : tuple of str
        Constraints of which the assignment breaks what has to hold: no solution would do that.
    """

    goals: pd.DataFrame
    constraints: pd.DataFrame
    objective: pd.DataFrame
    worsened: tuple[str, ...]
    _model: Model = field(repr=False)
    _initial: Score = field(repr=False)
    _final: Score = field(repr=False)
    _assignment: NDArray[np.int32] = field(repr=False)
    _plan_options: PlanOptions | None = field(default=None, repr=False, kw_only=True)

    def __repr__(self) -> str:
        return f"Evaluation(objective={self.objective['final'].tolist()}, broken={list(self.broken)})"

    @property
    def assignment(self) -> pd.Series[Any]:
        """The assignment: object -> container, NA where unplaced."""
        import pandas as pd

        (objects, names), (containers, places) = assigned(self).items()
        return pd.Series(places, index=pd.Index(names, name=objects, dtype=object), name=containers, dtype=object)

    @property
    def moves(self) -> pd.DataFrame:
        """What has to move, one row per object: object, source, destination. Moves in progress are not among them."""
        import pandas as pd

        return pd.DataFrame(moved(self), dtype=object)

    @property
    def broken_components(self) -> pd.DataFrame:
        """How many components of each constraint are broken, row by row as in `constraints`: name, initial, final."""
        import pandas as pd

        rows = reported_constraints(self._model)
        return pd.DataFrame(
            {
                "name": [self._model.constraints[row].name for row in rows],
                "initial": np.asarray(self._initial.broken_components)[rows],
                "final": np.asarray(self._final.broken_components)[rows],
            }
        )

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the constraints that stay broken, those with policy SOFT left out."""
        rows = reported_constraints(self._model)
        constraints = self._model.constraints
        return tuple(
            constraints[row].name
            for row in rows
            if self._final.broken_components[row] > 0 and constraints[row].policy != "SOFT"
        )

    def cells(self, name: str) -> pd.DataFrame:
        """Return a constraint cell by cell, at the final assignment.

        Parameters
        ----------
        name : str
            Of the constraint, as in `constraints`.

        Returns
        -------
        DataFrame
            item, group, amount, limit, violation; None and NaN where a cell has no such thing.

        Raises
        ------
        KeyError
            There is no constraint of that name.
        """
        import pandas as pd

        names = [self._model.constraints[row].name for row in reported_constraints(self._model)]
        if name not in names:
            raise KeyError(f"no constraint is called '{name}'; there is {', '.join(map(repr, names)) or 'none'}")
        columns = self._model.cells(name, self._assignment)
        return pd.DataFrame({column: columns[column] for column in ("item", "group", "amount", "limit", "violation")})

    def to_json(self) -> dict[str, Any]:
        """Return the tables as plain lists and numbers, ready for ``json.dumps``; unknown numbers are None."""
        return {
            "objective": records(self.objective),
            "goals": records(self.goals),
            "constraints": records(self.constraints),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Evaluation):
    """What solving found.

    ``assignment`` and ``moves`` are what to do. Without an answer (INFEASIBLE, UNKNOWN) the assignment is the initial
    one, there are no moves, and ``reason`` says why.

    Parameters
    ----------
    status : Status
        OPTIMAL (the gap is closed at every tuple position), FEASIBLE, INFEASIBLE (proven) or UNKNOWN.
    engine : str
        Which engine found it.
    seconds : float
        From the call, compilation included.
    seed : int
    reason : str or None
        Why there is no answer.
    """

    status: Status
    engine: str
    seconds: float
    seed: int
    reason: str | None = None

    def __repr__(self) -> str:
        worth = f"objective={self.objective['final'].tolist()}, broken={list(self.broken)}"
        moved = int((self._assignment != self._model.problem.initial).sum())
        return f"Solution({self.status.value}, {worth}, {moved} moved, {self.seconds:.1f} s, {self.engine})"

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return self.status.value in ("OPTIMAL", "FEASIBLE")

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers, ready for ``json.dumps``; unknown numbers are None."""
        objects, containers = (column.tolist() for column in assigned(self).values())
        moves = moved(self)
        rows = zip(*(column.tolist() for column in moves.values()), strict=True)
        return {
            "status": self.status.value,
            "engine": self.engine,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "reason": self.reason,
            **super().to_json(),
            "moves": [dict(zip(moves, row, strict=True)) for row in rows],
            "assignment": dict(zip(objects, containers, strict=True)),
        }


def assigned(evaluation: Evaluation) -> dict[str, NDArray[np.object_]]:
    """Return two columns: the name of every object, and of its container, None where it is unplaced."""
    problem = evaluation._model.problem
    where = _with_none(problem.containers.array)[evaluation._assignment]
    return {problem.object_name: problem.objects.array, problem.container_name: where}


def moved(evaluation: Evaluation) -> dict[str, NDArray[np.object_]]:
    """Return the columns of `Evaluation.moves`."""
    problem = evaluation._model.problem
    rows = np.flatnonzero(evaluation._assignment != problem.initial)
    containers = _with_none(problem.containers.array)
    return {
        "object": problem.objects.array[rows],
        "source": containers[problem.initial[rows]],
        "destination": containers[evaluation._assignment[rows]],
    }


def reported_constraints(model: Model) -> list[int]:
    """Return the constraints that have a row: all but an implicit ``placed`` where no object starts unplaced."""
    shown = model.problem.has_unplaced
    return [row for row, constraint in enumerate(model.constraints) if shown or not constraint.implicit]


def tables(
    model: Model, initial: Score, final: Score, bounds: NDArray[np.float64], gaps: NDArray[np.float64]
) -> dict[str, pd.DataFrame]:
    """Return the tables ``goals``, ``constraints`` and ``objective`` of two scored assignments.

    Parameters
    ----------
    bounds, gaps : float64 array, one per tuple position
        NaN where unknown.
    """
    import pandas as pd

    rows = reported_constraints(model)
    constraints = [model.constraints[row] for row in rows]
    return {
        "goals": pd.DataFrame(
            {
                "name": [goal.name for goal in model.goals],
                "spec": [goal.spec_key for goal in model.goals],
                "weight": np.array([float(goal.weight) for goal in model.goals], np.float64),
                "tuple_pos": np.array([goal.tuple_pos for goal in model.goals], np.int64),
                "initial": np.asarray(initial.goals, np.float64),
                "final": np.asarray(final.goals, np.float64),
            }
        ),
        "constraints": pd.DataFrame(
            {
                "name": [constraint.name for constraint in constraints],
                "spec": [constraint.spec_key for constraint in constraints],
                "policy": [constraint.policy for constraint in constraints],
                "initial_violation": np.asarray(initial.violations, np.float64)[rows],
                "final_violation": np.asarray(final.violations, np.float64)[rows],
            }
        ),
        "objective": pd.DataFrame(
            {
                "tuple_pos": np.arange(model.positions, dtype=np.int64),
                "initial": np.asarray(initial.objective, np.float64),
                "final": np.asarray(final.objective, np.float64),
                "bound": bounds,
                "gap": gaps,
            }
        ),
    }


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries of plain values; NaN as None."""
    columns: Mapping[str, list[Any]] = {
        str(name): [
            None if type(value) is float and not math.isfinite(value) else value for value in table[name].tolist()
        ]
        for name in table.columns
    }
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _with_none(names: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return names with None behind them, where the index -1 finds it."""
    out = np.empty(len(names) + 1, object)
    out[:-1] = names
    return out
