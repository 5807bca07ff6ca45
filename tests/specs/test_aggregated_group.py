from __future__ import annotations

from rebalancer.specs.aggregated_group import AggregatedGroupSpec
from tests.specs.worlds import broken, codes, faults, goal, world


def spec(scope: str = "rack", how: str = "SUM MAX SUM", **fields: object) -> AggregatedGroupSpec:
    within, group, container = how.split()
    return AggregatedGroupSpec(
        scope=scope,
        **({"partition": "job", "limit": 0} | fields),
        within_group_aggregation_type=within,
        group_aggregation_type=group,
        container_aggregation_type=container,
    )


def test_by_default_the_largest_group_of_each_container() -> None:
    assert goal(world(), AggregatedGroupSpec(scope="host", partition="job")) == 2 - 1
    assert goal(world(), AggregatedGroupSpec(scope="rack", partition="job")) == 3 - 1
    assert goal(world(), spec(dimension="cpu"), {"d": "h0"}) == 8 + 4 + 3


def test_every_step_sums_or_takes_the_largest() -> None:
    moves = {"d": "h0"}  # h0: a 1, b 2, d 8; h1: c 4; h2: e 3
    assert goal(world(), spec(how="SUM SUM SUM", dimension="cpu"), moves) == 11 + 4 + 3
    assert goal(world(), spec(how="MAX SUM SUM", dimension="cpu"), moves) == 2 + 8 + 4 + 3
    assert goal(world(), spec(how="MAX MAX MAX", dimension="cpu"), {"c": "h0"}) == 4 + 3
    assert goal(world(), spec("host", "SUM SUM SUM", partition="shared")) == 3 + 1


def test_contributions_and_dynamic_amounts() -> None:
    half = {"r0": 0.5, "r1": {"global_limit": 7, "scope_item_limits": {"r1": 2}}}
    assert goal(world(), spec(dimension="cpu", contributions=half)) == 3.5 + 6
    assert goal(world(), spec(dimension="io")) == 3 + 1 + 1 + 1
    found = faults(world(), spec(contributions={"r0": {"scope_item_limits": {"r9": 1}, "group_limits": {"web": 1}}}))
    assert codes(found) == [("unknown-name", "r9"), ("unsupported-limit", "group_limits")]
    assert codes(faults(world(), spec(dimension="vec"))) == [("vector-dimension", "dimension")]


def test_constraint_has_a_component_per_item() -> None:
    assert broken(world(), spec(dimension="cpu", limit={"global_limit": 5, "scope_item_limits": {"r1": 1}})) == (4, 2)
    assert broken(world(), spec(filter={"items_whitelist": []})) == (0, 0)
    assert broken(world(), spec(limit={"is_default_limit_unbounded": True})) == (0, 0)
