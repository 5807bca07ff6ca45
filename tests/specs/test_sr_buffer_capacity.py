from __future__ import annotations

from rebalancer.specs.sr_buffer_capacity import SRBufferCapacitySpec
from tests.specs.worlds import broken, goal, warnings, world


def spec(*pairs: str, **fields: object) -> SRBufferCapacitySpec:
    listed = [{"scope_item1": f"h{pair[0]}", "scope_item2": f"h{pair[1]}"} for pair in pairs]
    return SRBufferCapacitySpec(**({"scope": "host", "partition": "job", "scope_item_pairs": listed} | fields))


def test_the_buffer_replaces_any_group() -> None:
    assert goal(world(), spec("01")) == 2 + 1 - 1  # without web, two are lost and none is left
    assert goal(world(), spec("01", dimension="cpu")) == 3 + 4 - 4
    assert goal(world(), spec("01", dimension="cpu"), {"d": "h0"}) == 3 + (8 - 4)
    assert goal(world(), spec("02", dimension="cpu")) == 0  # the 3 of e replace those of web
    assert goal(world(), spec("01", "20", dimension="cpu")) == 3 + 0


def test_some_may_be_missing() -> None:
    assert goal(world(), spec("01", dimension="cpu", matching_error=1)) == 2
    errors = {"matching_error": 1, "lower_bound_matching_errors": {"h0": 2.5}}
    assert goal(world(), spec("01", dimension="cpu", **errors)) == 0.5


def test_constraint_has_a_component_per_pair() -> None:
    assert broken(world(), spec("01", "30", dimension="cpu")) == (3, 1)
    assert broken(world(), spec("01", filter={"items_blacklist": ["h0"]})) == (0, 0)
    assert broken(world(), spec()) == (0, 0)


def test_fields_that_only_steer_search_are_listed() -> None:
    assert warnings(world(), spec("01", use_heuristics=True)) == ["no-effect"]
