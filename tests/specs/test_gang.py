from __future__ import annotations

from rebalancer.specs.gang import GangSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table, world


def test_all_or_none() -> None:
    jobs = GangSpec(partition="job")  # web is placed, of db one of two
    assert broken(world(), jobs) == (1, 1)
    assert broken(world(), jobs, {"d": "h3"}) == (0, 0)
    assert broken(world(), jobs, {"e": None}) == (0, 0)
    assert broken(world(), jobs, {"d": "h3", "a": None}) == (1, 1)
    assert broken(world(), jobs, {"d": "h3", "a": None, "b": None}) == (1, 1)  # c leaves as well
    assert goal(world(), jobs, {"a": None}) == 2


def test_enough_or_none() -> None:
    assert goal(world(), GangSpec(partition="job", minimum=2)) == 1
    assert goal(world(), GangSpec(partition="job", groups=["web"], minimum=2), {"a": None}) == 0
    assert goal(world(), GangSpec(partition="job", groups=["db"], minimum=3), {"d": "h0"}) == 1  # never three
    assert goal(world(), GangSpec(objects=["a", "b", "d"])) == 1
    assert goal(world(), GangSpec(objects=["a", "b", "d"], minimum=2)) == 0
    assert goal(world(), GangSpec()) == 1  # five of six
    assert goal(world(), GangSpec(objects=[])) == 0


def test_default_lets_no_gang_fall_apart_further() -> None:
    assert feasible(world(), GangSpec(partition="job"), {})
    assert not feasible(world(), GangSpec(partition="job"), {"a": None})
    assert not feasible(world(), GangSpec(partition="job"), {}, policy="HARD")
    assert feasible(world(), GangSpec(partition="job"), {"a": None}, policy="SOFT")


def test_reports_and_faults() -> None:
    rows = table(world(), GangSpec(partition="job"))
    assert rows == [(None, "web", 3, 3, 0), (None, "db", 1, 2, 1), (None, "none", 0, 0, 0)]
    assert table(world(), GangSpec(objects=["a", "d"])) == [(None, "a and 1 more", 1, 2, 1)]
    assert codes(faults(world(), GangSpec(minimum=0))) == [("out-of-range", "minimum")]
