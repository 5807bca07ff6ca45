"""What a plan attains: the assignment that it ends in, scored anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Status
from rebalancer.solution import Solution
from rebalancer.solver import Rebalancer


def assignment_table(solver: Rebalancer, assignment: NDArray[np.int32]) -> Any:
    """Return an assignment as the table that `Rebalancer.solve` and `Rebalancer.evaluate` take."""
    import pandas as pd

    problem = solver.problem
    containers = [*problem.containers, None]  # the index -1 finds None
    places = [containers[place] for place in assignment.tolist()]
    columns = {problem.object_name: problem.objects.array, problem.container_name: places}
    return pd.DataFrame(columns, dtype=object)


def attained_by(solver: Rebalancer, solution: Solution, end: NDArray[np.int32]) -> Solution:
    """Return the solution that a plan attains, which may be less than what the search found.

    Of the bounds only the first holds for it: the others hold for the values that the search has reached before them.
    """
    if np.array_equal(end, solution._assignment):
        return solution
    reached = solver.evaluate(assignment_table(solver, end))
    bounds, gaps = reached._bounds.copy(), reached._gaps.copy()
    value = float(reached._final.objective[0])
    bounds[0] = min(float(solution._bounds[0]), value)
    gaps[0] = (value - bounds[0]) / max(1.0, abs(value))
    return replace(
        solution,
        worsened=reached.worsened,
        _final=reached._final,
        _assignment=reached._assignment,
        _bounds=bounds,
        _gaps=gaps,
        status=Status.FEASIBLE,
    )
