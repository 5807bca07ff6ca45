"""What moves gain, measured over the cells that count them alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.model import CellValues, Model
from rebalancer.plan.work import costs, counting
from tests.examples import examples
from tests.property.problems import every_assignment, models


@examples(60)
@given(model=models(4, 3), data=st.data())
def test_what_no_moved_object_is_counted_in_keeps_its_value(model: Model, data: st.DataObject) -> None:
    ends = every_assignment(model.problem)
    start, end = (ends[data.draw(st.integers(0, len(ends) - 1))] for _ in range(2))
    values = CellValues(model.problem, start)
    model.objective_of(values)
    who = np.flatnonzero(start != end).astype(np.int64)
    near = values.moved(end, counting(model, who).any(axis=1))
    assert model.objective_of(near).tolist() == model.objective(end).tolist()


@examples(5)
@given(model=models(4, 3))
def test_every_cell_that_is_needed_costs_something(model: Model) -> None:
    needed = {goal.cells.index for goal in model.goals}
    assert all(costs(model)[index] >= 1_000 for index in needed)
