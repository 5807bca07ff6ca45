"""What neither single moves nor exchanges find, on problems whose optimum can be seen by eye."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rebalancer import (
    AssignmentAffinitiesSpec,
    CapacitySpec,
    MinimizeContainersSpec,
    MinimizeMovementSpec,
    Rebalancer,
    ToFreeSpec,
)
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.emptying import worth_emptying
from rebalancer.engines.local_search.flat.records import packed
from rebalancer.engines.local_search.kernels.chains import chase_down, rebuild, vacate
from rebalancer.engines.local_search.kernels.descent import descend, swap_down
from rebalancer.engines.local_search.kernels.layout import Flat
from rebalancer.engines.local_search.kernels.trail import T_LENGTH, T_ROOM, Trail
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model
from tests.engines.worlds import attracted


def ring(members: int) -> Rebalancer:
    """One task on each host, which would gain 1 on the next host, and lose 10 on any other."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{n}": [f"t{n}"] for n in range(members)})
    one = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(CapacitySpec(scope="host", dimension="task_count", limit=one))
    affinities = [
        {"object_name": f"t{n}", "scope_item_name": f"h{(n + step) % members}", "affinity": 1 if step == 1 else -10}
        for n in range(members)
        for step in range(1, members)
    ]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=affinities))
    return solver


def two_for_one() -> Model:
    """A large task and two small ones that fill a host each, and would gain on the other one's."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["large"], "h1": ["small", "other"]})
    solver.add_object_dimension("cpu", {"large": 4, "small": 2, "other": 2})
    solver.add_container_dimension("cpu", {"h0": 4, "h1": 4})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    wishes = {"large": "h1", "small": "h0", "other": "h0"}
    affinities = [{"object_name": task, "scope_item_name": host, "affinity": 1} for task, host in wishes.items()]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=affinities))
    return solver.model


def half_empty(hosts: int, scope: str = "host") -> Rebalancer:
    """Hosts, two in a rack, that hold two tasks and could hold four; moves cost, and hosts or racks that hold any."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{n}": [f"t{2 * n}", f"t{2 * n + 1}"] for n in range(hosts)})
    solver.add_scope("rack", {f"r{n}": [f"h{2 * n}", f"h{2 * n + 1}"] for n in range(hosts // 2)})
    four = {"type": "ABSOLUTE", "global_limit": 4}
    solver.add_constraint(CapacitySpec(scope="host", dimension="task_count", limit=four))
    solver.add_goal(MinimizeContainersSpec(scope=scope, dimension="task_count"), weight=10)
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count", do_not_normalize=True))
    return solver


def gained(model: Model, kernels: list[tuple[Callable[..., int], int]], turns: int) -> int:
    """Return by how much the objective falls where nothing but some kernels searches, which undo what is no gain."""
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=1.0, deterministic=True)), 1)
    searcher.turn_to(0)
    flat, trail = searcher.flat, searcher.trail
    before = model.evaluate(model.problem.initial).objective[0]
    order = np.arange(len(model.problem.containers), dtype=np.int32)
    for _ in range(turns):
        trail.numbers[T_LENGTH] = 0
        searcher.slopes()
        for kernel, width in kernels:
            kernel(flat, trail, order, 0, len(order), width, 1e-9)
    score = model.evaluate(flat.place)
    assert score.feasible
    return int(before - score.objective[0])


def emptied(sets: list[list[int]]) -> Callable[..., int]:
    """Return a kernel like the others that empties sets of containers."""
    starts, containers = packed([np.array(members, np.int32) for members in sets])

    def empty(flat: Flat, trail: Trail, order: NDArray[np.int32], first: int, last: int, *rest: float) -> int:
        return vacate(flat, trail, starts, containers, order[: len(sets)], first, min(last, len(sets)), *rest)

    return empty


def test_chains_go_round() -> None:
    moves: list[tuple[Callable[..., int], int]] = [(descend, 8), (swap_down, 8)]
    for members in (3, 4):
        assert gained(ring(members).model, moves, 50) == 0
        assert gained(ring(members).model, [(chase_down, 4)], 50) == members


def test_placing_anew_exchanges_one_for_two() -> None:
    moves: list[tuple[Callable[..., int], int]] = [(descend, 8), (swap_down, 8)]
    assert gained(two_for_one(), moves, 50) == 0
    assert gained(two_for_one(), [(rebuild, 8)], 50) == 3


def test_emptying_pays_where_no_single_move_does() -> None:
    model = half_empty(6).model
    moves: list[tuple[Callable[..., int], int]] = [(descend, 8), (swap_down, 8), (chase_down, 4)]
    assert gained(model, moves, 50) == 0
    # three hosts are enough, and from each of the others two tasks move
    assert gained(model, [(emptied([[n] for n in range(6)]), 4)], 50) == 3 * (10 - 2)


def test_racks_are_emptied_as_a_whole() -> None:
    model = half_empty(8, "rack").model
    assert gained(model, [(emptied([[n] for n in range(8)]), 4)], 50) == 0
    # two racks are enough, and from each of the others four tasks move
    racks = [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert gained(model, [(emptied(racks), 4)], 50) == 2 * (10 - 4)
    assert half_empty(40, "rack").solve("local_search", 1.0, deterministic=True).objective["final"].tolist() == [
        10 * 10 + 40
    ]


def emptying(model: Model) -> list[list[int]]:
    """Return what is worth emptying, as lists."""
    starts, containers = worth_emptying(model)
    return [containers[first:last].tolist() for first, last in pairwise(starts.tolist())]


def test_only_what_a_step_asks_for_is_worth_emptying() -> None:
    assert emptying(half_empty(6).model) == [[n] for n in range(6)]
    assert emptying(half_empty(6, "rack").model) == [[0, 1], [2, 3], [4, 5]]
    assert emptying(two_for_one()) == []
    some = ring(3)
    some.add_goal(ToFreeSpec(containers=["h1"], formula="MINIMIZE_OCCUPIED_CONTAINERS"))
    assert emptying(some.model) == [[1]]


def test_local_search_empties_hosts() -> None:
    solution = half_empty(40).solve("local_search", 1.0, deterministic=True)
    assert solution.objective["final"].tolist() == [20 * 10 + 40]


def test_chains_stay_within_the_log_and_their_container() -> None:
    """Chains of one container's objects, of which some take along who would be next."""
    for seed in range(20):
        model = attracted(60, 3, seed)
        searcher = Searcher(model, Incumbent.of(model, Request(time_limit=1.0, deterministic=True)), seed)
        searcher.turn_to(0)
        flat, trail = searcher.flat, searcher.trail
        for container in (0, 1, 2, 0):
            trail.numbers[T_LENGTH] = 0
            trail.numbers[T_ROOM] = 6 * (int(flat.load[container]) + 1)
            before = flat.place.copy()
            chase_down(flat, trail, np.array([container], np.int32), 0, 1, 50, 1e-9)
            length = int(trail.numbers[T_LENGTH])
            assert length <= trail.numbers[T_ROOM]
            for step in range(length - 1, -1, -1):
                flat.place[trail.object[step]] = trail.source[step]
            assert np.array_equal(flat.place, before)
            searcher = Searcher(model, searcher.incumbent, seed + container)
            searcher.turn_to(0)
            flat, trail = searcher.flat, searcher.trail
