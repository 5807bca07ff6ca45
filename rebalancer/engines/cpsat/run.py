"""One CP-SAT solve that can be watched and stopped from outside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.proto import BulkModel

#: How often a running solve looks whether it should stop, in seconds.
_GLANCE = 0.05
#: Seconds that one of CP-SAT's deterministic seconds counts for: about what it takes with two workers on two cores.
DETERMINISTIC_SECOND = 4.0
#: The least that CP-SAT is given: less is nothing.
_LEAST = 0.01
#: Parameters for small problems, of which many are solved.
QUICK: dict[str, Any] = {"cp_model_probing_level": 0, "symmetry_level": 0}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one solve returned.

    Parameters
    ----------
    status : str
        CP-SAT's own: OPTIMAL, FEASIBLE, INFEASIBLE or UNKNOWN.
    values : int64 array or None
        Of every variable.
    objective : int
        Exact integer, without the objective's constant; meaningless without an objective or values.
    bound : int or None
        Proven lower bound, likewise; None where CP-SAT did not come to have one.
    """

    status: str
    values: NDArray[np.int64] | None
    objective: int
    bound: int | None


class InvalidModel(RuntimeError):
    """CP-SAT refused the model: a defect of ours, never the user's."""


def solve(
    bulk: BulkModel,
    request: Request,
    budget: Budget,
    on_solution: Callable[[float], None] | None = None,
    on_bound: Callable[[float], None] | None = None,
    enough: Callable[[], bool] | None = None,
    **parameters: Any,
) -> Outcome:
    """Run CP-SAT until its budget is used up, or it is stopped.

    Parameters
    ----------
    budget : Budget
        What the solve may take; it is charged for what it took.
    on_solution, on_bound : callable
        Take the objective of each better solution, and each better bound, with the constant and unit of
        `BulkModel.minimize`. Called from other threads.
    enough : callable
        Asked now and then; the solve ends where it says so.
    parameters
        Any of CP-SAT's own, which win over the defaults here.

    Raises
    ------
    InvalidModel
    """
    from ortools.sat.python import cp_model_helper as cp_sat  # and not `cp_model`, which imports pandas

    settings = cp_sat.SatParameters()
    for name, value in (_settings(request, budget) | parameters).items():
        if isinstance(value, tuple):
            getattr(settings, name).extend(value)
        else:
            setattr(settings, name, value)
    bounded = threading.Event()

    def note_bound(bound: float) -> None:
        bounded.set()
        if on_bound is not None:
            on_bound(bound)

    class Watch(cp_sat.SolutionCallback):
        def OnSolutionCallback(self) -> None:
            if on_solution is not None:
                on_solution(self.ObjectiveValue())
            if budget.ended:  # at this solution, and not at whichever is there when somebody looks
                self.StopSearch()

    watch, solver = Watch(), cp_sat.SolveWrapper()
    solver.set_parameters(settings)
    solver.add_solution_callback(watch)
    solver.add_best_bound_callback(note_bound)
    response = _watched(solver, bulk, budget, enough)
    solver.clear_solution_callback(watch)
    status = response.status.name
    if status == "MODEL_INVALID":
        raise InvalidModel(cp_sat.CpSatHelper.validate_model(bulk.proto))
    budget.spend(response.deterministic_time * DETERMINISTIC_SECOND)
    values = np.array(response.solution, np.int64) if status in ("OPTIMAL", "FEASIBLE") else None
    objective, bound = 0, None
    if bulk.proto.has_objective():
        if values is not None:
            chosen = np.array(bulk.proto.objective.vars, np.int64)
            objective = int(np.dot(values[chosen], np.array(bulk.proto.objective.coeffs, np.int64)))
        # A solve that ends before its search has begun says 0, which is no bound at all.
        if status == "OPTIMAL" or (bounded.is_set() and status != "INFEASIBLE"):
            bound = int(response.inner_objective_lower_bound)
    return Outcome(status, values, objective, bound)


def _settings(request: Request, budget: Budget) -> dict[str, Any]:
    settings: dict[str, Any] = {
        # Where runs have to be the same there is one, however many were asked for: CP-SAT's workers repeat each other's
        # work only as long as they wait for each other, and one gets further than several that wait.
        "num_workers": 1 if budget.deterministic else max(1, request.workers),
        "random_seed": request.seed % 2**31,
        "catch_sigint_signal": False,
        # Presolve of 9.15 loses answers where it makes rows sparser by others that they include: what is to be large
        # was called infeasible, or optimal far from it, in one of a hundred tiny problems.
        "presolve_inclusion_work_limit": 0,
    }
    if np.isfinite(budget.remaining):
        left = max(_LEAST, budget.remaining)
        if budget.deterministic:
            settings["max_deterministic_time"] = left / DETERMINISTIC_SECOND
        else:
            settings["max_time_in_seconds"] = left
    if request.gap > 0:
        settings["relative_gap_limit"] = request.gap
        settings["absolute_gap_limit"] = 0.0  # by itself it takes whatever is within 0.0001
    return settings


def _watched(solver: Any, bulk: BulkModel, budget: Budget, enough: Callable[[], bool] | None) -> Any:
    """Solve in a thread of its own, stopping when the budget's owner or ``enough`` says so; return what CP-SAT says."""
    finished = threading.Event()
    failure: list[BaseException] = []
    responses: list[Any] = []

    def work() -> None:
        try:
            responses.append(solver.solve(bulk.proto))
        except BaseException as error:
            failure.append(error)
        finally:
            finished.set()

    worker = threading.Thread(target=work, name="cp-sat", daemon=True)
    worker.start()
    while not finished.is_set():
        try:
            finished.wait(_GLANCE)
        except KeyboardInterrupt:  # only where an engine is used by itself: `search` runs it in a thread
            budget.stop.set()
        if budget.ended or (enough is not None and enough()):
            solver.stop_search()
    worker.join()
    if failure:
        raise failure[0]
    return responses[0]
