from __future__ import annotations

import pytest

from rebalancer.specs.exclusive_groups import ExclusiveGroupsSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, world


def spec(**fields: object) -> ExclusiveGroupsSpec:
    return ExclusiveGroupsSpec(**({"scope": "host", "partition": "job", "dimension": "cpu"} | fields))


def test_all_but_the_largest_group_is_in_the_wrong_place() -> None:
    assert goal(world(), spec()) == 0  # f, in no group, weighs nothing
    assert goal(world(), spec(), {"d": "h0"}) == 3 / 5
    assert goal(world(), spec(), {"d": "h0", "e": "h0"}) == 3 / 5  # now it is the host of db
    assert goal(world(), spec(), {"e": "h1"}) == 3 / 5
    assert goal(world(), spec(scope="rack"), {"e": "h1"}) == 3 / 7.5


def test_objects_in_no_group_or_in_two() -> None:
    assert goal(world(), spec(partition="shared")) == 3 / 5  # e
    assert goal(world(), spec(partition="shared"), {"a": "h1"}) == (3 + 1) / 5  # b fits c's host, a does not
    assert goal(world(), spec(dimension="task_count")) == 1  # f; each host offers 1


def test_constraint_has_a_component_per_item() -> None:
    assert broken(world(), spec(), {"d": "h0", "e": "h1"}) == (pytest.approx(6 / 5), 2)
    assert not feasible(world(), spec(), {"e": "h1"})
    assert feasible(world(), spec(), {"c": "h3"})
    assert codes(faults(world(), spec(dimension="net"))) == [("negative-value", "dimension")]
    assert codes(faults(world(), spec(dimension="vec"))) == [("vector-dimension", "dimension")]
