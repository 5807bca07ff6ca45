from __future__ import annotations

from rebalancer.specs.anchored_colocation import AnchoredColocationSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, settled, table, world


def spec(**fields: object) -> AnchoredColocationSpec:
    return AnchoredColocationSpec(**({"scope": "host", "objects": ["a", "b", "c", "e"]} | fields))


def test_without_anchors_the_items_are_counted() -> None:
    assert broken(world(), spec()) == (2, 1)  # h0, h1, h2
    assert broken(world(), spec(limit=2)) == (1, 1)
    assert broken(world(), spec(scope="rack")) == (1, 1)
    assert goal(world(), spec(), {"c": "h0", "e": "h0"}) == 0
    assert goal(world(), spec(), {"c": "h0", "e": None}) == 0


def test_anchors_say_where() -> None:
    assert goal(world(), spec(anchors=["c"])) == 2  # h0 and h2 hold no anchor
    assert goal(world(), spec(anchors=["c"]), {"a": "h1", "b": "h1", "e": "h1"}) == 0
    assert goal(world(), spec(anchors=["c", "e"])) == 1
    assert goal(world(), spec(anchors=["f"], objects=["a"])) == 1  # together, but not with the anchor
    assert goal(world(), spec(anchors=["d"])) == 2  # d is nowhere: as without anchors
    assert goal(world(), spec(anchors=["d"]), {"d": "h3"}) == 3


def test_containers_outside_the_scope() -> None:
    assert goal(world(), spec(scope="rack", objects=["a", "c"]), {"a": "h3"}) == 0
    assert broken(world(), spec(scope="rack", objects=["a", "c"], missing="refuse"), {"a": "h3"}) == (1, 1)


def test_default_empty_cases_and_faults() -> None:
    assert feasible(settled(), spec(), {"a": "h1"})
    assert not feasible(settled(), spec(), {"a": "h3"})  # a fourth
    assert broken(world(), spec(objects=[])) == (0, 0)
    assert broken(world(), spec(filter={"items_whitelist": []})) == (0, 0)
    assert table(world(), spec()) == [(None, "a and 3 more", 3, 0, 2)]
    assert codes(faults(world(), spec(limit=-1))) == [("out-of-range", "limit")]
