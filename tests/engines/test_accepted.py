"""Two searchers in two threads: replaying the moves from each accepted answer to the next ends in the reported one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from rebalancer.engines import incumbent
from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Found, Incumbent
from rebalancer.engines.local_search import pace, sharing
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.layout import N_BROKEN
from rebalancer.engines.local_search.kernels.propagate import move, objective
from rebalancer.engines.local_search.search import improve as local_search
from rebalancer.engines.neighbourhood.engine import improve as neighbourhood
from rebalancer.engines.together import Searcher, together
from rebalancer.model import Model
from tests.engines.worlds import crowded

Move = tuple[int, int, int]


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Found]]:
    """What incumbents accept from now on, in order, and the thread that it came from."""
    log: list[tuple[str, Found]] = []

    def noted(assignment: NDArray[np.int32], integers: tuple[int, ...], version: int) -> Found:
        found = Found(assignment, integers, version)  # is made where it is accepted, one at a time
        log.append((threading.current_thread().name, found))
        return found

    monkeypatch.setattr(incumbent, "Found", noted)
    return log


def moves(before: NDArray[np.int32], after: NDArray[np.int32]) -> Iterator[Move]:
    """Yield object, source and destination of what differs."""
    changed = np.flatnonzero(before != after)
    yield from zip(changed.tolist(), before[changed].tolist(), after[changed].tolist(), strict=True)


@pytest.mark.parametrize("team", [(local_search, neighbourhood), (local_search, local_search)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_log_of_two_threads(
    team: tuple[Searcher, Searcher],
    seed: int,
    accepted: list[tuple[str, Found]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pace, "_CALL", 0.001)  # short calls, and every answer handed over
    monkeypatch.setattr(sharing, "_SHARE", 0.0)
    model = crowded(300, 20, seed)
    request = Request(time_limit=None, iterations=150_000, workers=2, seed=seed)
    shared = Incumbent.of(model, request)
    both = threading.Barrier(2)

    def at_once(improve: Searcher) -> Searcher:
        def start(model: Model, shared: Incumbent, budget: Budget, request: Request) -> None:
            both.wait(60)
            improve(model, shared, budget, request)

        return start

    together(tuple(map(at_once, team)), shared, shared.budget, request)
    answer = finish(shared, "both")
    assert answer.assignment is not None
    assert len(accepted) > 3
    flat = Flattener(model).at(model.problem.initial)
    place = model.problem.initial.copy()
    for number, (_, found) in enumerate(accepted, start=1):
        assert found.version == number
        for obj, source, destination in moves(place, found.assignment):
            assert flat.place[obj] == source
            move(flat, obj, destination)
        place = found.assignment
        assert flat.counts[N_BROKEN] == 0
        assert tuple(objective(flat, position)[0] for position in range(model.positions)) == found.integers
    integers = [found.integers for _, found in accepted]
    assert integers == sorted(set(integers), reverse=True), "each is better than the last"
    assert np.array_equal(flat.place, place)
    returned = answer.assignment != place
    assert (answer.assignment[returned] == model.problem.initial[returned]).all(), "in the end idle moves are undone"
    for obj, _, destination in moves(place, answer.assignment):
        move(flat, obj, destination)
    score = model.evaluate(answer.assignment)
    assert score.feasible
    assert score.integers == tuple(objective(flat, position)[0] for position in range(model.positions))
    assert score.integers <= integers[-1]
