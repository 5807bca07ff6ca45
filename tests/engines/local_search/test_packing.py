"""Packing: where there is just enough room, who leaves is a set that fits, and goes to where it fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, GroupCountSpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.budget import Budget
from rebalancer.engines.local_search import packing
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.engines.local_search.packing import pack_leavers
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model
from tests.engines.local_search.test_thousands import agree_with
from tests.engines.local_search.test_trade import searcher_of

#: What a unit of room is worth, of what a unit beyond costs, where there is as much room as excess.
WORTH = 0.1


def fleet(held: dict[str, list[int]], limit: int = 100, move: int = 3) -> Model:
    """Hosts that hold tasks of these sizes; what is beyond the limit costs something, and so does each move."""
    solver = Rebalancer("task", "host")
    sizes = {f"{host}_{at}": size for host, own in held.items() for at, size in enumerate(own)}
    solver.set_assignment({host: [f"{host}_{at}" for at in range(len(own))] for host, own in held.items()})
    solver.add_object_dimension("cpu", sizes)
    solver.add_container_dimension("cpu", dict.fromkeys(held, limit))
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), weight=move)
    return solver.model


def budget() -> Budget:
    return Budget(60.0, deterministic=True)


def moved(searcher: Searcher) -> dict[str, str]:
    """Return where those are that are not at home."""
    problem = searcher.model.problem
    names, hosts = list(problem.objects), list(problem.containers)
    return {names[o]: hosts[searcher.flat.place[o]] for o in np.flatnonzero(searcher.flat.place != problem.initial)}


def test_who_leaves_frees_what_is_too_much_and_goes_where_it_fits() -> None:
    """The largest alone would be enough, but fits nowhere; 27 and 23 are the 50 that are too much."""
    model = fleet({"hot": [60, 40, 27, 23], "a": [70, 3], "b": [77], "c": [100]})
    searcher = searcher_of(model)
    pack_leavers(searcher, budget(), 32)
    assert moved(searcher) == {"hot_2": "a", "hot_3": "b"}
    agree_with(searcher.flat, searcher.flattener, model)


@pytest.mark.parametrize("others", [[0, 50, 100], [100, 100, 90]])
def test_nobody_is_packed_where_there_is_ample_room_or_far_too_little(others: list[int]) -> None:
    searcher = searcher_of(
        fleet({"hot": [60, 40, 27, 23], **{f"h{load}_{at}": [load] for at, load in enumerate(others)}})
    )
    pack_leavers(searcher, budget(), 32)
    assert not moved(searcher)


@pytest.mark.parametrize("seed", range(30))
def test_no_set_of_three_is_better_than_who_is_chosen(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is chosen costs no more than the best of all sets of up to three, tried one by one."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 60, 9).tolist()
    excess = int(rng.integers(60, 150))
    limit = sum(sizes) - excess
    chosen: list[int] = []

    def pack_nobody(*given: Any) -> int:
        order, first, last = given[6:9]
        chosen.extend(order[first:last].tolist())
        return int(last)

    monkeypatch.setattr(packing, "pack", pack_nobody)
    held = {"hot": sizes, **{f"h{at}": [limit - 60] for at in range(excess // 60)}, "rest": [limit - excess % 60]}
    searcher = searcher_of(fleet(held, limit, int(rng.integers(20, 400))))
    beyond = objective(searcher.flat, 0)[1] / excess
    move(searcher.flat, 0, 1)
    moving = objective(searcher.flat, 0)[1] - beyond * (excess - sizes[0])
    move(searcher.flat, 0, 0)

    def cost(some: Sequence[int]) -> float:
        left = excess - sum(some)
        return len(some) * moving + beyond * (left if left > 0 else -WORTH * left)

    pack_leavers(searcher, budget(), 32)
    best = min(cost(some) for size in range(4) for some in combinations(sizes, size))
    assert len(set(chosen)) == len(chosen)
    assert cost([sizes[o] for o in chosen]) <= best * (1 + 1e-9)


def crowded(seed: int, names: tuple[str, ...] = ("cpu",), hosts: int = 100) -> Model:
    """Hosts with broken capacities and groups, balanced around the average of one resource."""
    rng = np.random.default_rng(seed)
    tasks = 12 * hosts
    solver = Rebalancer("task", "host")
    pull = np.repeat([5.0, 1.0], [hosts // 4, hosts - hosts // 4])
    place = rng.choice(hosts, tasks, p=pull / pull.sum())
    solver.set_assignment({f"h{at}": [f"t{o}" for o in np.flatnonzero(place == at)] for at in range(hosts)})
    for name in names:
        size = rng.lognormal(3, 0.8, tasks).astype(int) + 1
        solver.add_object_dimension(name, {f"t{o}": int(size[o]) for o in range(tasks)})
        room = int(size.sum() / hosts / 0.7)
        solver.add_container_dimension(name, {f"h{at}": room for at in range(hosts)})
        solver.add_constraint(CapacitySpec(scope="host", dimension=name))
    solver.add_partition("job", {f"j{n}": [f"t{o}" for o in range(4 * n, 4 * n + 4)] for n in range(tasks // 4)})
    solver.add_constraint(GroupCountSpec(scope="host", partition="job", limit=1))
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host"))
    return solver.model


@pytest.mark.parametrize("seed", range(4))
def test_what_is_free_is_told_as_it_is(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rooms that packing keeps in order are those that there are, and every cell is what it is from scratch."""
    model = crowded(seed)
    searcher = searcher_of(model)
    told: list[tuple[Any, ...]] = []

    def pack(*given: Any) -> int:
        told.append(given[2:6])
        return real(*given)

    real = packing.pack
    monkeypatch.setattr(packing, "pack", pack)
    pack_leavers(searcher, budget(), 32)
    agree_with(searcher.flat, searcher.flattener, model)
    assert len(moved(searcher)) > 100
    free, place, count, lane = told[-1]
    now = packing._Room.of(searcher.flat, searcher.containers).free[:, lane]
    own = np.flatnonzero(now > 0)
    own = own[np.argsort(-now[own], kind="stable")]
    np.testing.assert_array_equal(place[: count[0]], own)
    np.testing.assert_array_equal(free[: count[0]], now[own])


def test_it_starts_again_where_another_limit_is_in_the_way() -> None:
    """Memory is full where there is room for cpu: a tenth of the chosen finds none."""
    model = crowded(2, ("cpu", "memory"))
    searcher = searcher_of(model)
    before = searcher.merit
    pack_leavers(searcher, budget(), 32)
    assert not moved(searcher)
    assert searcher.merit == before
    assert searcher.best_merit < before  # what it had found is kept
    agree_with(searcher.flat, searcher.flattener, model)
