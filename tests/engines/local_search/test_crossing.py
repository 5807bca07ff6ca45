"""Crossing: a walk through what is worse in earlier tuple positions comes back, and keeps only what is better."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from rebalancer import AssignmentAffinitiesSpec, CapacitySpec, GroupCountSpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search import search
from rebalancer.engines.local_search.crossing import cross, shut_in
from rebalancer.engines.local_search.engine import LocalSearchEngine
from rebalancer.engines.local_search.kernels.propagate import objective
from rebalancer.engines.local_search.kernels.trail import T_LENGTH, T_POSITION, T_RELAXED
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.engines.local_search.walks import MIXES, Crossings, crosses
from rebalancer.model import Model


def pairs(number: int) -> Model:
    """Pairs of full hosts, one of three small tasks and one of two large ones, all of which would change places.

    No move or exchange gains: what is beyond a capacity is the first position.
    """
    solver = Rebalancer("task", "host")
    small = [[f"s{pair}.{i}" for i in range(3)] for pair in range(number)]
    large = [[f"l{pair}.{i}" for i in range(2)] for pair in range(number)]
    solver.set_assignment({host(pair, side): (small, large)[side][pair] for pair in range(number) for side in (0, 1)})
    sizes = {task: size for size, kind in ((2, small), (3, large)) for tasks in kind for task in tasks}
    solver.add_object_dimension("cpu", sizes)
    solver.add_container_dimension("cpu", {host(pair, side): 6 for pair in range(number) for side in (0, 1)})
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu"))
    likes = [
        {"object_name": task, "scope_item_name": host(pair, side), "affinity": 1.0}
        for side, kind in ((1, small), (0, large))
        for pair in range(number)
        for task in kind[pair]
    ]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=likes), tuple_pos=1)
    return solver.model


def host(pair: int, side: int) -> str:
    """Return the name of a host."""
    return f"h{pair}.{side}"


def searcher_of(model: Model, position: int = 1, seed: int = 3) -> Searcher:
    """Return a searcher at the start, at a tuple position."""
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0, deterministic=True)), seed)
    searcher.turn_to(position)
    return searcher


def crossed(searcher: Searcher, seconds: float = 0.05, multiple: float = 1.0) -> bool:
    """Cross once; return whether that found something better."""
    budget = searcher.incumbent.budget
    position = int(searcher.trail.numbers[T_POSITION])
    return cross(searcher, position, budget, budget.part(seconds), multiple, MIXES[0])


def test_who_changes_places_all_at_once_is_found() -> None:
    model = pairs(4)
    searcher = searcher_of(model)
    assert crossed(searcher)
    searcher.rest()
    assert model.evaluate(searcher.flat.place).objective.tolist() == [0, -5 * 4]


def test_nothing_better_leaves_all_as_it_was() -> None:
    model = pairs(2)
    searcher = searcher_of(model)
    best = (model.problem.initial ^ 1).astype(np.int32)  # the other host of the pair
    assert model.evaluate(best).objective.tolist() == [0, -10]
    searcher.start_at(best)
    searcher.turn_to(1)
    merit = searcher.merit
    assert not crossed(searcher)
    searcher.rest()
    assert searcher.flat.place.tolist() == best.tolist()
    assert searcher.merit == searcher.best_merit == merit


@pytest.mark.parametrize("seed", range(6))
def test_the_best_answer_is_never_worse_and_holds_what_must_hold(seed: int) -> None:
    rng = random.Random(seed)
    solver = Rebalancer("task", "host")
    tasks, hosts = [f"t{i}" for i in range(40)], [f"h{i}" for i in range(5)]
    solver.set_assignment({name: tasks[at::5] for at, name in enumerate(hosts)})
    solver.add_object_dimension("cpu", {task: rng.randint(1, 9) for task in tasks})
    solver.add_container_dimension("cpu", dict.fromkeys(hosts, 80))
    solver.add_partition("job", {f"j{at}": tasks[at::8] for at in range(8)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(GroupCountSpec(scope="host", partition="job", limit=1))
    solver.add_goal(MinimizeMovementSpec(scope="host"), tuple_pos=1)
    likes = [
        {"object_name": task, "scope_item_name": name, "affinity": float(rng.randint(1, 20))}
        for task in tasks
        for name in hosts
    ]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=likes), tuple_pos=2)
    model = solver.model
    searcher = searcher_of(model, seed % 2 + 1, seed)
    for multiple in (0.3, 3.0, 1.0):
        before = model.evaluate(searcher.flat.place).integers
        gained = crossed(searcher, multiple=multiple)
        searcher.rest()
        after = model.evaluate(searcher.flat.place)
        position = int(searcher.trail.numbers[T_POSITION])
        assert after.feasible
        assert gained == (after.integers[: position + 1] < before[: position + 1])
        assert after.integers[: position + 1] <= before[: position + 1]
        assert [objective(searcher.flat, at)[0] for at in range(3)] == list(after.integers), "nothing is out of step"
        assert not searcher.trail.numbers[T_RELAXED]
        assert not searcher.trail.numbers[T_LENGTH]
        assert searcher.trail.worth.tolist() == [float(at == position) for at in range(3)]


def test_only_positions_in_the_way_shut_a_search_in() -> None:
    assert shut_in(searcher_of(pairs(2)), 1)
    assert not shut_in(searcher_of(pairs(2), 0), 0), "none is earlier"
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": []})
    solver.add_object_dimension("cpu", {"a": 1, "b": 1})
    solver.add_container_dimension("cpu", {"h0": 9, "h1": 9})
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host"), tuple_pos=1)
    assert not shut_in(searcher_of(solver.model), 1)


def test_crossings_are_rarer_while_they_bring_nothing() -> None:
    crossings = Crossings()
    turns = []
    for turn in range(45):
        if crossings.due():
            turns.append(turn)
            crossings.next()
            crossings.learn(gained=len(turns) == 6)
    waits = [later - turn - 1 for turn, later in itertools.pairwise(turns)]
    assert turns[0] == 0
    assert waits == [2, 4, 8, 8, 8, 1, 2]


def test_crossings_get_longer() -> None:
    crossings = Crossings()
    walks = [crossings.next() for _ in range(8)]
    assert [walk.multiple for walk in walks[:4]] == [0.3, 1.0, 3.0, 0.3]
    shares = [walk.share for walk in walks]
    assert shares[0] == 0.05
    assert shares[1] == pytest.approx(0.07)
    assert shares[6] == shares[7] == pytest.approx(0.05 * 1.4**6)
    assert {crossings.mix()} <= set(MIXES)


def test_walks_across_have_steps_enough_or_there_are_none() -> None:
    assert crosses(2_600)
    assert not crosses(2_500), "125 for each object would be too few"


def test_local_search_crosses_where_it_is_shut_in(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(searcher: Searcher, position: int, *rest: object) -> bool:
        calls.append(position)
        return cross(searcher, position, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "cross", counted)
    model = pairs(3)
    answer = LocalSearchEngine().solve(model, Request(time_limit=1.0, deterministic=True, workers=1))
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).objective.tolist() == [0, -15]
    assert calls
    assert set(calls) == {1}
