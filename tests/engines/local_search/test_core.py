"""The core: what walks are confined to, when there is one, and which share of it is next."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.core import MOST_PAIRS, WIDTHS, Core, Cores
from rebalancer.engines.local_search.kernels.trade import trade
from rebalancer.engines.local_search.kernels.trail import T_KEPT, T_LENGTH
from rebalancer.engines.local_search.kernels.walk import anneal
from rebalancer.engines.local_search.searcher import Searcher
from tests.engines.local_search.test_thousands import agree_with
from tests.engines.local_search.test_trade import fleet, searcher_of


def places_of(searcher: Searcher) -> set[tuple[int, int]]:
    return set(enumerate(searcher.flat.place.tolist()))


@pytest.mark.parametrize("job", [0, 4])
def test_walks_and_trades_stay_inside(job: int) -> None:
    """Whatever is left is where it may be, or has not moved."""
    model = fleet(60, 7, job, 3, "HARD", seed=5)
    searcher = searcher_of(model)
    flat, trail = searcher.flat, searcher.trail
    reduced = np.random.default_rng(job).uniform(0.0, 10.0, (60, 8))
    trail.reduced[:] = reduced.ravel()
    start = places_of(searcher)
    inside = {(o, b) for o, b in zip(*np.nonzero(reduced <= 6.0), strict=True)}
    heat = abs(searcher.merit) / 10
    for turn in range(8):
        trail.numbers[T_LENGTH] = 0
        searcher.confine(6.0)
        anneal(flat, trail, 9_000, heat, heat / 2, 0.3, 0.3, 0.3) if turn % 2 else trade(flat, trail, 2_000, heat)
        assert places_of(searcher) <= start | inside
        agree_with(flat, searcher.flattener, model)
    assert trail.numbers[T_KEPT] > 100
    assert len(places_of(searcher) - start) > 10
    searcher.confine()
    trail.numbers[T_LENGTH] = 0
    anneal(flat, trail, 10_000, heat, heat, 0.3, 0.3, 0.3)
    assert not places_of(searcher) <= start | inside


def test_the_core_of_a_fleet_is_shared() -> None:
    model = fleet(60, 7, seed=5)
    request = Request(time_limit=60.0)
    incumbent = Incumbent.of(model, request)
    searchers = [Searcher(model, incumbent, seed) for seed in (1, 2)]
    for searcher in searchers:
        searcher.turn_to(0)
    first, second = (searcher.core(incumbent.budget) for searcher in searchers)
    assert first is not None
    assert first is second
    assert (searchers[1].trail.reduced == first.reduced).all()
    assert first.reduced.shape == (60 * 8,)
    assert first.value <= searchers[0].merit


def test_there_is_none_where_there_is_no_time_or_too_much_to_tell() -> None:
    model = fleet(60, 7, seed=5)
    incumbent = Incumbent.of(model, Request(time_limit=60.0))
    cores = incumbent.once(Cores)
    assert cores.at(0, incumbent, incumbent.budget.part(0.1)) is None
    assert cores.at(0, incumbent, incumbent.budget) is not None
    assert cores.at(0, incumbent, incumbent.budget.part(0.1)) is not None  # it is known by now
    large = fleet(MOST_PAIRS // 8 + 1, 7, seed=5)
    other = Incumbent.of(large, Request(time_limit=60.0))
    assert other.once(Cores).at(0, other, other.budget) is None


def test_a_share_is_of_the_lowest_reduced_costs() -> None:
    costs = np.append(np.arange(100.0), [math.inf] * 20)  # what may not be counts for nothing
    core = Core(0.0, np.random.default_rng(1).permutation(costs))
    for number, share in enumerate(WIDTHS):
        within = (core.reduced <= core.most(number)).sum()
        assert within == 120 if share == 1 else within == pytest.approx(100 * share, abs=1)


def test_every_share_is_tried_and_the_best_one_most() -> None:
    core = Core(0.0, np.zeros(4))
    first = [core.next() for _ in WIDTHS]
    assert sorted(first) == list(range(len(WIDTHS)))
    for number in first:
        core.learn(number, 5.0 if number == 3 else 9.0)
    later = [core.next() for _ in range(20)]
    assert later.count(3) >= 10
    assert set(later) == set(range(len(WIDTHS)))
    core.learn(1, 4.0)
    assert [core.next() for _ in range(20)].count(1) >= 10
