"""Levelled goals: what an objective adds up, how steep each part is, and walks with all of it equally steep."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, MinimizeMovementSpec, PlacedSpec, Rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search import walking
from rebalancer.engines.local_search.goals import Goals
from rebalancer.engines.local_search.greedy import greedy
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN
from rebalancer.engines.local_search.kernels.layout import C_VALUES, N_LEANING
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.kernels.trail import M_NOW, T_BLIND, T_GUESSES, T_HITS, appraise
from rebalancer.engines.local_search.kernels.walk import effects
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.engines.local_search.walks import MIXES, Walk, Walks
from rebalancer.model import Model
from tests.engines.local_search.test_scan import pair_cost


def fleet(tasks: int = 60, hosts: int = 7) -> Model:
    """Tasks with two resources: goals above some use of each, and one of moving little, which is far milder."""
    rng = random.Random(5)
    solver = Rebalancer("task", "host")
    names = [f"h{number}" for number in range(hosts)]
    solver.set_assignment({name: [f"t{n}" for n in range(tasks) if n % hosts == at] for at, name in enumerate(names)})
    for name in ("cpu", "memory"):
        solver.add_object_dimension(name, {f"t{n}": rng.randrange(1, 50) for n in range(tasks)})
        solver.add_container_dimension(name, {host: 48 * tasks // hosts + rng.randrange(90) for host in names})
        solver.add_constraint(CapacitySpec(scope="host", dimension=name), policy="HARD")
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu", limit=0.5))
    solver.add_goal(CapacitySpec(scope="host", dimension="memory", limit=0.45), weight=3)
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="memory"), weight=0.1)
    return solver.model


def plain_fleet() -> Rebalancer:
    """Tasks on equal hosts, to be balanced; every move costs the same."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{at}": [f"t{n}" for n in range(40) if n % 7 % 4 == at] for at in range(4)})
    solver.add_object_dimension("cpu", {f"t{n}": 1 + n * 37 % 50 for n in range(40)})
    solver.add_container_dimension("cpu", {f"h{at}": 1_000 for at in range(4)})
    solver.add_constraint(PlacedSpec())
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host"))
    return solver


def searcher_of(model: Model) -> Searcher:
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=10.0)), 3)
    searcher.turn_to(0)
    return searcher


def read(searcher: Searcher, goals: Goals) -> np.ndarray:
    return np.array(searcher.flat.values[searcher.flat.columns[goals.columns + C_VALUES]], float)


def test_goals_are_what_the_objective_adds_up() -> None:
    searcher = searcher_of(fleet())
    goals = searcher.goals()
    assert len(goals.columns) == 3
    rng = np.random.default_rng(1)
    value, before = objective(searcher.flat, 0)[1], read(searcher, goals)
    for _ in range(200):
        move(searcher.flat, int(rng.integers(60)), int(rng.integers(7)))
        after, now = objective(searcher.flat, 0)[1], read(searcher, goals)
        assert after - value == pytest.approx(float((goals.worth * (now - before)).sum()), rel=1e-6, abs=1e-6)
        value, before = after, now


def test_steepness_is_what_typical_moves_cost() -> None:
    searcher = searcher_of(fleet())
    goals, flat = searcher.goals(), searcher.flat
    changes = []
    for o in range(60):
        home = int(flat.place[o])
        for b in range(7):
            if b != home and pair_cost(flat, o, b) < FORBIDDEN:
                before = read(searcher, goals)
                move(flat, o, b)
                changes.append(np.abs(goals.worth * (read(searcher, goals) - before)))
                move(flat, o, home)
    table = np.array(changes)
    typical = table.sum(axis=0) / (table > 0).sum(axis=0)
    assert goals.steepness == pytest.approx(typical, rel=0.25)
    assert goals.share[goals.steepness.argmin()] == 0, "nothing has moved yet"
    assert goals.mildest == np.sort(goals.steepness)[1]
    assert not goals.differ, "cpu and memory are about as steep"


def test_what_is_nearly_nothing_is_no_measure_for_other_goals() -> None:
    columns, worth, steepness = np.array([0, 24]), np.array([1.0, 2.0]), np.array([1000.0, 1.0])
    for small, mildest in ((0.2, 1.0), (0.001, 1000.0)):
        goals = Goals(columns, worth, steepness, np.array([1 - small, small]))
        assert (goals.mildest, goals.differ) == (mildest, mildest == 1.0)
    assert not Goals(columns, worth, steepness, np.zeros(2)).differ, "where nothing is open nothing is levelled"
    assert not Goals(columns, worth, steepness * [0.005, 1], np.array([0.5, 0.5])).differ, "five times as steep"


@pytest.mark.parametrize("weight", [0, 1_000_000])
def test_what_cannot_be_lowered_is_no_part_of_what_is_open(weight: int) -> None:
    """Of tasks that have to be somewhere, all above nothing is too much wherever they are, however much that weighs."""
    solver = plain_fleet()
    if weight:
        solver.add_goal(CapacitySpec(scope="host", dimension="cpu", limit=0.0), weight=weight)
    searcher = searcher_of(solver.model)
    greedy(searcher, 0, searcher.incumbent.budget)
    goals = searcher.goals()
    value = read(searcher, goals) * goals.worth
    moves = goals.steepness == goals.mildest
    assert moves.sum() == 1, "the mildest is a move"
    open_ = np.where(value > 0.5 * value.sum(), 0.0, value) if weight else value
    assert goals.share == pytest.approx(open_ / open_.sum(), abs=1e-9)
    assert goals.differ


def test_goals_that_need_no_rounding_can_be_levelled_too() -> None:
    """Equal hosts and whole weights: the objective is one sum over all cells, but its goals are still told apart."""
    solver = plain_fleet()
    searcher = searcher_of(solver.model)
    greedy(searcher, 0, searcher.incumbent.budget)
    goals = searcher.goals()
    moved = int((searcher.flat.place != searcher.flat.home).sum())
    value = read(searcher, goals) * goals.worth
    assert (value.sum(), len(value)) == (pytest.approx(objective(searcher.flat, 0)[1]), 2)
    assert moved * goals.mildest == pytest.approx(value[goals.steepness.argmin()]), (
        "the mildest is a move, which is the same for all"
    )
    assert goals.differ


@pytest.mark.parametrize("near", [False, True])
def test_the_first_relaxed_walk_goes_home_more_often_far_from_the_bound(near: bool) -> None:
    walks = Walks(crowded=True, uneven=False, steps=10_000, near=near)
    first = walks.next()
    assert first.relaxed
    homes = [walks.mix(first)[1]] + [walks.mix(walks.next())[1] for _ in range(3)]
    usual = [mix[1] for mix in MIXES]
    assert homes[1:] == [usual[1], usual[2], usual[0]]
    assert homes[0] == usual[0] if near else homes[0] > max(usual)


def test_goals_are_levelled_once_the_steep_ones_are_nearly_gone() -> None:
    walks = Walks(crowded=False, uneven=False, steps=10_000)
    assert not walks.next().levelled
    walks.notice(False)
    assert not walks.next().levelled
    walks.notice(True)
    assert [walk.share for walk in ending_lower(walks, 2)] == pytest.approx([0.05, 0.07])
    walks.notice(False)
    assert walks.next().levelled, "else it would go back and forth"
    for other in (Walks(False, False, 50), Walks(True, False, 10_000)):
        other.notice(True)
        assert not other.next().levelled


@pytest.mark.parametrize(
    ("relaxed", "daring", "other"),
    [(0.9, "relaxed", "relaxed"), (1.3, "levelled", "relaxed"), (2.5, "levelled", "levelled")],
)
def test_a_trial_that_is_close_is_believed_by_one_of_two(relaxed: float, daring: str, other: str) -> None:
    """One short walk of each kind ends at what it does; the longer ones that follow are alike unless it is close."""
    kinds = []
    for who in (True, False):
        walks = Walks(crowded=True, uneven=True, steps=60_000, daring=who)
        for end in (relaxed, 1.0):
            walks.learn(walks.next(), end)
        kinds.append("relaxed" if walks.next().relaxed else "levelled")
    assert kinds == [daring, other]


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_what_leans_is_ranked_and_judged_alike(share: float) -> None:
    searcher = searcher_of(fleet())
    flat, trail = searcher.flat, searcher.trail
    goals = searcher.goals()
    goals.level(flat, share)
    factors = 1 + flat.lean[goals.columns] / goals.worth
    expected = np.minimum(1.0, (goals.mildest / goals.steepness) ** share)  # what is milder stays as it is
    assert factors == pytest.approx(expected)
    worth = trail.worth.copy()
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(300):
        o, b = int(rng.integers(60)), int(rng.integers(7))
        compute(flat, worth)
        appraise(flat, trail)
        cost, merit, before = pair_cost(flat, o, b), float(trail.merits[M_NOW]), read(searcher, goals)
        if b == flat.place[o] or cost >= FORBIDDEN:
            continue
        move(flat, o, b)
        appraise(flat, trail)
        changed = float((goals.worth * factors * (read(searcher, goals) - before)).sum())
        assert float(trail.merits[M_NOW]) - merit == pytest.approx(changed, rel=1e-6, abs=1e-3)
        assert cost == pytest.approx(changed, rel=1e-6, abs=1e-3)
        seen += 1
    assert seen > 50


def test_goals_that_are_no_longer_levelled_are_what_they_were() -> None:
    searcher = searcher_of(fleet())
    goals = searcher.goals()
    before = float(searcher.trail.merits[M_NOW])
    goals.level(searcher.flat, 1.0)
    assert appraise(searcher.flat, searcher.trail) < before
    goals.level(searcher.flat, 0.0)
    assert searcher.flat.counts[N_LEANING] == 0
    assert appraise(searcher.flat, searcher.trail) == before


def test_effects_leave_nothing_behind() -> None:
    searcher = searcher_of(fleet())
    goals = searcher.goals()
    values, place = searcher.flat.values.copy(), searcher.flat.place.copy()
    changes = np.zeros((100, len(goals.columns)))
    assert effects(searcher.flat, searcher.trail, goals.columns, changes) == 100
    assert (changes != 0).any(axis=0).all()
    assert (searcher.flat.values == values).all()
    assert (searcher.flat.place == place).all()


def test_a_levelled_walk_keeps_the_best_answer() -> None:
    """From an optimum, however far a walk goes from it."""
    model = fleet()
    searcher = searcher_of(model)
    budget = searcher.incumbent.budget
    greedy(searcher, 0, budget.part(0.5))
    walking.walk(searcher, budget.part(0.5), 0.01, (0.3, 0.3, 0.3))
    searcher.rest()
    best, merit = searcher.flat.place.copy(), searcher.merit
    walking.levelled(searcher, 0, budget.part(0.0), budget.part(0.05), 0.25, (0.3, 0.3, 0.3))
    searcher.rest()
    assert searcher.merit <= merit
    if searcher.merit == merit:
        assert (searcher.flat.place == best).all()
    assert searcher.flat.counts[N_LEANING] == 0
    searcher.hand_over()
    score = model.evaluate(searcher.incumbent.best)
    assert score.feasible
    assert searcher.incumbent.integers == score.integers


def test_a_levelled_walk_afresh_starts_from_the_initial_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = searcher_of(plain_fleet().model)
    budget = searcher.incumbent.budget
    greedy(searcher, 0, budget.part(0.2))
    searcher.rest()
    assert (searcher.flat.place != searcher.flat.home).any()
    stood: list[np.ndarray] = []

    def walked(searcher: Searcher, *_: object) -> None:
        stood.append(searcher.flat.place.copy())

    monkeypatch.setattr(walking, "walk", walked)
    monkeypatch.setattr(Searcher, "sweep", lambda *_, **__: None)
    for afresh in (True, False):
        best, merit = searcher.flat.place.copy(), searcher.merit
        walking.levelled(searcher, 0, budget, budget.part(0.0), 0.25, MIXES[0], afresh)
        assert (stood.pop() == (searcher.flat.home if afresh else best)).all()
        searcher.rest()
        assert searcher.merit <= merit


def ending_lower(walks: Walks, number: int) -> list[Walk]:
    """Return so many walks, each of which ends lower than all before."""
    made = []
    for merit in range(number, 0, -1):
        made.append(walks.next())
        walks.learn(made[-1], float(merit))
    return made


def test_walks_grow_while_they_end_lower_and_there_is_time() -> None:
    walks = Walks(crowded=False, uneven=True, steps=10_000)
    grown = [0.05, 0.07, 0.098, 0.1372, 0.19208, 0.268912, 0.3764768, 0.3764768]  # by 1.4, six times
    assert [walk.share for walk in ending_lower(walks, 8)] == pytest.approx(grown)
    assert walks.next(0.1).share == pytest.approx(0.085)
    assert not walks.next(0.005).levelled  # fewer than 130 steps for each object
    for steps, share in ((6_000, 0.05), (1_000, 0.3), (200, 0.85)):  # 300 for each object where there is time
        one = Walks(crowded=False, uneven=True, steps=steps).next(1.0)
        assert (one.levelled, one.share) == (True, share)
    for other in (Walks(False, True, 50), Walks(False, False, 10_000), Walks(True, True, 10_000)):
        assert not other.next(1.0).levelled


def test_walks_of_ample_steps_that_end_no_lower_stay_as_short_as_they_are() -> None:
    walks = Walks(crowded=False, uneven=True, steps=80_000)
    shares = []
    for merit in (5.0, 5.0, 6.0, 4.0, 4.5, 3.0, 3.0):
        walk = walks.next(1.0)
        shares.append(walk.share)
        walks.learn(walk, merit)
    assert shares == pytest.approx([0.05, 0.07, 0.07, 0.07, 0.098, 0.098, 0.1372])
    walks = Walks(crowded=False, uneven=True, steps=40_000)
    for share in (0.05, 0.07, 0.098, 0.1372, 0.1372):  # four thousand for each object from the fourth on
        walk = walks.next(1.0)
        assert walk.share == pytest.approx(share)
        walks.learn(walk, 5.0)


def test_every_other_walk_with_levelled_goals_starts_afresh_if_there_are_steps_for_it() -> None:
    walks = Walks(crowded=False, uneven=True, steps=20_000)
    assert [walks.next(1.0).afresh for _ in range(6)] == [False, True, False, True, False, True]
    walks = Walks(crowded=False, uneven=True, steps=5_000)  # a thousand from the sixth walk on
    assert [walk.afresh for walk in ending_lower(walks, 8)] == [False] * 5 + [True, False, True]


def test_walks_leave_time_for_trades_where_they_have_steps_enough() -> None:
    walks = Walks(crowded=False, uneven=True, steps=10_000)
    ending_lower(walks, 6)
    assert walks.next(0.5, 1.0).share == pytest.approx(0.25)
    assert walks.next(0.15, 1.0).share == pytest.approx(0.1)  # a thousand steps for each object
    assert walks.next(0.5, 0.25).share == pytest.approx(0.3764768)
    assert not walks.settles(Walk(0.25, 0.09))
    assert walks.settles(Walk(0.25, 0.11))


def test_where_limits_forbid_most_moves_the_first_walk_relaxes_them() -> None:
    assert Walks(True, False, 8_000).next() == Walk(16.0, 0.9, relaxed=True)
    assert Walks(True, False, 2_000).next() == Walk(8.0, 0.9, relaxed=True)  # the hotter the more steps
    assert Walks(True, False, 4_000, daring=False).next().relaxed
    assert Walks(True, False, 4_000, hot=2_001.0, containers=1_000).relaxing
    assert Walks(True, False, 2_000, hot=201.0, containers=100).relaxing


def test_with_too_few_steps_for_that_short_walks_stir_what_moves_have_settled() -> None:
    many = Walks(True, False, 4_000, hot=2_000.0, containers=1_000)
    for hurried in (Walks(True, False, 200), Walks(True, False, 4_000, hot=200.0), Walks(True, False, 0.0), many):
        assert not hurried.relaxing
        walks = [hurried.next(0.5) for _ in range(4)]
        assert all(walk.raced and not walk.relaxed and not walk.afresh for walk in walks)
        assert len(set(walks)) == 1
        assert hurried.next(0.01).share == 0.01, "no more than is left"
    shares = [Walks(True, False, steps, hot=0.0).next().share for steps in (50_000, 1_000, 100)]
    assert shares == pytest.approx([0.02, 0.1, 0.2]), "a hundred steps for each object, within reason"


def test_one_of_two_searchers_starts_afresh_where_there_are_steps_for_it() -> None:
    assert Walks(True, False, 4_000, daring=False).next().afresh
    assert not Walks(True, False, 4_000, daring=True).next().afresh
    hurried = Walks(True, False, 3_999, daring=False)
    assert hurried.next().relaxed
    assert not Walks(True, False, 3_999, daring=False).next().afresh
    assert not any(hurried.next().afresh for _ in range(4)), "later walks improve what there is"


def test_close_to_the_bound_there_are_several_walks_instead_of_a_long_one() -> None:
    walks = Walks(True, False, 500_000, daring=False, near=True)
    thorough, polish = Walk(16.0, 0.16, relaxed=True, afresh=True), Walk(0.3, 0.04)
    assert [walks.next(0.9), walks.next(0.7), walks.next(0.5)] == [thorough, polish, thorough]
    assert walks.next(0.1) == polish
    assert walks.next(0.1).share == 0.1, "no more than is left"
    # fifty thousand steps for each object at least; and where that is most of the time, all of it
    assert Walks(True, False, 100_000, near=True).next().share == pytest.approx(0.5)
    for steps in (50_000, 8_000):
        hurried, other = Walks(True, False, steps, near=True), Walks(True, False, steps)
        assert [hurried.next(0.5) for _ in range(4)] == [other.next(0.5) for _ in range(4)]


def test_where_there_is_time_one_walk_of_each_kind_decides() -> None:
    for relaxed, levelled in ((1.0, 2.0), (2.0, 1.0), (float("inf"), 1.0)):
        walks = Walks(True, True, 100_000)
        trials = [walks.next(), walks.next()]
        assert [(walk.relaxed, walk.levelled) for walk in trials] == [(True, False), (False, True)]
        assert trials[1].afresh, "a mild walk from a good answer ends near it, and tells nothing"
        assert all(walk.share * walks.steps >= 1_000 for walk in trials)
        assert sum(walk.share for walk in trials) < 0.1
        for walk, end in zip(trials, (relaxed, levelled), strict=True):
            walks.learn(walk, end)
        assert walks.next().levelled == (levelled < relaxed)


@pytest.mark.parametrize("steps", [0.0, -10.0])
def test_there_are_walks_when_the_time_is_over(steps: float) -> None:
    assert Walks(True, True, steps).next(0.0)


@pytest.mark.parametrize(("hits", "share"), [(0, 10), (30, 20), (300, 20)])
def test_moves_against_their_slopes_are_tried_where_that_pays(hits: int, share: int) -> None:
    searcher = searcher_of(fleet())
    numbers = searcher.trail.numbers
    numbers[T_BLIND], numbers[T_GUESSES], numbers[T_HITS] = 20, 1_000, hits
    searcher.guess()
    assert numbers[T_BLIND] == share
    assert numbers[T_GUESSES] == numbers[T_HITS] == 0


def test_each_position_begins_with_a_merit_of_its_own() -> None:
    """What an answer was worth for one position says nothing of another: an old merit would hide every answer."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"a": ["t0", "t1", "t2"], "b": []})
    solver.add_goal(MinimizeMovementSpec(scope="host"), tuple_pos=0)
    solver.add_goal(CapacitySpec(scope="host", dimension="task_count", limit=0.0), weight=9, tuple_pos=1)
    searcher = searcher_of(solver.model)
    assert searcher.best_merit == 0
    searcher.turn_to(1)
    assert searcher.best_merit == searcher.merit > 0
