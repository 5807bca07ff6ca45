"""The linear relaxation of a position: what it says of each placement, in a fraction of a second."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.objective import Objective
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.incumbent import Found
from rebalancer.engines.linear import Matrix, Program, solve
from rebalancer.engines.opened import Floats
from rebalancer.model import CellValues, Model

#: What floating point may lose of a variable's bound.
_SPARE = 1e-6
#: Seconds that GLOP has, as it has been seen to go round in circles; elsewhere it is done after a fraction of that.
_AT_MOST = 5.0


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The least that a position has if objects may be split.

    Parameters
    ----------
    value : float
        In the position's integers. As GLOP's floating point has it: a guide, not a bound.
    reduced : float64 array, (objects, containers + 1)
        By how much more that is at least if all of an object is put somewhere; infinite where it may not be. "Unplaced"
        comes last.
    """

    value: float
    reduced: Floats


def relax(
    model: Model, number: int, found: Found, iterations: int, stop: threading.Event | None = None
) -> Relaxation | None:
    """Return the relaxation of a position, the earlier ones at what an answer has; None where it is not solved.

    What is no linear row is left out: products, largest cells from above, what holds only if something else does.
    """
    literals = all_candidates(model)
    if (literals.per_object == 0).any():
        return None
    encoding = encode(model, literals, CellValues(model.problem, found.assignment))
    for earlier in range(number):
        encoding.hold(earlier, found.integers[earlier])
    objective = encoding.objective(number)
    program = _program(encoding, objective, found.integers[number])
    # GLOP's tolerances are absolute
    money = float(np.median(np.abs(program.cost[program.cost != 0]))) if program.cost.any() else 1.0
    optimum = solve(program.times(1 / money), _AT_MOST, iterations, stop, presolve=True, dual=True)
    if optimum is None or optimum.reduced is None:
        return None
    reduced = np.full((len(literals.start) - 1, len(model.problem.containers) + 1), np.inf)
    reduced[literals.object, literals.container] = optimum.reduced[: literals.count] * money
    return Relaxation(float(program.cost @ optimum.values) + objective.constant / objective.scale, reduced)


def _program(encoding: Encoding, objective: Objective, known: int) -> Program:
    """Return a position's relaxation, given what it is known to have at most."""
    literals = encoding.literals
    count = literals.count
    low, high = (bounds.astype(np.float64) for bounds in encoding.algebra.auxiliary_bounds())
    cost: Floats = np.zeros(count + len(low))
    np.add.at(cost, objective.var, objective.coef / objective.scale)
    # Penalties of what is broken at the start are so steep that whoever has to pay one has a worse answer: left
    # out, as floating point has no room for them beside everything else.
    rest, aux = np.minimum.reduceat(cost[:count], literals.start[:-1]).sum(), cost[count:]
    rest += np.minimum(aux * low, aux * high).sum()
    room = known - objective.constant / objective.scale - rest + objective.error + 1
    dear = np.flatnonzero(aux > 0)
    high[dear] = np.minimum(high[dear], low[dear] + np.floor(room / aux[dear] + _SPARE))
    least, most, matrix = _rows(encoding)
    matrix = _without_idle(matrix, cost)
    empty = np.bincount(matrix[0], minlength=len(least)) == 0
    least[empty], most[empty] = -np.inf, np.inf
    above = np.full(count, np.inf)  # an object takes one of its literals: that none is above 1 need not be said
    return Program(cost, np.append(np.zeros(count), low), np.append(above, high), least, most, matrix)


def _rows(encoding: Encoding) -> tuple[Floats, Floats, Matrix]:
    """Return the bounds of a model's linear rows, and their entries: first that each object takes one literal."""
    start = encoding.literals.start
    linear = [
        constraint.linear
        for constraint in encoding.bulk.proto.constraints
        if constraint.has_linear() and not len(constraint.enforcement_literal)
    ]
    lengths = np.append(np.diff(start), [len(row.vars) for row in linear]).astype(np.int64)
    column = np.concatenate([np.arange(start[-1]), *(np.array(row.vars, np.int64) for row in linear)])
    value = np.concatenate([np.ones(start[-1]), *(np.array(row.coeffs, np.float64) for row in linear)])
    ends = np.array([(row.domain[0], row.domain[len(row.domain) - 1]) for row in linear], np.float64).reshape(-1, 2)
    ends[np.abs(ends) >= INFINITE] *= np.inf
    one = np.ones(len(start) - 1)
    matrix = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths), column.astype(np.int64), value
    return np.append(one, ends[:, 0]), np.append(one, ends[:, 1]), matrix


def _without_idle(matrix: Matrix, cost: Floats) -> Matrix:
    """Leave out the rows that only say what a variable is that nobody reads, as rounded sums are of the exact formula.

    Their coefficients may be a billion times as large as others, which GLOP does not get on with.
    """
    row, column, value = matrix
    while True:
        used = np.bincount(column, minlength=len(cost))
        idle = np.unique(row[(cost[column] == 0) & (used[column] == 1)])
        if not len(idle):
            return row, column, value
        kept = ~np.isin(row, idle)
        row, column, value = row[kept], column[kept], value[kept]


__all__ = ["Relaxation", "relax"]
