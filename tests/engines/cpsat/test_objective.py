"""CP-SAT minimises the exact formula where a position's integers are rounded from it, and proves what is true of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

from rebalancer import BalanceSpec, Rebalancer
from rebalancer.engines.base import Request, Status
from rebalancer.engines.cpsat import position
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.engine import CpsatEngine
from rebalancer.engines.cpsat.objective import ExactObjective
from rebalancer.model import CellValues, Model
from tests.engines.worlds import rounded
from tests.examples import examples
from tests.property.problems import every_feasible, models


def encoded(model: Model) -> tuple[Encoding, ExactObjective]:
    encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
    objective = encoding.exact[0]
    assert objective is not None
    return encoding, objective


@pytest.mark.parametrize("seed", range(6))
def test_numbers_stand_for_the_exact_formula(seed: int) -> None:
    model = rounded(seed=seed)
    encoding, objective = encoded(model)
    unit = float(model.tuple_positions[0].objective.unit)
    for chosen in itertools.product(range(3), repeat=5):
        assignment = np.array(chosen, np.int32)
        score = model.evaluate(assignment)
        if not score.feasible:
            continue
        _, values = encoding.solution(CellValues(model.problem, assignment))
        number, true, integer = objective.number(values), float(score.objective[0]), score.integers[0]
        assert number / objective.scale == pytest.approx(true / unit, rel=1e-9, abs=0.1 * objective.error)
        assert model.real(0, objective.proven(number)) <= true
        assert integer <= objective.at_most(number)
        assert objective.at_least(integer, number) <= number
        assert objective.at_least(objective.proven(number), number) <= number


def test_slack_is_what_is_reported_as_closed() -> None:
    model = rounded()
    _, objective = encoded(model)
    unit = float(model.tuple_positions[0].objective.unit)
    number = objective.constant + 1000 * int(objective.scale)
    true = (number + objective.slack(number)) / objective.scale * unit
    gap = true - model.real(0, objective.proven(number))
    assert gap <= model.tuple_positions[0].epsilon
    assert gap >= 0.9 * model.tuple_positions[0].epsilon


def test_there_is_none_where_nothing_is_rounded() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": []})
    solver.add_goal(BalanceSpec(scope="host", dimension="task_count"))
    model = solver.model
    encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
    assert encoding.exact == [None]


@pytest.mark.parametrize("seed", range(8))
def test_the_exact_formula_is_minimised(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "_SMALL", 0)
    model = rounded(seed=seed)
    encoded(model)
    scores = [model.evaluate(np.array(chosen, np.int32)) for chosen in itertools.product(range(3), repeat=5)]
    best = min(float(score.objective[0]) for score in scores if score.feasible)
    answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    assert answer.status is Status.OPTIMAL
    assert answer.assignment is not None
    assert answer.bounds[0] is not None
    assert float(model.evaluate(answer.assignment).objective[0]) <= best + model.tuple_positions[0].epsilon
    assert model.real(0, answer.bounds[0]) <= best


@examples(40)
@given(models(objects=4, containers=3))
def test_any_specs_minimised_by_their_exact_formula(model: Model) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(position, "_SMALL", 0)
        answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    feasible = [float(model.objective(values.assignment)[0]) for values in every_feasible(model)]
    assert (answer.assignment is None) == (not feasible)
    if answer.assignment is None:
        return
    score = model.evaluate(answer.assignment)
    slack = model.tuple_positions[0].epsilon + 1e-9 * max(1.0, abs(min(feasible)))
    assert answer.status is Status.OPTIMAL
    assert score.feasible
    assert float(score.objective[0]) <= min(feasible) + slack
    assert answer.bounds[0] is not None
    assert model.real(0, answer.bounds[0]) <= min(feasible) + slack
