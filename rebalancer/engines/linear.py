"""Linear programs, given and solved as arrays."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from rebalancer.engines.opened import Floats
from rebalancer.problem.numbers import IntArray

_log = logging.getLogger(__name__)

#: Where MathOpt's solver is: its own Python model is not needed.
_SOLVER = "ortools.math_opt.core.python.solver"
#: How often to look whether somebody wants a solve to stop, in seconds.
_GLANCE = 0.05
#: Row, column and value of each entry.
Matrix: TypeAlias = tuple[IntArray, IntArray, Floats]


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise or maximise ``cost · x`` where x and ``matrix · x`` are within bounds.

    Parameters
    ----------
    cost, low, high : float64 arrays
        Of each variable.
    least, most : float64 arrays
        Of each row.
    matrix : (int64 array, int64 array, float64 array)
        Row, column and value of each entry, each place once.
    maximise : bool
    """

    cost: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    matrix: Matrix
    maximise: bool = False

    def times(self, factor: float) -> Program:
        """Return the same with costs times a factor."""
        return replace(self, cost=self.cost * factor)


@dataclass(frozen=True, eq=False)
class Optimum:
    """What was found of a linear program.

    Parameters
    ----------
    values : float64 array
        A feasible solution, the best one where there was time.
    reduced : float64 array or None
        Reduced cost of each variable, where duals belong to it.
    """

    values: Floats
    reduced: Floats | None


def load() -> None:
    """Load the solver, before any thread does.

    Its first module writes to Python's builtins, and numba, which goes through them when it is loaded, fails where both
    happen at once.
    """
    import_module(_SOLVER)


def solve(
    program: Program,
    seconds: float = np.inf,
    iterations: int | None = None,
    stop: threading.Event | None = None,
    presolve: bool = False,
    dual: bool = False,
) -> Optimum | None:
    """Return what GLOP finds, or has found so far when ``stop`` is set; None where that is nothing.

    ``dual`` has it use the dual simplex method, which is faster where there are many more columns than rows.

    MathOpt's own Python model would take as long to make, and to read, as it takes to solve.
    """
    from ortools.math_opt import callback_pb2, model_parameters_pb2, parameters_pb2, solution_pb2
    from ortools.math_opt.core.python import solver

    settings = parameters_pb2.SolveParametersProto(threads=1)
    if not presolve:
        settings.presolve = parameters_pb2.EMPHASIS_OFF
    if dual:
        settings.lp_algorithm = parameters_pb2.LP_ALGORITHM_DUAL_SIMPLEX
    if np.isfinite(seconds):
        settings.time_limit.FromTimedelta(timedelta(seconds=seconds))
    if iterations is not None:
        settings.iteration_limit = iterations
    try:
        with _interrupted_by(stop) as interrupter:
            result = solver.solve(
                _proto(program),
                parameters_pb2.SOLVER_TYPE_GLOP,
                parameters_pb2.SolverInitializerProto(),
                settings,
                model_parameters_pb2.ModelSolveParametersProto(),
                None,
                callback_pb2.CallbackRegistrationProto(),
                None,
                interrupter,
            )
    except RuntimeError as reason:  # whatever it stumbles over: no search depends on it
        _log.warning("a linear program was not solved: %s", reason)
        return None
    feasible, count = solution_pb2.SOLUTION_STATUS_FEASIBLE, len(program.cost)
    for solution in result.solutions:
        if solution.primal_solution.feasibility_status == feasible:
            values, prices = solution.primal_solution.variable_values, solution.dual_solution
            known = prices.feasibility_status == feasible
            return Optimum(_dense(values, count), _dense(prices.reduced_costs, count) if known else None)
    return None


@contextmanager
def _interrupted_by(stop: threading.Event | None) -> Iterator[Any]:
    """Yield what interrupts a solve once somebody wants it to stop."""
    from ortools.util.python.solve_interrupter import SolveInterrupter

    if stop is None:
        yield None
        return
    interrupter, done = SolveInterrupter(), threading.Event()
    if stop.is_set():
        interrupter.interrupt()

    def watch() -> None:
        while not done.wait(_GLANCE):
            if stop.is_set():
                interrupter.interrupt()
                return

    thread = threading.Thread(target=watch, name="rebalancer-linear", daemon=True)
    thread.start()
    try:
        yield interrupter.pybind_interrupter
    finally:
        done.set()
        thread.join()


def _proto(program: Program) -> Any:
    """Return a program as MathOpt takes it."""
    from ortools.math_opt import model_pb2

    model = model_pb2.ModelProto()
    columns, rows = len(program.cost), len(program.least)
    model.variables.ids.extend(range(columns))
    model.variables.lower_bounds.extend(program.low.tolist())
    model.variables.upper_bounds.extend(program.high.tolist())
    model.variables.integers.extend([False] * columns)
    model.objective.maximize = program.maximise
    model.objective.linear_coefficients.ids.extend(range(columns))
    model.objective.linear_coefficients.values.extend(program.cost.tolist())
    model.linear_constraints.ids.extend(range(rows))
    model.linear_constraints.lower_bounds.extend(program.least.tolist())
    model.linear_constraints.upper_bounds.extend(program.most.tolist())
    for name, values in zip(("row_ids", "column_ids", "coefficients"), program.matrix, strict=True):
        getattr(model.linear_constraint_matrix, name).extend(values.tolist())
    return model


def _dense(found: Any, count: int) -> Floats:
    values = np.zeros(count)
    values[np.array(found.ids, np.int64)] = np.array(found.values)
    return values


def summed(*parts: Matrix) -> Matrix:
    """Return the entries of a matrix, given by row (-1: nowhere), column and value; those of one place are added up."""
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    row, column, value = row[row >= 0], column[row >= 0], value[row >= 0]
    wide = int(column.max(initial=0)) + 1
    place, entry = np.unique(row * wide + column, return_inverse=True)
    return place // wide, place % wide, np.bincount(entry, value, len(place)).astype(np.float64)


__all__ = ["Matrix", "Optimum", "Program", "solve", "summed"]
