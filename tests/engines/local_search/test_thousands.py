"""Thousands of moves, exchanges, chains and walks on one copy of the cells: integers stay what they are from scratch.

`test_moves` walks a little on very many models; here few models are walked on for long, so that what piles up shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.flat import atoms, flatten
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.chains import chase_down, rebuild, vacate
from rebalancer.engines.local_search.kernels.descent import descend, return_home, swap_down
from rebalancer.engines.local_search.kernels.layout import C_WIDTH, N_BROKEN, Flat
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.engines.local_search.kernels.recall import recall
from rebalancer.engines.local_search.kernels.teams import move_teams
from rebalancer.engines.local_search.kernels.trade import even_out, trade
from rebalancer.engines.local_search.kernels.trail import T_BEST, T_KEPT, T_LENGTH, T_TRIED
from rebalancer.engines.local_search.kernels.walk import anneal
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.model import Model
from rebalancer.specs.registry import BUILT_IN
from tests.engines.worlds import crowded
from tests.property.problems import models, models_with

#: Moves in a row, and how often everything is computed from scratch.
MOVES, EVERY = 3_000, 300


def assignment_of(flat: Flat, model: Model) -> NDArray[np.int32]:
    containers = len(model.problem.containers)
    return np.where(flat.place == containers, -1, flat.place).astype(np.int32)


def agree(flat: Flat, model: Model) -> None:
    """Compare the objectives of all positions, and whether everything holds, with the evaluator's."""
    score = model.evaluate(assignment_of(flat, model))
    assert tuple(objective(flat, position)[0] for position in range(model.positions)) == score.integers
    assert (flat.counts[N_BROKEN] == 0) == score.feasible


def agree_with(flat: Flat, flattener: Flattener, model: Model) -> None:
    """Compare every cell with what it is from scratch."""
    agree(flat, model)
    fresh = flattener.at(assignment_of(flat, model))
    for name, every in (("values", 1), ("broken", 1), ("paid", C_WIDTH), ("load", 1)):
        np.testing.assert_array_equal(getattr(flat, name)[::every], getattr(fresh, name)[::every], err_msg=name)


def steps(rng: np.random.Generator, flat: Flat, containers: int) -> Iterator[list[tuple[int, int]]]:
    """Yield what belongs together, without end: a move, an exchange, a chain that ends where it began, or anywhere."""
    objects = len(flat.place)
    while True:
        kind = int(rng.integers(4))
        some = rng.permutation(objects)[: int(rng.integers(2, 6))].tolist()
        places = [int(flat.place[o]) for o in some]
        if kind == 0:
            yield [(some[0], int(rng.integers(containers + 1)))]
        elif kind == 1:
            yield list(zip(some[:2], reversed(places[:2]), strict=True))
        else:
            last = places[0] if kind == 2 else int(rng.integers(containers + 1))
            yield list(zip(some, [*places[1:], last], strict=True))


def wander(model: Model, seed: int = 0) -> None:
    """Move at random, and compare now and then."""
    flattener = Flattener(model)
    flat = flattener.at(model.problem.initial)
    if not len(flat.place):
        return
    rng = np.random.default_rng(seed)
    made = 0
    for turn, step in enumerate(steps(rng, flat, len(model.problem.containers))):
        for obj, to in step:
            if to != flat.place[obj]:
                move(flat, obj, to)
                made += 1
        if turn % EVERY == 0:
            agree(flat, model)
        if made >= MOVES:
            break
    agree_with(flat, flattener, model)


def richest(strategy: st.SearchStrategy[Model], drawn: int, kept: int) -> list[Model]:
    """Return those of some drawn models that have the most cells, and something to move."""
    seen: list[Model] = []

    @settings(max_examples=drawn, derandomize=True, phases=[Phase.generate])
    @given(strategy)
    def collect(model: Model) -> None:
        if len(model.problem.objects) > 1 and len(model.problem.containers) > 1:
            seen.append(model)

    collect()
    assert seen
    return sorted(seen, key=lambda model: len(model.graph))[-kept:]


@cache
def mixtures() -> list[Model]:
    return richest(models(), 40, 12)


@pytest.mark.parametrize("key", sorted(BUILT_IN))
def test_every_spec(key: str) -> None:
    for model in richest(models_with(key), 8, 1):
        wander(model)


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("hashed", [False, True])
def test_mixtures(number: int, hashed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if hashed:
        monkeypatch.setattr(atoms, "DENSE_CELLS", 0)
        monkeypatch.setattr(atoms, "DENSE_SHARE", 0)
        monkeypatch.setattr(flatten, "FEW_WORDS", 0)
        monkeypatch.setattr(flatten, "DENSE_WORDS", 0)
    wander(mixtures()[number], number)


@pytest.mark.parametrize("hashed", [False, True])
def test_searching(hashed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels that searches are made of, which undo most of what they try."""
    if hashed:
        monkeypatch.setattr(atoms, "DENSE_CELLS", 0)
        monkeypatch.setattr(atoms, "DENSE_SHARE", 0)
        monkeypatch.setattr(flatten, "FEW_WORDS", 0)
        monkeypatch.setattr(flatten, "DENSE_WORDS", 0)
    model = crowded(120, 8)
    searcher = Searcher(model, Incumbent.of(model, Request(time_limit=1.0, deterministic=True)), 1)
    searcher.turn_to(0)
    flat, trail = searcher.flat, searcher.trail
    order = np.arange(8, dtype=np.int32)
    starts, members = np.arange(0, 121, 6, dtype=np.int64), np.arange(120, dtype=np.int32)
    start, traded = assignment_of(flat, model), 0
    for turn in range(6):
        trail.numbers[T_LENGTH] = 0
        descend(flat, trail, order, 0, 8, 6, 1e-9)
        agree(flat, model)
        swap_down(flat, trail, order, 0, 8, 12, 1e-9)
        agree(flat, model)
        chase_down(flat, trail, order, 0, 8, 2, 1e-9)
        rebuild(flat, trail, order, 0, 8, 8, -searcher.merit / 100)
        agree(flat, model)
        vacate(flat, trail, np.array([0, 1, 3, 8]), order, order[:3], 0, 3, 8, -searcher.merit / 100)
        agree(flat, model)
        searcher.slopes()
        hot = searcher.merit / 10 ** (1 + turn / 2)
        anneal(flat, trail, 100_000, hot, hot / 10, 0.3, 0.1, 0.3)
        agree(flat, model)
        trail.numbers[T_LENGTH] = trail.numbers[T_BEST] = 0  # walking has filled the log
        kept = trail.numbers[T_KEPT]
        trade(flat, trail, 3_000, hot)
        traded += int(trail.numbers[T_KEPT] - kept)
        agree(flat, model)
        recall(flat, trail, members, 0, 120, 4, searcher.least)
        agree(flat, model)
        even_out(flat, trail, order, order, 0, 8, 4, searcher.least)
        agree(flat, model)
        move_teams(flat, trail, starts, members, 60, 4, 1e3)
        return_home(flat, trail, 0, 120, 0.0)
        agree_with(flat, searcher.flattener, model)
    assert traded > 100 or hashed, "there are no lanes to trade by without tables"
    assert trail.numbers[T_TRIED] > trail.numbers[T_KEPT] > 1_000
    assert (assignment_of(flat, model) != start).any()
