from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rebalancer.model import CellValues, ModelBuilder, evaluate_cells
from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs.base import Spec
from rebalancer.specs.disaster_recovery_capacity import DisasterRecoveryCapacitySpec
from rebalancer.specs.flow import FlowSpec
from rebalancer.specs.own_item import in_own_item
from tests.specs.sizes import numbers
from tests.specs.worlds import compiled, world


def test_each_row_counts_who_is_in_its_own_item() -> None:
    model, problem = ModelBuilder(world()), world()
    group, member = np.array([0, 0, 1, 2]), problem.objects.lookup(["a", "b", "c", "d"])
    rows = in_own_item(model, group, member, 3, problem.scopes["host"].among(np.array([2, 1, 0])), 3)
    assert (rows.groups, rows.items, rows.low, rows.high) == (9, 1, 0, 2)  # no more than are in a group
    found = evaluate_cells(CellValues(problem, problem.initial), rows).integers.dense()[:, 0]
    assert found.tolist() == [0, 0, 2, 0, 1, 0, 0, 0, 0]  # a and b are on h0, c is on h1, d is nowhere


def site(pairs: int, hosts: int) -> Problem:
    out = ProblemBuilder("task", "host")
    tasks = [f"t{number}" for number in range(2 * pairs)]
    out.set_assignment({f"h{host}": tasks[host::hosts] for host in range(hosts)}, [])
    out.add_object_dimension("cpu", {name: 1 + number % 7 for number, name in enumerate(tasks)})
    out.add_scope_dimension("cpu", "host", {f"h{host}": 10 for host in range(hosts)})
    return out.build()


def flow(tasks: list[str]) -> Spec:
    pairs = [{"object1": one, "object2": other} for one, other in zip(tasks[::2], tasks[1::2], strict=True)]
    return FlowSpec(scope="host", dimension="cpu", pairs=pairs, limit=3)


def takes_over(tasks: list[str]) -> Spec:
    chains = {one: [other] for one, other in zip(tasks[::2], tasks[1::2], strict=True)}
    return DisasterRecoveryCapacitySpec(scope="host", dimension="cpu", primary_to_set_of_secondary_objects=chains)


@pytest.mark.parametrize("spec", [flow, takes_over])
def test_what_pairs_take_grows_with_their_items_and_not_with_the_ways_between_them(
    spec: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("grid", "evaluate"):  # as large problems are
        monkeypatch.setattr(f"rebalancer.model.{module}.DENSE_CELLS", 0)

    def size(pairs: int, hosts: int) -> int:
        problem = site(pairs, hosts)
        return numbers(compiled(problem, spec(list(problem.objects))))  # type: ignore[operator]

    sizes = [size(400, hosts) for hosts in (10, 20, 40)]
    assert sizes[0] < 40 * 400 * 10
    assert all(more < 2.3 * less for less, more in pairwise(sizes))
    assert size(800, 20) < 2.1 * sizes[1]
