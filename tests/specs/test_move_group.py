from __future__ import annotations

from rebalancer.specs.move_group import MoveGroupSpec
from tests.specs.worlds import broken, feasible, world


def test_a_group_apart_counts_each_of_its_containers() -> None:
    spec = MoveGroupSpec(partition="job")
    assert broken(world(), spec) == (2, 2)  # web on h0 and h1; what is placed of db is together
    assert broken(world(), spec, {"c": "h0"}) == (0, 0)
    assert broken(world(), spec, {"d": "h0"}) == (4, 4)
    assert broken(world(), spec, {"c": None}) == (0, 0)
    assert broken(world(), MoveGroupSpec(partition="shared"), {"a": "h1"}) == (4, 4)


def test_what_is_apart_may_come_together_and_not_spread() -> None:
    spec = MoveGroupSpec(partition="job")
    assert feasible(world(), spec, {"a": "h1"})
    assert not feasible(world(), spec, {"a": "h3"})
    assert not feasible(world(), spec, {"d": "h0"})
    assert feasible(world(), spec, {"a": "h3", "b": "h3", "c": "h3"})
    assert not feasible(world(), spec, {"a": "h1"}, "HARD")
