"""The linear relaxation against brute force: what it promises of each placement holds for every answer that has it."""

from __future__ import annotations

import threading
from itertools import product

import numpy as np
import pytest

from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.relaxation import _rows, relax
from rebalancer.engines.incumbent import Found
from rebalancer.model import CellValues, Model
from tests.engines.worlds import crowded, rounded, stuck

#: Linear programming is no exact arithmetic.
LOST = 1e-6


def answers(model: Model) -> list[tuple[np.ndarray, tuple[int, ...]]]:
    """Return all answers that hold, and what they have."""
    containers = range(-1, len(model.problem.containers))
    out = []
    for places in product(containers, repeat=len(model.problem.objects)):
        assignment = np.array(places, np.int32)
        score = model.evaluate(assignment)
        if score.feasible:
            out.append((assignment, score.integers))
    return out


@pytest.mark.parametrize("seed", range(6))
def test_no_answer_has_less_than_is_promised_of_its_placements(seed: int) -> None:
    model = rounded(4, 3, seed)
    every = answers(model)
    best = min(every, key=lambda answer: answer[1])
    relaxation = relax(model, 0, Found(*best, 1), 10_000)
    assert relaxation is not None
    error = 1 + float(model.tuple_positions[0].objective.error / model.tuple_positions[0].objective.unit)
    assert relaxation.value > 0
    for assignment, integers in every:
        if integers > best[1] and integers[0] > 3 * best[1][0]:
            continue  # penalties that the best answer does without were capped
        extra = relaxation.reduced[np.arange(4), assignment].max()
        assert relaxation.value + extra <= integers[0] * (1 + LOST) + error


def test_reading_a_model_leaves_it_as_it_is() -> None:
    """Of a protocol buffer, to look at a field may be to make it: each object would take what it likes, or nothing."""
    model = rounded(4, 3, 1)
    encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
    before = str(encoding.bulk.proto)
    assert "exactly_one" in before
    _rows(encoding)
    assert str(encoding.bulk.proto) == before


def test_who_wants_it_to_stop_gets_nothing() -> None:
    model, stop = crowded(), threading.Event()
    initial = model.problem.initial
    stop.set()
    assert relax(model, 0, Found(initial, model.evaluate(initial).integers, 1), 10_000, stop) is None


def test_a_later_position_has_what_the_earlier_ones_leave() -> None:
    """Balance first: of the answers that are as good in it, none moves less than is promised."""
    model = crowded(5, 3, 2)
    every = answers(model)
    best = min(every, key=lambda answer: answer[1])
    first, second = (relax(model, position, Found(*best, 1), 10_000) for position in (0, 1))
    assert first is not None
    assert second is not None
    error = 1 + float(model.tuple_positions[1].objective.error / model.tuple_positions[1].objective.unit)
    assert first.value <= best[1][0] * (1 + LOST) + error
    found = 0
    for assignment, integers in every:
        if integers[0] == best[1][0]:
            found += 1
            extra = second.reduced[np.arange(5), assignment].max()
            assert second.value + extra <= integers[1] * (1 + LOST) + error
    assert found


def test_what_may_not_be_is_infinitely_dear() -> None:
    model = rounded(5, 3, 1)
    score = model.evaluate(model.problem.initial)
    relaxation = relax(model, 0, Found(model.problem.initial, score.integers, 1), 10_000)
    assert relaxation is not None
    assert relaxation.reduced.shape == (5, 4)
    known = np.isfinite(relaxation.reduced)
    assert known[np.arange(5), model.problem.initial].all()
    assert (relaxation.reduced[known] > -1e-3).all()


def test_where_no_answer_is_there_is_no_relaxation() -> None:
    model = stuck()
    found = Found(model.problem.initial, model.evaluate(model.problem.initial).integers, 1)
    assert relax(model, 0, found, 10_000) is None
