"""By hand: cpu 3, 4, 3, 0 on hosts that offer 4, 2, 10, 4 (mean 5); d (8) is nowhere."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from rebalancer.specs.capacity import CapacitySpec
from tests.specs.worlds import broken, builder, codes, faults, feasible, goal, table, warnings, world


def capacity(**fields: Any) -> CapacitySpec:
    return CapacitySpec(**{"scope": "host", "dimension": "cpu", **fields})


def absolute(value: float, **more: Any) -> dict[str, Any]:
    return {"type": "ABSOLUTE", "global_limit": value, **more}


@pytest.mark.parametrize(
    ("fields", "value", "components"),
    [
        ({}, 2 / 5, 1),
        ({"limit": 0.5}, (1 + 3) / 5, 2),
        ({"limit": absolute(3)}, 1 / 5, 1),
        ({"limit": {"scope_item_limits": {"h1": 2}}}, 0, 0),
        ({"bound": "MIN"}, (1 + 7 + 4) / 5, 3),
        ({"bound": "MIN", "zero_allowed": True}, (1 + 7) / 5, 2),
        ({"bound": "MIN", "limit": 0}, 0, 0),
        ({"bound": "MIN", "limit": {"is_default_limit_unbounded": True, "scope_item_limits": {"h3": 1}}}, 4 / 5, 1),
        ({"limit": {"is_default_limit_unbounded": True}}, 0, 0),
        ({"use_legacy_formula": True}, 2 / 2, 1),
        ({"filter": {"items_whitelist": ["h1", "h2"]}}, 2 / 6, 1),
        ({"filter": {"items_whitelist": []}}, 0, 0),
        ({"scope": "rack", "limit": 0.5}, (2 + 0.5) / 7.5, 2),
        ({"dimension": "", "limit": absolute(1)}, 2, 2),
        ({"dimension": "vec", "limit": absolute(3)}, 2 + 1, 2),
        ({"dimension": "io", "limit": absolute(2)}, 2, 1),
        ({"dimension": "net", "limit": absolute(-2)}, 1 + 2 + 2 + 2, 4),
        ({"dimension": "net", "limit": absolute(2), "bound": "MIN", "zero_allowed": True}, 0, 0),  # -1 is not above 0
        ({"dimension": "net", "limit": absolute(-3), "bound": "MIN", "zero_allowed": True}, 0, 0),
    ],
)
def test_amount_against_limit(fields: dict[str, Any], value: float, components: int) -> None:
    assert goal(world(), capacity(**fields)) == pytest.approx(value)
    assert broken(world(), capacity(**fields)) == (pytest.approx(value), components)


def test_transitions() -> None:
    move = {"a": "h1", "d": "h3"}
    assert goal(world(), capacity(), move) == pytest.approx((3 + 4) / 5)
    assert goal(world(), capacity(definition="NEW", limit=0), move) == pytest.approx((1 + 8) / 5)
    assert goal(world(), capacity(definition="OLD", limit=0), move) == pytest.approx(1 / 5)
    assert goal(world(), capacity(definition="MOVED_DATA", limit=0), move) == pytest.approx(10 / 5)
    assert goal(world(), capacity(definition="DURING", limit=0.5), move) == pytest.approx((1 + 4 + 6) / 5)
    both = (1 + 4 + 6) + (0 + 4 + 6)
    assert goal(world(), capacity(definition="DURING_AND_AFTER", limit=0.5), move) == pytest.approx(both / 5)
    assert goal(world(), capacity(definition="DOUBLE_DURING", limit=0.5), move) == pytest.approx(11 / 5)
    assert goal(world(), capacity(definition="DOUBLE_DURING_AND_AFTER", limit=0.125), move) == pytest.approx(
        (2.5 + 4.75 + 1.75 + 7.5 + 1.5 + 4.75 + 1.75 + 7.5 + 0.5) / 5
    )


def test_after_is_demanded_only_where_during_is_broken_at_the_start() -> None:
    spec = capacity(definition="DURING_AND_AFTER")
    assert broken(world(), spec) == (pytest.approx(4 / 5), 2)
    assert broken(world(), spec, {"c": "h0"}) == (
        pytest.approx((3 + 2) / 5),
        2,
    )  # h0 during; h1 during, no longer after


def test_a_broken_host_may_not_get_worse_and_others_may_not_break() -> None:
    spec = capacity()
    assert feasible(world(), spec, {"c": "h2"})
    assert feasible(world(), spec, {"a": "h3"})
    assert not feasible(world(), spec, {"a": "h1"})
    assert not feasible(world(), spec, {"d": "h3"})
    assert feasible(world(), spec, {"d": "h3"}, "SOFT")
    assert not feasible(world(), spec, {}, "HARD")


def test_legacy_without_capacity() -> None:
    out = builder()
    out.add_object_dimension("mem", {"a": 2, "c": 6})
    out.add_scope_dimension("mem", "host", {"h0": 0, "h1": 4, "h2": 1, "h3": 1})
    problem = out.build()
    spec = capacity(dimension="mem", use_legacy_formula=True)
    assert goal(problem, spec) == pytest.approx(2 / 4)
    assert broken(problem, spec) == (pytest.approx(2 / 4 + 2), 2)
    loose = capacity(dimension="mem", use_legacy_formula=True, limit=absolute(5))
    assert goal(problem, loose) == pytest.approx(1 / 4)
    assert broken(problem, loose) == (pytest.approx(1 / 4 + 2), 2)  # h0 has to stay empty whatever the limit
    assert goal(
        problem, capacity(dimension="mem", use_legacy_formula=True, bound="MIN", limit=absolute(5))
    ) == pytest.approx(5 + 5)
    assert "zero-capacity" in warnings(problem, spec)


def test_no_capacity_at_all_is_measured_as_it_is() -> None:
    out = builder()
    out.add_object_dimension("mem", {"a": 2})
    out.add_scope_dimension("mem", "host", {}, default=0)
    assert broken(out.build(), capacity(dimension="mem")) == (2, 1)
    assert "zero-capacity" in warnings(out.build(), capacity(dimension="mem"))


def bounded(kind: str, values: dict[str, Any], **fields: Any) -> CapacitySpec:
    bound = {"partition_name": "job", "bound_type": kind, "per_group_values": values, **fields.pop("group", {})}
    return capacity(limit=absolute(0), utilization_bound={"group_utilization_bound": bound}, **fields)


def test_groups_bounded_from_above() -> None:
    assert goal(world(), bounded("UPPER", {"global_limit": 2, "is_default_limit_unbounded": False})) == pytest.approx(
        (2 + 2 + 2) / 5
    )
    assert goal(world(), bounded("UPPER", {"global_limit": 2})) == pytest.approx(
        (3 + 4 + 3) / 5
    )  # unbounded unless told otherwise
    assert goal(world(), bounded("UPPER", {"group_limits": {"web": 1}})) == pytest.approx((1 + 1 + 3) / 5)
    assert goal(world(), bounded("UPPER", {"scope_item_to_group_limits": {"h1": {"web": 1}}})) == pytest.approx(
        (3 + 1 + 3) / 5
    )


def test_objects_in_no_group_count_only_where_groups_are_unbounded() -> None:
    out = builder()
    out.add_partition("some", {"x": ["a"]})
    plain = {"partition_name": "some", "per_group_values": {"group_limits": {"x": 0.5}}}
    assert goal(
        out.build(), capacity(limit=absolute(0), utilization_bound={"group_utilization_bound": plain})
    ) == pytest.approx((2.5 + 4 + 3) / 5)
    every = {"partition_name": "some", "per_group_values": {"global_limit": 0.5, "is_default_limit_unbounded": False}}
    assert goal(
        out.build(), capacity(limit=absolute(0), utilization_bound={"group_utilization_bound": every})
    ) == pytest.approx(0.5 / 5)


def test_groups_bounded_from_below_where_they_are() -> None:
    assert goal(world(), bounded("LOWER", {"global_limit": 3.5, "is_default_limit_unbounded": False})) == pytest.approx(
        (3.5 + 4 + 3.5) / 5
    )
    assert goal(world(), bounded("LOWER", {"group_limits": {"db": 5}})) == pytest.approx((3 + 4 + 5) / 5)
    assert goal(world(), bounded("LOWER", {})) == pytest.approx(10 / 5)


def test_a_lower_bound_leaves_unbounded_groups_alone_even_below_zero() -> None:
    assert goal(world(), bounded("LOWER", {}, dimension="net", bound="MIN")) == 0
    values = {"group_limits": {"db": 5}}
    bound = {"partition_name": "job", "bound_type": "LOWER", "per_group_values": values}
    spec = capacity(
        dimension="net", bound="MIN", limit=absolute(1), utilization_bound={"group_utilization_bound": bound}
    )
    assert goal(world(), spec) == pytest.approx(2 + 1 + 1 + 1)


def test_amounts_taken_in_a_finer_scope() -> None:
    values = {"global_limit": 100, "is_default_limit_unbounded": False}
    plain = bounded("UPPER", values, scope="rack", definition="NEW")
    finer = bounded("UPPER", values, scope="rack", definition="NEW", group={"aggregation_scope": "host"})
    assert goal(world(), plain, {"a": "h1"}) == 0
    assert goal(world(), finer, {"a": "h1"}) == pytest.approx(1 / 7.5)


def test_no_limit_is_shown_as_infinite() -> None:
    rows = table(world(), capacity(limit={"is_default_limit_unbounded": True, "scope_item_limits": {"h0": 1}}))
    assert [(row[0], row[3]) for row in rows] == [("h0", 4), ("h1", math.inf), ("h2", math.inf), ("h3", math.inf)]
    assert [row[2] for row in rows] == [3, 4, 3, 0]


def test_an_enormous_limit_does_not_blur_the_others() -> None:
    assert broken(world(), capacity(limit=absolute(1e30, scope_item_limits={"h0": 3, "h1": 3.999999999}))) == (
        pytest.approx(1e-9 / 5),
        1,
    )


@pytest.mark.parametrize(
    ("bound", "code", "field"),
    [
        ({"partition_name": "shared"}, "overlapping-groups", "partition_name"),
        ({"partition_name": "jobb"}, "unknown-name", "partition_name"),
        ({"partition_name": "job", "aggregation_scope": "hostt"}, "unknown-name", "aggregation_scope"),
        ({"partition_name": "job", "per_group_values": {"group_limits": {"wbe": 1}}}, "unknown-name", "wbe"),
        ({"partition_name": "job", "per_group_values": {"scope_item_limits": {"r0": 1}}}, "unknown-name", "r0"),
    ],
)
def test_faults_of_utilization_bounds(bound: dict[str, Any], code: str, field: str) -> None:
    assert codes(faults(world(), capacity(utilization_bound={"group_utilization_bound": bound}))) == [(code, field)]


def test_the_aggregation_scope_has_to_be_nested() -> None:
    bound = {"partition_name": "job", "aggregation_scope": "rack"}
    found = faults(world(), capacity(utilization_bound={"group_utilization_bound": bound}))
    assert codes(found) == [("not-nested", "aggregation_scope")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"limit": {"group_limits": {"web": 1}}}, ("unsupported-limit", "group_limits")),
        (
            {"limit": {"scope_item_to_group_limits": {"h0": {"web": 1}}}},
            ("unsupported-limit", "scope_item_to_group_limits"),
        ),
        ({"limit": {"scope_item_limits": {"h9": 1}}}, ("unknown-name", "h9")),
    ],
)
def test_faults(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert codes(faults(world(), capacity(**fields))) == [expected]


def test_what_stays_is_no_definition_of_capacity() -> None:
    with pytest.raises(ValidationError):
        capacity(definition="STAYED")


def test_zero_allowed_without_a_lower_bound_is_noted() -> None:
    assert warnings(world(), capacity(zero_allowed=True)) == ["no-effect"]
