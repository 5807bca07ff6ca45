"""What is proven from who leaves is true of every answer, and as much as whole objects and whole amounts tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rebalancer import BalanceSpec, CapacitySpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.bounds import lower_bounds
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import leavers, position, whole
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.improving import Improving
from rebalancer.engines.cpsat.leavers import Leavers, proven_of_leavers
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.cpsat.run import Outcome
from rebalancer.engines.cpsat.whole import Whole
from rebalancer.engines.incumbent import Incumbent
from rebalancer.model import CellValues, Model
from tests.engines.worlds import attracted, crowded, rounded
from tests.examples import examples
from tests.property.problems import CATALOGUE, every_feasible, integers_of, models, models_with


def check(model: Model) -> None:
    """Compare what is proven of each position, the earlier ones at their best, with what all answers are worth."""
    answers = [(integers_of(model, values), values.assignment) for values in every_feasible(model)]
    if not answers:
        return
    best, assignment = min(answers, key=lambda answer: answer[0])
    search = Incumbent.of(model, Request(time_limit=60, workers=1, start=assignment))
    assert search.integers == best
    for number in range(model.positions):
        bound, _ = proven_of_leavers(search, number, all_candidates(model), search.budget, search.request)
        assert bound is not None
        rivals = [assignment for integers, assignment in answers if integers[:number] == best[:number]]
        least = min(model.evaluate(assignment).objective[number] for assignment in rivals)
        assert model.real(number, bound) <= least + 1e-9  # integers are rounded; what they promise is not above


@pytest.mark.parametrize("key", sorted(CATALOGUE))
def test_no_answer_has_less_with_any_spec(key: str) -> None:
    @examples(5)
    @given(models_with(key))
    def every(model: Model) -> None:
        check(model)

    every()


@examples(60)
@given(models(objects=4, containers=3))
def test_no_answer_has_less(model: Model) -> None:
    check(model)


@pytest.mark.parametrize("model", [crowded(5, 3, seed) for seed in range(4)] + [rounded(5, 3), attracted(5, 3)])
def test_no_answer_has_less_where_what_leaves_is_tied_together(model: Model) -> None:
    check(model)


def test_objects_leave_whole_and_amounts_are_whole() -> None:
    """Tasks of 9 and 7 on the first of two hosts of 30, and one of 5 on the second.

    The mean is 10.5, which parts of tasks could have. Whole ones come no closer than 9 and 12: of 30, and for each of
    two hosts, that is 1.5 / 30 / 2 = 0.025 too much. One task moves, which costs 0.3 · 0.001 / 2.
    """
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": ["t2"]})
    solver.add_object_dimension("cpu", {"t0": 9, "t1": 7, "t2": 5})
    solver.add_container_dimension("cpu", {"h0": 30, "h1": 30})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), weight=0.3)
    model = solver.model
    search = Incumbent.of(model, Request(time_limit=60, workers=1))
    bound, closed = proven_of_leavers(search, 0, all_candidates(model), search.budget, search.request)
    assert bound is not None
    assert closed
    assert model.real(0, bound) == pytest.approx(0.02515)
    assert model.real(0, lower_bounds(model)[0]) < 0.01


@pytest.mark.parametrize("seed", range(6))
def test_moves_pay_for_what_balance_sees_come(seed: int) -> None:
    """Moves cost what arrives, more on small hosts: where all fit on the largest of these, linear bounds know more."""
    model = rounded(12, 4, seed)
    search = Incumbent.of(model, Request(time_limit=60, workers=1))
    bound, closed = proven_of_leavers(search, 0, all_candidates(model), search.budget, search.request)
    assert bound is not None
    assert closed
    assert bound >= lower_bounds(model)[0]


def test_an_assignment_chooses_to_stay_or_to_leave() -> None:
    model = crowded(5, 3)
    initial = model.problem.initial
    elsewhere = ((initial + 1) % 3).astype(np.int32)
    encoding = Leavers(model, all_candidates(model), CellValues(model.problem, initial)).run()
    assert encoding.literals.chosen(initial).tolist() == [True, False] * 5
    assert encoding.literals.chosen(elsewhere).tolist() == [False, True] * 5


def looking(monkeypatch: pytest.MonkeyPatch, more: int | None, closed: bool) -> tuple[Incumbent, Whole, list[str]]:
    """Return a search that has looked at who leaves, which proves so much more than is known, and what came of it."""
    monkeypatch.setattr(position, "_SMALL", 0)
    monkeypatch.setattr(whole, "_MANY", 0)
    model = crowded(5, 3)
    search = Incumbent.of(model, Request(time_limit=60, workers=2))
    assert search.best is not None
    encoding = encode(model, all_candidates(model), CellValues(model.problem, search.best))
    first = Position(search, encoding, 0)
    helped = Improving(first, parts=False)
    done: list[str] = []

    def beside(budget: Budget) -> None:
        while not budget.over:
            pass

    helped.beside = beside
    monkeypatch.setattr(helped, "with_prover", lambda _budget: done.append("looked"))
    told = None if more is None else first.bound + more
    monkeypatch.setattr(whole, "proven_of_leavers", lambda *_, **__: (told, closed))
    turns = Whole(first, search.budget, first.bound, True, helped)
    turns.look_at_leavers()
    return search, turns, done


@pytest.mark.parametrize(("closed", "done"), [(True, ["looked"]), (False, [])])
def test_both_look_for_an_answer_where_all_is_proven(
    closed: bool, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, turns, what = looking(monkeypatch, 1, closed)
    assert turns.bound == search.bounds[0]
    assert what == done


@pytest.mark.parametrize("more", [None, 0, 10**15])
def test_nobody_believes_what_an_answer_contradicts(more: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    search, turns, done = looking(monkeypatch, more, True)
    assert turns.bound == Position(search, turns._position.encoding, 0).bound
    assert search.bounds[0] is None
    assert not done


@pytest.mark.parametrize(
    ("bounds", "seconds", "given_up"),
    [([], 0.5, False), ([], 1.5, True), ([10.0**12], 2.0, False), ([10.0**12], 4.0, True)],
)
def test_what_does_not_rise_is_given_up(
    bounds: list[float], seconds: float, given_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = crowded(5, 3)
    search = Incumbent.of(model, Request(time_limit=60, workers=1))
    turn = search.budget.part(60)
    said: list[bool] = []

    def slow(*arguments: Any, **_: Any) -> Outcome:
        note, in_vain = arguments[4:6]
        for bound in bounds:
            note(bound)
        turn.began -= seconds
        said.append(in_vain())
        return Outcome("UNKNOWN", None, 0, None)

    monkeypatch.setattr(leavers, "solve", slow)
    assert proven_of_leavers(search, 0, all_candidates(model), turn, search.request, 0) == (None, False)
    assert said == [given_up]
