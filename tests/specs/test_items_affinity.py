from __future__ import annotations

from rebalancer.specs.items_affinity import ItemsAffinitySpec
from tests.specs.worlds import codes, faults, goal, world


def spec(one: list[str], other: list[str], **fields: object) -> ItemsAffinitySpec:
    given = {"scope": "host", "partition": "job", "scope_items_of_type1": one, "scope_items_of_type2": other}
    return ItemsAffinitySpec(**(given | fields))


def test_each_group_counts_its_larger_part() -> None:
    assert goal(world(), spec(["h0"], ["h1", "h2"])) == 2 + 1
    assert goal(world(), spec(["h0"], ["h1", "h2"], dimension="cpu")) == 4 + 3
    assert goal(world(), spec(["h0"], ["h1", "h2"], dimension="cpu"), {"d": "h0", "a": "h3"}) == 4 + 8


def test_empty_and_repeated_items() -> None:
    assert goal(world(), spec([], ["h0"])) == 0
    assert goal(world(), spec(["h0"], [])) == 0
    assert goal(world(), spec(["h0", "h0"], ["h0"])) == 2
    assert codes(faults(world(), spec(["h9"], ["h0"]))) == [("unknown-name", "0")]
