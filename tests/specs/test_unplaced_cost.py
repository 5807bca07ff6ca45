from __future__ import annotations

from rebalancer.specs.unplaced_cost import UnplacedCostSpec
from tests.specs.worlds import codes, faults, goal, settled, world


def test_what_is_unplaced_costs_its_own_price_or_the_common_one() -> None:
    assert goal(world(), UnplacedCostSpec()) == 1  # d
    assert goal(settled(), UnplacedCostSpec()) == 0
    assert goal(world(), UnplacedCostSpec(cost=2.5), {"a": None}) == 5
    assert goal(world(), UnplacedCostSpec(object_costs={"d": 100, "e": 7}), {"a": None}) == 101
    assert goal(world(), UnplacedCostSpec(cost=-3)) == -3


def test_only_those_who_are_selected() -> None:
    assert goal(world(), UnplacedCostSpec(objects=["a"])) == 0
    assert goal(world(), UnplacedCostSpec(objects=["a"], object_costs={"d": 5})) == 0
    assert goal(world(), UnplacedCostSpec(objects={"partition": "job", "groups": ["db"]})) == 1
    assert goal(world(), UnplacedCostSpec(objects=[])) == 0


def test_faults() -> None:
    assert codes(faults(world(), UnplacedCostSpec(object_costs={"dd": 5}))) == [("unknown-name", "dd")]
