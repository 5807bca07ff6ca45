"""Limits end a search: rounds, patience, target, counted work. One place decides, every engine asks it."""

from __future__ import annotations

import math
import threading
import time
from fractions import Fraction

import pytest

from rebalancer import engines
from rebalancer.engines.base import Request, Status
from rebalancer.engines.bounds import lower_bounds
from rebalancer.engines.budget import Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.left_behind import leave_behind, wait
from rebalancer.engines.progress import ProgressLog
from rebalancer.engines.together import together
from rebalancer.model import Model
from rebalancer.settings import MOST_ITERATIONS, Settings
from rebalancer.solver import InputError
from tests.engines.worlds import attracted, crowded

ENGINES = ("auto", "cpsat", "local_search", "neighbourhood")


@pytest.fixture(scope="module")
def model() -> Model:
    return crowded(120, 6)


def test_rounds_are_counted() -> None:
    budget = Budget.of(Request(time_limit=None, iterations=3))
    part = budget.part(math.inf)
    part.tick(2)
    assert not budget.over
    part.part(1.0).tick()
    assert (budget.over, part.over) == (True, True)


def test_patience_begins_anew_with_every_improvement() -> None:
    budget = Budget.of(Request(time_limit=None, deterministic=True, patience=2.0))
    part = budget.part(math.inf)
    part.spend(1.5)
    part.improved()
    part.spend(1.5)
    assert not budget.over
    assert budget.remaining == 0.5
    part.spend(0.5)
    assert (budget.over, part.over) == (True, True)


def test_a_part_may_end_alone() -> None:
    budget = Budget(None)
    part = budget.part(10)
    part.reach()
    assert (part.over, budget.over) == (True, False)
    budget.reach()
    assert budget.over


def test_a_target_is_reached_at_every_position_that_has_one(model: Model) -> None:
    start = model.evaluate(model.problem.initial)
    first = Fraction(start.objective[0]).limit_denominator(10**9)
    request = Request(target=(first + 1, Fraction(0)))
    incumbent = Incumbent(model, request, Budget.of(request), ProgressLog(model, request))
    incumbent.offer(model.problem.initial)
    assert incumbent.enough(0, None)
    assert incumbent.budget.over, "nothing has moved, so movement is 0 as well"
    request = Request(target=(first - Fraction(1, 1000),))
    incumbent = Incumbent(model, request, Budget.of(request), ProgressLog(model, request))
    incumbent.offer(model.problem.initial)
    assert not incumbent.enough(0, None)
    assert not incumbent.budget.over


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_stops_at_its_target(name: str, model: Model) -> None:
    start = model.evaluate(model.problem.initial)
    half = Fraction(float(start.objective[0])) / 2
    began = time.monotonic()
    answer = engines.get(name).solve(model, Request(time_limit=100, target=(half,)))
    assert time.monotonic() - began < 50
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).objective[0] <= float(half)


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_stops_after_its_rounds(name: str, model: Model) -> None:
    began = time.monotonic()
    answer = engines.get(name).solve(model, Request(time_limit=100, iterations=2))
    assert time.monotonic() - began < 50
    assert answer.assignment is not None
    if name != "auto":  # of which CP-SAT closes this one before the others have made two rounds on a busy machine
        assert answer.status is Status.FEASIBLE


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_stops_when_patience_ends(name: str, model: Model) -> None:
    began = time.monotonic()
    answer = engines.get(name).solve(model, Request(time_limit=100, patience=0.2))
    assert time.monotonic() - began < 50
    assert answer.assignment is not None


@pytest.mark.parametrize("name", ENGINES)
def test_counted_work_gives_the_same_answer(name: str, model: Model) -> None:
    answers = [
        engines.get(name).solve(model, Request(time_limit=2.0, deterministic=True, iterations=8, workers=workers))
        for workers in (1, 1)
    ]
    first, again = (answer.assignment for answer in answers)
    assert first is not None
    assert again is not None
    assert (first == again).all()


def test_searchers_share_one_incumbent(model: Model) -> None:
    request = Request(time_limit=60, workers=2)
    incumbent = Incumbent.of(model, request)
    seen: list[tuple[str, int, int]] = []

    def quick(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        seen.append((threading.current_thread().name, request.workers, request.seed))
        if len(seen) == 2:
            budget.reach()
        while not budget.over:
            budget.stop.wait(0.01)

    together((quick, quick), incumbent, incumbent.budget, request)
    assert sorted(entry[1:] for entry in seen) == [(1, 0), (1, 1)]
    assert len({entry[0] for entry in seen}) == 2


def test_a_searcher_that_fails_ends_the_search(model: Model) -> None:
    request = Request(time_limit=60, workers=2)
    incumbent = Incumbent.of(model, request)

    def fails(*_: object) -> None:
        raise ArithmeticError("a defect")

    def waits(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        while not budget.over:
            budget.stop.wait(0.01)

    with pytest.raises(ArithmeticError, match="a defect"):
        together((waits, fails), incumbent, incumbent.budget, request)


def test_cheap_bounds_are_below_the_optimum() -> None:
    for model in (attracted(20, 4), crowded(24, 4)):
        answer = engines.get("cpsat").solve(model, Request(time_limit=20))
        assert answer.assignment is not None
        best = model.evaluate(answer.assignment).integers
        bounds = lower_bounds(model)
        assert bounds[0] <= best[0]
        assert len(bounds) == model.positions


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"iterations": 0}, "iterations must be 1 or more, got 0"),
        ({"iterations": 1.5}, "iterations must be a whole number, got 1.5"),
        ({"deterministic_time": 0}, "deterministic_time must be more than 0, got 0"),
        ({"patience": -1}, "patience must be more than 0, got -1"),
        ({"patience": True}, "patience must be a number, got True"),
        ({"iterations": 10**23}, "iterations must be 9,223,372,036,854,775,807 or less, got 1000"),
        ({"workers": 100_000}, "workers must be 1,024 or less, got 100000"),
        ({"workers": 99_999_999_999}, "workers must be 1,024 or less, got 99999999999"),
        ({"deterministic": "no"}, "deterministic must be True or False, got 'no'"),
        ({"deterministic": 1}, "deterministic must be True or False, got 1"),
        ({"target": "ten"}, "target: expected a number, got the text 'ten'"),
        ({"target": [1, math.nan]}, "target: expected a finite number, got nan"),
        ({"target": []}, "target: expected a number or a list of numbers, got an empty list"),
    ],
)
def test_wrong_limits_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings().updated(**changes)


def test_the_most_rounds_are_no_obstacle() -> None:
    model = attracted(4, 2)
    for name in ENGINES:
        assert engines.get(name).solve(model, Request(time_limit=5, iterations=MOST_ITERATIONS)).assignment is not None


def test_counted_time_takes_the_place_of_the_clock() -> None:
    settings = Settings().updated(deterministic_time=5, target=[1, 0.1], patience=3)
    assert (settings.counts_work, settings.seconds) == (True, 5.0)
    assert settings.target == (Fraction(1), Fraction(1, 10))
    assert not Settings().counts_work
    assert Settings().updated(time_limit=math.inf).seconds is None
    with pytest.raises(InputError, match="target has 2 numbers, but the objective has 1 tuple position"):
        settings.check_target(1)


def test_the_end_of_the_process_waits_for_who_was_left_behind() -> None:
    """Python ends threads in the middle of native code, which aborts the process."""
    stop, ended = threading.Event(), threading.Event()

    def late() -> None:
        stop.wait(60)
        ended.set()

    thread = threading.Thread(target=late, daemon=True)
    thread.start()
    leave_behind(thread)
    threading.Timer(0.05, stop.set).start()
    wait()
    assert ended.is_set()


def test_an_interrupt_ends_that_without_a_word() -> None:
    class Interrupted(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            raise KeyboardInterrupt

    thread = Interrupted()
    leave_behind(thread)
    wait()
    del thread  # or the end of the process waits for it


def test_the_end_of_the_process_waits_for_all_no_longer_than_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script with two searchers in the compiler waited for 10 s, and for 5 more with each solve."""
    now = 0.0
    waited: list[float] = []

    class Endless(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            nonlocal now
            assert timeout is not None
            waited.append(timeout)
            now += timeout

    threads = [Endless(), Endless(), Endless()]
    for thread in threads:
        leave_behind(thread)
    monkeypatch.setattr("rebalancer.engines.left_behind.time.monotonic", lambda: now)
    wait()
    assert len(waited) >= len(threads)
    assert sum(waited) == waited[0] == 5.0
    del threads, thread  # or the end of the process waits for them
