from __future__ import annotations

from rebalancer.model import Cells, Tally
from rebalancer.specs.object_affinities import ObjectAffinitiesSpec
from tests.specs.worlds import broken, codes, compiled, faults, world


def spec(object0: str, object1: str, objects_n: str, **fields: object) -> ObjectAffinitiesSpec:
    affinity = {"object0": object0, "object1": object1, "objectsN": list(objects_n.split())}
    return ObjectAffinitiesSpec(affinities=[affinity], **fields)


def test_an_object_calls_for_others_unless_one_is_there() -> None:
    calls = spec("c", "a", "b e")
    assert broken(world(), calls) == (1, 1)  # e is not on h0
    assert broken(world(), calls, {"c": "h0"}) == (0, 0)
    assert broken(world(), calls, {"b": "h3"}) == (2, 2)
    assert broken(world(), calls, {"a": None}) == (0, 0)


def test_an_item_calls_always() -> None:
    calls = spec("a", "h3", "b")
    assert broken(world(), calls) == (1, 1)
    assert broken(world(), calls, {"b": "h3"}) == (0, 0)
    assert broken(world(), calls, {"a": "h3"}) == (0, 0)
    assert broken(world(), spec("e", "r0", "c", scope="rack"), {"c": "h2"}) == (1, 1)


def test_filters_and_unknown_names() -> None:
    assert broken(world(), spec("c", "a", "e", filter={"items_blacklist": ["h0"]})) == (0, 0)
    assert broken(world(), spec("a", "h3", "b", filter={"items_blacklist": ["h3"]})) == (0, 0)
    assert broken(world(), ObjectAffinitiesSpec(affinities=[])) == (0, 0)
    assert codes(faults(world(), spec("a", "h9", "b"), "constraint")) == [("unknown-name", "object1")]
    assert codes(faults(world(), spec("z", "a", "b"), "constraint")) == [("unknown-name", "object0")]


def test_objects_and_items_may_call_side_by_side() -> None:
    calls = [("c", "a", ["e", "e"]), ("a", "h3", ["b"]), ("a", "a", ["b"]), ("f", "e", ["f"]), ("a", "h2", [])]
    affinities = [{"object0": one, "object1": other, "objects_n": names} for one, other, names in calls]
    assert broken(world(), ObjectAffinitiesSpec(affinities=affinities)) == (1 + 1 + 1, 3)
    assert broken(world(), ObjectAffinitiesSpec(affinities=affinities), {"e": "h0", "b": "h3"}) == (1, 1)  # f stays


def test_each_demand_is_one_row_of_three_memberships() -> None:
    """Whatever items there are."""
    for calls, members in (spec("c", "a", "b e"), 6), (spec("a", "a", "b"), 1), (spec("a", "h3", "b e"), 4):
        cells: Cells = compiled(world(), calls, "constraint").constraints[0].components[0].cells
        while not isinstance(cells, Tally):
            (cells,) = cells.inputs
        assert len(cells.member) == members
