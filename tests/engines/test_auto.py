"""The default engine never waits for a compiler where that is not worth it, nor for what cannot hold the model."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from rebalancer.engines import auto, together
from rebalancer.engines.base import EngineError, Request, Status
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.run import InvalidModel
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.engine import LocalSearchEngine
from rebalancer.engines.local_search.flat.forms import TooLargeForMoves
from rebalancer.model import Model
from tests.engines.worlds import crowded, rounded, stuck

ROOT = Path(__file__).parents[2]


def moves_one(model: Model, incumbent: Incumbent) -> bool:
    """Offer a better answer that is one move away; return whether there is any."""
    initial, tasks = model.problem.initial, np.arange(len(model.problem.objects))
    hosts = range(len(model.problem.containers))
    moves = (np.where(tasks == task, host, initial) for task in tasks.tolist() for host in hosts)
    return any(incumbent.offer(place.astype(np.int32)) for place in moves)


def test_searchers_are_idle_once_the_answer_stays_the_same() -> None:
    model = crowded(40, 4)
    incumbent = Incumbent.of(model, Request(time_limit=600))
    idle = auto._idle(incumbent, 60)
    assert idle is not None
    assert not idle()
    incumbent.budget.began -= 61  # a minute later
    assert not idle()
    incumbent.walks += 2
    assert idle()
    assert moves_one(model, incumbent)
    assert not idle()
    incumbent.budget.began -= 61
    incumbent.walks += 2
    assert idle()


def test_a_long_walk_is_not_ended_for_what_shorter_ones_before_it_have_not_brought() -> None:
    incumbent = Incumbent.of(crowded(40, 4), Request(time_limit=600))
    seeding, searching = auto._idle(incumbent, 60), auto._idle(incumbent, 60, within=False)
    assert seeding is not None
    assert searching is not None
    incumbent.walks += 2
    assert not seeding()
    assert not searching()
    incumbent.budget.began -= 61  # a minute within the third walk
    assert seeding()
    assert not searching()
    incumbent.walks += 1
    assert searching()


def test_no_clock_ends_searchers_where_runs_have_to_be_the_same() -> None:
    assert auto._idle(Incumbent.of(crowded(40, 4), Request(time_limit=60, deterministic=True)), 1.0) is None


def names(budget: Budget) -> list[str]:
    return [searcher.__module__.split(".")[2] for searcher in auto.searchers(budget)]


@pytest.mark.parametrize(
    ("limit", "warm", "expected"),
    [
        (3.0, False, ["neighbourhood"]),
        (6.0, False, ["local_search", "neighbourhood"]),
        (3.0, True, ["local_search", "neighbourhood"]),
        (300.0, False, ["local_search", "neighbourhood"]),
        (None, False, ["local_search", "neighbourhood"]),
    ],
)
def test_a_short_search_does_not_wait_for_a_compiler(
    limit: float | None, warm: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "is_warm", lambda: warm)
    assert names(Budget(limit)) == expected


@pytest.mark.parametrize("warm", [True, False])
def test_what_is_kept_does_not_matter_where_runs_have_to_be_the_same(
    warm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "is_warm", lambda: warm)
    budget = Budget(3.0, deterministic=True)
    assert names(budget) == ["local_search", "neighbourhood"]


@pytest.mark.parametrize(
    ("pairs", "deterministic", "warm", "expected"),
    [
        (10, False, True, ["local", "local"]),
        (10, True, True, ["local", "parts"]),
        (10, False, False, ["parts"]),
        (10**9, False, True, ["local", "local"]),
        (10**9, True, True, ["local", "parts"]),
    ],
)
def test_local_search_gets_all_workers_where_others_follow_or_there_are_many_pairs(
    pairs: int, deterministic: bool, warm: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below all sizes CP-SAT follows; with sizes of ten, the problem of 60 × 6 is a large one."""
    teams: list[list[str]] = []

    def local() -> None: ...

    def parts() -> None: ...

    def note(team: tuple[object, ...], *_rest: object) -> None:
        teams.append([searcher.__name__ for searcher in team])  # type: ignore[attr-defined]

    monkeypatch.setattr(auto, "_SEEDED", 10)
    if pairs > 10:
        monkeypatch.setattr(auto, "_HARD", 10)
        monkeypatch.setattr(auto, "_SOUNDED", 10)
        monkeypatch.setattr(auto, "_CLOSABLE", 10)
    monkeypatch.setattr(auto, "is_warm", lambda: warm)
    monkeypatch.setattr(auto, "searchers", lambda *_: (local, parts) if warm else (parts,))
    monkeypatch.setattr(auto, "together", note)
    auto.AutoEngine().solve(crowded(60, 6), Request(time_limit=1.0, workers=2, deterministic=deterministic))
    assert teams[0] == expected


def test_large_problems_are_sounded_by_all_searched_by_the_best_and_finished_by_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    teams: list[list[str]] = []

    def local() -> None: ...

    def parts() -> None: ...

    def note(team: tuple[object, ...], _incumbent: Incumbent, budget: Budget, _request: Request) -> None:
        teams.append([searcher.__name__ for searcher in team])  # type: ignore[attr-defined]
        seconds.append(budget.remaining)

    seconds: list[float] = []
    monkeypatch.setattr(auto, "_HARD", 10)
    monkeypatch.setattr(auto, "_CLOSABLE", 10)
    monkeypatch.setattr(auto, "is_warm", lambda: True)
    monkeypatch.setattr(auto, "searchers", lambda *_: (local, parts))
    monkeypatch.setattr(auto, "together", note)
    auto.AutoEngine().solve(crowded(60, 6), Request(time_limit=60.0, workers=2))
    assert teams == [["local", "parts"], ["local", "local"], ["local", "parts"]]
    assert seconds[0] < seconds[1] / 5


def test_what_is_open_is_a_share_of_the_value_however_small_that_is() -> None:
    incumbent = Incumbent.of(rounded(5, 3), Request())
    value = incumbent.integers[0]
    assert 0 < incumbent.model.real(0, value) < 1
    incumbent.bounds[0] = None
    assert not incumbent.first_within(0.05)
    for open_, within in ((0.06, False), (0.04, True)):
        incumbent.bounds[0] = round(value * (1 - open_))
        assert incumbent.first_within(0.05) == within
        assert incumbent.within(0, 0.05) == within
    incumbent.bounds[0] = value  # and then the next one is asked, if there is any
    assert incumbent.first_within(0.05)


def test_without_an_answer_nothing_is_close_to_a_bound() -> None:
    incumbent = Incumbent.of(crowded(60, 6), Request())
    incumbent._found, incumbent.bounds[0] = None, 0
    assert not incumbent.within(0, 0.05)
    assert not incumbent.first_within(0.05)


@pytest.mark.parametrize(
    ("limit", "warm", "expected"),
    [(60.0, True, ["load", "search"]), (60.0, False, ["search"]), (3.0, True, ["search"])],
)
def test_what_is_compiled_is_loaded_before_the_first_moment_of_searching(
    limit: float, warm: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(auto, "_SEEDED", 10)
    monkeypatch.setattr(auto, "is_warm", lambda: warm)
    monkeypatch.setattr("rebalancer.engines.local_search.warm.load", lambda: called.append("load"))
    monkeypatch.setattr(auto, "together", lambda *_: called.append("search"))
    auto.AutoEngine().solve(crowded(60, 6), Request(time_limit=limit, workers=2))
    assert called[: len(expected)] == expected


def test_leaving_out_local_search_loads_no_compiler(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from rebalancer.engines.auto import searchers\n"
        "from rebalancer.engines.budget import Budget\n"
        "print(len(searchers(Budget(3.0))), 'numba' in sys.modules)"
    )
    environment = os.environ | {"REBALANCER_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["1", "False"], done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_a_searcher_that_cannot_hold_the_model_is_left_out(
    workers: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "is_warm", lambda: True)
    model = crowded(24, 4)
    request = Request(time_limit=60, workers=workers)
    incumbent = Incumbent.of(model, request)
    calls: list[str] = []

    def too_small(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        calls.append("too small")
        raise TooLargeForMoves("7 groups × 8 items")

    def able(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        calls.append("able")
        if len(calls) > 2 or workers == 2:
            budget.reach()
            shared.budget.reach()

    with caplog.at_level(logging.INFO, "rebalancer"):
        together.together((too_small, able), incumbent, incumbent.budget, request)
    assert calls.count("too small") == 1
    assert calls.count("able") == (2 if workers == 1 else 1)
    assert "local search is left out: it would need a table of 7 groups × 8 items" in caplog.text


@pytest.mark.parametrize("stopped", [True, False])
def test_the_end_does_not_wait_for_a_searcher_that_is_busy(stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "_LATE", 0.0)
    model = crowded(24, 4)
    request = Request(time_limit=60, workers=2)
    incumbent = Incumbent.of(model, request)
    busy, done = threading.Event(), threading.Event()

    def builds(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        busy.set()
        done.wait(60)

    def searches(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        busy.wait(60)
        if stopped:
            request.stop.set()

    budget = incumbent.budget if stopped else incumbent.budget.part(0.0)
    together.together((builds, searches), incumbent, budget, request)
    assert not done.is_set()
    done.set()


@pytest.mark.parametrize("others", [0, 1])
def test_one_worker_does_not_wait_for_a_compiler_either(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "is_warm", lambda: False)
    incumbent = Incumbent.of(crowded(24, 4), Request(time_limit=60, workers=1))
    compiling, compiled, ended = threading.Event(), threading.Event(), threading.Event()

    def compiles(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        compiling.set()
        if not others:
            budget.reach()
        compiled.wait(60)
        ended.set()

    def searches(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        compiling.wait(60)
        budget.reach()

    together.together((compiles, searches)[: 1 + others], incumbent, incumbent.budget, Request(workers=1))
    assert not ended.is_set()
    compiled.set()


def test_rounds_wait_for_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local search on a new machine used up its rounds, met a kernel that was not there, and was left behind."""
    monkeypatch.setattr(together, "is_warm", lambda: False)
    monkeypatch.setattr(together, "_GRACE", 0.0)
    request = Request(time_limit=60, workers=1, iterations=3)
    incumbent = Incumbent.of(crowded(24, 4), request)
    looked, ended = threading.Event(), threading.Event()
    counted_out = together._counted_out

    def looks(budget: Budget) -> bool:
        looked.set()
        return counted_out(budget)

    def compiles(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        budget.tick(4)
        looked.wait(60)
        ended.set()

    monkeypatch.setattr(together, "_counted_out", looks)
    together.together((compiles,), incumbent, incumbent.budget, request)
    assert ended.is_set()


@pytest.mark.parametrize("stopped", [True, False])
def test_runs_that_have_to_be_the_same_wait_for_a_compiler_unless_stopped(
    stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "is_warm", lambda: False)
    monkeypatch.setattr(together, "_GRACE", 0.0)
    request = Request(time_limit=60, workers=2, deterministic=True)
    incumbent = Incumbent.of(crowded(24, 4), request)
    compiled, looked = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    ended: list[threading.Thread] = []
    counted_out = together._counted_out

    def looks(budget: Budget) -> bool:
        looked.set()
        return counted_out(budget)

    def compiles(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
        threads.append(threading.current_thread())
        incumbent.budget.spend(100.0)
        if stopped:
            request.stop.set()
            compiled.wait(60)
        looked.wait(60)
        incumbent.budget.reach()
        ended.append(threading.current_thread())

    monkeypatch.setattr(together, "_counted_out", looks)
    together.together((compiles, compiles), incumbent, incumbent.budget, request)
    assert len(threads) == 1, "in turns"
    assert ended == ([] if stopped else threads)
    compiled.set()


@pytest.mark.parametrize("engine", [auto.AutoEngine(), LocalSearchEngine()], ids=lambda engine: engine.name)
def test_nothing_begins_where_the_time_was_over_before(
    engine: auto.AutoEngine | LocalSearchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet takes seconds to be read; its searchers were loaded, and waited for, after that all the same."""
    begun: list[str] = []
    monkeypatch.setattr(auto, "searchers", lambda *_: begun.append("auto"))
    monkeypatch.setattr("rebalancer.engines.local_search.engine.together", lambda *_: begun.append("local search"))
    model = crowded(60, 12)
    answer = engine.solve(model, Request(time_limit=1.0, began=time.monotonic() - 2.0))
    assert answer.status is Status.FEASIBLE
    assert answer.assignment is not None
    assert answer.assignment.tolist() == model.problem.initial.tolist()
    assert begun == []


#: As it is; in other tests an engine that fails fails the test (`tests/conftest.py`).
GOES_ON = auto.AutoEngine._without


@pytest.fixture
def surviving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto.AutoEngine, "_without", GOES_ON)


class Fails:
    """A searcher that has a defect."""

    def __init__(self, failure: Exception) -> None:
        self.failure, self.calls = failure, 0

    def __call__(self, model: Model, incumbent: Incumbent, budget: Budget, request: Request) -> None:
        self.calls += 1
        raise self.failure


def refuses(*_: object, **__: object) -> None:
    raise InvalidModel("possible integer overflow")


def goes_on(model: Model, incumbent: Incumbent, budget: Budget, request: Request) -> None:
    assert moves_one(model, incumbent)
    incumbent.budget.reach()


@pytest.mark.usefixtures("surviving")
def test_where_cpsat_fails_the_others_go_on(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(auto.CpsatEngine, "_compiled", refuses)
    monkeypatch.setattr(auto, "searchers", lambda *_: (goes_on,))
    model = crowded(60, 6)
    answer = auto.AutoEngine().solve(model, Request(time_limit=60, workers=1))
    assert answer.status is Status.FEASIBLE
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).integers < model.evaluate(model.problem.initial).integers
    assert "an engine failed, another one goes on: InvalidModel: possible integer overflow" in caplog.text


@pytest.mark.usefixtures("surviving")
def test_whoever_fails_again_is_passed_over(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    fails = Fails(IndexError("beyond"))
    monkeypatch.setattr(auto, "_CLOSABLE", 0)
    monkeypatch.setattr(auto, "searchers", lambda *_: (fails, goes_on))
    model = crowded(60, 6)
    answer = auto.AutoEngine().solve(model, Request(time_limit=60, workers=1))
    assert fails.calls == 2
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).integers < model.evaluate(model.problem.initial).integers
    assert caplog.text.count("an engine failed, another one goes on: IndexError: beyond") == 2


@pytest.mark.usefixtures("surviving")
def test_where_all_fail_the_best_answer_is_handed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(auto, "_CLOSABLE", 0)
    monkeypatch.setattr(auto, "searchers", lambda *_: (Fails(MemoryError()), Fails(KeyError("x"))))
    model = crowded(60, 6)
    answer = auto.AutoEngine().solve(model, Request(time_limit=60, workers=2))
    assert answer.status is Status.FEASIBLE
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).integers == model.evaluate(model.problem.initial).integers
    assert "all engines failed, the answer is the best so far: KeyError: 'x'" in caplog.text


def test_an_answer_that_is_not_what_it_was_said_to_be_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "_CLOSABLE", 0)
    monkeypatch.setattr(auto, "searchers", lambda *_: (Fails(EngineError("claims 7, the evaluator says 8")),))
    with pytest.raises(EngineError, match="claims 7"):
        auto.AutoEngine().solve(crowded(60, 6), Request(time_limit=60, workers=1))


def test_without_any_answer_a_failure_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto.CpsatEngine, "_reason", refuses)
    with pytest.raises(InvalidModel):
        auto.AutoEngine().solve(stuck(), Request(time_limit=60, workers=1))


def test_in_other_tests_an_engine_that_fails_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto.CpsatEngine, "_compiled", refuses)
    with pytest.raises(InvalidModel):
        auto.AutoEngine().solve(crowded(60, 6), Request(time_limit=60, workers=1))
