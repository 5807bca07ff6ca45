from __future__ import annotations

from rebalancer.specs.exclusive_objects import ExclusiveObjectsSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, world


def pairs(*names: str) -> list[dict[str, str]]:
    return [{"object1": one, "object2": other} for one, other in names]


def test_two_of_a_pair_never_share_an_item() -> None:
    spec = ExclusiveObjectsSpec(scope="host", pairs=pairs("ab", "ce"))
    assert goal(world(), spec) == 1
    assert goal(world(), spec, {"e": "h1"}) == 2
    assert goal(world(), ExclusiveObjectsSpec(scope="rack", pairs=pairs("ac", "ca"))) == 2
    assert broken(world(), spec) == (1, 1)
    assert not feasible(world(), spec, {"c": "h2"})


def test_one_of_a_pair_is_everywhere() -> None:
    spec = ExclusiveObjectsSpec(scope="host", pairs=pairs("ac"), separate=False)
    assert goal(world(), spec) == 2  # h2 and h3
    assert broken(world(), spec, {"a": "h1"}) == (3, 3)
    assert goal(world(), spec.model_copy(update={"pairs": ()})) == 0
    only = ExclusiveObjectsSpec(scope="host", pairs=pairs("ac"), separate=False, filter={"items_whitelist": ["h3"]})
    assert broken(world(), only, {"c": "h3"}) == (0, 0)


def test_unplaced_objects_and_an_object_with_itself() -> None:
    spec = ExclusiveObjectsSpec(scope="host", pairs=pairs("dd"))
    assert goal(world(), spec) == 0
    assert goal(world(), spec, {"d": "h0"}) == 1
    assert codes(faults(world(), ExclusiveObjectsSpec(scope="host", pairs=pairs("az")))) == [
        ("unknown-name", "object2")
    ]
