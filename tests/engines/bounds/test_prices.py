"""What objects pay, where they began or elsewhere, is a lower bound, and as good as hand arithmetic says."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ortools.math_opt.core.python import solver

from rebalancer import BalanceSpec, CapacitySpec, MinimizeMovementSpec, PlacedSpec, Rebalancer, engines
from rebalancer.engines.base import Request
from rebalancer.engines.bounds import bounding, lower_bounds, program, raising
from rebalancer.engines.bounds.leaving import Excess, least_costs
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood.state import integers_of
from rebalancer.model import Model
from rebalancer.scenario.importers.google_machine_reassignment import convert
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint, Goal, Policy, check_entries
from tests.examples import examples
from tests.property.catalogue import specs
from tests.property.problems import every_feasible, models, worlds

ROOT = Path(__file__).parents[3]

#: What makes objects leave, and what makes them stay.
BENT = ("balance", "capacity", "group_count", "skew", "util_increase_cost", "drain_capacity")
STRAIGHT = ("minimize_movement", "transition_cost", "assignment_affinities", "avoid_moving", "to_free", "unplaced_cost")


@st.composite
def tugs_of_war(draw: st.DrawFn) -> Model:
    """Goals that are hinges against goals that are straight, with capacities and everything placed or not."""
    problem = draw(worlds(4, 3))
    size = len(problem.objects), len(problem.containers)
    weights = st.sampled_from([Fraction(1), Fraction(2), Fraction("0.3"), Fraction("0.01")])
    keys = [*draw(st.lists(st.sampled_from(BENT), min_size=1, max_size=2)), draw(st.sampled_from(STRAIGHT))]
    goals = [Goal(draw(specs(key, *size)), None, draw(weights), 0) for key in keys]
    constraints = [Constraint(PlacedSpec(), None, Policy.DEFAULT)] if draw(st.booleans()) else []
    if draw(st.booleans()):
        constraints.append(Constraint(draw(specs("capacity", *size)), None, Policy.DEFAULT))
    assume(not check_entries(problem, goals, constraints))
    return compile_model(problem, goals, constraints)


def check(model: Model) -> None:
    """No assignment that holds the hard cells is below a bound, at any tuple position."""
    bounds = lower_bounds(model)
    for values in every_feasible(model):
        for bound, reached in zip(bounds, integers_of(model, values), strict=True):
            assert bound <= reached


@examples(150)
@given(tugs_of_war())
def test_nothing_is_below_the_bound_where_goals_pull_both_ways(model: Model) -> None:
    check(model)


@examples(60)
@given(models(objects=4, containers=3))
def test_nothing_is_below_the_bound_of_any_mixture(model: Model) -> None:
    check(model)


def fleet(contents: dict[str, list[int]], capacities: dict[str, int], price: float, by_size: bool = False) -> Model:
    """Tasks of these sizes on hosts, to be balanced linearly, at a price per task that moves.

    Or, ``by_size``, at a thousandth of it for each host that moves fill.
    """
    solver = Rebalancer("task", "host")
    names = {host: [f"{host}-{number}" for number in range(len(sizes))] for host, sizes in contents.items()}
    solver.set_assignment(names)
    sizes = {name: size for host in contents for name, size in zip(names[host], contents[host], strict=True)}
    solver.add_object_dimension("cpu", sizes)
    solver.add_container_dimension("cpu", capacities)
    solver.add_constraint(PlacedSpec())
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    filled, counted = MinimizeMovementSpec(scope="host", dimension="cpu"), MinimizeMovementSpec(do_not_normalize=True)
    solver.add_goal(filled if by_size else counted, weight=price)
    return solver.model


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        # Half of the load of 9 is too much, 0.05 for each unit. To move the 4 is 0.12 instead of 0.2; 0.5 units stay
        (0.12, 0.12 + 0.025),
        # it would pay to move another half of a unit, but tasks are whole: one host has 5
        (0.02, 0.02 + 0.025),
        # 4 · 0.05 is what moving the 4 costs, and moving others costs more: all of 4.5 may as well stay
        (0.2, 0.225),
        # nothing that moves costs anything
        (0.0, 0.0),
    ],
)
def test_as_much_leaves_as_pays(price: float, expected: float) -> None:
    model = fleet({"h0": [4, 3, 2], "h1": []}, {"h0": 10, "h1": 10}, price)
    assert model.real(0, lower_bounds(model)[0]) == pytest.approx(expected, abs=1e-6)


def test_what_is_too_much_for_all_is_priced_everywhere() -> None:
    """Average 0.5, so 10 + 5 of 18 units cost nothing. Tasks are of two: 4 remain on the large host at 0.025 each.

    One task moves. Without the price for being anywhere, it would pay to move all 6 units that are above the average.
    """
    model = fleet({"h0": [2], "h1": [2] * 8}, {"h0": 10, "h1": 20}, 0.01)
    assert model.real(0, lower_bounds(model)[0]) == pytest.approx(0.1 + 0.01, abs=1e-6)


def test_what_costs_least_to_move_to_has_little_room() -> None:
    """All are to be half full: 4 of 9 leave. A tenth of the host that they fill is what they cost, a mean of three.

    There is room for 2 on the large host, where these fill a tenth of it; 2 more fill a fifth of the other one.
    """
    contents = {"h0": [1] * 9, "h1": [1] * 8, "h2": [1] * 2}
    model = fleet(contents, {"h0": 10, "h1": 20, "h2": 10}, 100, by_size=True)
    expected = 0.1 * (2 / 20 + 2 / 10) / 3
    assert expected - model.epsilon[0] <= model.real(0, lower_bounds(model)[0]) <= expected
    assert model.real(0, lower_bounds(model)[0]) > 0.1 * (4 / 20) / 3


@examples(60)
@given(
    st.lists(st.lists(st.integers(1, 6), max_size=3), min_size=3, max_size=3),
    st.lists(st.sampled_from([12, 15, 30]), min_size=3, max_size=3),
    st.sampled_from([1, 100, 900]),
    st.booleans(),
)
def test_nothing_is_below_the_bound_where_moves_cost_what_they_fill(
    contents: list[list[int]], capacities: list[int], price: int, sampled: bool
) -> None:
    """Whether the floors are told by all objects or by some."""
    assume(0 < sum(map(len, contents)) <= 6)
    names = ("h0", "h1", "h2")
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(program, "_SAMPLE", 1)
        model = fleet(dict(zip(names, contents, strict=True)), dict(zip(names, capacities, strict=True)), price, True)
        check(model)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_many_objects_have_their_floors_from_some(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What some tell of the floors costs the bound little; here it is those of two fifths of the hosts."""
    rng = np.random.default_rng(seed)
    names = [f"h{number}" for number in range(40)]
    capacities = {name: int(rng.choice([1_000, 1_500, 2_000])) for name in names}
    loads = {name: rng.integers(2, 40) * capacity // 2_000 + 1 for name, capacity in capacities.items()}
    contents = {name: rng.integers(1, 80, load).tolist() for name, load in loads.items()}
    model = fleet(contents, capacities, 10, by_size=True)
    at_once = lower_bounds(model)[0]
    monkeypatch.setattr(program, "_SAMPLE", 300)
    assert 0.97 * at_once <= lower_bounds(model)[0] <= 1.001 * at_once


def test_large_problems_get_their_bound_beside_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fleet({"h0": [4, 3, 2], "h1": []}, {"h0": 10, "h1": 10}, 0.12)
    monkeypatch.setattr(raising, "_AT_ONCE", 0.0)
    incumbent = Incumbent.of(model, Request(time_limit=60))
    with bounding(incumbent):
        for thread in threading.enumerate():
            if thread.name == "rebalancer-bounds":  # or it is done already
                thread.join()
        assert incumbent.bounds == lower_bounds(model)
    assert incumbent.bounds[0] is not None
    assert model.real(0, incumbent.bounds[0]) == pytest.approx(0.145, abs=1e-6)


def test_a_bound_that_takes_much_longer_than_thought_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the time that is left, but no more than some times what it should take."""
    model = fleet({"h0": [4, 3, 2], "h1": []}, {"h0": 10, "h1": 10}, 0.12)
    monkeypatch.setattr(raising, "_AT_ONCE", 0.0)
    given: list[float] = []
    monkeypatch.setattr(raising._Bounds, "priced", lambda _self, _position, seconds, _over: given.append(seconds) or 0)
    for limit, each in ((4_000, 0.1), (60, 0.1), (60, 1e-6)):
        monkeypatch.setattr(raising, "_EACH", each)
        memberships = raising._Bounds(model).terms(0).memberships
        given.clear()
        with bounding(Incumbent.of(model, Request(time_limit=limit))):
            for thread in threading.enumerate():
                if thread.name == "rebalancer-bounds":
                    thread.join()
        expected = min(limit / 4, max(1.0, 4 * each * memberships))
        assert given == [pytest.approx(expected, rel=0.01)]


def test_the_solver_is_loaded_before_the_thread_beside_the_search() -> None:
    """Its first module writes to Python's builtins, which numba goes through when the search loads it meanwhile."""
    program = (
        "import builtins\n"
        "from rebalancer import BalanceSpec, MinimizeMovementSpec, Rebalancer\n"
        "from rebalancer.engines.base import Request\n"
        "from rebalancer.engines.bounds import raising\n"
        "from rebalancer.engines.incumbent import Incumbent\n"
        "solver = Rebalancer('task', 'host')\n"
        "solver.set_assignment({'h0': ['t0', 't1'], 'h1': []})\n"
        "solver.add_goal(BalanceSpec(scope='host', dimension='task_count'))\n"
        "solver.add_goal(MinimizeMovementSpec())\n"
        "before, seen = set(vars(builtins)), []\n"
        "raising._AT_ONCE = 0.0\n"
        "raising._Bounds.priced = lambda *_: seen.append(set(vars(builtins)) - before) or 0\n"
        "with raising.bounding(Incumbent.of(solver.model, Request(time_limit=60))):\n"
        "    pass\n"
        "print(['pybind11' in str(new) for new in seen])"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[True]", done.stderr


def test_what_is_very_steep_costs_the_bound_no_digits() -> None:
    """Three objects of two units each, to leave for 1 each, and three units too much: two of them leave."""
    place, leaving = np.zeros(3, np.int64), np.ones(3)
    steep = Excess(np.array([1e25]), np.array([3.0]), np.full(3, 2.0), np.zeros(1))
    least, lost = least_costs(place, leaving, [steep.eased(1.0)], steep.eased(1.0), 1)
    assert least[0] == 2.0
    assert lost < 1e-9
    assert least_costs(place, leaving, [steep], steep, 1)[1] > 1e5


def test_where_there_is_no_time_for_prices_other_bounds_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fleet({"h0": [2], "h1": [2] * 8}, {"h0": 10, "h1": 20}, 0.01)
    monkeypatch.setattr(raising, "_EACH", 1.0)
    incumbent = Incumbent.of(model, Request(time_limit=1))
    with bounding(incumbent):
        assert not [thread for thread in threading.enumerate() if thread.name == "rebalancer-bounds"]
    assert incumbent.bounds[0] is not None
    assert model.real(0, incumbent.bounds[0]) == pytest.approx(0.075, abs=1e-6)


def test_an_interrupt_ends_what_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes on in the background once an answer is there, and what was not proven is not claimed."""
    monkeypatch.setattr(raising, "_AT_ONCE", 0.0)
    model = fleet({"h0": [4, 3, 2] * 300, "h1": []}, {"h0": 10_000, "h1": 10_000}, 1e-4)
    incumbent = Incumbent.of(model, Request(time_limit=60))
    with bounding(incumbent):
        assert raising._Bounds(model).terms(0).memberships
    assert not [thread for thread in threading.enumerate() if thread.name == "rebalancer-bounds"]
    best = lower_bounds(model)
    assert all(bound is not None and bound <= most for bound, most in zip(incumbent.bounds, best, strict=True))
    assert np.isfinite(best).all()


@pytest.mark.parametrize("stopped", [False, True])
def test_prices_without_time_are_a_bound_all_the_same(stopped: bool) -> None:
    """No second for the linear program, or an interrupt before it begins: what is left is the averaging bound."""
    model = fleet({"h0": [2], "h1": [2] * 8}, {"h0": 10, "h1": 20}, 0.01)
    stop = threading.Event()
    if stopped:
        stop.set()
    bound = raising._Bounds(model).priced(0, 60.0 if stopped else 0.0, stop)
    assert model.real(0, bound) == pytest.approx(0.1, abs=1e-6)


def test_what_the_linear_program_stumbles_over_ends_no_search(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stumbles(*_: object) -> None:
        raise RuntimeError("no pivot")

    monkeypatch.setattr(solver, "solve", stumbles)
    model = fleet({"h0": [2], "h1": [2] * 8}, {"h0": 10, "h1": 20}, 0.01)
    with caplog.at_level("WARNING"), bounding(incumbent := Incumbent.of(model, Request(time_limit=60))):
        pass
    assert incumbent.bounds[0] is not None
    assert model.real(0, incumbent.bounds[0]) == pytest.approx(0.1, abs=1e-6)
    assert "no pivot" in caplog.text


def test_a_defect_beside_the_search_costs_the_bound_and_not_the_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def defect(*_: object) -> int:
        raise ArithmeticError("a defect")

    monkeypatch.setattr(raising, "_AT_ONCE", 0.0)
    monkeypatch.setattr(raising._Bounds, "priced", defect)
    model = fleet({"h0": [2], "h1": [2] * 8}, {"h0": 10, "h1": 20}, 0.01)
    with caplog.at_level("WARNING"):
        solution_bounds = engines.get("cpsat").solve(model, Request(time_limit=20)).bounds
    assert model.real(0, solution_bounds[0] or 0) == pytest.approx(0.11, abs=1e-6)  # one task moves: 0.01 + 4 · 0.025
    assert "no bound from prices" in caplog.text
    assert "a defect" in caplog.text


def test_nobody_is_told_of_a_bound_once_there_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, told = threading.Event(), threading.Event(), []

    def late(*_: object) -> int:
        begun.set()
        go.wait(60)
        return 10**6

    monkeypatch.setattr(raising, "_AT_ONCE", 0.0)
    monkeypatch.setattr(raising, "_GRACE", 0.0)
    monkeypatch.setattr(raising._Bounds, "priced", late)
    model = fleet({"h0": [2], "h1": [2] * 8}, {"h0": 10, "h1": 20}, 0.01)
    incumbent = Incumbent.of(model, Request(time_limit=60))
    with bounding(incumbent):
        assert begun.wait(60)
        (beside,) = [thread for thread in threading.enumerate() if thread.name == "rebalancer-bounds"]
        monkeypatch.setattr(incumbent, "raise_bound", lambda *given: told.append(given))
    go.set()
    beside.join(60)
    assert not told


def test_capacity_that_is_broken_does_not_hide_what_balance_costs() -> None:
    """A constraint that is broken becomes a goal with a large weight; it can be mended, so it adds nothing."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b", "c"], "h1": []})
    solver.add_object_dimension("cpu", {"a": 4, "b": 3, "c": 2})
    solver.add_container_dimension("cpu", {"h0": 8, "h1": 10})
    solver.add_constraint(PlacedSpec())
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(do_not_normalize=True), weight=0.02)
    model = solver.model
    # average 9/16, so 4.5 may stay and 4.5 go, which takes two tasks; half a unit would be 0.03
    assert model.real(0, lower_bounds(model)[0]) == pytest.approx(0.04, abs=1e-5)


@st.composite
def containers_too_full(draw: st.DrawFn) -> tuple[list[float], list[list[float]], list[float], list[float]]:
    """What it costs objects to leave a container, what they weigh, what a unit too much costs, how many there are."""
    size, resources = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    numbers = st.integers(0, 12).map(float)
    dear = draw(st.lists(st.integers(-3, 12).map(float), min_size=size, max_size=size))
    weights = [draw(st.lists(numbers, min_size=size, max_size=size)) for _ in range(resources)]
    return (
        dear,
        weights,
        draw(st.lists(numbers, min_size=3, max_size=3)),
        draw(st.lists(numbers, min_size=3, max_size=3)),
    )


@examples(100)
@given(st.lists(containers_too_full(), min_size=1, max_size=3), st.integers(0, 9).map(float))
def test_no_choice_of_who_leaves_costs_less(full: list[Any], counted: float) -> None:
    """Against all choices, in several containers at once, at prices of all sorts for all resources together.

    So much of what each resource costs is counted elsewhere.
    """
    place = np.repeat(np.arange(len(full)), [len(dear) for dear, *_ in full])
    resources = max(len(weights) for _, weights, *_ in full)
    excesses, joint = [], Excess(np.ones(len(full)), np.zeros(len(full)), np.zeros(len(place)), np.zeros(len(full)))
    for resource in range(resources):
        has = [resource < len(weights) for _, weights, *_ in full]
        slope = np.array(
            [slopes[resource] if there else 0.0 for (_, _, slopes, _), there in zip(full, has, strict=True)]
        )
        amount = np.array([amounts[resource] for *_, amounts in full])
        weight = np.concatenate(
            [
                weights[resource] if there else np.zeros(len(dear))
                for (dear, weights, *_), there in zip(full, has, strict=True)
            ]
        )
        excesses.append(Excess(slope, amount, weight, np.full(len(full), counted)))
        joint.counted[:] += counted
        part = slope / (1 + resource)  # any price up to the slope
        joint.amount[:] += part * amount
        joint.weight[:] += part[place] * weight
    dear = np.concatenate([dear for dear, *_ in full])
    least, lost = least_costs(place, dear, excesses, joint, len(full))
    for container in range(len(full)):
        here = np.flatnonzero(place == container)
        costs = []
        for leaves in itertools.product([False, True], repeat=len(here)):
            gone = here[list(leaves)]
            left = [max(0.0, e.amount[container] - e.weight[gone].sum()) * e.slope[container] for e in excesses]
            costs.append(dear[gone].sum() + sum(max(0.0, cost - counted) for cost in left))
        assert least[container] <= min(costs) + 1e-9
        if resources == 1 and len(set(dear[here])) == 1:
            assert least[container] == pytest.approx(min(costs), abs=1e-9)
    assert 0 <= lost < 1e-9


@pytest.mark.parametrize(("name", "best_known", "share"), [("a1_1", 44306501, 1e-6), ("a1_4", 252728589, 0.05)])
def test_real_instances_are_nearly_proven_without_a_search(
    tmp_path: Path, name: str, best_known: int, share: float
) -> None:
    """Google machine reassignment: what moves costs, and what cannot have a price keeps what averaging knows of it."""
    data = Path(__file__).parents[2] / "data" / "roadef"
    convert(data / f"model_{name}.txt", data / f"assignment_{name}.txt", tmp_path / name)
    model = Rebalancer.from_yaml(tmp_path / name / "scenario.yaml").model
    bound = model.real(0, lower_bounds(model)[0])
    assert (1 - share) * best_known <= bound <= best_known
