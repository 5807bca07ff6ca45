"""Neighbourhood search: better and better, always feasible, the same on every run where that is asked for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rebalancer import AssignmentAffinitiesSpec, BalanceSpec, CapacitySpec, Rebalancer
from rebalancer.engines.base import Progress, Request, Status
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.engine import NeighbourhoodEngine
from rebalancer.engines.neighbourhood.kinds import Scene, kinds_of
from rebalancer.engines.neighbourhood.repair import relaxation
from rebalancer.engines.neighbourhood.state import State, integers_of
from rebalancer.model import CellValues, Model
from tests.engines.news import last_of_each
from tests.engines.worlds import crowded, impossible


@pytest.fixture(scope="module")
def model() -> Model:
    return crowded(120, 6)


def overfull(policy: str = "HARD") -> Model:
    """28 tasks of size 2 on the first of four hosts that bear 20 each."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": [f"t{n}" for n in range(28)], "h1": [], "h2": [], "h3": []})
    solver.add_object_dimension("cpu", {}, default=2)
    solver.add_container_dimension("cpu", {f"h{n}": 20 for n in range(4)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"), name="fits", policy=policy)
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    return solver.model


def test_answers_get_better_and_every_improvement_is_told(model: Model) -> None:
    seen: list[Progress] = []
    answer = NeighbourhoodEngine().solve(model, Request(time_limit=60, iterations=40, on_progress=seen.append))
    assert answer.assignment is not None
    score, start = model.evaluate(answer.assignment), model.evaluate(model.problem.initial)
    assert score.feasible
    assert score.integers < start.integers
    assert score.integers[0] < start.integers[0] // 2
    last_of_each(seen, model)


def test_the_same_work_gives_the_same_answer(model: Model) -> None:
    answers = [
        NeighbourhoodEngine().solve(model, Request(time_limit=None, iterations=12, deterministic=True, workers=workers))
        for workers in (2, 2)
    ]
    first, again = (answer.assignment for answer in answers)
    assert first is not None
    assert np.array_equal(first, again)
    assert (first != model.problem.initial).any()


def test_a_broken_start_is_repaired() -> None:
    model = overfull()
    answer = NeighbourhoodEngine().solve(model, Request(time_limit=30, iterations=60))
    assert answer.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).feasible


def test_what_cannot_be_repaired_is_unknown() -> None:
    answer = NeighbourhoodEngine().solve(impossible(), Request(time_limit=30, iterations=20))
    assert (answer.status, answer.assignment) == (Status.UNKNOWN, None)
    assert answer.reason is not None
    assert "'fits'" in answer.reason


def test_the_relaxation_is_zero_where_nothing_is_broken() -> None:
    model = overfull()
    relaxed = relaxation(model, model.problem.initial)
    even = np.arange(28, dtype=np.int32) % 4
    broken, whole = (integers_of(relaxed, CellValues(model.problem, at))[0] for at in (model.problem.initial, even))
    assert broken > 0
    assert whole == 0
    assert relaxed.hard == ()


def test_what_is_violated_may_be_larger_than_what_a_repair_adds_up() -> None:
    """Two of 10^17 + 1 on a host that bears 10^17 + 1: that is above 2^55; a byte too much counts as well."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": [], "h2": []})
    solver.add_object_dimension("mem", {"t0": 10**17 + 1, "t1": 10**17 + 1})
    solver.add_container_dimension("mem", {"h0": 10**17 + 1, "h1": 10**17, "h2": 2 * 10**17})
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), name="fits", policy="HARD")
    model = solver.model
    relaxed = relaxation(model, model.problem.initial)
    objective = relaxed.tuple_positions[0].objective
    for at in itertools.product(range(3), repeat=2):
        assignment = np.array(at, np.int32)
        broken = integers_of(relaxed, CellValues(model.problem, assignment))[0]
        assert 0 <= broken <= objective.high
        assert (broken == 0) == model.evaluate(assignment).feasible == (at in ((0, 2), (2, 0)))
    answer = NeighbourhoodEngine().solve(model, Request(time_limit=None, iterations=20, deterministic=True))
    assert answer.assignment is not None
    assert sorted(answer.assignment.tolist()) == [0, 2]


def test_a_proven_answer_ends_the_search() -> None:
    model = overfull("DEFAULT")
    answer = NeighbourhoodEngine().solve(model, Request(time_limit=60))
    assert answer.status is Status.OPTIMAL, "seven tasks each is as even as it gets, and the averaging bound says so"
    assert answer.bounds == (0,)


def test_a_state_follows_what_others_found(model: Model) -> None:
    rng = np.random.default_rng(3)
    state = State(model, model.problem.initial)
    for changed in (1, 7, 110, 40):
        there = state.assignment.copy()
        there[rng.choice(len(there), changed, replace=False)] = rng.integers(0, 6, changed)
        state.follow(there)
        assert np.array_equal(state.assignment, there)
        assert state.integers == model.evaluate(there).integers


def test_a_choice_there_and_back() -> None:
    assignment = np.array([2, 0, -1, 1], np.int32)
    choice = Choice.of(assignment, np.array([3, 0, 0]), np.array([2, -1, 1]))
    assert choice.objects.tolist() == [0, 3]
    assert choice.containers.tolist() == [1, 2]
    assert choice.literals.object.tolist() == [0, 0, 0, 1, 1]
    assert choice.literals.container.tolist() == [0, 1, -1, 0, 1]
    assert choice.local(assignment).tolist() == [1, 0]
    assert choice.whole(assignment, np.array([-1, 1], np.int32)).tolist() == [-1, 0, -1, 2]


def test_every_kind_of_part_frees_something(model: Model) -> None:
    rng = np.random.default_rng(0)
    moved = model.problem.initial.copy()
    moved[:40] = rng.integers(0, 6, 40)
    scene = Scene(moved, model.problem.initial, rng.random(6))
    for kind in kinds_of(model).values():
        choice = kind(scene, 300, rng)
        assert choice is not None
        assert choice.literals.count > len(choice.objects) > 0
        assert choice.literals.count < 4 * 300


def test_who_began_unplaced_makes_way_for_another_one_who_did() -> None:
    """One host that bears one of three tasks, each worth more than that before: the first has it, the last gets it."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": []}, unassigned=["t0", "t1", "t2"])
    limit = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(CapacitySpec(scope="host", dimension="task_count", limit=limit))
    worth = [{"object_name": f"t{n}", "scope_item_name": "h0", "affinity": n + 1} for n in range(3)]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=worth), tuple_pos=1)
    model = solver.model
    here = np.array([0, -1, -1], np.int32)
    choice = kinds_of(model)["unplaced"](Scene(here, model.problem.initial, np.ones(1)), 300, np.random.default_rng(0))
    assert choice is not None
    assert set(zip(choice.literals.object.tolist(), choice.literals.container.tolist(), strict=True)) == {
        (task, place) for task in range(3) for place in (0, -1)
    }
    answer = NeighbourhoodEngine().solve(model, Request(time_limit=60, iterations=20, workers=1, seed=2))
    assert answer.assignment is not None
    assert answer.assignment.tolist() == [-1, -1, 0]


def test_an_incumbent_takes_only_what_is_better_and_feasible(model: Model) -> None:
    incumbent = Incumbent.of(model, Request())
    assert incumbent.version == 1
    assert not incumbent.offer(model.problem.initial)
    worse = np.zeros_like(model.problem.initial)
    assert not incumbent.offer(worse)
    assert incumbent.version == 1
    assert incumbent.best is not None
    with pytest.raises(ValueError, match="read-only"):
        incumbent.best[0] = 3
