from __future__ import annotations

from rebalancer.specs.sum_of_max import SumOfMaxSpec
from tests.specs.worlds import goal, world


def spec(**fields: object) -> SumOfMaxSpec:
    return SumOfMaxSpec(**({"scope": "host", "partition": "job", "dimension": "cpu"} | fields))


def test_each_item_counts_its_largest_group() -> None:
    assert goal(world(), spec()) == 3 + 4 + 3
    assert goal(world(), spec(), {"d": "h0"}) == 8 + 4 + 3
    assert goal(world(), spec(scope="rack"), {"d": "h0"}) == 8 + 3
    assert goal(world(), spec(partition="shared")) == 3 + 4
    assert goal(world(), spec(dimension="task_count")) == 2 + 1 + 1


def test_nothing_to_look_at() -> None:
    assert goal(world(), spec(filter={"items_whitelist": []})) == 0
    assert goal(world(), spec(filter={"items_whitelist": ["h3"]})) == 0
    assert goal(world(), spec(filter={"items_blacklist": ["h0"]})) == 7
