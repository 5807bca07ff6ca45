from __future__ import annotations

from rebalancer.specs.capacity_ratio import CapacityRatioSpec
from tests.specs.worlds import broken, codes, faults, goal, world


def test_goal_is_what_is_above_the_ratio() -> None:
    assert goal(world(), CapacityRatioSpec(scope="host", dimension="cpu", ratios={"h1": {"h0": 1}})) == 4 - 3
    assert goal(world(), CapacityRatioSpec(scope="host", dimension="cpu", ratios={"h2": {"h1": 0.5, "h3": 2}})) == 1 + 3
    assert goal(world(), CapacityRatioSpec(scope="host", ratios={"h0": {"h2": 0.5}})) == 2 - 1
    assert goal(world(), CapacityRatioSpec(scope="rack", dimension="cpu", ratios={"r0": {"r1": 2}}), {"d": "h0"}) == 9
    assert goal(world(), CapacityRatioSpec(scope="host", dimension="vec", ratios={"h0": {"h1": 1}})) == 5 - 4


def test_constraint_has_a_component_per_pair() -> None:
    spec = CapacityRatioSpec(scope="host", dimension="cpu", ratios={"h1": {"h0": 1}, "h2": {"h1": 0.5}})
    assert broken(world(), spec) == (2, 2)
    assert broken(world(), spec, {"c": "h0"}) == (3, 1)
    assert broken(world(), CapacityRatioSpec(scope="host", ratios={})) == (0, 0)
    assert goal(world(), CapacityRatioSpec(scope="host", ratios={"h0": {}})) == 0


def test_unknown_items_are_named() -> None:
    spec = CapacityRatioSpec(scope="host", ratios={"h9": {"h8": 1}})
    assert codes(faults(world(), spec)) == [("unknown-name", "h9"), ("unknown-name", "h8")]
