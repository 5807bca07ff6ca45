"""What the exact engine promises: only proven bounds, its time, the same answer where asked for."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.base import Answer, Progress, Request, Status
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import infeasibility, whole
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.engine import CpsatEngine
from rebalancer.engines.cpsat.run import Outcome, solve
from rebalancer.model import CellValues, Model
from tests.engines.news import last_of_each
from tests.engines.worlds import attracted, crowded, impossible, stuck


@pytest.fixture(scope="module")
def large() -> Model:
    return crowded()


@pytest.fixture(scope="module")
def below_zero() -> tuple[Model, int]:
    """A model whose objective falls below zero, and its optimum."""
    model = attracted()
    answer = CpsatEngine().solve(model, Request(time_limit=60))
    assert answer.status is Status.OPTIMAL
    assert answer.bounds[0] is not None
    assert answer.bounds[0] < 0
    return model, answer.bounds[0]


def test_a_solve_without_time_has_no_bound(below_zero: tuple[Model, int]) -> None:
    model, _ = below_zero
    encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
    rows = encoding.objectives[0]
    encoding.bulk.minimize(rows.var, rows.coef)
    outcome = solve(encoding.bulk, Request(), Budget(10.0), max_time_in_seconds=1e-9)
    assert outcome.status == "UNKNOWN"
    assert outcome.bound is None, "CP-SAT's 0 would be above the optimum"


@pytest.mark.parametrize("limit", [1e-3, 0.02, 0.05, 0.1])
def test_no_bound_is_above_what_can_be_reached(below_zero: tuple[Model, int], limit: float) -> None:
    model, optimum = below_zero
    answer = CpsatEngine().solve(model, Request(time_limit=limit))
    assert answer.bounds[0] is None or answer.bounds[0] <= optimum


@pytest.mark.parametrize("gap", [0.9, 0.3, 0.05])
def test_a_gap_ends_a_position_with_a_proven_bound(below_zero: tuple[Model, int], gap: float) -> None:
    model, optimum = below_zero
    answer = CpsatEngine().solve(model, Request(time_limit=60, gap=gap))
    assert answer.assignment is not None
    assert answer.bounds[0] is not None
    assert answer.bounds[0] <= optimum
    value, bound = (
        model.real(0, integer) for integer in (model.evaluate(answer.assignment).integers[0], answer.bounds[0])
    )
    assert value - bound <= gap * max(1, abs(value)) + 1e-9


def test_a_gap_is_the_only_one_however_small_the_objective_is() -> None:
    """CP-SAT by itself takes any answer within 0.0001 of the bound, which is more than there is to gain here."""
    solver = Rebalancer("task", "host")
    sizes = [41, 37, 31, 29, 23, 19, 17, 13, 11]
    solver.set_assignment({"h0": [f"t{number}" for number in range(len(sizes))], "h1": [], "h2": []})
    solver.add_object_dimension("cpu", {f"t{number}": size for number, size in enumerate(sizes)})
    solver.add_container_dimension("cpu", {"h0": 100, "h1": 100, "h2": 100})
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"), weight=1e-5)
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="cpu"), weight=1e-3)
    gap = 1e-9
    answer = CpsatEngine().solve(solver.model, Request(time_limit=60, gap=gap))
    assert answer.assignment is not None
    assert answer.bounds[0] is not None
    value = solver.model.real(0, solver.model.evaluate(answer.assignment).integers[0])
    assert 0 < value < 1e-4
    assert value - solver.model.real(0, answer.bounds[0]) <= gap + solver.model.epsilon[0]


def test_progress_only_gets_better(large: Model) -> None:
    seen: list[Progress] = []
    CpsatEngine().solve(large, Request(time_limit=3, on_progress=seen.append))
    last_of_each(seen, large)
    assert {event.tuple_pos for event in seen} == {0, 1}


def test_the_time_limit_holds(large: Model) -> None:
    began = time.monotonic()
    answer = CpsatEngine().solve(large, Request(time_limit=1.0, began=began))
    assert time.monotonic() - began < 3.0
    assert answer.assignment is not None
    assert large.evaluate(answer.assignment).integers < large.evaluate(large.problem.initial).integers


def test_a_stop_keeps_the_best_so_far(large: Model) -> None:
    stop = threading.Event()
    start = large.evaluate(large.problem.initial)
    first = large.real(0, start.integers[0])

    def enough(progress: Progress) -> None:
        if progress.objective is not None and progress.objective < first:
            stop.set()

    began = time.monotonic()
    answer = CpsatEngine().solve(large, Request(time_limit=60, on_progress=enough, stop=stop))
    assert time.monotonic() - began < 20
    assert answer.assignment is not None
    assert large.evaluate(answer.assignment).integers < start.integers


def test_a_stop_before_the_start_returns_the_start(large: Model) -> None:
    stop = threading.Event()
    stop.set()
    answer = CpsatEngine().solve(large, Request(time_limit=60, stop=stop))
    assert answer.assignment is not None
    assert (answer.assignment == large.problem.initial).all()


def test_deterministic_means_the_same_answer(large: Model) -> None:
    def solved(began: float) -> Answer:
        return CpsatEngine().solve(large, Request(time_limit=1.0, deterministic=True, seed=5, began=began))

    first = solved(time.monotonic())
    busy = threading.Event()
    worker = threading.Thread(target=_burn, args=(busy,))
    worker.start()
    try:
        again = solved(time.monotonic() - 30)
    finally:
        busy.set()
        worker.join()
    assert first.assignment is not None
    assert again.assignment is not None
    assert np.array_equal(first.assignment, again.assignment)
    assert first.bounds == again.bounds
    assert (first.assignment != large.problem.initial).any()


def _burn(done: threading.Event) -> None:
    while not done.is_set():
        sum(range(10_000))


def test_infeasible_names_what_cannot_hold_together() -> None:
    answer = CpsatEngine().solve(impossible(), Request(time_limit=20))
    assert answer.status is Status.INFEASIBLE
    assert answer.reason is not None
    together = "'fits', 'apart' and 'placed' (what is placed stays placed) together"
    assert answer.reason == f"no assignment holds {together}"


def test_infeasible_names_who_is_stuck() -> None:
    answer = CpsatEngine().solve(stuck(), Request(time_limit=20))
    assert answer.status is Status.INFEASIBLE
    assert answer.reason == "no assignment holds 'all' and 'fits' together: no host is left for task 'large'"


@pytest.mark.parametrize("status", ["UNKNOWN", "FEASIBLE"])
def test_infeasible_has_to_be_said_twice(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    monkeypatch.setattr(infeasibility, "second_opinion", lambda *_: Outcome(status, None, 0, None))
    answer = CpsatEngine().solve(stuck(), Request(time_limit=5))
    assert (answer.status, answer.assignment) == (Status.UNKNOWN, None)
    tight = _three_in_two()
    answer = CpsatEngine().solve(tight, Request(time_limit=5))
    assert (answer.status, answer.assignment) == (Status.UNKNOWN, None)
    assert answer.reason is not None
    assert "'fits'" in answer.reason


@pytest.mark.parametrize(("unit", "doubted"), [(10**9, False), (10**12, True)])
def test_what_large_amounts_and_a_negative_weight_prove_has_to_be_said_twice(
    monkeypatch: pytest.MonkeyPatch, unit: int, doubted: bool
) -> None:
    """All of 7, 5 and 3 at one host are 9 above its limit of 6; 1, 2 and 4 on top leave them no common divisor."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": ["c"]})
    solver.add_object_dimension("size", {"a": 7 * unit + 1, "b": 5 * unit + 2, "c": 3 * unit + 4})
    limit = {"type": "ABSOLUTE", "global_limit": 6 * unit}
    solver.add_goal(CapacitySpec(scope="host", dimension="size", limit=limit), weight=-1)
    telling: list[Progress] = []
    answer = CpsatEngine().solve(solver.model, Request(time_limit=20, on_progress=telling.append))
    assert answer.assignment is not None
    assert solver.model.evaluate(answer.assignment).objective[0] == -(9 * unit + 7)
    assert (answer.status, solver.model.real(0, answer.bounds[0] or 0)) == (Status.OPTIMAL, -(9 * unit + 7))

    asked: list[object] = []
    monkeypatch.setattr(whole, "second_opinion", lambda *_: asked.append(1) or Outcome("UNKNOWN", None, 0, None))
    telling.clear()
    answer = CpsatEngine().solve(solver.model, Request(time_limit=20, on_progress=telling.append))
    assert bool(asked) == doubted
    assert answer.status is (Status.FEASIBLE if doubted else Status.OPTIMAL)
    told = [event.bound for event in telling if event.bound is not None]
    assert all(bound < -(9 * unit + 7) for bound in told) == doubted, "nor is it told before"


def test_infeasible_without_a_stuck_object() -> None:
    answer = CpsatEngine().solve(_three_in_two(), Request(time_limit=20))
    assert answer.status is Status.INFEASIBLE
    assert answer.reason == "no assignment holds 'fits' and 'placed' (what is placed stays placed) together"


def _three_in_two() -> Model:
    """Three tasks on two hosts that bear one each."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b", "c"], "h1": []})
    one = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(CapacitySpec(scope="host", dimension="task_count", limit=one), name="fits", policy="HARD")
    return solver.model


def test_nothing_to_place() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": [], "h1": []})
    assert CpsatEngine().solve(solver.model, Request()).status is Status.OPTIMAL
    limit = {"type": "ABSOLUTE", "global_limit": 1}
    some = CapacitySpec(scope="host", dimension="task_count", bound="MIN", limit=limit)
    solver.add_constraint(some, name="some", policy="HARD")
    answer = CpsatEngine().solve(solver.model, Request())
    assert answer.status is Status.INFEASIBLE
    assert "'some'" in (answer.reason or "")


def test_a_start_that_breaks_something_still_helps() -> None:
    model = _three_in_two()
    loose = replace(model, hard=())
    start = np.array([1, 1, 1], np.int32)
    assert CpsatEngine().solve(loose, Request(time_limit=5, start=start)).status is Status.OPTIMAL
    assert CpsatEngine().solve(model, Request(time_limit=5, start=start)).status is Status.INFEASIBLE
