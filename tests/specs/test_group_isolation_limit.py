"""By hand, over a world of two customers that share hosts."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs.group_isolation_limit import GroupIsolationLimitSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, warnings, world


def shared() -> Problem:
    """On h0 three of red, two of green, one of blue; on h1 one of red."""
    out = ProblemBuilder("task", "host")
    out.set_assignment({"h0": ["r0", "r1", "r2", "g0", "g1", "b0"], "h1": ["r3"], "h2": []}, ["r4"])
    colours = {"red": ["r0", "r1", "r2", "r3", "r4"], "green": ["g0", "g1"], "blue": ["b0"]}
    out.add_partition("colour", colours)
    return out.build()


def spec(**fields: Any) -> GroupIsolationLimitSpec:
    return GroupIsolationLimitSpec(**{"scope": "host", "partition": "colour", **fields})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 2 + 1),
        ({"groups_allowed": 0}, 6 + 1),
        ({"groups_allowed": 2}, 1),
        ({"groups_allowed": 9}, 0),
        ({"limit": 1}, 1),
        ({"limit": {"group_limits": {"green": 2}}}, 1),
        ({"limit": {"scope_item_limits": {"h0": 2}}, "groups_allowed": 0}, 1 + 1),
        ({"limit": {"scope_item_to_group_limits": {"h0": {"red": 3}}}, "groups_allowed": 0}, 3 + 1),
        # an item's limit counts before a group's, also where it equals the global one
        ({"limit": {"scope_item_limits": {"h0": 0}, "group_limits": {"green": 2}}}, 3),
        ({"filter": {"items_blacklist": ["h0"]}, "groups_allowed": 0}, 1),
        ({"limit": {"is_default_limit_unbounded": True}}, 0),
    ],
)
def test_goal(fields: dict[str, Any], expected: float) -> None:
    assert goal(shared(), spec(**fields)) == expected


def test_constraint_has_one_component_per_item() -> None:
    assert broken(shared(), spec()) == (3, 1)
    assert broken(shared(), spec(), {"b0": "h1"}) == (2 + 1, 2)


def test_groups_are_kept_from_growing_where_they_are_too_many() -> None:
    assert feasible(shared(), spec(), {"g0": "h2"})
    assert feasible(shared(), spec(), {"r4": "h0"})  # red is the one that may
    assert not feasible(shared(), spec(), {"b0": "h1"})  # where one group was alone
    packed = spec(limit=1)  # red exceeds by 2, and may; green by 1, and keeps its 2; blue may have 1
    assert feasible(shared(), packed, {"r4": "h0"})
    assert feasible(shared(), packed, {"r3": "h0", "r4": "h2"})
    assert feasible(shared(), packed, {"r0": "h1", "r1": "h2", "r2": "h2"})
    assert not feasible(shared(), packed, {"r4": "h0"}, "HARD")


def test_another_group_does_not_take_the_place_of_one_that_leaves() -> None:
    """With none allowed, red's leaving makes no room for blue beyond its limit."""
    out = ProblemBuilder("task", "host")
    out.set_assignment({"h0": ["r0", "r1", "b0"], "h1": ["b1"]})
    out.add_partition("colour", {"red": ["r0", "r1"], "blue": ["b0", "b1"]})
    world = out.build()
    strict = spec(limit=1, groups_allowed=0)
    assert broken(world, strict) == (1, 1)
    assert not feasible(world, strict, {"r0": "h1", "b1": "h0"})
    assert feasible(world, strict, {"r0": "h1"})
    assert broken(world, strict, {"r0": "h1"}) == (0, 0)


def test_faults_and_warnings() -> None:
    assert codes(faults(shared(), spec(groups_allowed=-1))) == [("out-of-range", "groups_allowed")]
    assert warnings(shared(), spec(limit={"type": "RELATIVE"})) == ["raw-limit"]
    assert goal(world(), spec(partition="job")) == 0  # one job per host
