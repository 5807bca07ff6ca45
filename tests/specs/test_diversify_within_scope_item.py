from __future__ import annotations

import pytest

from rebalancer.specs.diversify_within_scope_item import DiversifyWithinScopeItemSpec
from tests.specs.worlds import builder, codes, faults, goal, warnings, world

#: web has 3 / 4 of h0 and 4 / 2 of h1, so 7 of the 10 of r0; db has 3 / 10 of h2, so 3 of the 5 of r1.
WEB, DB = 0.75**2 + 2**2, 0.3**2


def spec(**fields: object) -> DiversifyWithinScopeItemSpec:
    return DiversifyWithinScopeItemSpec(**({"scope": "rack", "partition": "job", "dimension": "cpu"} | fields))


def test_groups_above_the_limit_pay_squares() -> None:
    assert goal(world(), spec()) == 0
    assert goal(world(), spec(group_to_limit=0.5)) == pytest.approx(WEB + DB)
    assert goal(world(), spec(group_to_limit=0.6)) == pytest.approx(WEB)  # 3 of 5 is not above
    assert goal(world(), spec(group_to_limit=0.5), {"c": "h0"}) == pytest.approx((7 / 4) ** 2 + DB)
    assert goal(world(), spec(group_to_limit={"type": "ABSOLUTE", "global_limit": 3})) == pytest.approx(WEB)


def test_limits_by_group_and_item() -> None:
    limit = {"global_limit": 0, "group_limits": {"web": 1}, "scope_item_to_group_limits": {"r1": {"db": 0.7}}}
    assert goal(world(), spec(group_to_limit=limit)) == 0
    assert goal(world(), spec(group_to_limit=limit), {"e": "h0"}) == pytest.approx(0.75**2)  # db on h0
    assert goal(world(), spec(group_to_limit=0, scope_item_filter={"items_whitelist": ["r1"]})) == pytest.approx(DB)
    assert goal(world(), spec(group_to_limit={"is_default_limit_unbounded": True})) == 0


def test_without_capacity_it_is_left_out() -> None:
    changed = builder()
    changed.add_object_dimension("gpu", {"a": 1, "c": 2})
    changed.add_scope_dimension("gpu", "host", {"h0": 0, "h1": 4})
    changed.add_scope_dimension("gpu", "rack", {"r0": 2, "r1": 0})
    problem = changed.build()
    assert goal(problem, spec(dimension="gpu")) == 0.25
    assert warnings(problem, spec(dimension="gpu")) == ["zero-capacity", "zero-capacity"]
    assert codes(faults(problem, spec(dimension="vec"))) == [("vector-dimension", "dimension")]
    assert codes(faults(problem, spec(dimension="net"))) == [("negative-value", "dimension")]
