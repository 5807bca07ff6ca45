"""By hand: web a b on h0 and c on h1, db e on h2 and d unplaced; as parts, front a b, back c."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.problem import Problem
from rebalancer.specs.group_capacity import GroupCapacitySpec
from tests.specs.worlds import broken, builder, codes, faults, feasible, goal, warnings


def parts() -> Problem:
    out = builder()
    out.add_partition("part", {"front": ["a", "b"], "back": ["c"], "idle": []})
    return out.build()


def spec(**fields: Any) -> GroupCapacitySpec:
    return GroupCapacitySpec(
        **{"scope": "host", "partition": "job", "definition": "AFTER", "contribution": 1, "limit": 0, **fields}
    )


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 3 + 1),
        ({}, {"d": "h0"}, 3 + 2),
        ({"limit": 2}, {}, 1),
        ({"limit": {"group_limits": {"web": 1, "db": 5}}}, {}, 2),
        ({"bound": "MIN", "limit": 2}, {}, 1 + 2),
        ({"bound": "EXACT", "limit": 2}, {}, 1 + 1 + 2),
        ({"contribution": {"group_limits": {"web": 2.5}}}, {}, 7.5),
        ({"contribution": {"scope_item_limits": {"h0": 3}, "group_limits": {"web": 2}}}, {}, 2 * 3 + 2),
        ({"contribution": {"scope_item_to_group_limits": {"h0": {"web": 4}}}}, {}, 8),
        ({"contribution_partition": "part", "contribution": {"group_limits": {"front": 5, "back": 1}}}, {}, 11),
        ({"util_type": "STEP"}, {}, 2 + 1),
        ({"util_type": "STEP_MOD_K", "bundle_config": 2}, {}, 1 + 1),
        ({"util_type": "STEP_MOD_K", "bundle_config": 2}, {"c": "h0"}, 1 + 1),
        ({"util_type": "STEP_MOD_K", "bundle_config": 3}, {"c": "h0"}, 0 + 1),
        ({"util_type": "STEP_MOD_K", "bundle_config": 1}, {}, 0),
        ({"util_type": "STEP_MOD_K", "bundle_config": 1, "definition": "DURING"}, {}, 3 + 1),
        ({"definition": "DURING"}, {"c": "h0"}, 4 + 1),
        ({"definition": "DURING_AND_AFTER"}, {"c": "h0"}, 4 + 1 + 3 + 1),
        ({"filter": {"items_blacklist": ["h0"]}}, {}, 1 + 1),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(parts(), spec(**fields), moves) == expected


def test_constraint_has_one_component_per_condition_side_and_group() -> None:
    assert broken(parts(), spec(limit=2)) == (1, 1)
    assert broken(parts(), spec(bound="EXACT", limit=2)) == (4, 3)
    assert broken(parts(), spec(definition="DURING_AND_AFTER", limit=2)) == (2, 2)
    assert not feasible(parts(), spec(limit=1), {"d": "h0"})
    assert feasible(parts(), spec(limit=2), {"d": "h0"})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"partition": "shared"}, [("overlapping-groups", "partition_name")]),
        ({"partition": "part", "contribution_partition": "job"}, [("not-nested", "contribution_partition")]),
        ({"contribution_partition": "shared"}, []),  # overlapping parts, each inside web
        ({"util_type": "STEP_MOD_K"}, [("missing-field", "util_type")]),
        ({"bundle_config": 2}, [("unsupported-field", "bundle_config")]),
        ({"util_type": "STEP_MOD_K", "bundle_config": 1.5}, [("out-of-range", "global_limit")]),
        (
            {"util_type": "STEP_MOD_K", "bundle_config": {"scope_item_limits": {"h0": 0}}},
            [("out-of-range", "h0")],
        ),
        ({"util_type": "STEP_MOD_K", "bundle_config": {"type": "RELATIVE"}}, [("unsupported-limit", "type")]),
        ({"limit": {"scope_item_limits": {"h0": 1}}}, [("unsupported-limit", "scope_item_limits")]),
        (
            {"contribution": {"is_default_limit_unbounded": True}},
            [("unsupported-limit", "is_default_limit_unbounded")],
        ),
        ({"contribution_partition": "part", "contribution": {"group_limits": {"web": 1}}}, [("unknown-name", "web")]),
    ],
)
def test_faults(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert codes(faults(parts(), spec(**fields))) == expected


def test_defaults() -> None:
    """Rebalancer's defaults: both conditions, no contribution, a limit of 0."""
    plain = GroupCapacitySpec(scope="host", partition="job")
    assert plain.definition.value == "DURING_AND_AFTER"
    assert goal(parts(), plain) == 0
    assert warnings(parts(), plain) == ["no-effect"]
    assert warnings(parts(), spec()) == []
