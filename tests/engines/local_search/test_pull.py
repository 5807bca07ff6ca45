"""Pulls: who is drawn to one container of hundreds gets there, whatever a sample of all containers would have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rebalancer import (
    AssignmentAffinitiesSpec,
    CapacitySpec,
    ColocateGroupsSpec,
    GroupAssignmentAffinitiesSpec,
    GroupCountSpec,
    MinimizeMovementSpec,
    PairAffinitiesSpec,
    Rebalancer,
)
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.engine import LocalSearchEngine
from rebalancer.engines.local_search.kernels.pull import drawn, pull
from rebalancer.engines.local_search.kernels.trail import T_KEPT
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model
from rebalancer.specs.registry import BUILT_IN
from tests.engines.local_search.test_thousands import agree_with, richest
from tests.property.problems import models_with

HOSTS = 300


def fleet(tasks: int = HOSTS) -> Rebalancer:
    """A task on each host, in racks of ten hosts and jobs of four tasks that are far apart."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{host}": [f"t{host}"] if host < tasks else [] for host in range(HOSTS)})
    solver.add_scope("rack", {f"r{rack}": [f"h{10 * rack + i}" for i in range(10)] for rack in range(HOSTS // 10)})
    jobs = tasks // 4
    solver.add_partition("job", {f"j{job}": [f"t{job + i * jobs}" for i in range(4)] for job in range(jobs)})
    return solver


def searcher_of(model: Model, seed: int = 3) -> Searcher:
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0, deterministic=True)), seed)
    searcher.turn_to(0)
    return searcher


def who_is_drawn(searcher: Searcher) -> list[int]:
    out = np.zeros(len(searcher.flat.place), np.bool_)
    searcher.slopes()
    drawn(searcher.flat, searcher.trail, out)
    return np.flatnonzero(out).tolist()


def after_pulls(model: Model, pulls: int = 1) -> tuple[float, bool]:
    """Return the objective after so many rounds of pulls, and whether all that must hold does."""
    searcher = searcher_of(model)
    for _ in range(pulls):
        searcher.pull(searcher.incumbent.budget)
    searcher.harvest()
    score = model.evaluate(np.where(searcher.best == HOSTS, -1, searcher.best).astype(np.int32))
    return float(score.objective[0]), score.feasible


def likes(*pairs: tuple[str, str]) -> AssignmentAffinitiesSpec:
    listed = [{"object_name": task, "scope_item_name": host, "affinity": 1.0} for task, host in pairs]
    return AssignmentAffinitiesSpec(scope="host", affinities=listed)


def test_a_task_that_likes_a_host_goes_there() -> None:
    solver = fleet()
    solver.add_goal(likes(("t17", "h203"), ("t18", "h0"), ("t18", "h1")))
    assert who_is_drawn(searcher_of(solver.model)) == [solver.model.problem.objects.index[t] for t in ("t17", "t18")]
    assert after_pulls(solver.model) == (-2.0, True)


def test_somebody_makes_room() -> None:
    solver = fleet()
    solver.add_object_dimension("cpu", {f"t{task}": 1 for task in range(HOSTS)})
    solver.add_container_dimension("cpu", {f"h{host}": 1 for host in range(HOSTS)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(likes(("t17", "h203")))
    assert after_pulls(solver.model) == (-1.0, True), "all hosts are full: two tasks change places"


def test_a_group_that_likes_a_host_goes_there() -> None:
    solver = fleet()
    solver.add_object_dimension("cpu", {f"t{task}": 1 for task in range(HOSTS)})
    liked = [{"group": "j5", "scope_item": "h250", "target_dimension_value": 3.0, "affinity": 1.0}]
    goal = GroupAssignmentAffinitiesSpec(scope="host", partition_name="job", dimension="cpu", affinities=liked)
    solver.add_goal(goal)
    assert solver.model.evaluate(solver.model.problem.initial).objective[0] > 0
    assert after_pulls(solver.model) == (0.0, True), "three of its four tasks are to be there"


@pytest.mark.parametrize("scope", ["host", "rack"])
def test_mates_meet(scope: str) -> None:
    solver = fleet()
    solver.add_goal(ColocateGroupsSpec(scope=scope, partition_name="job", limits={"global_limit": 1}))
    model = solver.model
    assert model.evaluate(model.problem.initial).objective[0] == 3 * HOSTS / 4, "each job of four is in four places"
    assert after_pulls(model, 4)[0] <= 40, "what is left are halves"


def test_a_pair_meets() -> None:
    solver = fleet()
    pairs = [{"pair": {"object1": "t4", "object2": "t290"}, "affinity": 1.0}]
    solver.add_goal(PairAffinitiesSpec(scope="host", affinities=pairs))
    before = float(solver.model.evaluate(solver.model.problem.initial).objective[0])
    assert after_pulls(solver.model)[0] < before


def moving(solver: Rebalancer) -> None:
    solver.add_goal(MinimizeMovementSpec(scope="host"))


def limited(solver: Rebalancer) -> None:
    limit = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(GroupCountSpec(scope="rack", partition_name="job", limit=limit))
    solver.add_goal(GroupCountSpec(scope="rack", partition_name="job", limit=limit))


@pytest.mark.parametrize("goal", [moving, limited])
def test_nobody_is_drawn_where_no_container_is_special(goal: Callable[[Rebalancer], None]) -> None:
    solver = fleet()
    goal(solver)
    assert who_is_drawn(searcher_of(solver.model)) == []


def test_halves_of_a_group_meet_as_a_whole() -> None:
    """Two and two in two racks: no single move brings them into one, as the first one to go gains nothing."""
    solver = fleet(4)
    contents: dict[str, list[str]] = {f"h{host}": [] for host in range(HOSTS)}
    solver.set_assignment(contents | {"h0": ["t0"], "h1": ["t1"], "h200": ["t2"], "h201": ["t3"]})
    solver.add_goal(ColocateGroupsSpec(scope="rack", partition_name="job", limits={"global_limit": 1}))
    searcher = searcher_of(solver.model)
    searcher.together(searcher.incumbent.budget)
    assert searcher.merit == 0.0


@pytest.mark.parametrize("key", sorted(BUILT_IN))
def test_what_is_kept_is_counted_exactly(key: str) -> None:
    """Every spec, any move that no bound forbids: all cells are what they are from scratch."""
    kept = 0
    for model in richest(models_with(key), 8, 2):
        searcher = searcher_of(model)
        objects = len(searcher.flat.place)
        order = np.arange(objects, dtype=np.int32)
        who_is_drawn(searcher)
        before = int(searcher.trail.numbers[T_KEPT])
        for _ in range(4):
            searcher.slopes()
            who_is_drawn(searcher)
            pull(searcher.flat, searcher.trail, order, 0, objects, 3, -1e200)
            searcher.clear_log()
        kept += int(searcher.trail.numbers[T_KEPT]) - before
        agree_with(searcher.flat, searcher.flattener, model)
    assert kept or key != "assignment_affinities", "there at least somebody is drawn elsewhere"


@pytest.mark.parametrize("scope", ["host", "rack"])
def test_what_must_be_together_gets_there(scope: str) -> None:
    """Nothing holds at the start, and nothing but meeting mends it."""
    solver = fleet()
    limits = {"global_limit": 1}
    solver.add_constraint(ColocateGroupsSpec(scope=scope, partition_name="job", limits=limits), policy="HARD")
    model = solver.model
    assert not model.evaluate(model.problem.initial).feasible
    answer = LocalSearchEngine().solve(model, Request(time_limit=0.5, deterministic=True))
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).feasible
