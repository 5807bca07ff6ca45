"""What bends after a sum of tallies is computed as it is; sums over all items are left alone where they can be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from rebalancer import (
    BalanceSpec,
    CapacitySpec,
    FlowSpec,
    MinimizeMovementSpec,
    MoveGroupSpec,
    Rebalancer,
    UnplacedCostSpec,
)
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search import searcher as searching
from rebalancer.engines.local_search.flat import lanes
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels import layout as at
from rebalancer.engines.local_search.kernels.descent import descend
from rebalancer.engines.local_search.kernels.layout import Flat
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.kernels.trail import T_KEPT
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import GoalCells, Model, ModelBuilder, assemble
from tests.engines.local_search.test_moves import walk
from tests.engines.local_search.test_scan import pair_cost, passes

TASKS, HOSTS = 40, 6


def pending(sizes: dict[str, int], goal: BalanceSpec, hold: int = 300) -> Model:
    """Most tasks on two of six hosts, and one in no container: the average is not constant."""
    solver = Rebalancer("task", "host")
    *placed, last = [f"t{number}" for number in range(TASKS)]
    contents: dict[str, list[str]] = {host: [] for host in sizes}
    names = list(sizes)
    for number, task in enumerate(placed):
        contents[names[number % 2 if number % 3 else number % len(names)]].append(task)
    solver.set_assignment(contents, [last])
    rng = random.Random(4)
    solver.add_object_dimension("cpu", {task: rng.randrange(1, 50) for task in [*placed, last]})
    solver.add_container_dimension("cpu", sizes)
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu", limit={"global_limit": hold}))
    solver.add_goal(goal)
    solver.add_goal(UnplacedCostSpec())
    return solver.model


def moves(flat: Flat, tasks: Iterator[int]) -> Iterator[tuple[float, float]]:
    """Yield what a scan says of each move within the hosts, and what making it does."""
    for task in tasks:
        for host in range(HOSTS):
            if flat.place[task] in (host, HOSTS):
                continue
            compute(flat, np.ones(1))
            here, before = int(flat.place[task]), objective(flat, 0)[1]
            said = pair_cost(flat, task, host)
            move(flat, task, host)
            yield said, objective(flat, 0)[1] - before
            move(flat, task, here)


@pytest.mark.parametrize("most", [0, lanes.MOST_LANES], ids=["without lanes", "with lanes"])
@pytest.mark.parametrize("formula", ["LINEAR", "SQUARES"])
def test_balance_around_an_average_that_moves_is_no_line(
    formula: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts are equal, so that a move changes nothing but what the two of them are above the average."""
    monkeypatch.setattr(lanes, "MOST_LANES", most)
    goal = BalanceSpec(scope="host", dimension="cpu", formula=formula)
    model = pending({f"h{host}": 1_000 for host in range(HOSTS)}, goal, hold=1_000)
    flat = Flattener(model).at(model.problem.initial)
    found = np.array(list(moves(flat, iter(range(TASKS)))))
    assert (found[:, 1] < -1e-6 * np.abs(found).max()).any()
    assert (np.abs(found[:, 1]) < 1e-6 * np.abs(found).max()).any(), "from a host above it to one that is above it too"
    np.testing.assert_allclose(found[:, 0], found[:, 1], rtol=1e-4, atol=1e-4 * np.abs(found).max())


def test_what_flows_between_two_hosts_is_known_where_it_ends() -> None:
    solver = Rebalancer("task", "host")
    contents = {f"h{host}": [f"t{number}" for number in range(host, TASKS, HOSTS)] for host in range(HOSTS)}
    solver.set_assignment(contents)
    pairs = [{"object1": f"t{2 * pair}", "object2": f"t{2 * pair + 1}"} for pair in range(8)]
    limit = {"type": "ABSOLUTE", "global_limit": 0, "scope_item_limits": {"h0": 1}}
    solver.add_goal(FlowSpec(scope="host", pairs=pairs, limit=limit))
    model = solver.model
    flat = Flattener(model).at(model.problem.initial)
    receivers = [model.problem.objects.index[pair["object2"]] for pair in pairs]
    found = np.array(list(moves(flat, iter(receivers))))
    assert len(np.unique(found[:, 1])) > 1
    np.testing.assert_allclose(found[:, 0], found[:, 1])


def summed(model: Model) -> int:
    """Return how many tallies add up, in several cells, what they hold in all items alike."""
    flat = Flattener(model).at(model.problem.initial)
    pieces = flat.pieces.reshape(-1, at.P_WIDTH)
    several = flat.columns[pieces[:, at.P_SOURCE] + at.C_ITEMS] > 1
    return int(((pieces[:, at.P_SUM] == 1) & (pieces[:, at.P_SINGLE] == 0) & several).sum())


def test_who_is_placed_in_all_is_asked_only_of_who_comes_or_leaves() -> None:
    solver = Rebalancer("task", "host")
    tasks = [f"t{number}" for number in range(TASKS)]
    solver.set_assignment({f"h{host}": tasks[host::HOSTS] for host in range(HOSTS)})
    solver.add_partition("job", {f"j{job}": tasks[4 * job : 4 * job + 4] for job in range(TASKS // 4)})
    solver.add_constraint(MoveGroupSpec(partition_name="job"))
    assert summed(solver.model) > 0


def test_what_weighs_more_on_some_hosts_is_no_sum() -> None:
    """The mean utilization changes as tasks move between hosts of different sizes: nothing of it may be left out."""
    model = pending({f"h{host}": 500 + 200 * host for host in range(HOSTS)}, BalanceSpec(scope="host", dimension="cpu"))
    assert summed(model) == 0
    walk(model, 2, 200)


def test_what_is_rewarded_from_some_number_on_is_seen_before() -> None:
    """Each host has three tasks of a job, and a fourth is rewarded: coming gains, and leaving costs nothing."""
    solver = Rebalancer("task", "host")
    tasks = [f"t{number}" for number in range(24)]
    solver.set_assignment({f"h{host}": tasks[host::4] for host in range(4)})
    solver.add_object_dimension("cpu", dict.fromkeys(tasks, 1))
    solver.add_partition("job", {"j0": tasks[:12], "j1": tasks[12:]})
    builder = ModelBuilder(solver.problem)
    here = builder.tally("host", partition="job")
    placed = builder.total(builder.amount("host"))
    more = builder.linear([(here, 1), (placed, Fraction(1, 24))], -4)
    over = builder.hinge(builder.linear([(builder.amount("host", "cpu"), 1)], -20))
    goals = [
        GoalCells("reward", "any", Fraction(1), 0, builder.total(builder.step(more), -1)),
        GoalCells("full", "any", Fraction(1), 0, builder.total(over)),
    ]
    model = assemble(builder, goals, [])
    flat = Flattener(model).at(model.problem.initial)
    compute(flat, np.ones(1))
    assert flat.sizes[at.Z_LANES] > 0
    assert passes(flat, 0, 1, -1e-9)


def tied(weight: float) -> Searcher:
    """Ten of forty hosts hold twenty equal tasks each, the others none; a move costs something as well."""
    solver = Rebalancer("task", "host")
    tasks = [f"t{number}" for number in range(200)]
    solver.set_assignment({f"h{host}": tasks[host::10] if host < 10 else [] for host in range(40)})
    solver.add_object_dimension("cpu", dict.fromkeys(tasks, 1))
    solver.add_container_dimension("cpu", {f"h{host}": 10 for host in range(40)})
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu", formula="MAX"))
    solver.add_goal(MinimizeMovementSpec(scope="host"), weight=weight)
    model = solver.model
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0, deterministic=True)), 3)
    searcher.turn_to(0)
    return searcher


def test_ties_are_broken_though_each_move_costs_something() -> None:
    searcher = tied(0.01)
    before = searcher.merit
    searcher.sweep(descend, searcher.incumbent.budget, 32)
    assert searcher.merit < 0.01 * before


def test_what_is_uphill_and_leads_nowhere_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """One less on each of ten hosts costs more than it gains."""
    monkeypatch.setattr(searching, "_UPHILL", 0.1)
    searcher = tied(800)
    searcher.best, searcher.best_merit = np.zeros_like(searcher.best), -np.inf  # elsewhere
    before, start = searcher.merit, searcher.flat.place.copy()
    searcher.sweep(descend, searcher.incumbent.budget, 32)
    assert searcher.merit <= before
    assert searcher.trail.numbers[T_KEPT] > 0
    np.testing.assert_array_equal(searcher.flat.place, start)
