from __future__ import annotations

from typing import Any

from rebalancer.specs.fallback_tiers import FallbackTiersSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, settled, world

HOST = {"holds": {"count": {"of": ["e"], "min": 1}}, "cost": 0}
RACK = {"holds": {"count": {"scope": "rack", "of": ["e"], "min": 1}}, "cost": 3}
ANY = {"holds": {"within": {"scope": "rack"}}, "cost": 7}


def spec(*tiers: dict[str, Any], **fields: Any) -> FallbackTiersSpec:
    return FallbackTiersSpec(tiers=tiers, **({"objects": ["a", "c", "d", "f"]} | fields))


def test_each_object_pays_for_its_first_tier() -> None:
    wishes = spec(HOST, RACK, ANY)
    assert goal(world(), wishes) == 7 + 7 + 0 + 0  # a, c, d is nowhere, f is beside e
    assert goal(world(), wishes, {"e": "h0"}) == 0 + 3 + 7
    assert goal(world(), wishes, {"a": "h3"}) == 7 + 7 + 0  # as much as the last tier
    assert goal(world(), spec(HOST, RACK, ANY, otherwise=50), {"a": "h3"}) == 50 + 7
    assert goal(world(), spec(HOST, RACK, ANY, otherwise=50), {"a": None}) == 7


def test_the_order_decides_and_not_the_cost() -> None:
    dear = {"holds": {"within": {"items": ["h0"]}}, "cost": 20}
    assert goal(world(), spec(dear, ANY)) == 20 + 7 + 7
    assert goal(world(), spec(ANY, dear)) == 7 + 7 + 7
    assert goal(world(), spec(dear, {**ANY, "cost": -1})) == 20 - 1 - 1


def test_constraint_refuses_what_no_tier_fits() -> None:
    assert broken(world(), spec(HOST, RACK)) == (2, 2)  # a and c: two places
    assert broken(world(), spec(HOST, ANY), {"a": "h3"}) == (1, 1)
    assert broken(world(), spec(HOST, ANY), {"a": None}) == (0, 0)
    assert feasible(settled(), spec(HOST, RACK), {"a": "h2"})
    assert not feasible(settled(), spec(HOST, RACK), {"f": "h3"})


def test_empty_cases_and_faults() -> None:
    assert goal(world(), spec(HOST, objects=[])) == 0
    assert broken(world(), spec(HOST, objects=[])) == (0, 0)
    assert codes(faults(world(), spec())) == [("out-of-range", "tiers")]
    wrong = {"holds": {"count": {"of": ["e"], "min": 2, "max": 1}}, "cost": 0}
    assert codes(faults(world(), spec(wrong))) == [("out-of-range", "max")]
