"""Cells as rows over literals say what the evaluator says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.engines.cpsat.candidates import every_pair, linear_rows
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.rows import RowAlgebra, Rows
from rebalancer.model import CellValues, Model, evaluate_cells
from tests.examples import examples
from tests.property.problems import models


def value_of(rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """Return the cells that rows mean where these literals are true: shape (groups, items)."""
    out = np.array(np.broadcast_to(rows.const.dense(), (rows.groups, rows.items)))
    for row, key in enumerate(rows.key.tolist()):
        entries = slice(int(rows.start[row]), int(rows.start[row + 1]))
        out[key // rows.items, key % rows.items] += int(np.dot(chosen[rows.var[entries]], rows.coef[entries]))
    return out


@examples(60)
@given(st.data(), models(objects=5, containers=3))
def test_linear_cells_are_their_rows(data: st.DataObject, model: Model) -> None:
    problem = model.problem
    literals = every_pair(model)
    algebra = RowAlgebra(literals)
    places = st.integers(-1, len(problem.containers) - 1)
    size = len(problem.objects)
    assignment = np.array(data.draw(st.lists(places, min_size=size, max_size=size)), np.int32)
    chosen = literals.chosen(assignment).astype(np.int64)
    values = CellValues(problem, assignment)
    for cells in model.graph:
        rows = linear_rows(algebra, cells)
        if rows is None:
            continue
        wide = evaluate_cells(values, cells).integers.dense()
        assert np.array_equal(value_of(rows, chosen), np.broadcast_to(wide, (rows.groups, rows.items)))
        at_key = wide[rows.key // max(1, rows.items), rows.key % max(1, rows.items)]
        assert (rows.low <= at_key).all()
        assert (at_key <= rows.high).all()


def test_literals_and_assignments_are_the_same() -> None:
    literals = Literals.of(np.array([[True, True, False], [True, False, True], [False, False, True]]))
    assert literals.per_object.tolist() == [2, 2, 1]
    assignment = np.array([1, -1, -1], np.int32)
    assert literals.assignment(literals.chosen(assignment)).tolist() == [1, -1, -1]
    fewer = literals.without(literals.container == 0)
    assert (fewer.object.tolist(), fewer.container.tolist()) == ([0, 1, 2], [1, -1, -1])
