"""What is filled in bulk means what it says to CP-SAT."""

from __future__ import annotations

import numpy as np
import pytest
from ortools.sat.python import cp_model

from rebalancer.engines.cpsat.proto import BulkModel


def as_model(bulk: BulkModel) -> cp_model.CpModel:
    """Return the same as a model of OR-tools' own class."""
    model = cp_model.CpModel()
    model.proto.copy_from(bulk.proto)
    return model


@pytest.mark.parametrize("values", [[3], [0, 1, 2], [-4, -3, 0, 5, 6], [1, 3, 5]])
def test_a_restricted_variable_takes_its_values_and_no_others(values: list[int]) -> None:
    bulk = BulkModel()
    bulk.add_integers(np.array([-10]), np.array([10]))
    bulk.restrict(0, np.array(values))
    assert not as_model(bulk).validate()
    taken = []
    for value in range(-10, 11):
        fixed = as_model(bulk)
        demand = fixed.proto.constraints.add().linear
        demand.vars.append(0)
        demand.coeffs.append(1)
        demand.domain.extend((value, value))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if solver.status_name(solver.solve(fixed)) == "OPTIMAL":
            taken.append(value)
    assert taken == values


def test_bounds_of_a_copy_are_its_own() -> None:
    bulk = BulkModel()
    bulk.add_booleans(3)
    bulk.add_integers(np.array([-5]), np.array([5]))
    bulk.minimize(np.array([0, 3]), np.array([4, -1]))
    other = bulk.copy()
    other.bound(np.array([1, 3]), np.array([1, -2]), np.array([1, 2]))
    other.within(0, 7)
    assert not as_model(other).validate()
    assert [list(variable.domain) for variable in other.proto.variables] == [[0, 1], [1, 1], [0, 1], [-2, 2]]
    assert [list(variable.domain) for variable in bulk.proto.variables] == [[0, 1], [0, 1], [0, 1], [-5, 5]]
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.status_name(solver.solve(as_model(other))) == "OPTIMAL"
    assert solver.objective_value == 0
    assert solver.status_name(solver.solve(as_model(bulk))) == "OPTIMAL"
    assert solver.objective_value == -5
