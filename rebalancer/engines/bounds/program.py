"""The best prices, by linear programming: parts of objects go, to the best place that there is."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import numpy as np

from rebalancer.engines.bounds.prices import Prices
from rebalancer.engines.opened import Floats
from rebalancer.problem.numbers import IntArray

_log = logging.getLogger(__name__)


def best_prices(prices: Prices, seconds: float, interrupter: Any = None) -> tuple[Floats, Floats]:
    """Return the best prices and floors, by linear programming; the largest floors where there was no time.

    One variable for each price where there may be too much at the start (elsewhere the floor is best), for each
    floor, and for what each object there saves by going: at most what staying costs more, and at least nothing.
    """
    dear = prices.dear > 0
    number = np.where(dear, np.cumsum(dear) - 1, dear.sum() + prices.floor_of)
    floors = dear.sum() + np.arange(len(prices.top))
    people = np.unique(prices.here.who[dear[prices.here.of]])
    if not len(people):
        return prices.top[prices.floor_of], prices.top
    row = np.full(prices.objects, -1)
    row[people] = np.arange(len(people))
    saving = dear.sum() + len(floors) + np.arange(len(people))
    count = int(dear.sum()) + len(floors) + len(people)
    bounded = np.flatnonzero(dear & (prices.top > 0)[prices.floor_of])
    rows = len(people) + np.arange(len(bounded))
    # everything is of the size of 1: prices times the largest amount of their resource, in what a typical object saves
    limits = np.append((prices.stay - prices.away)[people], np.zeros(len(rows)))
    money = float(np.median(np.abs(limits[limits != 0]))) if limits.any() else 1.0
    largest = np.ones(len(prices.top))
    np.maximum.at(largest, prices.floor_of[prices.here.of], prices.here.units)
    np.maximum.at(largest, prices.there.of, prices.there.units)
    scale = np.concatenate([largest[prices.floor_of[dear]], largest, np.ones(len(people))])
    row_ids, columns, values = _summed(
        (np.arange(len(people)), saving, np.ones(len(people))),
        (row[prices.here.who], number[prices.here.of], -prices.here.units),
        (row[prices.there.who], floors[prices.there.of], prices.there.units),
        (rows, number[bounded], -np.ones(len(bounded))),
        (rows, floors[prices.floor_of[bounded]], np.ones(len(bounded))),
    )
    brings = np.bincount(number, prices.brings, count)
    brings[floors] += prices.there.received(len(floors))
    brings[saving] = 1.0
    most = np.concatenate([prices.most[dear], prices.top, 0.0 * saving])
    least = np.where(np.arange(count) < saving[0], 0.0, -np.inf)
    matrix = row_ids, columns, values / scale[columns]
    model = _program(least, scale * most / money, brings / scale, limits / money, matrix)
    solution = _solved(model, seconds, interrupter)
    if solution is None:
        return prices.top[prices.floor_of], prices.top
    found = solution * money / scale
    floor = found[floors].clip(0.0, prices.top)
    return np.clip(found[number], floor[prices.floor_of], prices.most), floor


def _program(
    least: Floats, most: Floats, worth: Floats, limits: Floats, matrix: tuple[IntArray, IntArray, Floats]
) -> Any:
    """Return, as MathOpt takes it: maximise ``worth · x`` where ``matrix · x <= limits`` and x is within bounds."""
    from ortools.math_opt import model_pb2

    model = model_pb2.ModelProto()
    model.variables.ids.extend(range(len(worth)))
    model.variables.lower_bounds.extend(least.tolist())
    model.variables.upper_bounds.extend(most.tolist())
    model.variables.integers.extend([False] * len(worth))
    model.objective.maximize = True
    model.objective.linear_coefficients.ids.extend(range(len(worth)))
    model.objective.linear_coefficients.values.extend(worth.tolist())
    model.linear_constraints.ids.extend(range(len(limits)))
    model.linear_constraints.lower_bounds.extend([-np.inf] * len(limits))
    model.linear_constraints.upper_bounds.extend(limits.tolist())
    for name, values in zip(("row_ids", "column_ids", "coefficients"), matrix, strict=True):
        getattr(model.linear_constraint_matrix, name).extend(values.tolist())
    return model


def _solved(model: Any, seconds: float, interrupter: Any) -> Floats | None:
    """Return what GLOP finds, or has found so far; None where that is nothing.

    MathOpt's own Python model would take as long to make, and to read, as it takes to solve.
    """
    from ortools.math_opt import callback_pb2, model_parameters_pb2, parameters_pb2, solution_pb2
    from ortools.math_opt.core.python import solver

    settings = parameters_pb2.SolveParametersProto(threads=1, presolve=parameters_pb2.EMPHASIS_OFF)
    if np.isfinite(seconds):
        settings.time_limit.FromTimedelta(timedelta(seconds=seconds))
    try:
        result = solver.solve(
            model,
            parameters_pb2.SOLVER_TYPE_GLOP,
            parameters_pb2.SolverInitializerProto(),
            settings,
            model_parameters_pb2.ModelSolveParametersProto(),
            None,
            callback_pb2.CallbackRegistrationProto(),
            None,
            None if interrupter is None else interrupter.pybind_interrupter,
        )
    except RuntimeError as reason:  # whatever it stumbles over: the search does not depend on it
        _log.warning("no bound from prices: %s", reason)
        return None
    feasible = solution_pb2.SOLUTION_STATUS_FEASIBLE
    for solution in result.solutions:
        if solution.primal_solution.feasibility_status == feasible:
            found = solution.primal_solution.variable_values
            values = np.zeros(len(model.variables.ids))
            values[np.array(found.ids, np.int64)] = np.array(found.values)
            return values
    return None


def _summed(*parts: tuple[IntArray, IntArray, Floats]) -> tuple[IntArray, IntArray, Floats]:
    """Return the entries of a matrix, given by row (-1: nowhere), column and value; those of one place are added up."""
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    row, column, value = row[row >= 0], column[row >= 0], value[row >= 0]
    wide = int(column.max(initial=0)) + 1
    place, entry = np.unique(row * wide + column, return_inverse=True)
    return place // wide, place % wide, np.bincount(entry, value, len(place)).astype(np.float64)


__all__ = ["best_prices"]
