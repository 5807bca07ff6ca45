"""What searchers side by side take over from each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import BalanceSpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.local_search.greedy import greedy
from rebalancer.engines.local_search.kernels.cross import parts
from rebalancer.engines.local_search.kernels.layout import N_BROKEN
from rebalancer.engines.local_search.kernels.propagate import move
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.engines.local_search.sharing import Crew
from rebalancer.model import Model
from tests.engines.local_search.test_thousands import agree_with
from tests.engines.local_search.test_trade import fleet, searcher_of


def pairs(count: int) -> Model:
    """Pairs of a host with two tasks and an empty one; balance is worth more than the moves it takes."""
    solver = Rebalancer("task", "host")
    held = {f"h{2 * n}": [f"t{2 * n}", f"t{2 * n + 1}"] for n in range(count)}
    solver.set_assignment(held | {f"h{2 * n + 1}": [] for n in range(count)})
    solver.add_object_dimension("cpu", {f"t{n}": 10 for n in range(2 * count)})
    solver.add_container_dimension("cpu", {f"h{n}": 20 for n in range(2 * count)})
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"), weight=1_000)
    solver.add_goal(MinimizeMovementSpec(scope="host"))
    return solver.model


def side_by_side(model: Model, *moves: dict[str, str]) -> list[Searcher]:
    """Return searchers of one incumbent, each where some objects are elsewhere."""
    first = searcher_of(model)
    made = [first, *(Searcher(model, first.incumbent, seed) for seed in range(2, len(moves) + 1))]
    for searcher, places in zip(made, moves, strict=True):
        for name, container in places.items():
            move(searcher.flat, model.problem.objects.index[name], model.problem.containers.index[container])
        searcher.turn_to(0)
    return made


def held(searcher: Searcher) -> dict[str, str]:
    """Return where objects are that are not at home."""
    problem, flat = searcher.model.problem, searcher.flat
    away = np.flatnonzero(flat.place != flat.home)
    return {problem.objects.array[o]: problem.containers.array[flat.place[o]] for o in away}


def test_what_two_have_found_in_different_places_comes_together() -> None:
    """In pairs of hosts nothing of which concerns another pair each answer has what the other one lacks."""
    common = {f"t{2 * n}": f"h{2 * n + 1}" for n in range(4, 16)}
    one, other = side_by_side(pairs(16), common | {"t0": "h1", "t4": "h5"}, common | {"t2": "h3"})
    one.hand_over()
    other.join()
    assert held(other) == common | {"t0": "h1", "t4": "h5", "t2": "h3"}
    other.hand_over()
    one.join()
    assert held(one) == held(other)
    assert one.incumbent.integers == one.model.evaluate(one.flat.place).integers
    agree_with(other.flat, other.flattener, other.model)


def test_another_descent_is_taken_whole_or_not_at_all() -> None:
    """Answers that have next to nothing in common: the better one, unless this searcher will soon be better itself."""
    better, worse = {f"t{2 * n}": f"h{2 * n + 1}" for n in range(3)}, {"t7": "h7"}
    for hope, taken in ((math.inf, False), (0.0, True)):
        one, other = side_by_side(pairs(4), better, worse)
        one.hand_over()
        with other.sharing.taking_over():
            other.sharing.expect(hope)
            other.join()
        assert held(other) == (better if taken else worse)


def test_a_worse_answer_leaves_a_better_one_as_it_is() -> None:
    common = {f"t{2 * n}": f"h{2 * n + 1}" for n in range(1, 8)}
    one, other = side_by_side(pairs(8), common, common | {"t0": "h1"})
    one.hand_over()
    other.join()
    assert held(other) == common | {"t0": "h1"}


@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_must_hold_is_broken_by_taking_over(seed: int) -> None:
    """Jobs and capacities concern several parts at once: each is judged as the answer is by then."""
    model = fleet(60, 8, job=4, together=2, policy="", seed=seed)
    one, other = side_by_side(model, {}, {})
    for searcher in (one, other):
        greedy(searcher, 0, searcher.incumbent.budget.part(0.5))
        searcher.rest()
    best = min(one.merit, other.merit)
    one.hand_over()
    other.join()
    assert other.merit <= best
    assert not other.flat.counts[N_BROKEN]
    agree_with(other.flat, other.flattener, model)


@given(st.data())
def test_parts_are_the_components_of_what_differs(data: st.DataObject) -> None:
    """By sets of containers, joined while they meet."""
    model = pairs(3)
    searcher = searcher_of(model)
    containers = searcher.containers
    place = np.array([data.draw(st.integers(0, containers)) for _ in searcher.flat.place], np.int32)
    part = np.empty_like(place)
    differ = parts(searcher.flat, place, part, np.empty(containers, np.int32))
    moved = {o: {int(searcher.flat.place[o]), int(place[o])} - {containers} for o in range(len(place))}
    moved = {o: ends for o, ends in moved.items() if searcher.flat.place[o] != place[o]}
    expected = {o: {o} for o in moved}
    for o in moved:
        for q in moved:
            if moved[o] & moved[q] and expected[o] is not expected[q]:
                expected[o] |= expected[q]
                for each in tuple(expected[o]):
                    expected[each] = expected[o]
    assert differ == len(moved)
    assert all(part[o] == -1 for o in range(len(place)) if o not in moved)
    for o, members in expected.items():
        assert {q for q in moved if part[q] == part[o]} == members


def test_a_crew_divides_what_there_is() -> None:
    crew, things = Crew(pairs(1)), np.arange(7, dtype=np.int32)
    first, second = crew.number(), crew.number()
    assert crew.own(first, things).all(), "who is not at work divides nothing"
    with crew.at_work(first):
        assert crew.own(first, things).all()
        assert not crew.several
        with crew.at_work(second):
            assert crew.several
            assert (crew.own(first, things) ^ crew.own(second, things)).all()
        assert crew.own(first, things).all()
