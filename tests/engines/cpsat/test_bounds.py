"""Bounds that are raised by ruling answers out never pass what can be reached, and close only what they prove."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from rebalancer.engines.base import Request, Status
from rebalancer.engines.bounds import CLOSED, closed_as_reported
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import whole
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.engine import CpsatEngine
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.cpsat.proto import BulkModel
from rebalancer.engines.cpsat.run import Outcome, solve
from rebalancer.engines.cpsat.whole import Whole
from rebalancer.engines.incumbent import Incumbent
from rebalancer.model import CellValues, Model
from tests.engines.worlds import attracted, crowded
from tests.examples import examples
from tests.property.problems import models, optimum

NOTHING = Outcome("UNKNOWN", None, 0, None)


class Hurried:
    """CP-SAT without time for the first search of a position: what is not there has to be ruled out, step by step.

    Parameters
    ----------
    monkeypatch : MonkeyPatch
    lies : int
        So many of the first questions are answered INFEASIBLE whatever is true; only the second opinion is honest.

    Attributes
    ----------
    asked : int
        Positions at which answers were to be ruled out.
    refuted, found : int
        Questions that were answered with no, and with an answer.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lies: int = 0) -> None:
        self.asked = self.refuted = self.found = 0
        self._lies = lies
        self._asking = False
        self._searched: Any = None
        rule_out = Whole._rule_out

        def asking(*arguments: Any) -> None:
            self._asking, self.asked = True, self.asked + 1
            try:
                rule_out(*arguments)
            finally:
                self._asking = False

        monkeypatch.setattr(whole, "solve", self.solve)
        monkeypatch.setattr(Whole, "_rule_out", asking)

    def solve(self, bulk: BulkModel, request: Request, budget: Budget, *calls: Any, **parameters: Any) -> Outcome:
        """Answer in place of CP-SAT, or let it answer."""
        on_solution = calls[0] if calls else None
        if on_solution is not None and on_solution != self._searched:  # the first search of a position
            self._searched = on_solution
            return NOTHING
        question = self._asking and "symmetry_level" not in parameters
        if question and self._lies:
            self._lies -= 1
            return Outcome("INFEASIBLE", None, 0, None)
        outcome = solve(bulk, request, budget, *calls, **parameters)
        self.refuted += question and outcome.status == "INFEASIBLE"
        self.found += question and outcome.values is not None
        return outcome


def check(model: Model, lies: int = 0) -> Hurried:
    """Compare what is proven with all assignments; return how."""
    best = optimum(model)
    with pytest.MonkeyPatch.context() as patch:
        hurried = Hurried(patch, lies)
        answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    if best is None:
        assert answer.status is Status.INFEASIBLE
        return hurried
    assert answer.assignment is not None
    assert model.evaluate(answer.assignment).integers == best
    assert answer.bounds == best
    return hurried


def test_what_is_ruled_out_cannot_be_reached() -> None:
    taken: list[Hurried] = []

    @examples(100)
    @given(models(objects=4, containers=3))
    def every(model: Model) -> None:
        taken.append(check(model))

    every()
    assert sum(hurried.asked for hurried in taken) > 30
    assert sum(hurried.refuted for hurried in taken) > 10
    assert sum(hurried.found for hurried in taken) > 10


def test_what_is_ruled_out_once_is_not_believed() -> None:
    taken: list[Hurried] = []

    @examples(40)
    @given(models(objects=4, containers=3))
    def every(model: Model) -> None:
        taken.append(check(model, lies=1))

    every()
    assert sum(hurried.asked for hurried in taken) > 5


def test_a_larger_problem_is_closed_by_ruling_out() -> None:
    model = attracted(24, 4)
    honest = CpsatEngine().solve(model, Request(time_limit=60))
    assert honest.status is Status.OPTIMAL
    with pytest.MonkeyPatch.context() as patch:
        hurried = Hurried(patch)
        answer = CpsatEngine().solve(model, Request(time_limit=60))
    assert hurried.asked == 1
    assert answer.bounds == honest.bounds


def test_a_ceiling_leaves_what_is_below_it() -> None:
    reached = 0

    @examples(80)
    @given(models(objects=4, containers=3))
    def every(model: Model) -> None:
        nonlocal reached
        best = optimum(model)
        search = Incumbent.of(model, Request())
        literals = all_candidates(model)
        if best is None or search.found is None or not literals.per_object.all():
            return
        encoding = encode(model, literals, CellValues(model.problem, search.found.assignment))
        rows = encoding.objectives[0]
        if encoding.squares or not len(rows.key):
            return
        reached += 1
        for most, status in ((best[0] - 1, "INFEASIBLE"), (best[0], "OPTIMAL"), (best[0] + 5, "OPTIMAL")):
            Position(search, encoding, 0).aim(None, most)
            outcome = solve(encoding.bulk, Request(workers=1), Budget(60.0))
            assert outcome.status == status
            if status == "OPTIMAL":
                assert outcome.objective + int(rows.const.dense()[0, 0]) == best[0]

    every()
    assert reached > 20


def test_closed_is_what_reports_cannot_tell_from_proven() -> None:
    model = crowded(24, 4)
    unit = float(model.tuple_positions[0].objective.unit)
    epsilon = model.tuple_positions[0].epsilon
    integer = int(0.5 / unit)
    bound = model.real(0, integer)
    assert closed_as_reported(model, 0, bound, integer)
    assert closed_as_reported(model, 0, bound - 0.1, integer)
    assert closed_as_reported(model, 0, bound + 0.9 * (CLOSED + epsilon), integer)
    assert not closed_as_reported(model, 0, bound + 1.1 * (CLOSED + epsilon), integer)
    assert not closed_as_reported(model, 0, bound + 0.1, integer)


def test_rounding_does_not_grow_with_values() -> None:
    model = crowded(24, 4)
    epsilon = model.tuple_positions[0].epsilon
    assert epsilon > 0
    integer = int(1000 / float(model.tuple_positions[0].objective.unit))
    bound = model.real(0, integer)
    slack = 1000 * CLOSED + epsilon
    assert closed_as_reported(model, 0, bound + 0.9 * slack, integer)
    assert not closed_as_reported(model, 0, bound + 1.1 * slack, integer)


def test_closed_is_relative_where_values_are_large() -> None:
    model = attracted(24, 4)  # its objective is exact: units of one
    assert model.tuple_positions[0].epsilon == 0
    far = -(10**9)
    assert closed_as_reported(model, 0, model.real(0, far) + 0.9, far)
    assert not closed_as_reported(model, 0, model.real(0, far) + 1.1, far)
