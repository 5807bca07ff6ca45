"""On problems small enough to enumerate, CP-SAT's answer is the best there is, and it says so."""

from __future__ import annotations

from hypothesis import given, settings

from rebalancer.engines.base import Request, Status
from rebalancer.engines.cpsat.engine import CpsatEngine
from rebalancer.model import Model
from tests.property.problems import every_assignment, models


@settings(max_examples=200)
@given(models(objects=4, containers=3))
def test_cpsat_finds_and_proves_the_enumerated_optimum(model: Model) -> None:
    scores = [model.evaluate(assignment) for assignment in every_assignment(model.problem)]
    feasible = [score.integers for score in scores if score.feasible]
    answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    if not feasible:
        assert answer.status is Status.INFEASIBLE
        assert answer.reason
        return
    assert answer.status is Status.OPTIMAL
    assert answer.assignment is not None
    score = model.evaluate(answer.assignment)
    assert score.feasible
    assert score.integers == min(feasible)
    assert answer.bounds == min(feasible)


@settings(max_examples=60)
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


@settings(max_examples=100)
@given(models(objects=4, containers=2))
def test_the_answer_is_never_worse_than_a_feasible_start_and_moves_as_little_as_possible(model: Model) -> None:
    answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    if answer.assignment is None:
        return
    initial = model.problem.initial
    score, start = model.evaluate(answer.assignment), model.evaluate(initial)
    assert not start.feasible or score.integers <= start.integers
    equal = [
        assignment
        for assignment in every_assignment(model.problem)
        if (other := model.evaluate(assignment)).feasible and other.integers == score.integers
    ]
    assert (answer.assignment != initial).sum() == min((assignment != initial).sum() for assignment in equal)
