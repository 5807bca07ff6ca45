"""Squares from below are exact where their secants meet the curve, and never above it."""

from __future__ import annotations

import numpy as np
import pytest
from ortools.sat.python import cp_model

from rebalancer.engines.cpsat.proto import BulkModel
from rebalancer.engines.cpsat.rows import single_rows
from rebalancer.engines.cpsat.secants import Squares, first_secants, more_secants
from rebalancer.model import Grid


def squares(low: int, high: int, divisor: int) -> tuple[BulkModel, Squares]:
    """One variable x, 0, and another, y, that is to be at least round(x² / divisor)."""
    bulk = BulkModel()
    bulk.add_integers(np.array([low, 0]), np.array([high, max(low * low, high * high)]))
    ends = np.array([low]), np.array([high])
    x = single_rows((1, 1), np.array([0]), np.array([0]), Grid.constant(1, 1, 0), *ends)
    return bulk, Squares(None, np.array([0]), x, np.array([1]), np.array([divisor]))  # type: ignore[arg-type]


def least(bulk: BulkModel, x: int) -> int:
    """Return the smallest y at an x."""
    model = cp_model.CpModel()
    model.proto.copy_from(bulk.proto)
    fixed = model.proto.constraints.add().linear
    fixed.vars.append(0)
    fixed.coeffs.append(1)
    fixed.domain.extend((x, x))
    model.proto.objective.vars.append(1)
    model.proto.objective.coeffs.append(1)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.status_name(solver.solve(model)) == "OPTIMAL"
    return round(solver.objective_value)


@pytest.mark.parametrize("divisor", [1, 2, 7, 64])
def test_a_short_range_is_exact_everywhere(divisor: int) -> None:
    bulk, stated = squares(-9, 14, divisor)
    assert first_secants(bulk, stated, np.array([3]))
    for x in range(-9, 15):
        assert least(bulk, x) == (x * x + divisor // 2) // divisor


@pytest.mark.parametrize("divisor", [1, 16])
def test_a_long_range_is_exact_where_asked(divisor: int) -> None:
    bulk, stated = squares(-1000, 5000, divisor)
    assert not first_secants(bulk, stated, np.array([700]))
    known = (699, 700, 701)
    asked = (-333, -332, 2499, 2500, 2501, 5000)
    for x in (*known, *asked, -1000, 0):
        assert least(bulk, x) <= (x * x + divisor // 2) // divisor
    for x in known:
        assert least(bulk, x) == (x * x + divisor // 2) // divisor
    for x in (-332, 2500, 5000):
        more_secants(bulk, stated, np.array([x]))
    for x in asked:
        assert least(bulk, x) == (x * x + divisor // 2) // divisor
