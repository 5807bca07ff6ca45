from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.specs import flow
from rebalancer.specs.flow import FlowSpec
from tests.specs.worlds import broken, codes, faults, goal, world


def spec(*pairs: str, **fields: object) -> FlowSpec:
    listed = [{"object1": one, "object2": other} for one, other in pairs]
    return FlowSpec(**({"scope": "host", "dimension": "cpu", "pairs": listed} | fields))


def test_the_amount_of_the_sender_flows() -> None:
    assert goal(world(), spec("ac")) == 1
    assert goal(world(), spec("ac", "bc", "ca")) == 3 + 4
    assert goal(world(), spec("ac", dimension="")) == 1
    assert goal(world(), spec("ab", "da")) == 0  # within h0; d is nowhere
    assert goal(world(), spec("da"), {"d": "h1"}) == 8
    assert goal(world(), spec("ac", scope="rack")) == 0


def test_the_most_specific_limit_counts() -> None:
    assert goal(world(), spec("ac", "bc", limit=0.5)) == 2.5
    assert goal(world(), spec("ac", "bc", limit={"group_limits": {"h1": 2}})) == 1
    assert goal(world(), spec("ac", "bc", limit={"group_limits": {"h1": 2}, "scope_item_limits": {"h0": 1}})) == 2
    all_three = {"group_limits": {"h1": 2}, "scope_item_to_group_limits": {"h0": {"h1": 2.5}}}
    assert goal(world(), spec("ac", "bc", limit=all_three, coefficients={"scope_item_limits": {"h0": 4}})) == 2
    assert goal(world(), spec("ac", limit={"is_default_limit_unbounded": True})) == 0


def test_lower_demands_its_limit_of_the_filtered_ways() -> None:
    ways = {"source_filter": {"items_whitelist": ["h0"]}, "destination_filter": {"h0": {"items_blacklist": ["h3"]}}}
    assert broken(world(), spec("ac", bound="LOWER", limit=2, **ways)) == (1 + 2, 2)  # to h1 and h2
    assert goal(world(), spec(bound="LOWER", limit=1, **ways)) == 2


def test_constraint_has_a_component_per_way() -> None:
    assert broken(world(), spec("ac", "ca")) == (1 + 4, 2)
    assert broken(world(), spec()) == (0, 0)


def test_faults() -> None:
    assert codes(faults(world(), spec("ac", limit={"group_limits": {"web": 1}}))) == [("unknown-name", "web")]
    assert codes(faults(world(), spec("ac", destination_filter={"h0": {"items_whitelist": ["h9"]}}))) == [
        ("unknown-name", "0")
    ]
    assert codes(faults(world(), spec("ac", dimension="vec"))) == [("vector-dimension", "dimension")]
    assert codes(faults(world(), spec("ac", dimension="io"))) == [("dynamic-dimension", "dimension")]


PLACES = st.sampled_from(["h0", "h1", "h2", "h3", None])


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=8), st.fixed_dictionaries(dict.fromkeys("abcd", PLACES)))
def test_what_flows_between_all_items_is_the_sum_over_the_ways(talk: list[str], moves: dict[str, str | None]) -> None:
    pairs = [one + other for one, other in pairwise(talk)]
    by_way = {"scope_item_limits": {"h0": 0}}  # says what holds anyway, but by item
    for fields in ({}, {"dimension": ""}, {"coefficients": 2.5}):
        whole, by_item = (spec(*pairs, **fields, **limit) for limit in ({}, {"limit": by_way}))
        assert goal(world(), whole, moves) == goal(world(), by_item, moves)


def test_what_would_not_fit_into_memory_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "_MOST", 7)
    two = spec("ac", "bc")
    (fault,) = two.constraint_faults(world())  # two pairs, and four items that flows start in
    assert (fault.code, fault.path) == ("too-large", ("scope",))
    assert not list(two.goal_faults(world()))  # which needs no ways
    assert codes(spec("ac", "bc", bound="LOWER").goal_faults(world())) == [("too-large", "scope")]
    assert not list(spec("ac").constraint_faults(world()))
    one_way = {"is_default_limit_unbounded": True, "scope_item_to_group_limits": {"h0": {"h1": 1}}}
    assert not list(spec("ac", "bc", limit=one_way).constraint_faults(world()))
