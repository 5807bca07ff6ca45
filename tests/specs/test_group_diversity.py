"""By hand: web is on h0 and h1, db on h2 (d is unplaced), none nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.group_diversity import GroupDiversitySpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table, warnings, world


def spec(**fields: Any) -> GroupDiversitySpec:
    return GroupDiversitySpec(**{"scope": "host", "partition": "job", "dimension": "task_count", **fields})


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 1),  # h3 is empty
        ({"limit": 2}, {}, 1 + 1 + 1 + 2),
        ({"limit": 2}, {"d": "h0"}, 0 + 1 + 1 + 2),
        ({"limit": {"scope_item_limits": {"h0": 3}}}, {}, 2 + 1),
        ({"limit": 2, "filter": {"items_whitelist": ["h0"]}}, {}, 1),
        ({"limit": 2, "filter": {"items_whitelist": []}}, {}, 0),
        ({"bound": "MAX"}, {}, 0),
        ({"bound": "MAX"}, {"d": "h0"}, 1),
        ({"bound": "MAX", "limit": 0}, {}, 3),
        ({"scope": "rack", "limit": 2}, {}, 2),
        ({"partition": "shared", "bound": "MAX"}, {}, 1),  # b is in both groups
        ({"limit": {"is_default_limit_unbounded": True}, "bound": "MAX"}, {"d": "h0"}, 0),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == expected


def test_a_group_that_weighs_nothing_is_not_there() -> None:
    weighed = spec(dimension="cpu", bound="MAX", limit=0)
    assert goal(world(), weighed, {"e": "h3"}) == 3  # f stays on h2, and weighs nothing
    assert goal(world(), spec(dimension="cpu", bound="MAX", limit=0), {"a": None, "b": None}) == 2


def test_constraint_has_one_component_per_item() -> None:
    assert broken(world(), spec(limit=2)) == (5, 4)
    assert broken(world(), spec(limit=2), {"d": "h1"}) == (4, 3)
    assert feasible(world(), spec(limit=2), {"d": "h1"})
    assert not feasible(world(), spec(), {"c": "h3"})  # h1 has one, and keeps one
    assert table(world(), spec(limit=2))[0] == ("h0", None, 1, 2, 1)


def test_faults_and_warnings() -> None:
    assert codes(faults(world(), spec(dimension="vec"))) == [("vector-dimension", "dimension")]
    assert codes(faults(world(), spec(dimension=""))) == [("unknown-name", "dimension")]
    assert codes(faults(world(), spec(limit={"group_limits": {"web": 1}}))) == [("unsupported-limit", "group_limits")]
    assert warnings(world(), spec(limit={"type": "RELATIVE", "global_limit": 2})) == ["raw-limit"]
