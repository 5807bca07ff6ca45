"""Pruning drops no placement of any assignment that holds everything."""

from __future__ import annotations

from hypothesis import given

from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.model import Model
from tests.examples import examples
from tests.property.problems import every_feasible, models


@examples(50)
@given(models(objects=4, containers=3))
def test_every_feasible_assignment_is_left(model: Model) -> None:
    literals = all_candidates(model)
    left = set(zip(literals.object.tolist(), literals.container.tolist(), strict=True))
    for values in every_feasible(model):
        assert left.issuperset(enumerate(values.assignment.tolist()))
