"""On problems small enough to enumerate, searchers find an answer wherever there is one, and none that is too good."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import engines
from rebalancer.engines.base import Answer, Request, Status
from rebalancer.model import Model
from rebalancer.specs import registry
from tests.examples import examples
from tests.property.problems import models, models_with, optimum

#: Rounds: steps of local search; parts of neighbourhood search, enough for each kind of part to have had its turn.
ROUNDS = {"local_search": 20_000, "neighbourhood": 16}


def solved(name: str, model: Model) -> Answer:
    """Return what some rounds of a searcher find; no clock has a part in it."""
    request = Request(time_limit=None, iterations=ROUNDS[name], deterministic=True)
    return engines.get(name).solve(model, request)


def check(name: str, model: Model) -> None:
    """Compare a searcher's answer with all assignments, and with what the evaluator says of it."""
    best = optimum(model)
    answer = solved(name, model)
    if best is None:
        assert answer.assignment is None
        assert answer.status is Status.UNKNOWN, "searching proves no such thing"
        assert answer.reason
        return
    assert answer.assignment is not None, "some assignment holds everything"
    score, start = model.evaluate(answer.assignment), model.evaluate(model.problem.initial)
    assert score.feasible
    assert score.integers >= best
    assert not start.feasible or score.integers <= start.integers
    for bound, least in zip(answer.bounds, best, strict=True):
        assert bound is None or bound <= least
        if bound != least:
            break  # later bounds hold where earlier positions are at theirs
    assert (answer.status is Status.OPTIMAL) == (answer.bounds == score.integers == best)


@pytest.mark.parametrize("name", sorted(ROUNDS))
@pytest.mark.parametrize("key", sorted(registry.BUILT_IN))
@examples(2)
@given(data=st.data())
def test_every_spec_by_itself(name: str, key: str, data: st.DataObject) -> None:
    check(name, data.draw(models_with(key)))


@pytest.mark.parametrize("name", sorted(ROUNDS))
@examples(20)
@given(model=models(objects=4, containers=3))
def test_any_mixture(name: str, model: Model) -> None:
    check(name, model)
