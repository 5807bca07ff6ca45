from __future__ import annotations

from rebalancer.specs.coverage import CoverageSpec
from tests.specs.worlds import broken, builder, codes, faults, feasible, goal, settled, table, world


def spec(**fields: object) -> CoverageSpec:
    return CoverageSpec(**({"scope": "host", "objects": ["a", "c"]} | fields))


def test_every_item_needs_its_copies() -> None:
    assert broken(world(), spec()) == (2, 2)  # h2, h3
    assert broken(world(), spec(copies=2)) == (1 + 1 + 2 + 2, 4)
    assert broken(world(), spec(scope="rack")) == (1, 1)
    assert broken(world(), spec(), {"a": "h2", "c": "h3"}) == (2, 2)
    assert goal(world(), spec(filter={"items_whitelist": ["h0", "h1"]})) == 0
    assert goal(world(), spec(objects=[])) == 4


def test_no_copy_is_needed_beside_others() -> None:
    assert goal(world(), spec(unless=["e"])) == 1
    assert goal(world(), spec(unless=["e"]), {"e": "h3"}) == 1
    assert goal(world(), spec(unless=["e"], copies=2)) == 1 + 1 + 0 + 2
    assert goal(world(), spec(unless=[])) == 2


def test_items_that_nothing_can_be_in_are_left_out() -> None:
    world = builder()
    world.add_scope("zone", {"z0": ["h0"], "z1": []})
    assert goal(world.build(), spec(scope="zone", objects=["c"])) == 1


def test_groups_one_by_one() -> None:
    rows = table(world(), CoverageSpec(scope="rack", partition="job", groups=["web", "db"]))
    assert rows == [("r0", "web", 3, 1, 0), ("r1", "web", 0, 1, 1), ("r0", "db", 0, 1, 1), ("r1", "db", 1, 1, 0)]
    rows = table(world(), CoverageSpec(scope="rack", partition="job", groups=["db"]))
    assert rows == [("r0", "db", 0, 1, 1), ("r1", "db", 1, 1, 0)]
    rows = table(world(), spec(scope="rack"))
    assert rows == [("r0", "a and 1 more", 2, 1, 0), ("r1", "a and 1 more", 0, 1, 1)]


def test_how_many_are_placed_or_left_out() -> None:
    left_out = CoverageSpec(scope="placed", objects=["a", "b", "d"], copies=2, filter={"items_whitelist": ["unplaced"]})
    assert goal(world(), left_out) == 1
    assert goal(world(), left_out, {"b": None}) == 0


def test_default_and_faults() -> None:
    assert not feasible(settled(), spec(), {"c": "h2"})  # h1 was covered
    assert feasible(settled(), spec(), {"b": "h2"})
    assert codes(faults(world(), spec(copies=0))) == [("out-of-range", "copies")]
