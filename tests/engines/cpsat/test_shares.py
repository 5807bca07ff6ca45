"""What parts of the containers cost at least by themselves is a bound of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalancer import GroupCountSpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import position
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.shares import bound_by_parts
from rebalancer.engines.incumbent import Incumbent
from rebalancer.model import CellValues, Model
from tests.property.problems import models, optimum

REQUEST = Request(deterministic=True)


def encoded(model: Model) -> Encoding:
    """Return the model over all candidates."""
    return encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))


def bound(model: Model, encoding: Encoding, item_of: list[int]) -> int | None:
    """Return the bound of the first position."""
    parts = np.array(item_of, np.int32)
    return bound_by_parts(encoding, encoding.objectives[0], parts, REQUEST, Budget(60.0, deterministic=True))


@settings(max_examples=150)
@given(models(), st.lists(st.integers(-1, 1), min_size=3, max_size=3))
def test_it_is_never_above_the_optimum(model: Model, item_of: list[int]) -> None:
    best = optimum(model)
    encoding = encoded(model)
    if best is None or not len(encoding.objectives[0].key) or encoding.squares:
        return
    before = [constraint.has_exactly_one() for constraint in encoding.bulk.proto.constraints]
    found = bound(model, encoding, item_of[: len(model.problem.containers)])
    assert found is None or found <= best[0]
    assert [constraint.has_exactly_one() for constraint in encoding.bulk.proto.constraints] == before


def racks(weight: int) -> Model:
    """Return eight tasks of four jobs, all in one of two racks, where at most one of a job may be."""
    solver = Rebalancer("task", "host")
    hosts = [f"h{n}" for n in range(4)]
    solver.set_assignment({host: [f"t{n}" for n in range(8) if n % 2 == number] for number, host in enumerate(hosts)})
    solver.add_scope("rack", {"r0": hosts[:2], "r1": hosts[2:]})
    solver.add_partition("job", {f"j{n}": [f"t{2 * n}", f"t{2 * n + 1}"] for n in range(4)})
    solver.add_constraint(GroupCountSpec(scope="rack", partition="job", limit=1))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), weight=weight)
    return solver.model


@pytest.mark.parametrize("weight", [1, 7])
def test_limits_per_rack_count_who_has_to_leave(weight: int) -> None:
    model = racks(weight)
    encoding = encoded(model)
    best = model.evaluate(np.array([0, 0, 0, 0, 2, 3, 2, 3], np.int32))  # of each job, one has left the rack
    assert bound(model, encoding, [0, 0, 1, 1]) == best.integers[0]
    assert (bound(model, encoding, [0, 1, 2, 3]) or 0) <= 0  # each host alone may keep all that it has


@pytest.mark.parametrize("limit", [None, 30.0, 3_600.0])
def test_it_has_little_time_even_where_the_whole_has_no_limit(
    monkeypatch: pytest.MonkeyPatch, limit: float | None
) -> None:
    left: list[float] = []

    def noted(_encoding: Encoding, _objective: object, _parts: object, _request: Request, budget: Budget) -> None:
        left.append(budget.remaining)

    monkeypatch.setattr(position, "bound_by_parts", noted)
    monkeypatch.setattr(position, "_SMALL", 0)
    model = racks(1)
    budget = Budget(limit)
    asked = position.Position(Incumbent.of(model, Request()), encoded(model), 0)
    assert asked.raised(budget) == asked.bound
    assert left
    assert max(left) <= min(20.0, 0.08 * (limit or 1_000.0))
