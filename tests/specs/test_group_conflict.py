from __future__ import annotations

from rebalancer.specs.group_conflict import GroupConflictSpec
from tests.specs.worlds import broken, feasible, goal, settled, world


def spec(**fields: object) -> GroupConflictSpec:
    return GroupConflictSpec(**({"scope": "host", "objects": ["a", "e"], "others": ["b", "c"]} | fields))


def test_the_smaller_side_has_to_leave() -> None:
    assert broken(world(), spec()) == (1, 1)  # a or b leaves h0
    assert broken(world(), spec(), {"c": "h0"}) == (1, 1)  # a
    assert broken(world(), spec(), {"c": "h0", "e": "h0"}) == (2, 1)
    assert broken(world(), spec(), {"b": "h2", "c": "h2", "f": "h0"}) == (1, 1)
    assert broken(world(), spec(scope="rack")) == (1, 1)
    assert goal(world(), spec(), {"b": None}) == 0


def test_a_set_in_conflict_with_itself_is_spread() -> None:
    web = {"partition": "job", "groups": ["web"]}
    assert goal(world(), spec(objects=web, others=web)) == 1
    assert goal(world(), spec(objects=web, others=web, scope="rack")) == 2
    assert goal(world(), spec(objects=web, others=web), {"b": "h3"}) == 0


def test_an_object_of_both_sets_does_not_conflict_with_itself() -> None:
    both = spec(objects=["a", "b"], others=["b", "c"])
    assert goal(world(), both) == 1  # a and b
    assert goal(world(), both, {"a": "h3"}) == 0  # b alone
    assert goal(world(), both, {"a": "h3", "c": "h0"}) == 1  # b and c
    assert goal(world(), both, {"c": "h0"}) == 2  # of a, b, c only one may stay


def test_an_exclusive_owner_conflicts_with_everybody() -> None:
    owner = GroupConflictSpec(scope="host", objects=["a"])
    assert broken(world(), owner) == (1, 1)
    assert broken(world(), owner, {"a": "h2"}) == (1, 1)  # a leaves, rather than e and f
    assert broken(world(), owner, {"a": "h3"}) == (0, 0)
    two = GroupConflictSpec(scope="host", objects=["a", "b"])
    assert goal(world(), two) == 1
    assert goal(world(), two, {"c": "h0"}) == 2
    tolerant = GroupConflictSpec(scope="host", objects=["a"], others={"excluding": ["b"]})
    assert goal(world(), tolerant) == 0
    tenant = {"partition": "job", "excluding_groups": ["web"]}
    assert goal(world(), GroupConflictSpec(scope="host", objects=["a"], others=tenant), {"f": "h0"}) == 1


def test_containers_outside_the_scope() -> None:
    assert broken(world(), spec(scope="rack"), {"a": "h3", "b": "h3"}) == (0, 0)
    refused = spec(scope="rack", missing="refuse")
    assert broken(world(), refused, {"a": "h3", "b": "h3"}) == (1, 1)  # of the first set: a
    assert broken(world(), refused, {"a": "h3", "e": "h3"}) == (2, 2)


def test_default_lets_nothing_get_worse() -> None:
    assert feasible(settled(), spec(), {})  # broken on h0
    assert not feasible(settled(), spec(), {"e": "h1"})  # and on h1 as well
    assert not feasible(settled(), spec(), {}, policy="HARD")
    assert feasible(settled(), spec(), {"a": "h3"}, policy="HARD")


def test_empty_cases() -> None:
    assert broken(world(), spec(objects=[])) == (0, 0)
    assert broken(world(), spec(others=[])) == (0, 0)
    assert broken(world(), spec(objects=[], others=[])) == (0, 0)
    assert broken(world(), spec(filter={"items_whitelist": []})) == (0, 0)
