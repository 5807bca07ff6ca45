"""Where nothing bends after the tallies, what scanning says of a move is what making it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rebalancer import AssignmentAffinitiesSpec, CapacitySpec, Rebalancer
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.flat.forms import Forms
from rebalancer.engines.local_search.kernels.jit import kernel
from rebalancer.engines.local_search.kernels.layout import Flat
from rebalancer.engines.local_search.kernels.propagate import flush, move, objective, shift
from rebalancer.engines.local_search.kernels.scan import FORBIDDEN, block, pair, rotate
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.kernels.trail import new_trail
from rebalancer.model import Function, Model
from tests.engines.worlds import attracted, crowded
from tests.examples import examples
from tests.property.problems import models_with

#: Specs whose objective is most often a sum of functions of tallies.
LINEAR = ("assignment_affinities", "capacity", "count_cost", "minimize_movement", "minimize_squares", "to_free")


@kernel
def pair_cost(f: Any, o: int, b: int) -> float:
    """Return what `pair` says."""
    return float(pair(f, o, b, FORBIDDEN))


@kernel
def passes(f: Any, o: int, b: int, worst: float) -> bool:
    """Return whether `pair` finds that a move costs at most so much."""
    return bool(pair(f, o, b, worst) <= worst)


@kernel
def rotate_cost(f: Any, o: int, q: int, c: int) -> float:
    """Return what `rotate` says."""
    return float(rotate(f, o, q, c, FORBIDDEN))


@kernel
def scanned(f: Any, t: Any, o: int, n: int) -> None:
    """Scan the first containers in the scratch of a trail."""
    block(f, t, o, n, FORBIDDEN)


def block_costs(flat: Flat, o: int, to: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return what `block` says."""
    trail = new_trail(1, 0, len(flat.place))
    trail.to[: len(to)] = to
    scanned(flat, trail, o, len(to))
    return trail.cost[: len(to)].copy()


@kernel
def rotated(f: Any, o: int, q: int, c: int) -> None:
    """Put ``o`` where ``q`` is and ``q`` into ``c``."""
    b = f.place[q]
    shift(f, q, c)
    shift(f, o, b)
    flush(f)


def linear(found: Forms) -> bool:
    """Return whether only tallies bend, and only they have bounds."""
    later = [column for column in found.columns if column.members is None]
    return not found.specials and all(
        not (column.low or column.high)
        and all(stage.function is Function.ROUND for piece in column.pieces for stage in piece.atom.stages)
        for column in later
    )


def change(flat: Flat, position: int, make: Callable[[], None]) -> tuple[float, int]:
    """Return by how much a position and what is beyond bounds change."""
    before, broken = objective(flat, position)[1], int(flat.broken.sum())
    make()
    return objective(flat, position)[1] - before, int(flat.broken.sum()) - broken


def compare(model: Model, seed: int) -> None:
    flattener = Flattener(model)
    assume(linear(flattener.forms))
    flat = flattener.at(model.problem.initial)
    objects, containers = len(flat.place), len(model.problem.containers)
    rng = np.random.default_rng(seed)
    everywhere = np.arange(containers + 1, dtype=np.int32)
    for turn in range(12):
        position = turn % model.positions
        worth = np.zeros(model.positions)
        worth[position] = 1.0
        compute(flat, worth)
        o, q = (int(index) for index in rng.integers(objects, size=2))
        to, c = (int(index) for index in rng.integers(containers + 1, size=2))
        costs = block_costs(flat, o, everywhere)
        elsewhere = everywhere != flat.place[o]
        singly = [pair_cost(flat, o, int(b)) for b in everywhere[elsewhere]]
        near(costs[elsewhere], np.array(singly))
        if turn % 2 and flat.place[o] != flat.place[q] and c != flat.place[q]:
            cost = rotate_cost(flat, o, q, c)
            agree(cost, *change(flat, position, lambda o=o, q=q, c=c: rotated(flat, o, q, c)))  # type: ignore[misc]
        elif to != flat.place[o]:
            agree(float(costs[to]), *change(flat, position, lambda o=o, to=to: move(flat, o, to)))  # type: ignore[misc]


def agree(cost: float, difference: float, beyond: int) -> None:
    if cost >= FORBIDDEN:
        return  # some bound is gone further beyond; others may be kept better
    assert beyond <= 0
    near(np.array([cost]), np.array([difference]))


def near(one: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    np.testing.assert_array_equal(one >= FORBIDDEN, other >= FORBIDDEN)
    both = one < FORBIDDEN
    np.testing.assert_allclose(one[both], other[both], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("key", LINEAR)
@examples(25)
@given(data=st.data())
def test_costs_are_exact(key: str, data: st.DataObject) -> None:
    compare(data.draw(models_with(key)), data.draw(st.integers(0, 2**20)))


def test_what_is_forbidden_breaks_a_bound() -> None:
    """Of 40 tasks on 6 hosts of room for 7 each, one move makes eight, which is forbidden; an exchange never is."""
    model = attracted(40, 6)
    flat = Flattener(model).at(model.problem.initial)
    compute(flat, np.ones(1))
    full = np.flatnonzero(np.bincount(model.problem.initial) == 7)
    assert full.tolist() == [0, 1, 2, 3]
    for o in range(40):
        here = int(flat.place[o])
        for b in range(6):
            if b != here:
                assert (pair_cost(flat, o, b) >= FORBIDDEN) == (b in full)
        q = (o + 1) % 40
        if flat.place[q] != here:
            assert rotate_cost(flat, o, q, here) < FORBIDDEN


def test_no_move_is_passed_over_that_gains() -> None:
    """What each object can gain at most outside lanes is noted: it must not hide what does gain."""
    model = crowded(200, 8)
    flat = Flattener(model).at(model.problem.initial)
    rng = np.random.default_rng(5)
    gains = dear = 0
    for turn in range(4_000):
        if turn % 40 == 0:
            compute(flat, np.array([1.0, 100.0]))
        o, b = int(rng.integers(len(flat.place))), int(rng.integers(8))
        cost = pair_cost(flat, o, b)
        assert passes(flat, o, b, 0.0) == (cost <= 0.0)
        gains, dear = gains + (cost < 0), dear + (0 < cost < FORBIDDEN)
        if turn % 3 == 0 and cost < FORBIDDEN:
            move(flat, o, b)
    assert gains > 100 < dear


def liked() -> Model:
    """Three tasks on hosts with room enough, two of which would rather be on another host."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0"], "h1": ["t1"], "h2": ["t2"], "h3": []})
    solver.add_object_dimension("cpu", {"t0": 1, "t1": 1, "t2": 1})
    solver.add_container_dimension("cpu", {f"h{host}": 3 for host in range(4)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu", limit={"type": "ABSOLUTE", "global_limit": 2}))
    wishes = [("t0", "h3"), ("t1", "h2")]
    listed = [{"object_name": task, "scope_item_name": host, "affinity": 1.0} for task, host in wishes]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=listed))
    return solver.model


def test_who_gains_by_coming_is_found_out() -> None:
    """After some moves were looked at whole, none is passed over that gains by where it leads."""
    model = attracted(60, 6)
    flat = Flattener(model).at(model.problem.initial)
    compute(flat, np.ones(1))
    rng = np.random.default_rng(5)
    for turn in range(2_000):
        o, b = int(rng.integers(60)), int(rng.integers(6))
        cost = pair_cost(flat, o, b)
        if turn > 100:
            assert passes(flat, o, b, 0.0) == (cost <= 0.0)


def test_who_gains_by_coming_is_found_whatever_is_asked_first() -> None:
    """Nobody gains by leaving, and lanes say that all else is free: still no gain is left out."""
    model = liked()
    flat = Flattener(model).at(model.problem.initial)
    objects, containers = len(flat.place), len(model.problem.containers)
    gains = 0
    for obj in range(objects):
        for to in range(containers):
            compute(flat, np.ones(model.positions))  # what others have seen is forgotten
            found = passes(flat, obj, to, -1e-9)
            assert found == (pair_cost(flat, obj, to) <= -1e-9), f"{obj} to {to}"
            gains += found
    assert gains == 2


def test_who_is_in_no_container_gains_by_coming_anywhere() -> None:
    """Leaving gains nothing, as nobody counts what is nowhere: all of the gain is in coming."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": [], "h1": []}, ["t0", "t1"])
    solver.add_object_dimension("cpu", {"t0": 1, "t1": 1})
    solver.add_container_dimension("cpu", {"h0": 3, "h1": 3})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu", limit={"type": "ABSOLUTE", "global_limit": 2}))
    flat = Flattener(solver.model).at(solver.model.problem.initial)
    compute(flat, np.ones(1))
    assert all(passes(flat, obj, host, -1e-9) for obj in range(2) for host in range(2))
