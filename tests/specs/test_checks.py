"""Faults that several specs share."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs import registry
from tests.specs.worlds import codes, faults, world


@pytest.mark.parametrize(
    ("key", "fields", "unknown"),
    [
        ("aggregated_group", {"scope": "nope", "partition_name": "job"}, "scope"),
        ("diversify_within_scope_item", {"scope": "nope", "partition_name": "job"}, "scope"),
        ("exclusive_groups", {"scope": "nope", "partition_name": "job"}, "scope"),
        ("flow", {"scope": "nope", "pairs": ()}, "scope"),
        ("group_move_limit", {"partition_name": "nope"}, "partition_name"),
        ("largest_group_movement", {"partition_name": "nope"}, "partition_name"),
        ("leftover_ratio", {"scope": "nope", "other_dimension": "cpu"}, "scope"),
        ("transition_cost", {"scope": "nope", "costs": {}}, "scope"),
    ],
)
def test_an_unknown_name_hides_nothing_about_the_dimension(key: str, fields: dict[str, Any], unknown: str) -> None:
    spec = registry.get(key).model_validate({"dimension": "vec", **fields})
    kind = "goal" if spec.is_goal() else "constraint"
    found = codes(faults(world(), spec, kind))
    assert ("vector-dimension", "dimension") in found
    assert unknown in {field for code, field in found if code.startswith("unknown")}
