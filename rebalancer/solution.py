"""What solving and evaluating return: tables of goals, constraints and objective, and the moves.

The functions below the classes give the same as plain columns: importing pandas would be a third of what the command
takes for a small scenario.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from rebalancer.engines.base import Status
    from rebalancer.model import Model, Score
    from rebalancer.scenario.plan_section import PlanOptions

#: A table: the name of each column, and its values.
Columns = Mapping[str, list[str] | NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How good an assignment is, next to the initial one.

    Parameters
    ----------
    worsened : tuple of str
        Constraints of which the assignment breaks what has to hold: no solution would do that.
    """

    worsened: tuple[str, ...]
    _model: Model = field(repr=False)
    _initial: Score = field(repr=False)
    _final: Score = field(repr=False)
    _assignment: NDArray[np.int32] = field(repr=False)
    #: By tuple position; NaN where unknown.
    _bounds: NDArray[np.float64] = field(repr=False)
    _gaps: NDArray[np.float64] = field(repr=False)
    _plan_options: PlanOptions | None = field(default=None, repr=False, kw_only=True)

    def __repr__(self) -> str:
        return f"Evaluation(objective={_values(self._final.objective)}, broken={list(self.broken)})"

    @cached_property
    def goals(self) -> pd.DataFrame:
        """One row per goal in order: name, spec, weight, tuple_pos, initial, final. Values are unweighted."""
        return _frame(goals(self))

    @cached_property
    def constraints(self) -> pd.DataFrame:
        """One row per constraint in order: name, spec, policy, initial_violation, final_violation.

        Violations are summed over the components. The implicit ``placed`` is the last row where some object starts
        unplaced, and no row otherwise.
        """
        return _frame(constraints(self))

    @cached_property
    def objective(self) -> pd.DataFrame:
        """One row per tuple position: tuple_pos, initial, final, bound, gap.

        The weighted sums, with what broken constraints add. An evaluation proves nothing: bound and gap are NaN.
        """
        return _frame(objective(self))

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
        return _frame(broken_components(self))

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
        names = [self._model.constraints[row].name for row in reported_constraints(self._model)]
        if not isinstance(name, str) or name not in names:
            raise KeyError(f"no constraint is called '{name}'; there is {', '.join(map(repr, names)) or 'none'}")
        columns = self._model.cells(name, self._assignment)
        return _frame({column: columns[column] for column in ("item", "group", "amount", "limit", "violation")})

    def to_json(self) -> dict[str, Any]:
        """Return the tables as plain lists and numbers, ready for ``json.dumps``; unknown numbers are None."""
        return {
            "objective": records(objective(self)),
            "goals": records(goals(self)),
            "constraints": records(constraints(self)),
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
        worth = f"objective={_values(self._final.objective)}, broken={list(self.broken)}"
        found = f"{worth}, {number_of_moves(self)} moved"
        return f"Solution({self.status.value}, {found}, {self.seconds:.1f} s, {self.engine})"

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return self.status.value in ("OPTIMAL", "FEASIBLE")

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers, ready for ``json.dumps``; unknown numbers are None."""
        objects, containers = (column.tolist() for column in assigned(self).values())
        return {
            "status": self.status.value,
            "engine": self.engine,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "reason": self.reason,
            **super().to_json(),
            "moves": records(moved(self)),
            "assignment": dict(zip(objects, containers, strict=True)),
        }


def assigned(evaluation: Evaluation) -> dict[str, NDArray[np.object_]]:
    """Return two columns: the name of every object, and of its container, None where it is unplaced."""
    problem = evaluation._model.problem
    where = _with_none(problem.containers.array)[evaluation._assignment]
    return {problem.object_name: problem.objects.array, problem.container_name: where}


def number_of_moves(evaluation: Evaluation) -> int:
    """Return how many objects are not where they started."""
    return int((evaluation._assignment != evaluation._model.problem.initial).sum())


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


def goals(evaluation: Evaluation) -> Columns:
    """Return the columns of `Evaluation.goals`."""
    entries = evaluation._model.goals
    return {
        "name": [goal.name for goal in entries],
        "spec": [goal.spec_key for goal in entries],
        "weight": np.array([float(goal.weight) for goal in entries], np.float64),
        "tuple_pos": np.array([goal.tuple_pos for goal in entries], np.int64),
        "initial": np.asarray(evaluation._initial.goals, np.float64),
        "final": np.asarray(evaluation._final.goals, np.float64),
    }


def constraints(evaluation: Evaluation) -> Columns:
    """Return the columns of `Evaluation.constraints`."""
    rows = reported_constraints(evaluation._model)
    entries = [evaluation._model.constraints[row] for row in rows]
    return {
        "name": [constraint.name for constraint in entries],
        "spec": [constraint.spec_key for constraint in entries],
        "policy": [constraint.policy for constraint in entries],
        "initial_violation": np.asarray(evaluation._initial.violations, np.float64)[rows],
        "final_violation": np.asarray(evaluation._final.violations, np.float64)[rows],
    }


def broken_components(evaluation: Evaluation) -> Columns:
    """Return the columns of `Evaluation.broken_components`."""
    rows = reported_constraints(evaluation._model)
    return {
        "name": [evaluation._model.constraints[row].name for row in rows],
        "initial": np.asarray(evaluation._initial.broken_components)[rows],
        "final": np.asarray(evaluation._final.broken_components)[rows],
    }


def objective(evaluation: Evaluation) -> Columns:
    """Return the columns of `Evaluation.objective`."""
    return {
        "tuple_pos": np.arange(evaluation._model.positions, dtype=np.int64),
        "initial": np.asarray(evaluation._initial.objective, np.float64),
        "final": np.asarray(evaluation._final.objective, np.float64),
        "bound": evaluation._bounds,
        "gap": evaluation._gaps,
    }


def records(columns: Columns) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries of plain values; NaN as None."""
    values = (column if isinstance(column, list) else column.tolist() for column in columns.values())
    plain = [
        [None if type(value) is float and not math.isfinite(value) else value for value in column] for column in values
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]


def _frame(columns: Columns) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)


def _values(numbers: NDArray[Any]) -> list[float]:
    return np.asarray(numbers, np.float64).tolist()  # type: ignore[no-any-return]


def _with_none(names: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return names with None behind them, where the index -1 finds it."""
    out = np.empty(len(names) + 1, object)
    out[:-1] = names
    return out
