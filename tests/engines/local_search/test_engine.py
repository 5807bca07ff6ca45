"""Local search as an engine: feasible, never worse than a feasible start, the same on every run where asked to be."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import (
    BalanceSpec,
    CapacitySpec,
    MinimizeMovementSpec,
    MoveGroupSpec,
    MovesInProgressSpec,
    Rebalancer,
    ToFreeSpec,
)
from rebalancer.engines.base import Progress, Request, Status
from rebalancer.engines.budget import Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search import engine
from rebalancer.engines.local_search.engine import LocalSearchEngine
from rebalancer.engines.local_search.flat import forms
from rebalancer.engines.local_search.kernels.descent import descend
from rebalancer.engines.local_search.kernels.trail import T_BEST, T_KEPT, T_LENGTH
from rebalancer.engines.local_search.kernels.walk import anneal
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model
from rebalancer.problem.errors import InputError
from rebalancer.specs.registry import BUILT_IN
from tests.engines.worlds import crowded, impossible
from tests.examples import examples
from tests.property.problems import models_with

ROOT = Path(__file__).parents[3]


def counted(seconds: float, seed: int = 0) -> Request:
    """Return a request for so much counted work."""
    return Request(time_limit=seconds, deterministic=True, seed=seed)


@pytest.mark.parametrize(
    ("over", "warm", "said"),
    [("limit", False, 1), ("patience", False, 1), ("rounds", False, 0), ("limit", True, 0)],
)
def test_a_time_that_was_too_short_for_the_compiler_is_told(
    over: str, warm: bool, said: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first run of all found nothing in ten seconds, and did not say why."""

    def searched(team: object, incumbent: Incumbent, budget: Budget, request: Request) -> None:
        if over == "limit":
            budget.limit = 0.0
        elif over == "patience":
            budget.patience = -1.0
        else:
            budget.tick(1)

    monkeypatch.setattr(engine, "together", searched)
    monkeypatch.setattr(engine, "is_warm", lambda: warm)
    monkeypatch.setattr(engine, "obstacle", lambda: None)
    LocalSearchEngine().solve(crowded(24, 4), Request(time_limit=60, iterations=1))
    assert (
        caplog.messages.count(
            "the time was over before all of local search was compiled: `rebalance doctor --warm` does it once"
        )
        == len(caplog.messages)
        == said
    )


@pytest.mark.parametrize("key", sorted(BUILT_IN))
@examples(4)
@given(data=st.data())
def test_every_spec(key: str, data: st.DataObject) -> None:
    model = data.draw(models_with(key))
    answer = LocalSearchEngine().solve(model, counted(0.005))
    start = model.evaluate(model.problem.initial)
    if answer.assignment is None:
        assert not start.feasible
        return
    score = model.evaluate(answer.assignment)
    assert score.feasible
    assert not start.feasible or score.integers <= start.integers
    for value, bound in zip(score.integers, answer.bounds, strict=True):
        assert bound is None or value >= bound
        if bound != value:
            break  # later bounds hold where earlier positions are at theirs


def overfull(bears: int = 20) -> Model:
    """28 tasks of size 2 on the first of four hosts."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": [f"t{n}" for n in range(28)], "h1": [], "h2": [], "h3": []})
    solver.add_object_dimension("cpu", {}, default=2)
    solver.add_container_dimension("cpu", {f"h{n}": bears for n in range(4)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"), name="fits", policy="HARD")
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    return solver.model


@pytest.mark.parametrize("bears", [20, 14])
def test_a_broken_start_is_repaired(bears: int) -> None:
    model = overfull(bears)  # 28 · 2 = 4 · 14: the second leaves no room at all
    answer = LocalSearchEngine().solve(model, counted(2.0))
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).feasible
    assert np.bincount(answer.assignment).tolist() == [7, 7, 7, 7]
    assert answer.status is Status.OPTIMAL, "nothing is more even than even"


def test_repair_keeps_the_answer_that_it_walks_past() -> None:
    """Jobs that share tasks have to be in one place each, and t0 cannot leave its own."""
    solver = Rebalancer("task", "host")
    contents = {"h0": ["t0", "t1", "t2", "t3", "t4", "t9"], "h1": [], "h2": ["t8"], "h3": []}
    solver.set_assignment(contents, unassigned=["t5", "t6", "t7"])
    jobs = {"j0": [0, 5, 8], "j1": [0, 2, 3, 4, 7, 8, 9], "j2": [0, 2, 4, 5, 6, 7, 8, 9]}
    solver.add_partition("job", {job: [f"t{task}" for task in tasks] for job, tasks in jobs.items()})
    solver.add_constraint(MovesInProgressSpec(moves=[{"object": "t0", "to_container": "h1"}]))
    solver.add_constraint(MoveGroupSpec(partition="job"), policy="HARD")
    request = Request(time_limit=None, iterations=60_000, deterministic=True)
    answer = LocalSearchEngine().solve(solver.model, request)
    assert answer.assignment is not None
    assert solver.model.evaluate(answer.assignment).feasible


def test_what_cannot_be_repaired_is_unknown() -> None:
    answer = LocalSearchEngine().solve(impossible(), counted(0.05))
    assert (answer.status, answer.assignment) == (Status.UNKNOWN, None)
    assert answer.reason is not None
    assert "'fits'" in answer.reason


def test_earlier_positions_come_first() -> None:
    """To free h0 all three of its tasks have to go; what the second position wants kept stays: the others."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b", "c"], "h1": ["d", "e"], "h2": ["f"]})
    solver.add_goal(ToFreeSpec(containers=["h0"]), tuple_pos=0)
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), tuple_pos=1)
    model = solver.model
    answer = LocalSearchEngine().solve(model, counted(0.05))
    assert answer.assignment is not None
    assert (answer.assignment[:3] > 0).all()
    assert answer.assignment[3:].tolist() == [1, 1, 2]
    assert model.evaluate(answer.assignment).objective[0] == 0


def test_positions_get_better_in_order() -> None:
    model = crowded(120, 6)
    seen: list[Progress] = []
    request = Request(time_limit=0.5, deterministic=True, on_progress=seen.append)
    answer = LocalSearchEngine().solve(model, request)
    assert answer.assignment is not None
    score, start = model.evaluate(answer.assignment), model.evaluate(model.problem.initial)
    assert score.feasible
    assert score.integers[0] < start.integers[0] // 100
    assert seen


def test_a_stop_returns_the_best_so_far() -> None:
    model = crowded(120, 6)
    request = Request(time_limit=None, on_progress=lambda _: request.stop.set())
    answer = LocalSearchEngine().solve(model, request)
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).feasible
    assert request.stop.is_set()


def fingerprint(seed: int = 0) -> str:
    answer = LocalSearchEngine().solve(crowded(60, 6), counted(0.1, seed))
    assert answer.assignment is not None
    return hashlib.sha256(answer.assignment.tobytes()).hexdigest()


def test_counted_work_gives_the_same_answer_in_every_process() -> None:
    here = fingerprint()
    assert fingerprint() == here
    program = "from tests.engines.local_search.test_engine import fingerprint; print(fingerprint())"
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.stdout.strip() == here, done.stderr


def test_the_log_leads_from_the_start_to_the_best_answer() -> None:
    model = crowded(60, 6)
    searcher = Searcher(model, Incumbent.of(model, counted(1.0)), 3)
    searcher.turn_to(0)
    start, (flat, trail) = searcher.flat.place.copy(), (searcher.flat, searcher.trail)
    anneal(flat, trail, 20_000, 1e4, 1.0, 0.3, 0.1, 0.2)
    length, best = int(trail.numbers[T_LENGTH]), int(trail.numbers[T_BEST])
    assert trail.numbers[T_KEPT] > 0
    assert 0 < best <= length
    place = flat.place.copy()
    at_best = place
    for step in range(length - 1, -1, -1):
        if step == best - 1:
            at_best = place.copy()
        assert place[trail.object[step]] != trail.source[step]
        place[trail.object[step]] = trail.source[step]
    assert np.array_equal(place, start)
    assert model.evaluate(at_best).integers == tuple(trail.best.tolist())
    searcher.hand_over()
    found = searcher.incumbent.found
    assert found is not None
    assert np.array_equal(found.assignment, at_best)


def test_cells_that_cannot_be_written_down_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST_CELLS", 0)
    with pytest.raises(InputError, match=r"a table of .* which is too large; choose 'neighbourhood'"):
        LocalSearchEngine().solve(overfull(), counted(0.1))


@pytest.mark.parametrize(("deterministic", "searchers"), [(False, 3), (True, 1)])
def test_as_many_searchers_as_workers(monkeypatch: pytest.MonkeyPatch, deterministic: bool, searchers: int) -> None:
    seeds: list[int] = []
    made = Searcher.__init__

    def noted(self: Searcher, model: Model, incumbent: Incumbent, seed: int) -> None:
        seeds.append(seed)
        made(self, model, incumbent, seed)

    monkeypatch.setattr(Searcher, "__init__", noted)
    model = crowded(60, 6)
    answer = LocalSearchEngine().solve(model, Request(time_limit=0.3, workers=3, seed=5, deterministic=deterministic))
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).feasible
    assert len(set(seeds)) == searchers


def test_thousands_in_no_container_are_placed() -> None:
    """More than are ranked at once: the first sweep places all of them, within all limits."""
    solver = Rebalancer("task", "host")
    tasks = [f"t{number}" for number in range(3_000)]
    solver.set_assignment({f"h{host}": [] for host in range(100)}, tasks)
    solver.add_object_dimension("cpu", {task: 1 + number % 9 for number, task in enumerate(tasks)})
    solver.add_container_dimension("cpu", {f"h{host}": 200 for host in range(100)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    model = solver.model
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0, deterministic=True)), 3)
    searcher.turn_to(0)
    searcher.sweep(descend, searcher.incumbent.budget, 32)
    assert (searcher.flat.place < 100).all()
    assert model.evaluate(searcher.flat.place).feasible
