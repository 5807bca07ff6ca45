"""Trades: the best of all there are between two containers is found, and nothing that must hold is broken for one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, GroupCountSpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.kernels.layout import N_BROKEN, Z_LANES
from rebalancer.engines.local_search.kernels.propagate import move
from rebalancer.engines.local_search.kernels.trade import trade, trade_best
from rebalancer.engines.local_search.kernels.trail import M_NOW, NEVER, SETS, T_KEPT, T_LENGTH, appraise
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.engines.local_search.walks import Trades
from rebalancer.model import Model
from tests.engines.local_search.test_thousands import agree_with

#: More than any trade costs.
ANYTHING = 1e290


def fleet(
    tasks: int = 20, hosts: int = 3, job: int = 0, together: int = 1, policy: str = "HARD", seed: int = 3
) -> Model:
    """Tasks that nearly fill their hosts, in balance with few moves; of a ``job`` of so many at most some ``together``.

    Whoever draws the tasks of a host does not look at jobs: some are together already.
    """
    rng = random.Random(seed)
    solver = Rebalancer("task", "host")
    names = [f"h{number}" for number in range(hosts)]
    homes = [number % hosts for number in range(tasks)]
    rng.shuffle(homes)
    solver.set_assignment({name: [f"t{n}" for n in range(tasks) if homes[n] == at] for at, name in enumerate(names)})
    for name in ("cpu", "memory"):
        sizes = [rng.randrange(1, 60) for _ in range(tasks)]
        solver.add_object_dimension(name, {f"t{n}": size for n, size in enumerate(sizes)})
        held = [sum(size for n, size in enumerate(sizes) if homes[n] == at) for at in range(hosts)]
        solver.add_container_dimension(name, {h: held[at] + rng.randrange(9) for at, h in enumerate(names)})
        solver.add_constraint(CapacitySpec(scope="host", dimension=name), policy="HARD")
        solver.add_goal(BalanceSpec(scope="host", dimension=name))
    if job:
        jobs: dict[str, list[str]] = {}
        for number in range(tasks):
            jobs.setdefault(f"j{number // job}", []).append(f"t{number}")
        solver.add_partition("job", jobs)
        limit = GroupCountSpec(scope="host", partition="job", limit=together)
        solver.add_constraint(limit, **({"policy": policy} if policy else {}))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="cpu"), weight=3)
    return solver.model


def searcher_of(model: Model, seed: int = 1) -> Searcher:
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=60.0, deterministic=True)), seed)
    searcher.turn_to(0)
    return searcher


def sets(some: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield what may go to the other side: nobody, some, or all."""
    return chain.from_iterable(combinations(some, size) for size in range(len(some) + 1))


def cheapest(searcher: Searcher, a: int, b: int) -> float:
    """Return what the best trade of two hosts costs: each of them is made, judged, and undone."""
    flat, trail = searcher.flat, searcher.trail
    before, best = appraise(flat, trail), NEVER
    ours, theirs = (np.flatnonzero(flat.place == host).tolist() for host in (a, b))
    for mine in sets(ours):
        for yours in sets(theirs):
            if mine or yours:
                moves = [(o, b) for o in mine] + [(q, a) for q in yours]
                for o, to in moves:
                    move(flat, o, to)
                after = appraise(flat, trail)
                if after < NEVER:
                    best = min(best, after - before)
                for o, _ in moves:
                    move(flat, o, a if o in mine else b)
    assert appraise(flat, trail) == before
    return best


@pytest.mark.parametrize("job", [0, 2])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_trade_is_found(seed: int, job: int) -> None:
    """Of few tasks on either side all sets are looked at; jobs of which any two may meet are no obstacle."""
    searcher = searcher_of(fleet(15, job=job, together=2, seed=seed))
    flat, trail = searcher.flat, searcher.trail
    assert flat.sizes[Z_LANES] > 0
    rng = np.random.default_rng(seed)
    for _ in range(12):
        a, b = rng.permutation(3)[:2].tolist()
        assert 2 ** max(flat.load[:3]) <= SETS
        least, before = cheapest(searcher, a, b), float(trail.merits[M_NOW])
        assert trade_best(flat, trail, a, b, ANYTHING) == (least < NEVER)
        if least < NEVER:
            assert float(trail.merits[M_NOW]) - before == pytest.approx(least, rel=1e-9, abs=1e-3)


def test_what_costs_too_much_is_not_made() -> None:
    searcher = searcher_of(fleet())
    flat, trail = searcher.flat, searcher.trail
    least = cheapest(searcher, 0, 1)
    place = flat.place.copy()
    assert not trade_best(flat, trail, 0, 1, least - 1.0)
    assert (flat.place == place).all()
    assert trail.numbers[T_LENGTH] == 0
    assert trade_best(flat, trail, 0, 1, least + 1.0)
    assert not (flat.place == place).all()


@pytest.mark.parametrize(("job", "together", "policy"), [(0, 0, "HARD"), (4, 3, "HARD"), (4, 1, ""), (7, 2, "")])
def test_thousands_of_trades_break_nothing(job: int, together: int, policy: str) -> None:
    """What is together from the start may be so: nobody joins them."""
    model = fleet(60, 7, job, together, policy, seed=job)
    searcher = searcher_of(model)
    flat, trail = searcher.flat, searcher.trail
    broken = flat.counts[N_BROKEN]
    heat = abs(searcher.merit) / 100
    for turn in range(8):
        trail.numbers[T_LENGTH] = 0
        assert trade(flat, trail, 1_000, heat / 4**turn) == 1_000
        agree_with(flat, searcher.flattener, model)
        assert flat.counts[N_BROKEN] <= broken
    assert trail.numbers[T_KEPT] > 100
    assert model.evaluate(np.asarray(flat.place, np.int32)).feasible or broken


def test_who_is_in_each_other_s_way_changes_places() -> None:
    """Two of one job must not meet, and neither may leave alone for where the other one is: they go together."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["big", "x"], "h1": ["small", "y"], "h2": []})
    solver.add_object_dimension("cpu", {"big": 60, "small": 20, "x": 40, "y": 1})
    solver.add_container_dimension("cpu", {"h0": 100, "h1": 100, "h2": 1})
    solver.add_partition("job", {"j": ["big", "small"], "k": ["x", "y"]})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"), policy="HARD")
    solver.add_constraint(GroupCountSpec(scope="host", partition="job", limit=1), policy="HARD")
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu", limit=0.61))
    searcher = searcher_of(solver.model)
    assert trade_best(searcher.flat, searcher.trail, 0, 1, -1.0)
    names = {name: int(searcher.flat.place[solver.model.problem.objects.index[name]]) for name in ("big", "small")}
    assert sorted(names.values()) in ([0, 1],)
    assert searcher.merit == pytest.approx(0.0, abs=1e-6)


def test_trades_are_shorter_where_they_gain_nothing() -> None:
    trades = Trades()
    assert trades.next(2.0, 60.0) == (1e-3, 2.0)
    assert trades.next(2.0, 3.0) == (3e-3, 1.5)  # at most half of what is left
    seconds = []
    for gain in (0.0, 0.0, 0.0, 0.0, 0.01, 0.0):
        trades.learn(gain)
        seconds.append(trades.next(8.0, 60.0)[1])
    assert seconds == [4.0, 2.0, 1.0, 1.0, 8.0, 4.0]
