"""One CP-SAT solve that can be watched and stopped from outside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.cpsat.proto import BulkModel

#: How often a running solve looks whether it should stop, in seconds.
_GLANCE = 0.05


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one solve returned.

    Parameters
    ----------
    status : str
        CP-SAT's own: OPTIMAL, FEASIBLE, INFEASIBLE or UNKNOWN.
    values : int64 array or None
        Of every variable.
    objective, bound : int
        Exact integers, without the objective's constant; meaningless without an objective.
    """

    status: str
    values: NDArray[np.int64] | None
    objective: int
    bound: int


class InvalidModel(RuntimeError):
    """CP-SAT refused the model: a defect of ours, never the user's."""


def solve(bulk: BulkModel, request: Request, seconds: float, on_solution: Callable[[int, int], None] | None = None, on_bound: Callable[[float], None] | None = None,
          **parameters: Any) -> Outcome:
    """Run CP-SAT for at most ``seconds``, watching ``request.stop``.

    Parameters
    ----------
    on_solution : callable
        Takes the objective and bound of each better solution.
    on_bound : callable
        Takes each better bound.
    parameters
        Any of CP-SAT's own, which win over the defaults here.

    Raises
    ------
    InvalidModel
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    settings: dict[str, Any] = {"num_workers": max(1, request.workers), "random_seed": request.seed % 2**31, "catch_sigint_signal": False}
    if request.deterministic:
        settings |= {"interleave_search": True, "max_deterministic_time": max(0.01, min(seconds, 1e9))}
    elif np.isfinite(seconds):
        settings["max_time_in_seconds"] = max(0.01, seconds)
    if request.gap > 0:
        settings["relative_gap_limit"] = request.gap
    for name, value in (settings | parameters).items():
        setattr(solver.parameters, name, value)
    if on_bound is not None:
        solver.best_bound_callback = on_bound

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if on_solution is not None:
                on_solution(round(self.objective_value), round(self.best_objective_bound))

    finished = threading.Event()
    failure: list[BaseException] = []
    statuses: list[Any] = []

    def work() -> None:
        try:
            statuses.append(solver.solve(bulk.model, Watch()))
        except BaseException as error:
            failure.append(error)
        finally:
            finished.set()

    worker = threading.Thread(target=work, name="cp-sat", daemon=True)
    worker.start()
    while not finished.is_set():
        try:
            finished.wait(_GLANCE)
        except KeyboardInterrupt:
            request.stop.set()
        if request.stop.is_set():
            solver.stop_search()
    worker.join()
    if failure:
        raise failure[0]
    status = solver.status_name(statuses[0])
    if status == "MODEL_INVALID":
        raise InvalidModel(bulk.model.validate())
    response = solver.response_proto
    found = status in ("OPTIMAL", "FEASIBLE")
    values = np.array(response.solution, np.int64) if found else None
    has_objective = bulk.proto.has_objective()
    objective = 0
    if found and has_objective and values is not None:
        chosen = np.array(bulk.proto.objective.vars, np.int64)
        objective = int(np.dot(values[chosen], np.array(bulk.proto.objective.coeffs, np.int64))) if len(chosen) else 0
    return Outcome(status, values, objective, int(response.inner_objective_lower_bound) if has_objective else 0)
