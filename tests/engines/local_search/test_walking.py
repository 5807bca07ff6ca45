"""Walks: how much one call of a kernel may do, and how what exceeds its limits at the end is mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rebalancer import AvoidAssignmentsSpec, CapacitySpec, MinimizeMovementSpec, Rebalancer, ToFreeSpec
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search import walking
from rebalancer.engines.local_search.kernels.chains import oust
from rebalancer.engines.local_search.kernels.layout import N_BROKEN
from rebalancer.engines.local_search.kernels.propagate import move
from rebalancer.engines.local_search.kernels.trail import T_LENGTH, T_RELAXED, appraise
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.engines.local_search.walks import MIXES
from rebalancer.model import Model
from tests.engines.worlds import attracted
from tests.engines.worlds import crowded as crowded_world


def guests() -> Model:
    """Three hosts that one task each fills; what is at home on the second must not go to the third."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["large"], "h1": ["guest"], "h2": ["traveller"]})
    solver.add_object_dimension("cpu", {"large": 4, "guest": 2, "traveller": 2})
    solver.add_container_dimension("cpu", {"h0": 4, "h1": 2, "h2": 2})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    avoid = [{"object": "guest", "scopeItems": ["h2"]}]
    solver.add_constraint(AvoidAssignmentsSpec(scope="host", assignments=avoid))
    return solver.model


def crowded(model: Model) -> Searcher:
    """Return a searcher whose first host has a guest too many, since a traveller is in the guest's place."""
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=10.0)), 3)
    searcher.turn_to(0)
    searcher.trail.numbers[T_RELAXED] = 1
    searcher.limits.price(searcher.flat, 10.0)
    places = model.problem.objects.index, model.problem.containers.index
    for task, host in (("guest", "h0"), ("traveller", "h1")):
        move(searcher.flat, places[0][task], places[1][host])
    appraise(searcher.flat, searcher.trail)
    assert searcher.flat.counts[N_BROKEN] == 1
    return searcher


def test_who_must_leave_pushes_out_who_has_another_home() -> None:
    searcher = crowded(guests())
    spots = searcher.overfull()
    assert spots.tolist() == [0]
    searcher.slopes()
    oust(searcher.flat, searcher.trail, spots, 0, 1, 50, 1e-9)
    assert not searcher.flat.counts[N_BROKEN]
    assert searcher.flat.place.tolist() == searcher.flat.home.tolist()


def test_who_pushes_only_as_far_as_it_gains() -> None:
    searcher = crowded(guests())
    before = searcher.flat.place.copy()
    oust(searcher.flat, searcher.trail, searcher.overfull(), 0, 1, 50, 1e9)
    assert searcher.flat.place.tolist() == before.tolist()
    assert searcher.trail.numbers[T_LENGTH] == 0


def began(monkeypatch: pytest.MonkeyPatch, searcher: Searcher) -> list[Any]:
    """Have a searcher begin a relaxed walk afresh that makes no step; return where it descended from."""
    stood: list[Any] = []
    monkeypatch.setattr(Searcher, "sweep", lambda self, *_: stood.append(self.flat.place.tolist()))
    budget = searcher.incumbent.budget
    walking.relaxed(searcher, budget, budget.part(0.0), 1.0, MIXES[0], afresh=True)
    return stood


def test_afresh_is_from_the_start_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attracted()
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0)), 3)
    searcher.turn_to(0)
    move(searcher.flat, 0, 5)
    searcher.start_here()
    best, merit = searcher.flat.place.tolist(), searcher.merit
    assert best != searcher.flat.home.tolist()
    assert began(monkeypatch, searcher) == [searcher.flat.home.tolist()]
    searcher.rest()
    assert (searcher.flat.place.tolist(), searcher.merit) == (best, merit)


def test_a_start_that_breaks_limits_is_none_to_go_back_to(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": []})
    solver.add_object_dimension("cpu", {"a": 3, "b": 3})
    solver.add_container_dimension("cpu", {"h0": 4, "h1": 4})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"), policy="HARD")
    incumbent = Incumbent.of(solver.model, Request(time_limit=60.0))
    assert incumbent.found is None
    incumbent.offer(np.array([0, 1], np.int32))
    searcher = Searcher(solver.model, incumbent, 3)
    searcher.turn_to(0)
    assert began(monkeypatch, searcher) == []
    assert searcher.flat.place.tolist() == [0, 1]


@pytest.mark.parametrize("better", [True, False])
def test_what_is_found_apart_counts_only_if_it_is_better(better: bool) -> None:
    model = attracted()
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0)), 3)
    searcher.turn_to(0)
    start, merit = searcher.flat.place.tolist(), searcher.merit
    places = ((task, host) for task in range(len(start)) for host in range(searcher.containers))
    sign = 1 if better else -1
    task, host = next(place for place in places if sign * merit_with(model, *place) < sign * merit)
    with walking.apart(searcher, 0):
        move(searcher.flat, task, host)
        appraise(searcher.flat, searcher.trail)
        searcher.start_here()
        assert searcher.best_merit == merit_with(model, task, host), "what was best is no reason to return"
    searcher.rest()
    there = [*start[:task], host, *start[task + 1 :]]
    assert searcher.flat.place.tolist() == (there if better else start)
    assert searcher.merit == (merit_with(model, task, host) if better else merit)


def merit_with(model: Model, task: int, host: int) -> float:
    """Return what the objective is if one task is elsewhere, NaN if it must not be there."""
    assignment = model.problem.initial.copy()
    assignment[task] = host
    score = model.evaluate(assignment)
    return float(score.integers[0]) if score.feasible else np.nan


def test_how_fast_relaxed_walks_are_is_told_without_a_trace() -> None:
    model = crowded_world(120, 6)
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0, deterministic=True)), 3)
    searcher.turn_to(0)
    place, merit, words = searcher.flat.place.copy(), searcher.merit, searcher.flat.words.copy()
    speed = walking.speed_when_relaxed(searcher, 16.0)
    assert speed == pytest.approx(1e6 / 120), "a step counts a microsecond"
    assert searcher.flat.place.tolist() == place.tolist()
    assert searcher.merit == merit
    assert searcher.flat.words.tolist() == words.tolist(), "limits are what they were"
    assert np.isinf(searcher.flat.penalty).all()
    assert not searcher.trail.numbers[T_RELAXED]


def test_a_log_that_is_full_is_no_fast_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = Searcher(guests(), Incumbent.of(guests(), Request(time_limit=10.0)), 3)
    asked: list[int] = []

    def full_at_once(flat: Any, trail: Any, steps: int, *_: float) -> int:
        asked.append(steps)
        return 7

    monkeypatch.setattr(walking, "anneal", full_at_once)
    budget = searcher.incumbent.budget
    budget.iterations = 7 * 100
    walking.walk(searcher, budget, 1.0, MIXES[0], typical=1.0)
    assert len(asked) == 100
    assert np.max(asked) < 1e6


def test_who_gets_an_earlier_position_better_is_written_down_whatever_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": [], "h1": ["a"]})
    solver.add_goal(ToFreeSpec(containers=["h1"]))
    solver.add_goal(MinimizeMovementSpec(scope="host"), tuple_pos=1)
    model = solver.model
    incumbent = Incumbent.of(model, Request(time_limit=60.0))
    searcher = Searcher(model, incumbent, 3)
    searcher.turn_to(1)

    def walk(*_: Any) -> float:
        move(searcher.flat, 0, 0)
        return 1.0

    monkeypatch.setattr(walking, "walk", walk)
    walking.relaxed(searcher, incumbent.budget, incumbent.budget.part(0.0), 1.0, MIXES[0])
    assert incumbent.best is not None
    assert incumbent.best.tolist() == [0]
    assert incumbent.integers == model.evaluate(incumbent.best).integers
