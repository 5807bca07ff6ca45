"""Recalls: one object less is away for the same balance, and nothing that must hold is broken for it."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, GroupCountSpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.local_search.greedy import greedy
from rebalancer.engines.local_search.kernels.descent import descend, swap_down
from rebalancer.engines.local_search.kernels.layout import N_BROKEN
from rebalancer.engines.local_search.kernels.propagate import move
from rebalancer.engines.local_search.kernels.recall import fullness, recall, returning
from rebalancer.engines.local_search.kernels.trail import T_KEPT, T_LENGTH, appraise
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model
from tests.engines.local_search.test_thousands import agree_with
from tests.engines.local_search.test_trade import searcher_of


def solver_of(held: dict[str, list[str]], sizes: dict[str, int]) -> Rebalancer:
    """Hosts that should hold no more than 100, and as few moves as that takes."""
    solver = Rebalancer("task", "host")
    solver.set_assignment(held)
    solver.add_object_dimension("cpu", sizes)
    solver.add_container_dimension("cpu", dict.fromkeys(held, 100))
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu"), weight=1_000)
    solver.add_goal(MinimizeMovementSpec(scope="host"))
    return solver


def at(solver: Rebalancer, places: dict[str, str]) -> Searcher:
    """Return a searcher that stands where some tasks are elsewhere."""
    problem = solver.model.problem
    searcher = searcher_of(solver.model)
    for task, host in places.items():
        move(searcher.flat, problem.objects.index[task], problem.containers.index[host])
    appraise(searcher.flat, searcher.trail)
    searcher.start_here()
    return searcher


def at_four_moves() -> tuple[Rebalancer, Searcher]:
    """Four hosts that are exactly full, with four moves; three would do.

    ``left`` has to lose 10, which is ``r`` or both of ``o`` and ``w``; ``right`` has to lose 9, which is ``x`` and
    ``y``. The two others have room for 8 and 11.
    """
    sizes = {"o": 7, "w": 3, "r": 10, "x": 8, "y": 1, "ll": 90, "aa": 92, "bb": 89, "rr": 100}
    held = {"left": ["o", "w", "r", "ll"], "a": ["aa"], "b": ["bb"], "right": ["x", "y", "rr"]}
    solver = solver_of(held, sizes)
    return solver, at(solver, {"o": "a", "y": "a", "w": "b", "x": "b"})


def at_six_moves() -> Searcher:
    """Five hosts that are exactly full, with six moves.

    ``o`` and ``w`` could come home if ``r`` left. Then one of ``a`` and ``b`` has 7 too much, or 3, and the other one
    as much room; what they hold differs by 2, 4, 6 or 8 only. With what is in ``c`` it can be settled.
    """
    sizes = {"o": 7, "w": 3, "r": 10, "ll": 90, "aa": 91, "v": 2, "bb": 89, "x": 8, "cc": 90, "y": 1, "u": 9, "rr": 100}
    held = {"left": ["o", "w", "r", "ll"], "a": ["aa"], "b": ["bb"], "c": ["cc"], "right": ["v", "x", "y", "u", "rr"]}
    return at(solver_of(held, sizes), {"o": "a", "v": "a", "w": "b", "x": "b", "y": "c", "u": "c"})


def with_a_guest() -> Searcher:
    """Five hosts that are exactly full, with five moves.

    ``x`` and ``i`` could come home if both ``p`` and the guest ``g`` left, to where these are, and ``y`` and ``z``
    changed places. With only one of ``p`` and ``g`` leaving there would be 4 or 6 too much.
    """
    sizes = {"x": 7, "i": 3, "p": 6, "ll": 90, "g": 4, "bb": 100, "y": 4, "z": 1, "dd": 100, "aa": 92, "cc": 93}
    held = {"left": ["x", "i", "p", "ll"], "a": ["aa"], "c": ["cc"], "b": ["g", "bb"], "d": ["y", "z", "dd"]}
    return at(solver_of(held, sizes), {"x": "a", "i": "c", "g": "left", "y": "c", "z": "a"})


def away(searcher: Searcher) -> int:
    return int((searcher.flat.place != searcher.flat.home).sum())


def everyone(searcher: Searcher) -> np.ndarray:
    return np.arange(len(searcher.flat.place), dtype=np.int32)


def test_a_recall_finds_what_no_move_and_no_exchange_does() -> None:
    """``o`` and ``w`` come home, ``r`` leaves for where ``w`` was, and ``x`` changes places with ``y``."""
    _, searcher = at_four_moves()
    flat, trail = searcher.flat, searcher.trail
    order, before = np.arange(4, dtype=np.int32), searcher.merit
    descend(flat, trail, order, 0, 4, 4, searcher.least)
    swap_down(flat, trail, order, 0, 4, 9, searcher.least)
    assert (searcher.merit, away(searcher)) == (before, 4)
    recall(flat, trail, everyone(searcher), 0, len(flat.place), 8, searcher.least)
    assert away(searcher) == 3
    assert searcher.merit == pytest.approx(before * 3 / 4)  # nothing is too full: all that costs are moves


@pytest.mark.parametrize(("begin", "moves"), [(at_six_moves, 6), (with_a_guest, 5)])
def test_others_may_help(begin: Callable[[], Searcher], moves: int) -> None:
    """A third host takes what does not fit, or a guest leaves."""
    searcher = begin()
    before = searcher.merit
    assert away(searcher) == moves
    recall(searcher.flat, searcher.trail, everyone(searcher), 0, len(searcher.flat.place), 32, searcher.least)
    assert away(searcher) == moves - 1
    assert searcher.merit == pytest.approx(before * (moves - 1) / moves)


def test_greedy_search_recalls() -> None:
    solver, searcher = at_four_moves()
    before = searcher.merit
    greedy(searcher, 0, searcher.incumbent.budget)
    assert away(searcher) == 3
    score = solver.model.evaluate(np.asarray(searcher.flat.place, np.int32))
    assert score.integers[0] == round(3 / 4 * before)


def test_only_who_is_away_may_return() -> None:
    _, searcher = at_four_moves()
    cost = np.zeros(len(searcher.flat.place))
    returning(searcher.flat, cost)
    assert (np.isfinite(cost) == (searcher.flat.place != searcher.flat.home)).all()


def uneven(job: int, together: bool, seed: int) -> Model:
    """200 tasks that few of ten hosts hold most of, to be in balance with few moves; of a ``job`` at most one each.

    Some of a job may be ``together`` from the start.
    """
    rng = random.Random(seed)
    tasks = [f"t{number}" for number in range(200)]
    solver = Rebalancer("task", "host")
    held: dict[str, list[str]] = {f"h{number}": [] for number in range(10)}
    for at in range(0, 200, job):
        free = list(held)
        for task in tasks[at : at + job]:
            host = free[min(rng.randrange(len(free)), rng.randrange(len(free)))]
            held[host].append(task)
            if not together:
                free.remove(host)
    solver.set_assignment(held)
    solver.add_object_dimension("cpu", {task: rng.randrange(1, 101) for task in tasks})
    solver.add_container_dimension("cpu", dict.fromkeys(held, 10_000))
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"), weight=1_000)
    solver.add_goal(MinimizeMovementSpec(scope="host"))
    solver.add_partition("job", {f"j{at}": tasks[at : at + job] for at in range(0, 200, job)})
    solver.add_constraint(GroupCountSpec(scope="host", partition="job", limit=1))
    return solver.model


@pytest.mark.parametrize(("job", "together"), [(1, False), (4, False), (4, True)])
@pytest.mark.parametrize("seed", range(3))
def test_recalls_gain_and_break_nothing(job: int, together: bool, seed: int) -> None:
    """What is known of the cells afterwards is what they are from scratch; a second search does the same."""
    model, places = uneven(job, together, seed), []
    for _ in range(2):
        searcher = searcher_of(model)
        flat, trail, kept = searcher.flat, searcher.trail, 0
        order = np.arange(10, dtype=np.int32)
        for _ in range(4):
            trail.numbers[T_LENGTH] = 0
            descend(flat, trail, order, 0, 10, 32, searcher.least)
            swap_down(flat, trail, order, 0, 10, 24, searcher.least)
            before, seen, broken = searcher.merit, int(trail.numbers[T_KEPT]), flat.counts[N_BROKEN]
            assert recall(flat, trail, everyone(searcher), 0, 200, 6, searcher.least) == 200
            kept += int(trail.numbers[T_KEPT]) - seen
            assert searcher.merit <= before
            assert flat.counts[N_BROKEN] <= broken
            agree_with(flat, searcher.flattener, model)
        assert kept > 1
        places.append(flat.place.copy())
    assert (places[0] == places[1]).all()


@pytest.mark.parametrize("seed", range(3))
def test_evening_out(seed: int) -> None:
    """Some of what hosts have too much goes where there is room, and what is known of the cells stays right."""
    model = uneven(4, True, seed)
    searcher = searcher_of(model)
    flat, order = searcher.flat, np.arange(10, dtype=np.int32)
    for _ in range(3):
        descend(flat, searcher.trail, order, 0, 10, 32, searcher.least)
    over, room, later = np.empty(10), np.empty(10), np.empty(10)
    fullness(flat, over, room)
    before, broken = searcher.merit, flat.counts[N_BROKEN]
    searcher.even_out(searcher.incumbent.budget)
    fullness(flat, later, room)
    assert searcher.merit < before
    assert later.sum() < over.sum()
    assert flat.counts[N_BROKEN] <= broken
    agree_with(flat, searcher.flattener, model)


def scarce(room: int, goal: bool) -> bool:
    """Tell whether what a limit leaves free is scarce where one of four hosts is 10 over, and each other has room."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": ["t2"], "h2": ["t3"], "h3": ["t4"]})
    solver.add_object_dimension("cpu", dict.fromkeys(("t0", "t1", "t2", "t3", "t4"), 10))
    solver.add_container_dimension("cpu", {"h0": 10, "h1": 10 + room, "h2": 10 + room, "h3": 10 + room})
    limit = CapacitySpec(scope="host", dimension="cpu")
    if goal:
        solver.add_goal(limit)
    else:
        solver.add_constraint(limit)
    solver.add_goal(MinimizeMovementSpec(scope="host"))
    return bool(searcher_of(solver.model).flat.scarce.any())


def test_little_is_free_beside_what_is_beyond() -> None:
    """There are 30 or 300 free for the 10 that are beyond."""
    assert scarce(10, goal=True)
    assert not scarce(100, goal=True)


def test_a_limit_that_is_broken_on_one_host_is_not_scarce() -> None:
    """What is beyond it costs where it is broken only, and yet the others have room."""
    assert not scarce(100, goal=False)
