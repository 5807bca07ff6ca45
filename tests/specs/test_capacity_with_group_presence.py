"""By hand: memory of web 1.5 + 2 on h0 and 0.5 on h1, of db 0.5 on h0."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs.capacity_with_group_presence import CapacityWithGroupPresenceSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table, warnings


def crowd() -> Problem:
    out = ProblemBuilder("task", "host")
    out.set_assignment({"h0": ["w0", "w1", "d0"], "h1": ["w2"], "h2": []}, ["d1"])
    out.add_object_dimension("mem", {"w0": 1.5, "w1": 2, "w2": 0.5, "d0": 0.5, "d1": 3})
    out.add_object_dimension("net", {"w0": -1})
    out.add_object_dimension("vec", {"w0": [1, 2]})
    out.add_scope_dimension("mem", "host", {"h0": 4, "h1": 2, "h2": 0})
    out.add_scope_dimension("mem", "rack", {"r0": 5})
    out.add_scope("rack", {"r0": ["h0", "h1"]})
    out.add_partition("job", {"web": ["w0", "w1", "w2"], "db": ["d0", "d1"]})
    out.add_partition("shard", {"w-a": ["w0"], "w-b": ["w1", "w2"], "d-a": ["d0", "d1"]})
    out.add_partition("mixed", {"x": ["w0", "d0"]})
    return out.build()


def spec(**fields: Any) -> CapacityWithGroupPresenceSpec:
    """Limits of 0, so that the goal is the sum of all charges."""
    limit = {"type": "ABSOLUTE", "global_limit": 0}
    return CapacityWithGroupPresenceSpec(
        **{"scope": "host", "partition": "job", "dimension": "mem", "scope_item_to_limit": limit, **fields}
    )


EXACTLY = {"round_up_group_util_on_scope_item": False}


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 4 + 1 + 1),  # ⌈3.5⌉, ⌈0.5⌉, ⌈0.5⌉
        (EXACTLY, {}, 3.5 + 1 + 1),
        ({"group_to_presence_weight": 0, **EXACTLY}, {}, 3.5 + 0.5 + 0.5),
        ({"group_to_presence_weight": 2.5}, {}, 4 + 3 + 3),
        ({"group_to_presence_weight": 2.5, **EXACTLY}, {}, 3.5 + 2.5 + 2.5),
        ({"group_to_presence_weight": {"group_limits": {"db": 7}}}, {}, 4 + 1 + 7),
        ({"group_to_presence_weight": {"scope_item_to_group_limits": {"h0": {"db": 7}}}}, {"d1": "h1"}, 4 + 1 + 7 + 3),
        ({"multiplier_list": [1.5]}, {}, 6 + 2 + 2),  # ⌈4 · 1.5⌉, ⌈1 · 1.5⌉ twice
        ({"multiplier_list": [1.5, 1.5]}, {}, 9 + 3 + 3),
        ({"multiplier_list": [1.5], **EXACTLY}, {}, 5.25 + 1.5 + 1.5),
        ({"multiplier_list": [0]}, {}, 0),
        ({"group_util_multipliers": [{"value": 2, "target": "UTILIZATION"}], **EXACTLY}, {}, 7 + 1 + 1),
        ({"group_util_multipliers": [{"value": 2, "target": "PRESENCE_WEIGHT"}], **EXACTLY}, {}, 3.5 + 2 + 2),
        ({"group_util_multipliers": [{"value": 0, "target": "UTILIZATION"}]}, {}, 0),
        ({"group_util_multipliers": [{"value": {"group_limits": {"web": 3}}}], "multiplier_list": [9]}, {}, 12 + 3 + 1),
        ({"group_filter": {"items_whitelist": ["db"], "type": "GROUP"}}, {}, 1),
        ({"scope_item_filter": {"items_blacklist": ["h0"]}}, {}, 1),
        ({"scope": "rack"}, {}, 4 + 1),  # 3.5 + 0.5 of web
        ({"scope": "rack", "aggregation_scope": "host"}, {}, 4 + 1 + 1),
        ({"scope_item_to_limit": {"scope_item_limits": {"h0": 0.5}}}, {}, 5 - 2),
        ({"scope_item_to_limit": 1}, {"w2": "h2"}, (5 - 4) + 1),  # h2 offers nothing, so it has to stay empty
        ({"scope_item_to_limit": 2, "bound": "MIN"}, {}, (8 - 5) + (4 - 1)),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(crowd(), spec(**fields), moves) == expected


PER_GROUP = {"intent": "PER_GROUP_AND_SCOPE_ITEM"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"scope_item_to_limit": {"type": "ABSOLUTE", "global_limit": 1}}, 3),
        ({"scope_item_to_limit": {"global_limit": 0.25}}, (4 - 1) + 0 + (1 - 0.5)),
        ({"scope_item_to_limit": {"group_limits": {"web": 0.5}, "global_limit": 0}}, (4 - 2) + 1 + 0),
        (
            {"scope_item_to_limit": {"scope_item_to_group_limits": {"h0": {"web": 0.75}}, "global_limit": 0}},
            (4 - 3) + 1 + 1,
        ),
        ({"aggregation_partition": "shard"}, (2 + 2) + 1 + 1),
        ({"aggregation_partition": "shard", "group_to_presence_weight": {"group_limits": {"w-a": 5}}}, 5 + 2 + 1 + 1),
        ({"group_filter": {"items_blacklist": ["web"], "type": "GROUP"}}, 1),
        (
            {
                "group_filter": {"items_blacklist": ["web"], "type": "GROUP"},
                "scope_item_to_limit": {"scope_item_to_group_limits": {"h0": {"web": 9, "db": 0.125}}},
            },
            1 - 0.5,  # what is said of a group that does not count has no effect
        ),
    ],
)
def test_per_group(fields: dict[str, Any], expected: float) -> None:
    assert goal(crowd(), spec(**PER_GROUP, **fields)) == expected


def test_constraint() -> None:
    one = {"scope_item_to_limit": {"type": "ABSOLUTE", "global_limit": 1}}
    assert broken(crowd(), spec(**one)) == (4, 1)
    assert broken(crowd(), spec(**one, **PER_GROUP)) == (3, 1)
    assert table(crowd(), spec(**one))[0] == ("h0", None, 5, 1, 4)
    assert table(crowd(), spec(**one, **PER_GROUP))[0] == ("h0", "web", 4, 1, 3)
    assert not feasible(crowd(), spec(**one), {"d1": "h1"})
    assert feasible(crowd(), spec(**one), {"d0": "h2"})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dimension": "vec"}, [("vector-dimension", "dimension")]),
        ({"dimension": "net"}, [("negative-value", "dimension")]),
        ({"group_to_presence_weight": -1}, [("out-of-range", "global_limit")]),
        ({"multiplier_list": [{"group_limits": {"web": -1}}]}, [("out-of-range", "web")]),
        ({"multiplier_list": [{"type": "RELATIVE"}]}, [("unsupported-limit", "type")]),
        ({"multiplier_list": [{"group_limits": {"wep": 1}}]}, [("unknown-name", "wep")]),
        ({"group_util_multipliers": [{"value": {"type": "RELATIVE"}}]}, [("unsupported-limit", "type")]),
        (
            {"group_to_presence_weight": {"is_default_limit_unbounded": True}},
            [("unsupported-limit", "is_default_limit_unbounded")],
        ),
        ({"scope_item_to_limit": {"group_limits": {"web": 1}}}, [("unsupported-limit", "group_limits")]),
        ({"aggregation_partition": "shard"}, [("unsupported-field", "aggregation_partition")]),
        ({"aggregation_partition": "mixed", **PER_GROUP}, [("not-nested", "aggregation_partition")]),
        ({"aggregation_scope": "rack"}, [("not-nested", "aggregation_scope")]),
        ({"group_filter": {"items_whitelist": ["web"]}}, [("filter-type", "type")]),
    ],
)
def test_faults(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert codes(faults(crowd(), spec(**fields))) == expected


def test_warnings() -> None:
    assert warnings(crowd(), spec()) == []
    assert warnings(crowd(), spec(scope_item_to_limit=1)) == ["zero-capacity"]
    steering = spec(continuous_penalty_type="CONTINUOUS_UTILIZATION", group_to_extra_additive_penalty=1)
    assert warnings(crowd(), steering) == ["no-effect", "no-effect"]
    replaced = spec(multiplier_list=[1], group_util_multipliers=[{"value": 1}])
    assert warnings(crowd(), replaced) == ["no-effect"]
