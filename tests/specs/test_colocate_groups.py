"""By hand: web is on h0 and h1, db on h2 (and its d nowhere), the third group is empty."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.colocate_groups import ColocateGroupsSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table, warnings, world


def colocate(**fields: Any) -> ColocateGroupsSpec:
    return ColocateGroupsSpec(**{"scope": "host", "partition_name": "job", **fields})


@pytest.mark.parametrize(
    ("fields", "value", "components"),
    [
        ({}, 1, 1),
        ({"limits": 0}, 3, 2),
        ({"limits": {"global_limit": 0, "group_limits": {"web": 2}}}, 1, 1),
        ({"scope": "rack"}, 0, 0),
        ({"scope_item_weights": {"h1": 3, "h2": 0.5}}, 3, 1),
        ({"filter": {"items_blacklist": ["h0"]}}, 0, 0),
        ({"filter": {"items_whitelist": []}, "limits": 0}, 0, 0),
        ({"bound": "MIN", "limits": 2}, 0 + 1 + 2, 2),
        ({"bound": "MIN"}, 1, 1),
        ({"squares": True, "limits": 0}, 4 + 1, 2),
        ({"squares": True, "limits": 5}, 0, 0),
        ({"squares": True, "bound": "MIN", "limits": 3}, 1 + 4 + 9, 3),
        ({"group_to_weight": {"web": 2.5}, "limits": 0}, 5 + 1, 2),
        ({"group_to_weight": {"web": 0}, "limits": 0}, 1, 1),
        ({"dimension": "net", "limits": 0}, 0, 0),  # web has -1 on h0
        ({"dimension": "cpu", "limits": 0}, 3, 2),
        ({"dimension": "vec", "limits": 0}, 2, 1),
        ({"limits": {"is_default_limit_unbounded": True, "group_limits": {"db": 0}}}, 1, 1),
        ({"use_continuous_penalty_with_optimal": True}, 1, 1),
    ],
)
def test_spread_against_limit(fields: dict[str, Any], value: float, components: int) -> None:
    assert goal(world(), colocate(**fields)) == pytest.approx(value)
    assert broken(world(), colocate(**fields)) == (pytest.approx(value), components)


def test_negative_weights() -> None:
    spec = colocate(group_to_weight={"web": -1, "db": -2}, limits=1)
    assert goal(world(), spec) == -1
    assert broken(world(), spec) == (0, 0)  # -(2 - 1) and -2 (1 - 1)
    assert broken(world(), spec, {"e": None}) == (2, 1)


def test_negative_weights_and_limits_out_of_reach() -> None:
    """On 2 hosts: 998 too few of 1,000, and 1,002 too many of -1,000; where there is no limit nothing is."""
    for fields, violation in (
        ({"limits": 1000}, 998),
        ({"limits": -1000, "bound": "MIN"}, 1002),
        ({"limits": {"is_default_limit_unbounded": True}}, 0),
        ({"limits": {"is_default_limit_unbounded": True}, "bound": "MIN"}, 0),
    ):
        spec = colocate(group_to_weight={"web": -1, "db": 0, "none": 0}, **fields)
        assert broken(world(), spec) == (violation, int(violation > 0))
        assert goal(world(), spec) == 0


def test_placing_and_moving() -> None:
    spec = colocate()
    assert goal(world(), spec, {"d": "h3"}) == 2
    assert goal(world(), spec, {"c": "h0", "d": "h2"}) == 0
    assert feasible(world(), spec, {"c": "h0"})
    assert not feasible(world(), spec, {"a": "h3"})
    assert not feasible(world(), spec, {"d": "h3"})


def test_groups_may_overlap() -> None:
    assert goal(world(), colocate(partition_name="shared")) == 1


def test_no_effect_fields_are_listed() -> None:
    assert warnings(world(), colocate(use_continuous_penalty_with_optimal=True)) == ["no-effect"]
    assert warnings(world(), colocate()) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"limits": {"scope_item_limits": {"h0": 1}}}, ("unsupported-limit", "scope_item_limits")),
        (
            {"limits": {"scope_item_to_group_limits": {"h0": {"web": 1}}}},
            ("unsupported-limit", "scope_item_to_group_limits"),
        ),
        ({"limits": {"type": "RELATIVE"}}, ("unsupported-limit", "type")),
        ({"limits": {"group_limits": {"wed": 1}}}, ("unknown-name", "wed")),
        ({"scope_item_weights": {"r0": 1}}, ("unknown-name", "r0")),
        ({"group_to_weight": {"wbe": 1}}, ("unknown-name", "wbe")),
    ],
)
def test_faults(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert codes(faults(world(), colocate(**fields))) == [expected]


def test_squares_and_negative_weights_do_not_make_a_constraint() -> None:
    spec = colocate(squares=True, group_to_weight={"web": -1})
    assert codes(faults(world(), spec, "constraint")) == [("unsupported-field", "squares")]
    assert not faults(world(), spec)


def test_cells_are_by_group() -> None:
    rows = table(world(), colocate(limits={"group_limits": {"db": 3}, "is_default_limit_unbounded": True}))
    assert rows == [(None, "web", 2, float("inf"), 0), (None, "db", 1, 3, 0), (None, "none", 0, float("inf"), 0)]


def test_a_scope_without_items() -> None:
    from tests.specs.worlds import builder

    out = builder()
    out.add_scope("cage", {})
    assert goal(out.build(), colocate(scope="cage", limits=0)) == 0
    assert goal(out.build(), colocate(scope="cage", bound="MIN")) == 3
