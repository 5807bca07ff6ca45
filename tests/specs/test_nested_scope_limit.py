from __future__ import annotations

from rebalancer.specs.nested_scope_limit import NestedScopeLimitSpec
from tests.specs.worlds import broken, builder, codes, faults, world


def spec(**fields: object) -> NestedScopeLimitSpec:
    return NestedScopeLimitSpec(**({"scope": "host", "outer_scope": "rack", "dimension": "cpu", "limit": 0.5} | fields))


def test_an_inner_item_holds_its_share_of_the_outer_one() -> None:
    assert broken(world(), spec()) == (0.5 + 1.5, 2)  # h1: 4 of 7; h2: 3 of 3
    assert broken(world(), spec(), {"c": "h0"}) == (3.5 + 1.5, 2)
    assert broken(world(), spec(filter={"items_whitelist": ["h2"]})) == (1.5, 1)
    assert broken(world(), spec(filter={"items_whitelist": []})) == (0, 0)


def test_limits_by_item_and_none() -> None:
    assert broken(world(), spec(limit={"global_limit": 0.5, "scope_item_limits": {"h1": 1}})) == (1.5, 1)
    only = {"is_default_limit_unbounded": True, "scope_item_limits": {"h2": 0.25}}
    assert broken(world(), spec(limit=only)) == (2.25, 1)
    assert codes(faults(world(), spec(limit={"group_limits": {"web": 1}}), "constraint")) == [
        ("unsupported-limit", "group_limits")
    ]


def test_an_item_outside_has_to_stay_empty() -> None:
    assert broken(world(), spec(limit=1)) == (0, 0)
    assert broken(world(), spec(limit=1), {"e": "h3"}) == (3, 1)


def test_scopes_have_to_be_nested() -> None:
    assert codes(faults(world(), spec(scope="rack", outer_scope="host"), "constraint")) == [
        ("not-nested", "outer_scope")
    ]


def test_an_eighth_counts_beside_an_amount_of_fifty_bits() -> None:
    made = builder(unplaced=False)
    made.add_dynamic_object_dimension("much", "host", {"h0": {"a": 2**51, "c": 0.75, "e": 2**51}, "h1": {"c": 0.125}})
    problem = made.build()
    limit = NestedScopeLimitSpec(scope="host", outer_scope="rack", dimension="much", limit=0.3)
    gone = {"a": "h3", "b": "h3", "e": "h3", "f": "h3"}
    assert broken(problem, limit, gone) == (0.125 - 0.3 * 0.125, 1)
    assert broken(problem, limit, gone | {"c": "h0"}) == (0.75 - 0.3 * 0.75, 1)
