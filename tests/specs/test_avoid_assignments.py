from __future__ import annotations

from typing import Any

from rebalancer.specs.avoid_assignments import AvoidAssignmentsSpec
from tests.specs.worlds import broken, codes, compiled, faults, feasible, placed, table, world


def forbid(scope: str, **items: Any) -> AvoidAssignmentsSpec:
    return AvoidAssignmentsSpec(
        scope=scope, assignments=[{"object": name, "scope_items": listed} for name, listed in items.items()]
    )


def test_one_component_per_named_item() -> None:
    spec = forbid("host", a=["h0", "h1"], b=["h0"], c=["h3"])
    assert broken(world(), spec) == (2, 1)
    assert broken(world(), spec, {"a": "h1", "c": "h3"}) == (3, 3)
    assert broken(world(), spec, {"a": "h2", "b": None}) == (0, 0)
    assert compiled(world(), spec, "constraint").constraints[0].components[0].count == 3


def test_items_of_a_coarser_scope() -> None:
    spec = forbid("rack", a=["r1"], e=["r1"])
    assert broken(world(), spec) == (1, 1)
    assert broken(world(), spec, {"a": "h2", "e": "h3"}) == (1, 1)


def test_two_forbidden_objects_cannot_swap_places() -> None:
    spec = forbid("host", a=["h0"], c=["h0"])
    assert not feasible(world(), spec, {"a": "h1", "c": "h0"})
    assert feasible(world(), spec, {"a": "h1"})
    assert feasible(world(), spec, {})


def test_the_flat_penalty_is_paid_once_per_item() -> None:
    spec = forbid("host", a=["h0"], b=["h0"], e=["h2"])
    model = compiled(world(), spec, "constraint")
    assert model.evaluate(model.problem.initial).objective[0] - 10100 == 2 * 10000 + 3 * 100  # 10100: d is unplaced
    assert model.evaluate(placed(model.problem, {"a": "h1"})).objective[0] - 10100 == 2 * 10000 + 2 * 100
    assert model.evaluate(placed(model.problem, {"a": "h1", "b": "h1"})).objective[0] - 10100 == 10000 + 100


def test_the_penalty_of_a_broken_item_counts_all_that_is_in_it() -> None:
    model = compiled(world(), forbid("host", a=["h0"], c=["h0"]), "constraint")
    score = model.evaluate(placed(model.problem, {"c": "h0"}))
    assert score.worsened == ("avoid_assignments#1",)
    assert score.objective[0] - 10100 == 10000 + 2 * 100


def test_a_pair_counts_once() -> None:
    spec = AvoidAssignmentsSpec.model_validate(
        {
            "scope": "host",
            "assignments": [{"object": "a", "scopeItems": ["h0", "h0"]}, {"object": "a", "scopeItems": ["h0"]}],
        }
    )
    assert broken(world(), spec) == (1, 1)


def test_nothing_forbidden() -> None:
    assert broken(world(), AvoidAssignmentsSpec(scope="host", assignments=[])) == (0, 0)
    assert broken(world(), forbid("host", a=[])) == (0, 0)


def test_cells_are_by_object_and_item() -> None:
    assert table(world(), forbid("host", a=["h0"], b=["h1"])) == [("h0", "a", 1, 0, 1), ("h1", "b", 0, 0, 0)]


def test_unknown_names_are_faults_with_their_place() -> None:
    found = faults(world(), forbid("host", zz=["h0"], a=["h7"]), "constraint")
    assert [fault.path[1:] for fault in found] == [("assignments", 0, "object"), ("assignments", 1, "scope_items", 0)]
    assert codes(found) == [("unknown-name", "object"), ("unknown-name", "0")]
