"""By hand: web has a, b on h0 and c on h1; db has e on h2 and d nowhere; the third group is empty."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from rebalancer.specs.group_count import GroupCountSpec
from tests.specs.worlds import broken, builder, codes, compiled, faults, feasible, goal, placed, table, warnings, world

RELATIVE = {"type": "RELATIVE", "global_limit": 0.5}


def count(**fields: Any) -> GroupCountSpec:
    return GroupCountSpec(**{"scope": "host", "partition_name": "job", **fields})


@pytest.mark.parametrize(
    ("fields", "value", "components"),
    [
        ({}, 1, 1),
        ({"bound": "MIN"}, 2 + 3 + 4, 4),
        ({"bound": "EXACT"}, 1 + 9, 1 + 4),
        ({"bound": "MULTIPLE", "limit": 2}, 2, 2),
        ({"bound": "MULTIPLE", "limit": 1.5}, 1 + 0.5 + 0.5, 3),
        ({"bound": "MIN", "limit": 2, "zero_allowed": True}, 2, 2),
        ({"bound": "MIN", "limit": 3, "zero_allowed": True}, 3, 3),
        ({"bound": "MIN", "limit": 3, "zero_allowed": True, "minimum_limit": 1}, 1, 1),
        ({"bound": "MIN", "limit": 2, "zero_allowed": True, "minimum_limit": 2}, 0, 0),
        ({"bound": "EXACT", "limit": 2, "zero_allowed": True}, 2, 2),
        ({"bound": "EXACT", "limit": 1, "zero_allowed": True}, 1, 1),
        ({"limit": RELATIVE}, 0.5, 1),
        ({"limit": RELATIVE, "dimension": "cpu"}, 0.5, 1),
        ({"bound": "MIN", "limit": {"type": "RELATIVE", "global_limit": 1}}, (1 + 2 + 3 + 3) + (2 + 2 + 1 + 2), 4),
        ({"limit": {"type": "ABSOLUTE", "global_limit": 0}}, 4, 3),
        ({"limit": 0, "squares": True}, 4 / 9 + 1 / 9 + 1 / 4, 3),
        ({"bound": "MIN", "squares": True}, 2 / 9 + 3 / 4, 4),
        ({"bound": "MIN", "squares": True, "limit": {"global_limit": 0, "group_limits": {"none": 5}}}, 0, 0),
        ({"bound": "EXACT", "squares": True}, 1 / 9 + 2 / 9 + 3 / 4, 5),
        ({"definition": "STAYED"}, 1, 1),
        ({"definition": "STAYED", "bound": "MIN"}, 9, 9),
        ({"scope": "rack"}, 2, 1),
        ({"partition_name": "shared", "limit": 0}, 4, 2),
        ({"filter": {"items_blacklist": ["h0"]}}, 0, 0),
        ({"filter": {"items_whitelist": ["h0", "h3"]}, "bound": "MIN"}, 1 + 2 + 2, 2),
        ({"filter": {"items_whitelist": []}, "bound": "EXACT"}, 0, 0),
        ({"limit": {"is_default_limit_unbounded": True}}, 0, 0),
        ({"limit": {"is_default_limit_unbounded": True}, "bound": "EXACT"}, 0, 0),
        ({"limit": {"is_default_limit_unbounded": True}, "bound": "MULTIPLE"}, 0, 0),
        ({"limit": {"is_default_limit_unbounded": True, "group_limits": {"web": 0}}}, 3, 2),
        ({"dimension": "io", "limit": 3}, 1, 1),
        ({"dimension": "net", "limit": -2}, (-1 + 2) + 3 * 2 + 4 * 2 + 4 * 2, 4),
    ],
)
def test_amount_against_limit(fields: dict[str, Any], value: float, components: int) -> None:
    assert goal(world(), count(**fields)) == pytest.approx(value)
    assert broken(world(), count(**fields)) == (pytest.approx(value), components)


def test_the_most_specific_limit_counts() -> None:
    limit = {
        "global_limit": 0,
        "group_limits": {"web": 1},
        "scope_item_limits": {"h0": 0, "h1": 0.5},
        "scope_item_to_group_limits": {"h1": {"web": 5}},
    }
    rows = {(item, group): shown for item, group, _, shown, _ in table(world(), count(limit=limit))}
    assert rows["h0", "web"] == 0  # the item's, although it equals the global one
    assert rows["h1", "web"] == 5
    assert rows["h1", "db"] == 0.5
    assert rows["h2", "web"] == 1
    assert rows["h2", "db"] == 0


def test_limits_of_filtered_items_are_no_mistake() -> None:
    limit = {"scope_item_limits": {"h1": 7, "h3": 0}, "scope_item_to_group_limits": {"h0": {"web": 9}, "h3": {"db": 3}}}
    spec = count(limit=limit, filter={"items_blacklist": ["h0", "h1"]})
    assert {(item, group): shown for item, group, _, shown, _ in table(world(), spec)} == {
        ("h2", "web"): 1, ("h3", "web"): 0, ("h2", "db"): 1, ("h3", "db"): 3, ("h2", "none"): 1, ("h3", "none"): 0,
    }  # fmt: skip


def test_transitions() -> None:
    move = {"a": "h1"}
    assert goal(world(), count(), move) == 1
    assert goal(world(), count(definition="DURING"), move) == 2
    assert goal(world(), count(definition="DURING_AND_AFTER"), move) == 3
    assert broken(world(), count(definition="DURING_AND_AFTER"), move) == (3, 3)
    assert goal(world(), count(definition="STAYED"), move) == 0
    assert goal(world(), count(definition="STAYED", limit=0), move) == 3


def test_unplaced_objects_count_in_the_size_of_their_group_only() -> None:
    assert goal(world(), count(limit=RELATIVE, dimension="cpu"), {"d": "h2"}) == 0.5 + 11 - 5.5
    assert broken(world(), count(), {"d": "h2"}) == (2, 2)


def test_a_share_of_what_the_item_holds() -> None:
    share = {"limit_relative_to": "SCOPE_ITEM_UTIL", "dimension": "cpu", "limit": RELATIVE}
    assert goal(world(), count(**share)) == pytest.approx(1.5 / 4 + 2 / 2 + 1.5 / 10)
    assert broken(world(), count(**share)) == (pytest.approx(1.525), 3)
    assert goal(world(), count(bound="MIN", **share)) == pytest.approx(2 * (1.5 / 4 + 2 / 2 + 1.5 / 10))
    assert goal(world(), count(bound="EXACT", **share)) == pytest.approx(3 * 1.525)
    assert goal(world(), count(squares=True, **share)) == pytest.approx(
        (0.375 / 3) ** 2 + (1 / 3) ** 2 + (0.15 / 2) ** 2
    )
    limit = {"type": "RELATIVE", "is_default_limit_unbounded": True, "group_limits": {"db": 0.5}}
    assert goal(world(), count(**{**share, "limit": limit})) == pytest.approx(0.15)
    assert goal(world(), count(bound="MIN", **{**share, "limit": limit})) == pytest.approx(0.375 + 1)


def test_an_absolute_limit_is_no_share() -> None:
    spec = count(limit_relative_to="SCOPE_ITEM_UTIL", limit=1)
    assert goal(world(), spec) == 1
    assert warnings(world(), spec) == ["no-effect"]


def test_a_share_of_an_item_without_capacity() -> None:
    out = builder()
    out.add_object_dimension("mem", {"a": 2, "c": 5, "e": 1})
    out.add_scope_dimension("mem", "host", {"h0": 2, "h1": 0, "h2": 0, "h3": 1})
    problem = out.build()
    spec = count(limit_relative_to="SCOPE_ITEM_UTIL", dimension="mem", limit=RELATIVE)
    assert goal(problem, spec) == pytest.approx((2 - 1) / 2)
    assert broken(problem, spec) == (pytest.approx(0.5 + 5 + 1), 3)
    assert broken(
        problem, count(limit_relative_to="SCOPE_ITEM_UTIL", dimension="mem", bound="MIN", limit=RELATIVE)
    ) == (pytest.approx(1), 2)
    assert warnings(problem, spec) == ["zero-capacity"]


def test_the_size_of_a_group_in_a_dynamic_dimension_is_by_item() -> None:
    spec = count(dimension="io", bound="MIN", limit={"type": "RELATIVE", "global_limit": 1})
    rows = {(item, group): shown for item, group, _, shown, _ in table(world(), spec)}
    assert [rows[host, "web"] for host in ("h0", "h1", "h2", "h3")] == [3 + 1 + 1, 5 + 1 + 1, 1 + 1 + 7, 3]
    assert [rows[host, "db"] for host in ("h0", "h1", "h2", "h3")] == [2, 2, 2, 2]
    assert goal(world(), spec) == (5 - 4) + (7 - 1) + 9 + 3 + 2 + 2 + (2 - 1) + 2


def test_a_dynamic_dimension_of_a_coarser_scope() -> None:
    out = builder()
    out.add_dynamic_object_dimension("wan", "rack", {"r0": {"a": 4, "e": 2}}, default=1)
    spec = count(dimension="wan", limit={"type": "RELATIVE", "global_limit": 1})
    rows = {(item, group): shown for item, group, _, shown, _ in table(out.build(), spec)}
    assert [rows[host, "web"] for host in ("h0", "h1", "h2", "h3")] == [6, 6, 3, 3]
    assert [rows[host, "db"] for host in ("h0", "h1", "h2", "h3")] == [3, 3, 2, 2]


def test_no_group_may_get_worse_on_its_own() -> None:
    spec = count(limit={"global_limit": 1, "group_limits": {"db": 0}})
    assert feasible(world(), spec, {"a": "h3"})
    assert not feasible(world(), spec, {"c": "h0"})
    assert not feasible(world(), spec, {"a": "h2", "e": "h0"})  # db would be new on h0, which is broken by web alone
    assert feasible(world(), spec, {"c": "h0"}, "SOFT")
    assert not feasible(world(), spec, {}, "HARD")


def test_the_flat_penalty_is_paid_once_per_item() -> None:
    model = compiled(world(), count(limit=0, partition_name="shared"), "constraint")
    assert model.evaluate(model.problem.initial).objective[0] - 10100 == 2 * 10000 + 4 * 100
    assert model.evaluate(placed(model.problem, {"b": "h3"})).objective[0] - 10100 == 2 * 10000 + 2 * 100


def test_no_limit_is_shown_as_infinite() -> None:
    limit = {"is_default_limit_unbounded": True, "group_limits": {"web": 2}}
    shown = [row[3] for row in table(world(), count(limit=limit, filter={"items_whitelist": ["h0"]}))]
    assert shown == [2, math.inf, math.inf]
    shown = [row[3] for row in table(world(), count(limit=limit, bound="MIN", filter={"items_whitelist": ["h0"]}))]
    assert shown == [2, -math.inf, -math.inf]


def test_an_enormous_limit_does_not_blur_the_others() -> None:
    limit = {"global_limit": 1e30, "group_limits": {"web": 1}}
    assert broken(world(), count(limit=limit)) == (1, 1)
    assert [row[3] for row in table(world(), count(limit=limit, filter={"items_whitelist": ["h0"]}))] == [1, 1e30, 1e30]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dimension": "vec"}, ("vector-dimension", "dimension")),
        ({"dimension": "io", "scope": "rack", "definition": "DURING"}, ("dynamic-dimension", "dimension")),
        ({"dimension": "io", "scope": "rack", "definition": "DURING_AND_AFTER"}, ("dynamic-dimension", "dimension")),
        ({"dimension": "io", "scope": "rack", "limit": RELATIVE}, ("dynamic-dimension", "dimension")),
        ({"limit_relative_to": "GROUP_TO_SCOPE_ITEM_ROUTING_TRAFFIC"}, ("unsupported-field", "limit_relative_to")),
        ({"routing_config_for_limit": "x"}, ("unsupported-field", "routing_config_for_limit")),
        ({"minimum_limit": 1}, ("unsupported-field", "minimum_limit")),
        ({"squares": True, "bound": "MIN", "zero_allowed": True}, ("unsupported-field", "squares")),
        (
            {"bound": "MIN", "zero_allowed": True, "limit_relative_to": "SCOPE_ITEM_UTIL", "limit": RELATIVE},
            ("unsupported-field", "limit_relative_to"),
        ),
        (
            {"bound": "MULTIPLE", "limit_relative_to": "SCOPE_ITEM_UTIL", "limit": RELATIVE},
            ("unsupported-field", "limit_relative_to"),
        ),
        ({"bound": "MULTIPLE", "limit": 0}, ("out-of-range", "global_limit")),
        ({"bound": "MULTIPLE", "limit": {"scope_item_to_group_limits": {"h0": {"web": -1}}}}, ("out-of-range", "web")),
        ({"limit": {"group_limits": {"wbe": 1}}}, ("unknown-name", "wbe")),
        ({"limit": {"scope_item_limits": {"r0": 1}}}, ("unknown-name", "r0")),
        ({"partition_name": "jobs"}, ("unknown-name", "partition_name")),
        ({"filter": {"items_whitelist": ["h9"]}}, ("unknown-name", "0")),
    ],
)
def test_faults(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert codes(faults(world(), count(**fields))) == [expected]


def test_other_definitions_are_refused() -> None:
    with pytest.raises(ValidationError, match="STAYED"):
        count(definition="NEW")


def test_zero_allowed_without_a_lower_bound_is_noted() -> None:
    assert warnings(world(), count(zero_allowed=True)) == ["no-effect"]
    assert warnings(world(), count(zero_allowed=True, bound="MIN")) == []


def test_partition_is_the_same_field() -> None:
    assert GroupCountSpec.model_validate({"scope": "host", "partition": "job"}) == count()
    assert GroupCountSpec.model_validate({"scope": "host", "partitionName": "job"}) == count()


def test_of_too_many_cells_only_those_that_hold_something_or_are_broken_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rebalancer.model.model.DENSE_CELLS", 0)
    rows = table(world(), count(bound="MIN", limit={"global_limit": 0, "group_limits": {"db": 1}}))
    assert [(item, group, amount) for item, group, amount, _, _ in rows] == [
        ("h0", "web", 2),
        ("h1", "web", 1),
        ("h0", "db", 0),
        ("h1", "db", 0),
        ("h2", "db", 1),
        ("h3", "db", 0),
    ]
