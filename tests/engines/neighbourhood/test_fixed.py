"""Parts of a problem that is encoded as a whole."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rebalancer.engines.base import Request
from rebalancer.engines.cpsat import position
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.objective import ExactObjective
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood import fixed
from rebalancer.engines.neighbourhood.choice import Choice
from rebalancer.engines.neighbourhood.fixed import Fixed
from rebalancer.engines.neighbourhood.search import Neighbourhoods
from rebalancer.model import CellValues, Model
from tests.engines.worlds import attracted, crowded, rounded
from tests.examples import examples
from tests.property.problems import models, optimum

#: Without a limit, as its clock begins with the module.
REQUEST = Request(None, workers=1)


def first_of(model: Model) -> tuple[Incumbent, Position] | None:
    """Return the search of a model's first position; None where there is no start."""
    search = Incumbent.of(model, REQUEST)
    if search.best is None:
        return None
    encoding = encode(model, all_candidates(model), CellValues(model.problem, search.best))
    return search, Position(search, encoding, 0)


def freeing(model: Model, search: Incumbent, objects: Any) -> Choice:
    """Return the choice in which some objects may be anywhere."""
    assert search.best is not None
    return Choice.among(search.best, np.array(objects), np.arange(-1, len(model.problem.containers)))


@examples(50)
@given(models(objects=4, containers=3))
def test_all_freed_end_at_the_optimum(model: Model) -> None:
    best, found = optimum(model), first_of(model)
    if best is None or found is None:
        return
    search, first = found
    if first.encoding.squares or not len(first.rows.key):
        return
    before = search.integers[0]
    gain, solved = Fixed(first).solve(
        freeing(model, search, range(len(model.problem.objects))), 0, search.budget, REQUEST
    )
    assert solved
    assert search.integers[0] == best[0]
    assert gain == before - best[0]


@pytest.mark.parametrize("seed", range(6))
def test_by_the_exact_formula_they_end_there_but_for_rounding(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "_SMALL", 0)
    model = rounded(seed=seed)
    scores = [model.evaluate(np.array(chosen, np.int32)) for chosen in itertools.product(range(3), repeat=5)]
    found = first_of(model)
    assert found is not None
    search, first = found
    assert isinstance(first.objective, ExactObjective)
    _, solved = Fixed(first).solve(freeing(model, search, range(5)), 0, search.budget, REQUEST)
    assert solved
    assert search.best is not None
    reached = float(model.evaluate(search.best).objective[0])
    least = min(float(score.objective[0]) for score in scores if score.feasible)
    assert least <= reached <= least + model.tuple_positions[0].epsilon


def test_who_is_not_freed_stays() -> None:
    model = crowded(60, 6)
    found = first_of(model)
    assert found is not None
    search, first = found
    before = search.best
    gain, _ = Fixed(first).solve(freeing(model, search, range(10, 20)), 0, search.budget, REQUEST)
    assert gain > 0
    assert before is not None
    assert search.best is not None
    moved = np.flatnonzero(before != search.best)
    assert len(moved)
    assert set(moved) <= set(range(10, 20))
    assert model.evaluate(search.best).feasible


def test_what_others_find_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model = attracted(40, 6)
    found = first_of(model)
    assert found is not None
    search, first = found
    parts, theirs = Fixed(first), Fixed(first)
    solve = fixed.solve

    def slow(*arguments: Any, **parameters: Any) -> Any:
        monkeypatch.setattr(fixed, "solve", solve)
        assert theirs.solve(freeing(model, search, range(20)), 0, search.budget, REQUEST)[0] > 0
        return solve(*arguments, **parameters)

    start = search.best
    monkeypatch.setattr(fixed, "solve", slow)
    choice = freeing(model, search, range(20, 40))
    gain, _ = parts.solve(choice, 0, search.budget, REQUEST)
    assert start is not None
    assert search.best is not None
    moved = set(np.flatnonzero(start != search.best))
    assert moved & set(range(20))
    if gain:
        assert moved & set(range(20, 40))
    # and it goes on from there
    again = Neighbourhoods(search, REQUEST, 1, parts)
    between = search.integers
    again.improve(0, search.budget.part(2.0))
    assert search.integers <= between
