from __future__ import annotations

from rebalancer.specs.object_affinities import ObjectAffinitiesSpec
from tests.specs.worlds import broken, codes, faults, world


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
