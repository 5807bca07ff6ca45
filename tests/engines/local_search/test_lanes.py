"""Lanes say of a move what columns and pieces say, whatever has a price; partners weigh about the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.local_search.flat import alike, lanes
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN
from rebalancer.engines.local_search.kernels.layout import (
    C_LANE,
    C_LANE_END,
    C_PLAIN,
    C_VALUES,
    C_WIDTH,
    L_VALUE,
    L_WIDTH,
    N_BROKEN,
    Z_LANES,
    Z_PLAIN,
    Flat,
)
from rebalancer.engines.local_search.kernels.propagate import move
from rebalancer.engines.local_search.kernels.slopes import compute
from rebalancer.engines.local_search.limits import Limits
from rebalancer.model import Cells, Model, ModelBuilder
from rebalancer.specs.base import Spec
from tests.engines.local_search.test_scan import block_costs, pair_cost, rotate_cost


def fleet(tasks: int = 60, hosts: int = 7, seed: int = 5) -> Model:
    """Tasks with three resources: one that stays taken while a task leaves, and goals above some use and below some."""
    rng = random.Random(seed)
    solver = Rebalancer("task", "host")
    names = [f"h{number}" for number in range(hosts)]
    solver.set_assignment({name: [f"t{n}" for n in range(tasks) if n % hosts == at] for at, name in enumerate(names)})
    for name in ("cpu", "memory", "disk"):
        solver.add_object_dimension(name, {f"t{n}": rng.randrange(1, 50) for n in range(tasks)})
        solver.add_container_dimension(name, {host: 32 * tasks // hosts + rng.randrange(90) for host in names})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu", definition="AFTER"), policy="HARD")
    solver.add_constraint(CapacitySpec(scope="host", dimension="memory", definition="DURING_AND_AFTER"), policy="HARD")
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu", definition="AFTER", limit=0.6))
    solver.add_goal(CapacitySpec(scope="host", dimension="disk", definition="AFTER", limit=0.7), weight=3)
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="memory"), weight=0.1)
    return solver.model


def without_lanes(model: Model, monkeypatch: pytest.MonkeyPatch) -> Flattener:
    with monkeypatch.context() as patch:
        patch.setattr(lanes, "MOST_LANES", 0)
        return Flattener(model)


@pytest.mark.parametrize("price", [None, 1e-3, 10.0])
def test_lanes_cost_what_columns_cost(price: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fleet()
    quick, slow = Flattener(model), without_lanes(model, monkeypatch)
    one, other = quick.at(model.problem.initial), slow.at(model.problem.initial)
    assert one.sizes[Z_LANES] == 4  # cpu with its goal, memory after, memory that arrives (a limit and a goal), disk
    assert other.sizes[Z_LANES] == 0
    rng, hosts = np.random.default_rng(3), 7
    everywhere = np.arange(hosts, dtype=np.int32)
    forbidden = 0
    for _ in range(300):
        for flattener, flat in ((quick, one), (slow, other)):
            if price is not None:
                Limits.of(flattener).price(flat, price)
            compute(flat, np.ones(1))
        o, q = (int(index) for index in rng.choice(60, size=2, replace=False))
        b, c = (int(index) for index in rng.integers(hosts, size=2))
        costs = []
        for flat in (one, other):
            single = pair_cost(flat, o, b) if flat.place[o] != b else 0.0
            costs.append([single, _rotated(flat, o, q, c), *_block(flat, o, everywhere)])
        forbidden += int((np.array(costs[0]) >= FORBIDDEN).sum())
        np.testing.assert_allclose(costs[0], costs[1], rtol=1e-9, atol=1e-3)
        for flat in (one, other):
            move(flat, o, b)
        _same_values(one)
    assert forbidden > 0


def broken_fleet(tasks: int = 60, hosts: int = 7, seed: int = 5) -> Model:
    """Overfull hosts, which are to be mended in steps and by amounts, tasks that are nowhere, and rounded goals."""
    rng = random.Random(seed)
    solver = Rebalancer("task", "host")
    names = [f"h{number}" for number in range(hosts)]
    contents: dict[str, list[str]] = {name: [] for name in names}
    for n in range(tasks - 6):
        contents[names[n % 2 if n % 3 else n % hosts]].append(f"t{n}")
    solver.set_assignment(contents, [f"t{n}" for n in range(tasks - 6, tasks)])
    solver.add_object_dimension("cpu", {f"t{n}": rng.randrange(1, 50) for n in range(tasks)})
    solver.add_container_dimension("cpu", {host: 20 * tasks // hosts + rng.randrange(90) for host in names})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu", definition="AFTER"))
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="cpu"), weight=0.1)
    return solver.model


def test_lanes_say_what_mending_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    model = broken_fleet()
    flats = [flattener.at(model.problem.initial) for flattener in (Flattener(model), without_lanes(model, monkeypatch))]
    assert flats[0].sizes[Z_LANES] >= 4  # what is beyond the limit, that it is, the goal; movement
    assert flats[0].place.max() == 7
    rng, everywhere = np.random.default_rng(3), np.arange(8, dtype=np.int32)
    steps = 0
    for _ in range(300):
        o, q = (int(index) for index in rng.choice(60, size=2, replace=False))
        b, c = (int(index) for index in rng.integers(8, size=2))
        costs = []
        for flat in flats:
            compute(flat, np.ones(1))
            single = pair_cost(flat, o, b) if flat.place[o] != b else 0.0
            costs.append([single, _rotated(flat, o, q, c), *_block(flat, o, everywhere)])
        exact = np.array(costs[1])
        rounding = 1e-4 * np.abs(exact[exact < FORBIDDEN]).max(initial=1.0)  # lanes do not round
        np.testing.assert_allclose(costs[0], costs[1], rtol=1e-6, atol=rounding)
        steps += int(np.ptp(exact[exact < FORBIDDEN]) > 0)
        for flat in flats:
            move(flat, o, b)
    assert steps > 200


class SomeHosts(Spec):
    """What is above an amount on every other host."""

    key: ClassVar[str] = "some_hosts"

    def goal(self, model: ModelBuilder) -> Cells:
        above = model.hinge(model.linear([(model.amount("host", "cpu"), 1)], -150))
        chosen = np.where(np.arange(above.items) % 2, -1, 0)
        return model.regroup(above, None, chosen, 1, 1)


def partly_counted() -> Model:
    """A fleet with a goal that leaves hosts out."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{at}": [f"t{n}" for n in range(60) if n % 7 == at] for at in range(7)})
    solver.add_object_dimension("cpu", {f"t{n}": 1 + n for n in range(60)})
    solver.add_container_dimension("cpu", {f"h{at}": 300 + 40 * at for at in range(7)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu", definition="AFTER"), policy="HARD")
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu", definition="DURING_AND_AFTER"), policy="HARD")
    solver.add_goal(SomeHosts())
    return solver.model


@pytest.mark.parametrize("make", [fleet, broken_fleet, partly_counted])
def test_plain_tallies_count_what_others_do(make: Callable[[], Model], monkeypatch: pytest.MonkeyPatch) -> None:
    model = make()
    flatteners = Flattener(model), without_lanes(model, monkeypatch)
    flats = [flattener.at(model.problem.initial) for flattener in flatteners]
    plain = [int(flat.sizes[Z_PLAIN]) for flat in flats]
    assert plain[0]
    assert plain[1] == 0
    tallies = np.flatnonzero((flats[0].columns[C_LANE::C_WIDTH] >= 0) & (flats[0].columns[C_PLAIN::C_WIDTH] == 1))
    loose = np.delete(np.arange(len(flats[0].paid)), tallies * C_WIDTH)
    rng, broke = np.random.default_rng(4), set()
    for turn in range(400):
        if turn % 100 == 50:
            for flattener, flat in zip(flatteners, flats, strict=True):
                Limits.of(flattener).widen(flat, turn / 1_000)
        o, b = int(rng.integers(60)), int(rng.integers(7))
        for flat in flats:
            move(flat, o, b)
        one, other = flats
        broke.add(int(one.counts[N_BROKEN]))
        for name in ("values", "broken", "pending"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
        np.testing.assert_array_equal(one.paid[loose], other.paid[loose])
        np.testing.assert_array_equal(one.counts, other.counts)
    assert len(broke) > 2


def large_and_odd() -> Model:
    """Tasks whose sizes floating point does not tell apart from their neighbours."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{at}": [f"t{n}" for n in range(60) if n % 7 == at] for at in range(7)})
    solver.add_object_dimension("bytes", {f"t{n}": 2**53 + 1 + 2 * n for n in range(60)})
    solver.add_object_dimension("cpu", {f"t{n}": 1 + n for n in range(60)})
    solver.add_container_dimension("bytes", {f"h{at}": 9 * 2**53 + at for at in range(7)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="bytes", definition="AFTER"), policy="HARD")
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    return solver.model


def test_what_floating_point_cannot_hold_is_counted_exactly() -> None:
    model = large_and_odd()
    flat = Flattener(model).at(model.problem.initial)
    assert (flat.sizes[Z_PLAIN], flat.sizes[Z_LANES]) == (1, 2)
    sizes = [2**53 + 1 + 2 * int(str(name)[1:]) for name in model.problem.objects]
    rng = np.random.default_rng(1)
    for _ in range(200):
        move(flat, int(rng.integers(60)), int(rng.integers(7)))
        integers = [sum(size for size, at in zip(sizes, flat.place, strict=True) if at == host) for host in range(7)]
        held = [flat.values[k : k + 7].tolist() for k in flat.columns[C_VALUES::C_WIDTH] if k >= 0]
        assert integers in held
        assert flat.counts[N_BROKEN] == sum(use > 9 * 2**53 + host for host, use in enumerate(integers))


def _rotated(flat: Flat, o: int, q: int, c: int) -> float:
    return 0.0 if flat.place[o] == flat.place[q] or c == flat.place[q] else rotate_cost(flat, o, q, c)


def _block(flat: Flat, o: int, to: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[float]:
    return block_costs(flat, o, to[to != flat.place[o]]).tolist()


def _same_values(flat: Flat) -> None:
    count, hosts = int(flat.sizes[Z_LANES]), 7
    held = flat.lanes.reshape(hosts + 1, L_WIDTH, count)[:-1, L_VALUE]
    for k in range(0, len(flat.columns), C_WIDTH):
        for lane in range(flat.columns[k + C_LANE], flat.columns[k + C_LANE_END]):
            first = flat.columns[k + C_VALUES]
            np.testing.assert_array_equal(held[:, lane], flat.values[first : first + hosts])


@pytest.mark.parametrize("most", [10, 10_000])
def test_partners_weigh_about_the_same(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_ALL", most)
    weight = np.random.default_rng(0).lognormal(size=(500, 3))
    found = alike.partners_of(weight)
    assert found.shape == (500, alike.PARTNERS)
    assert (found != np.arange(500)[:, None]).all()
    relative = weight / weight.mean(axis=0)
    far = np.abs(relative[:, None] - relative[None]).sum(axis=2)
    theirs = np.take_along_axis(far, found.astype(np.int64), axis=1).mean()
    nearest = np.sort(far, axis=1)[:, 1 : alike.PARTNERS + 1].mean()
    assert theirs < (1.0001 if most > 500 else 1.5) * nearest


def test_no_partners_where_all_weigh_nothing() -> None:
    assert alike.partners_of(np.zeros((9, 2))).shape == (9, 0)
    assert alike.partners_of(np.zeros((0, 2))).shape == (0, 0)
