"""On problems small enough to enumerate, CP-SAT's answer is the best there is, and it says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.engines.base import Request, Status
from rebalancer.engines.cpsat.engine import CpsatEngine
from rebalancer.engines.neighbourhood.state import integers_of
from rebalancer.model import Model
from rebalancer.specs import registry
from tests.examples import examples
from tests.property.problems import every_feasible, models, models_with, optimum


@examples(100)
@given(models(objects=4, containers=3))
def test_cpsat_finds_and_proves_the_enumerated_optimum(model: Model) -> None:
    check(model)


@pytest.mark.parametrize("key", sorted(registry.BUILT_IN))
@examples(16)
@given(data=st.data())
def test_every_spec_by_itself(key: str, data: st.DataObject) -> None:
    check(data.draw(models_with(key)))


def check(model: Model) -> None:
    """CP-SAT's answer is the best of all assignments, and proven; or none is feasible, and it says why."""
    best = optimum(model)
    answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    if best is None:
        assert answer.status is Status.INFEASIBLE
        assert answer.reason
        return
    assert answer.status is Status.OPTIMAL
    assert answer.assignment is not None
    score = model.evaluate(answer.assignment)
    assert score.feasible
    assert score.integers == best
    assert answer.bounds == best


@examples(60)
@given(models(objects=4, containers=3))
def test_a_second_solve_moves_nothing_when_goals_ignore_where_objects_were(model: Model) -> None:
    """Solving again from a proven answer, scored by the same model, returns that answer."""
    first = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    if first.assignment is None:
        return
    again = CpsatEngine().solve(model, Request(time_limit=60, workers=1, start=first.assignment))
    assert again.assignment is not None
    assert model.evaluate(again.assignment).integers == model.evaluate(first.assignment).integers
    assert (again.assignment != model.problem.initial).sum() == (first.assignment != model.problem.initial).sum()


@examples(100)
@given(models(objects=4, containers=2))
def test_the_answer_is_never_worse_than_a_feasible_start_and_moves_as_little_as_possible(model: Model) -> None:
    answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    if answer.assignment is None:
        return
    initial = model.problem.initial
    score, start = model.evaluate(answer.assignment), model.evaluate(initial)
    assert not start.feasible or score.integers <= start.integers
    equal = [values for values in every_feasible(model) if integers_of(model, values) == score.integers]
    assert (answer.assignment != initial).sum() == min((values.assignment != initial).sum() for values in equal)
