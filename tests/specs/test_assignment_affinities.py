from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.assignment_affinities import AssignmentAffinitiesSpec
from tests.specs.worlds import codes, compiled, faults, goal, world


def likes(*entries: tuple[str, str, Any], **fields: Any) -> AssignmentAffinitiesSpec:
    listed = [{"objectName": name, "scopeItemName": item, "affinity": affinity} for name, item, affinity in entries]
    return AssignmentAffinitiesSpec.model_validate({"affinities": listed, **fields})


def test_the_value_is_the_affinity_turned_round() -> None:
    spec = likes(("a", "h0", 2), ("a", "h1", 5), ("c", "h0", -1.5))
    assert goal(world(), spec) == -2
    assert goal(world(), spec, {"a": "h1", "c": "h0"}) == -3.5
    assert goal(world(), spec, {"a": "h2"}) == 0


def test_entries_of_one_pair_add_up() -> None:
    assert goal(world(), likes(("a", "h0", 2), ("a", "h0", 0.25))) == -2.25


def test_items_of_a_scope() -> None:
    spec = likes(("a", "r0", 1), ("e", "r1", 2), scope="rack")
    assert goal(world(), spec) == -3
    assert goal(world(), spec, {"a": "h1", "e": "h3"}) == -1


def test_unplaced_objects_contribute_nothing() -> None:
    assert goal(world(), likes(("d", "h0", 4))) == 0
    assert goal(world(), likes(("d", "h0", 4)), {"d": "h0"}) == -4
    assert goal(world(), likes(("a", "h0", 4)), {"a": None}) == 0


def test_no_entries() -> None:
    assert goal(world(), likes()) == 0


def test_decimals_are_exact() -> None:
    model = compiled(world(), likes(("a", "h0", 0.1), ("b", "h0", 0.2)))
    cells = model.goals[0].cells
    assert cells.error == 0
    assert goal(world(), likes(("a", "h0", 0.1), ("b", "h0", 0.2))) == pytest.approx(-0.3, abs=1e-15)


def test_unknown_names() -> None:
    found = faults(world(), likes(("zz", "h0", 1), ("a", "h8", 1)))
    assert codes(found) == [("unknown-name", "object_name"), ("unknown-name", "scope_item_name")]
    assert codes(faults(world(), likes(("a", "h0", 1), scope="rack"))) == [("unknown-name", "scope_item_name")]
