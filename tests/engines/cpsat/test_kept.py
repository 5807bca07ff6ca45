"""What a first glance has compiled is searched again, as it was; nothing is compiled once the time is over."""

from __future__ import annotations

import pytest

from rebalancer.engines.base import Request, Status
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import engine
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import Encoding, Late, encode
from rebalancer.engines.cpsat.leavers import proven_of_leavers
from rebalancer.engines.incumbent import Incumbent
from rebalancer.model import CellValues
from tests.engines.worlds import crowded


def test_a_glance_and_what_follows_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Encoding] = []

    def noted(*given: object) -> Encoding:
        made.append(encode(*given))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(engine, "encode", noted)
    model = crowded(12, 3)
    cpsat, incumbent = engine.CpsatEngine(), Incumbent.of(model, Request(time_limit=60, workers=1))
    cpsat.proves(incumbent, 0.0)
    [kept] = made
    count = len(kept.bulk.proto.constraints)
    assert count == len(
        encode(model, kept.literals, CellValues(model.problem, model.problem.initial)).bulk.proto.constraints
    )
    answer = cpsat.conclude(incumbent)
    assert len(made) == 1
    alone = engine.CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    assert (answer.status, alone.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert answer.assignment is not None
    assert alone.assignment is not None
    assert model.evaluate(answer.assignment).integers == model.evaluate(alone.assignment).integers


def test_nothing_is_compiled_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "encode", None)
    incumbent = Incumbent.of(crowded(60, 6), Request(time_limit=60))
    incumbent.budget.reach()
    cpsat = engine.CpsatEngine()
    assert not cpsat.proves(incumbent, 1.0)
    assert cpsat.conclude(incumbent).status is Status.FEASIBLE


def test_compiling_ends_when_somebody_stops_the_search() -> None:
    model, budget = crowded(60, 6), Budget(60.0)
    budget.stop.set()
    with pytest.raises(Late):
        encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial), budget)
    incumbent = Incumbent.of(model, Request(time_limit=60, stop=budget.stop))
    assert proven_of_leavers(incumbent, 0, all_candidates(model), budget, incumbent.request) == (None, False)
    assert engine.CpsatEngine().conclude(incumbent).status is Status.FEASIBLE


def test_a_model_of_very_many_cells_is_not_written_out_for_cpsat(monkeypatch: pytest.MonkeyPatch) -> None:
    incumbent = Incumbent.of(crowded(60, 6), Request(time_limit=60))
    assert engine.fits(incumbent)
    assert not engine.fits(Incumbent.of(crowded(), Request(time_limit=60)), 1e-6)
    monkeypatch.setattr(engine, "_CELLS", 5)  # there are six hosts
    assert not engine.fits(incumbent)
