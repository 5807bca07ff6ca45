from __future__ import annotations

import pytest

from rebalancer.specs.drain_capacity import DrainCapacitySpec
from tests.specs.worlds import broken, builder, goal, table, warnings, world


def spec(**spills: dict[str, float]) -> DrainCapacitySpec:
    return DrainCapacitySpec(scope="host", dimension="cpu", spill_distribution=spills)


def test_goal_is_what_does_not_fit() -> None:
    assert goal(world(), spec(h0={"h1": 0.5})) == (4 + 1.5 - 2) / 5
    assert goal(world(), spec(h0={"h2": 1})) == 0
    assert goal(world(), spec(h0={"h1": 0.5}, h2={"h1": 1, "h0": 1})) == (3.5 + 5 + 2) / 5
    rack = DrainCapacitySpec(scope="rack", dimension="cpu", spill_distribution={"r0": {"r1": 1}})
    assert goal(world(), rack) == pytest.approx((3 + 7 - 5) / 7.5)
    assert goal(world(), rack, {"c": "h3"}) == pytest.approx((3 + 3 - 5) / 7.5)


def test_constraint_has_a_component_per_source_and_destination() -> None:
    assert broken(world(), spec(h0={"h1": 0.5, "h2": 1})) == (pytest.approx(0.7), 1)
    assert broken(world(), spec()) == (0, 0)
    assert table(world(), spec(h0={"h1": 0.5})) == [("h1", None, 5.5, 2, pytest.approx(0.7))]


def test_a_capacity_of_zero_warns_and_leaves_no_room() -> None:
    none = builder()
    none.add_object_dimension("gpu", {"a": 1})
    none.add_scope_dimension("gpu", "host", {"h0": 0, "h1": 0, "h2": 0, "h3": 0})
    tight = DrainCapacitySpec(scope="host", dimension="gpu", spill_distribution={"h0": {"h1": 0.5}})
    problem = none.build()
    assert goal(problem, tight) == 0.5
    assert warnings(problem, tight) == ["zero-capacity"]
