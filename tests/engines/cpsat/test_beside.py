"""CP-SAT proves with some workers while somebody else improves the answer with one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rebalancer.engines import auto
from rebalancer.engines.auto import AutoEngine
from rebalancer.engines.base import Request, Status
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import improving, position, whole
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.engine import CpsatEngine
from rebalancer.engines.cpsat.improving import Improving
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.cpsat.run import Outcome
from rebalancer.engines.cpsat.whole import Whole
from rebalancer.engines.incumbent import Incumbent
from rebalancer.model import CellValues, Model
from tests.engines.worlds import attracted
from tests.examples import examples
from tests.property.problems import models, optimum


def whole_of(model: Model, beside: Any, workers: int = 2) -> tuple[Incumbent, Whole]:
    """Return the search of a model's first position, beside somebody."""
    search = Incumbent.of(model, Request(time_limit=60, workers=workers))
    assert search.best is not None
    encoding = encode(model, all_candidates(model), CellValues(model.problem, search.best))
    first = Position(search, encoding, 0)
    helped = Improving(first, parts=False)
    helped.beside = beside
    return search, Whole(first, search.budget, first.bound, True, helped)


def turn_of(
    seconds: float, prover: str, proven: int | None, *, beside: Any = None, answer: int = 1000, **state: Any
) -> Any:
    """Return a search in a turn that was told of 1000, with 30 s left; what else it has does not matter."""
    search: Any = Whole.__new__(Whole)
    known = {"prover": prover, "low": proven, "value": 1000, "known": 1000, "moved": 0.0, "raised": np.inf}
    known |= dict.fromkeys(("bends", "stale", "exactly", "patient"), False)
    vars(search).update({f"_{name}": value for name, value in (known | state).items()})
    search._improving, search._turn = SimpleNamespace(beside=beside), SimpleNamespace(seconds=seconds, remaining=30.0)
    search._position = SimpleNamespace(standing=answer, objective=SimpleNamespace(slack=lambda _: 0))
    return search


@pytest.mark.parametrize(
    ("answer", "raised", "patient", "ends"),
    [
        (970, 5.0, True, True),  # 30 of 100 closed, and the bound has stood still for 15 s
        (990, 5.0, True, False),  # 10 of 100
        (970, 15.0, True, False),  # it has risen lately
        (920, 15.0, True, False),
        (920, 15.0, False, True),  # 80 of 100
        (970, np.inf, True, False),  # it has not begun to rise
    ],
)
def test_a_turn_ends_where_a_better_answer_is_worth_a_new_one(
    answer: int, raised: float, patient: bool, ends: bool
) -> None:
    """After 20 s, of a turn that was told of 1000 and has proven 900."""
    prover = "objective_lb_search_max_lp" if patient else "max_lp"
    search = turn_of(20.0, prover, 900, beside=print, answer=answer, raised=raised, patient=patient, stalls=2)
    assert search._is_settled() == ends


@pytest.mark.parametrize(
    ("seconds", "prover", "proven", "moved", "stalls", "ends"),
    [
        (20.0, "lb_tree_search", 990, 5.0, 0, True),  # neither has moved for 15 s, more than half of the turn
        (20.0, "lb_tree_search", 990, 15.0, 0, False),
        (20.0, "lb_tree_search", 990, 5.0, 2, False),  # others have had their turns
        (20.0, "max_lp", 990, 5.0, 0, False),  # it proves all at once, and nothing can be seen before
        (20.0, "max_lp", 900, 5.0, 0, True),  # but not as much as that
        (20.0, "max_lp", None, 5.0, 0, True),
        (100.0, "max_lp", 990, 45.0, 0, False),
        (100.0, "max_lp", 990, 5.0, 0, True),  # nor after so long
    ],
)
def test_a_turn_ends_where_nothing_moves_unless_that_says_nothing(
    seconds: float, prover: str, proven: int | None, moved: float, stalls: int, ends: bool
) -> None:
    """With an answer of 1000."""
    assert turn_of(seconds, prover, proven, moved=moved, stalls=stalls)._is_settled() == ends


@pytest.mark.parametrize(("small", "alone"), [(0, True), (400, False)])
def test_small_problems_have_all_of_cpsat(small: int, alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody improves the answer beside, so that a worker that does nothing but prove would be one too few."""
    monkeypatch.setattr(position, "_SMALL", small)
    given: list[bool] = []

    def proven(*_: object, **parameters: object) -> Outcome:
        given.append("subsolvers" in parameters)
        return Outcome("OPTIMAL", None, 0, None)

    monkeypatch.setattr(whole, "solve", proven)
    whole_of(attracted(12, 3), None)[1].minimise()
    assert given == [alone]


def test_what_is_not_proven_at_once_is_proven_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "_SMALL", 0)
    ways: list[str] = []

    def prove(*arguments: Any, subsolvers: tuple[str], **_: object) -> Outcome:
        enough = arguments[5]
        ways.extend(subsolvers)
        if len(ways) > 1:
            return Outcome("OPTIMAL", None, 0, None)
        assert not enough()
        turns._began.began -= 10  # ten seconds later
        assert enough()
        return Outcome("UNKNOWN", None, 0, None)

    monkeypatch.setattr(whole, "solve", prove)
    _, turns = whole_of(attracted(12, 3), None)
    turns.minimise()
    assert ways == ["lb_tree_search", "max_lp"]


def test_what_is_proven_beside_neighbourhoods_is_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "_SMALL", 0)
    beside: list[int] = []
    prove = Whole._prove_beside

    def counted(self: Whole) -> Any:
        beside.append(self._position.number)
        return prove(self)

    monkeypatch.setattr(Whole, "_prove_beside", counted)
    monkeypatch.setattr(Whole, "look_at_leavers", lambda _: None)  # or little is left to prove

    @examples(60)
    @given(models(objects=4, containers=3))
    def every(model: Model) -> None:
        best = optimum(model)
        answer = CpsatEngine().solve(model, Request(time_limit=60, workers=2))
        if best is None:
            assert answer.status is Status.INFEASIBLE
            return
        assert answer.assignment is not None
        assert model.evaluate(answer.assignment).integers == best
        assert answer.bounds == best

    every()
    assert len(beside) > 3


def test_an_answer_found_beside_ends_the_search_that_has_its_bound() -> None:
    """CP-SAT looks for bounds only, so that the optimum comes from beside."""
    model = attracted(40, 6)
    best = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    assert best.status is Status.OPTIMAL
    assert best.assignment is not None
    answers = [best.assignment]

    def beside(budget: Budget) -> None:
        while answers and not budget.over:
            search.offer(answers.pop())

    search, turns = whole_of(model, beside)
    turns.minimise()
    assert (search.integers[0], turns.bound) == (best.bounds[0], best.bounds[0])
    assert not search.budget.over


@pytest.mark.parametrize(("workers", "deterministic"), [(1, False), (2, True)])
def test_nobody_is_beside_where_runs_have_to_be_the_same_or_there_is_one_worker(
    workers: int, deterministic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(position, "_SMALL", 0)
    monkeypatch.setattr(whole, "side_by_side", never)
    request = Request(time_limit=60, workers=workers, deterministic=deterministic)
    answer = CpsatEngine().solve(attracted(12, 3), request)
    assert answer.status is Status.OPTIMAL


def test_a_failure_beside_is_not_silent() -> None:
    def beside(_budget: Budget) -> None:
        raise RuntimeError("broken")

    _, turns = whole_of(attracted(60, 8), beside)
    with pytest.raises(RuntimeError, match="broken"):
        turns.minimise()


def test_auto_proves_in_a_moment_what_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before what is set aside for the searchers is over: nothing is improved part by part."""

    def never(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(improving, "Neighbourhoods", never)
    monkeypatch.setattr(auto, "_GLANCE", 20.0)  # a moment of a machine that has other things to do
    model = attracted(200, 10)
    request = Request(time_limit=300, workers=2)
    answer = AutoEngine().solve(model, request)
    assert answer.status is Status.OPTIMAL
    assert answer.engine == "cpsat"


def test_auto_ends_in_a_moment_what_is_good_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """As close to the bound as was asked for is no proof, and still the end."""
    seeded: list[float] = []
    together = auto.together

    def noted(team: Any, incumbent: Incumbent, budget: Budget, request: Request) -> None:
        seeded.append(budget.remaining)
        together(team, incumbent, budget, request)

    monkeypatch.setattr(auto, "together", noted)
    answer = AutoEngine().solve(attracted(200, 10), Request(time_limit=300, workers=2, gap=0.5))
    assert answer.assignment is not None
    assert len(seeded) == 1


def test_who_has_proven_what_can_be_improves_the_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the bound has risen and then rises no more, its worker searches until CP-SAT's answer is stale."""
    model = attracted(60, 8)
    best = CpsatEngine().solve(model, Request(time_limit=60, workers=1)).assignment
    assert best is not None
    improved: list[bool] = []

    def proven(self: Whole, turn: Budget, _request: Request) -> Outcome:
        self._raised = 1e-9
        return Outcome("FEASIBLE", None, 0, None)

    def beside(budget: Budget) -> None:
        while not budget.over:
            budget.stop.wait(0.01)

    def improve(budget: Budget) -> None:
        assert not budget.over
        search.offer(best)
        turns._low = search.integers[0]
        improved.append(budget.over)

    monkeypatch.setattr(whole, "_FLAT", 0.0)
    monkeypatch.setattr(whole, "_EXACTLY", 0.0)
    monkeypatch.setattr(Whole, "_prove", proven)
    search, turns = whole_of(model, beside)
    turns._improving.with_prover = improve  # type: ignore[method-assign]
    turns.minimise()
    assert improved == [True], "it ends as soon as the answer is proven, however much time there is"
    assert search.integers == model.evaluate(best).integers


def test_with_the_prover_the_answer_gets_better_part_by_part() -> None:
    search = Incumbent.of(attracted(40, 6), Request(time_limit=60, workers=2))
    assert search.best is not None
    encoding = encode(search.model, all_candidates(search.model), CellValues(search.model.problem, search.best))
    improving = Improving(Position(search, encoding, 0), parts=False)
    before = search.integers
    improving.with_prover(search.budget.part(2.0))
    assert search.integers < before


@pytest.mark.parametrize(("limit", "turn"), [(60.0, 20.0), (None, 60.0), (3.0, 2.0)])
def test_one_worker_takes_long_turns(limit: float | None, turn: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the others do, and part by part until that brings nothing, as it does at the optimum."""
    model = attracted(12, 3)
    best = CpsatEngine().solve(model, Request(time_limit=60, workers=1)).assignment
    search = Incumbent.of(model, Request(time_limit=60, workers=2, start=best))
    whole_time, turns = Budget(limit), list[float]()

    def others(budget: Budget, workers: int) -> None:
        assert workers == 1
        turns.append(budget.remaining)
        if len(turns) == 3:
            whole_time.reach()

    monkeypatch.setattr(improving, "_BORED", 2)
    monkeypatch.setattr(position, "_SMALL", 0)
    encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
    improver = Improving(Position(search, encoding, 0), others)
    assert improver.beside is not None
    improver.beside(whole_time)
    assert turns == pytest.approx([turn] * 3, rel=0.5)
