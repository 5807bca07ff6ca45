"""The first descent: what gains most goes first everywhere, and the small fills what the large have left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rebalancer import CapacitySpec, GroupCountSpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.classes import descend_in_classes
from rebalancer.engines.local_search.kernels.descent import gains
from rebalancer.engines.local_search.kernels.jit import kernel
from rebalancer.engines.local_search.kernels.lanes import lanes_fill
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model


def searcher_of(model: Model, seed: int = 3) -> Searcher:
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=10.0)), seed)
    searcher.turn_to(0)
    return searcher


def with_a_host_that_costs_nothing() -> Model:
    """Tasks on hosts of which all but one are hot, limits by group on all, and one empty host that takes anything."""
    rng = np.random.default_rng(4)
    solver = Rebalancer("task", "host")
    hosts = {f"h{at}": [f"t{at * 6 + n}" for n in range(6)] for at in range(5)}
    solver.set_assignment({**hosts, "spare": []})
    tasks = [task for own in hosts.values() for task in own]
    for name in ("cpu", "memory"):
        solver.add_object_dimension(name, {task: int(rng.integers(1, 40)) for task in tasks})
        solver.add_container_dimension(name, {**dict.fromkeys(hosts, 200), "h4": 900, "spare": 1_000_000})
        solver.add_constraint(CapacitySpec(scope="host", dimension=name), policy="HARD")
        solver.add_goal(CapacitySpec(scope="host", dimension=name, limit=0.4), weight=2)
    solver.add_partition("job", {f"j{n}": tasks[n::10] for n in range(10)})
    solver.add_constraint(GroupCountSpec(scope="host", partition="job", limit=2), policy="HARD")
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), weight=0.2)
    return solver.model


def test_gains_are_what_the_objective_falls_by_where_coming_costs_nothing() -> None:
    model = with_a_host_that_costs_nothing()
    searcher = searcher_of(model)
    gained = np.full(30, np.nan)
    wanted = np.ones(7, bool)
    wanted[1] = False
    searcher.slopes()
    gains(searcher.flat, searcher.trail, wanted, gained)
    before = objective(searcher.flat, 0)[1]
    home, spare = searcher.flat.place.copy(), 5
    for task in range(30):
        if home[task] == 1:
            assert np.isnan(gained[task])  # nobody asked
            continue
        move(searcher.flat, task, spare)
        assert gained[task] == pytest.approx(before - objective(searcher.flat, 0)[1], rel=1e-9)
        move(searcher.flat, task, int(home[task]))
    assert (gained[home != 1] > 0).any()
    assert (gained[home != 1] < 0).any()


def hole_of_six() -> Model:
    """Of two hosts above 10 the hotter has small tasks only; a third host has room for one large one or two small."""
    solver = Rebalancer("task", "host")
    hot = [f"small{n}" for n in range(5)]
    solver.set_assignment({"hotter": [*hot, "rest"], "hot": ["large", "larger"], "cold": ["base"]})
    sizes = {**dict.fromkeys(hot, 3), "rest": 2, "large": 6, "larger": 10, "base": 4}
    solver.add_object_dimension("cpu", sizes)
    solver.add_container_dimension("cpu", dict.fromkeys(("hotter", "hot", "cold"), 10))
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), weight=0.01)
    return solver.model


@pytest.mark.parametrize("seed", range(5))
def test_the_large_goes_before_the_small_wherever_it_is(seed: int) -> None:
    """One large task gains as much as two small ones, for one move."""
    model = hole_of_six()
    searcher = searcher_of(model, seed)
    descend_in_classes(searcher, Budget(10.0, deterministic=True), 32)
    names, hosts = list(model.problem.objects), list(model.problem.containers)
    home = model.problem.initial
    moved = {names[task]: hosts[searcher.flat.place[task]] for task in np.flatnonzero(searcher.flat.place != home)}
    assert moved == {"large": "cold"}


def rooms(*free: tuple[int, int]) -> Model:
    """One task of (3, 3) too many on a full host, and hosts with so much cpu and memory to spare."""
    solver = Rebalancer("task", "host")
    hosts = {f"h{at}": [f"base{at}"] for at in range(len(free))}
    solver.set_assignment({**hosts, "full": ["task", "rest"], "fuller": ["fixed"]})
    tasks = [f"base{at}" for at in range(len(free))]
    for name, axis in (("cpu", 0), ("memory", 1)):
        sizes = {task: 100 - free[at][axis] for at, task in enumerate(tasks)}
        solver.add_object_dimension(name, {**sizes, "task": 3, "rest": 100, "fixed": 200})
        solver.add_container_dimension(name, dict.fromkeys((*hosts, "full", "fuller"), 100))
        solver.add_goal(CapacitySpec(scope="host", dimension=name))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), weight=0.01)
    return solver.model


@pytest.mark.parametrize(
    ("free", "best"),
    [
        (((9, 9), (3, 3), (4, 4)), "h1"),  # what fits exactly leaves nothing over
        (((4, 12), (6, 6), (12, 4)), "h1"),  # two rooms that run out together are of use to others
        (((3, 30), (5, 4), (30, 30)), "h2"),
    ],
)
def test_of_places_that_cost_the_same_the_one_that_is_filled_best(free: tuple[tuple[int, int], ...], best: str) -> None:
    model = rooms(*free)
    searcher = searcher_of(model)
    descend_in_classes(searcher, Budget(10.0, deterministic=True), 32)
    names, hosts = list(model.problem.objects), list(model.problem.containers)
    assert hosts[searcher.flat.place[names.index("task")]] == best


@kernel
def fill(f: Any, s: int, o: int) -> float:
    """Call what only kernels can."""
    return float(lanes_fill(f, s, o))


def test_how_well_a_place_is_filled_by_hand() -> None:
    """Shares 3/6 and 3/12 of what is free: (3/4)² / (2 · 5/16) = 0.9, and 0.02 of their mean of 3/8."""
    model = rooms((6, 12), (6, 6))
    searcher = searcher_of(model)
    task = list(model.problem.objects).index("task")
    assert fill(searcher.flat, 0, task) == pytest.approx(0.9 + 0.02 * 0.375)
    assert fill(searcher.flat, 1, task) == pytest.approx(1.0 + 0.02 * 0.5)
    assert fill(searcher.flat, 2, task) == 0.0  # nothing is free there


def test_what_there_is_plenty_of_does_not_count() -> None:
    """Free in all is more than four times what is in excess."""
    model = rooms((6, 12), (6, 900))
    searcher = searcher_of(model)
    task = list(model.problem.objects).index("task")
    assert fill(searcher.flat, 0, task) == pytest.approx(1.0 + 0.02 * 0.5)


def test_without_time_there_are_no_classes() -> None:
    model = hole_of_six()
    searcher = searcher_of(model)
    budget = Budget(10.0)
    budget.reach()
    descend_in_classes(searcher, budget, 32)
    assert (searcher.flat.place == model.problem.initial).all()
