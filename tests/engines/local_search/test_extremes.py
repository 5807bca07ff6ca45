"""Largest and smallest numbers: what others have done since is known, and ties are broken one by one."""

from __future__ import annotations

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, MinimizeNthLargestUtilizationSpec, Rebalancer, SkewSpec
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.descent import descend
from rebalancer.engines.local_search.kernels.propagate import move
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model
from tests.engines.local_search.test_scan import pair_cost, passes

HOSTS = 40


def test_the_second_to_come_to_the_smallest_cell_is_no_gain() -> None:
    """Six tasks of a job are on one of four hosts: slopes are not taken anew, and yet know who has come since."""
    solver = Rebalancer("task", "host")
    tasks = [f"t{number}" for number in range(6)]
    solver.set_assignment({"h0": tasks, "h1": [], "h2": [], "h3": []})
    solver.add_partition("job", {"j0": tasks})
    solver.add_goal(SkewSpec(scope="host", partition_name="job", max_skew=0))
    flat = Flattener(solver.model).at(solver.model.problem.initial)
    compute(flat, np.ones(1))
    leaves = pair_cost(flat, 0, 1)
    assert leaves < 0
    assert pair_cost(flat, 1, 1) == pair_cost(flat, 1, 2) == leaves, "leaving the largest, coming to a smallest"
    move(flat, 0, 1)
    assert pair_cost(flat, 1, 2) == leaves
    assert pair_cost(flat, 1, 1) == leaves / 2, "leaving the largest alone"


def test_a_new_largest_costs_what_it_is_larger() -> None:
    """Hosts hold 5, 4, 1 and 4: what comes to the second may make it the largest."""
    solver = Rebalancer("task", "host")
    sizes = {"a": 5, "b": 4, "c": 1, "d": 3, "e": 1}
    solver.set_assignment({"h0": ["a"], "h1": ["b"], "h2": ["c"], "h3": ["d", "e"]})
    solver.add_object_dimension("cpu", sizes)
    solver.add_container_dimension("cpu", {"h0": 1, "h1": 1, "h2": 1, "h3": 1})
    solver.add_goal(MinimizeNthLargestUtilizationSpec(scope="host", dimension="cpu", n=0))
    model = solver.model
    flat = Flattener(model).at(model.problem.initial)
    compute(flat, np.ones(1))
    d, e = (model.problem.objects.index[task] for task in ("d", "e"))
    one = pair_cost(flat, e, 0)
    assert one > 0
    assert pair_cost(flat, d, 0) == 3 * one
    assert pair_cost(flat, d, 1) == 2.5 * one, "4 and 3 are 2 more than 5, and no longer less"
    assert pair_cost(flat, e, 1) == 0.5 * one, "as much as the largest"
    assert pair_cost(flat, e, 2) == pair_cost(flat, d, 2) == 0


def spread(goal: BalanceSpec | SkewSpec | MinimizeNthLargestUtilizationSpec) -> Model:
    """Equal tasks on a quarter of all hosts: twenty on each, five where all have as many."""
    solver = Rebalancer("task", "host")
    tasks = [f"t{number}" for number in range(5 * HOSTS)]
    contents: dict[str, list[str]] = {f"h{host}": [] for host in range(HOSTS)}
    for number, task in enumerate(tasks):
        contents[f"h{number % (HOSTS // 4)}"].append(task)
    solver.set_assignment(contents)
    solver.add_partition("all", {"all": tasks})
    solver.add_object_dimension("cpu", dict.fromkeys(tasks, 1))
    solver.add_container_dimension("cpu", {f"h{host}": 10 for host in range(HOSTS)})
    solver.add_goal(goal)
    return solver.model


@pytest.mark.parametrize(
    ("goal", "least"),
    [
        (SkewSpec(scope="host", partition_name="all", max_skew=0), 0.0),
        (BalanceSpec(scope="host", dimension="cpu", formula="MAX"), 0.0),
        (MinimizeNthLargestUtilizationSpec(scope="host", dimension="cpu", n=0), 0.5),
    ],
)
def test_ties_are_broken_one_by_one(
    goal: BalanceSpec | SkewSpec | MinimizeNthLargestUtilizationSpec, least: float
) -> None:
    """Ten hosts hold the most: nothing gains until the last of them has one less."""
    model = spread(goal)
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0, deterministic=True)), 3)
    searcher.turn_to(0)
    searcher.sweep(descend, searcher.incumbent.budget, 32)
    assert model.evaluate(searcher.flat.place).objective[0] == pytest.approx(least)


def test_who_would_be_the_largest_is_asked_even_where_nothing_is_paid() -> None:
    """All hosts are alike, and the more unlike the better: going anywhere gains."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{host}": [f"t{host}"] for host in range(4)})
    solver.add_object_dimension("cpu", {f"t{host}": 1 for host in range(4)})
    solver.add_container_dimension("cpu", {f"h{host}": 4 for host in range(4)})
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu", formula="MAX"), weight=-1)
    flat = Flattener(solver.model).at(solver.model.problem.initial)
    compute(flat, np.ones(1))
    assert pair_cost(flat, 0, 1) < 0
    assert passes(flat, 0, 1, -1e-9)


def test_who_gains_by_coming_to_the_smallest_is_found() -> None:
    """A task of the second host gains nothing by leaving, and the smallest number by going to the third."""
    solver = Rebalancer("task", "host")
    tasks = [f"t{number}" for number in range(8)]
    solver.set_assignment({"h0": tasks[:5], "h1": tasks[5:], "h2": []})
    solver.add_partition("job", {"j0": tasks})
    solver.add_object_dimension("cpu", {task: 1 + number % 2 for number, task in enumerate(tasks)})
    solver.add_container_dimension("cpu", {f"h{host}": 20 for host in range(3)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(SkewSpec(scope="host", partition_name="job", max_skew=0))
    flat = Flattener(solver.model).at(solver.model.problem.initial)
    compute(flat, np.ones(1))
    task = solver.model.problem.objects.index["t7"]
    assert passes(flat, task, 2, -1e-9)
    assert not passes(flat, task, 0, -1e-9)
