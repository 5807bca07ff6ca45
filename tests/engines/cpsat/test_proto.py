"""What is filled in bulk means what it says to CP-SAT."""

from __future__ import annotations

import numpy as np
import pytest
from ortools.sat.python import cp_model

from rebalancer.engines.cpsat.proto import BulkModel


@pytest.mark.parametrize("values", [[3], [0, 1, 2], [-4, -3, 0, 5, 6], [1, 3, 5]])
def test_a_restricted_variable_takes_its_values_and_no_others(values: list[int]) -> None:
    bulk = BulkModel()
    bulk.add_integers(np.array([-10]), np.array([10]))
    bulk.restrict(0, np.array(values))
    assert not bulk.model.validate()
    taken = []
    for value in range(-10, 11):
        fixed = cp_model.CpModel()
        fixed.proto.copy_from(bulk.model.proto)
        demand = fixed.proto.constraints.add().linear
        demand.vars.append(0)
        demand.coeffs.append(1)
        demand.domain.extend((value, value))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if solver.status_name(solver.solve(fixed)) == "OPTIMAL":
            taken.append(value)
    assert taken == values
