"""By hand: a and b are together on h0, c is on h1 in the same rack, e on h2, d unplaced."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.pair_affinities import PairAffinitiesSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table, world


def spec(*pairs: tuple[str, str, float], **fields: Any) -> PairAffinitiesSpec:
    affinities = [{"pair": {"object1": one, "object2": two}, "affinity": affinity} for one, two, affinity in pairs]
    return PairAffinitiesSpec(affinities=affinities, **fields)


@pytest.mark.parametrize(
    ("made", "moves", "expected"),
    [
        (spec(("a", "b", 5)), {}, 0),
        (spec(("a", "b", 5)), {"b": "h1"}, 5),
        (spec(("a", "c", 5), ("a", "e", 2)), {}, 7),
        (spec(("a", "c", 5), ("a", "c", 2)), {}, 7),
        (spec(("a", "c", 5), ("a", "e", 2), scope="rack"), {}, 2),
        (spec(("a", "c", -5)), {}, -5),
        (spec(("a", "c", 0)), {}, 0),
        (spec(("a", "d", 5)), {}, 0),  # d is nowhere
        (spec(("a", "d", 5)), {"d": "h1"}, 5),
        (spec(("a", "e", 2), scope="rack"), {"a": "h3"}, 0),  # h3 is in no rack
        (spec(("a", "b", 5), limit=0), {}, 5),
        (spec(("a", "c", 5), limit=1.5), {}, 2.5),
        (spec(), {}, 0),
    ],
)
def test_goal(made: PairAffinitiesSpec, moves: dict[str, str], expected: float) -> None:
    assert goal(world(), made, moves) == expected


def test_constraint_has_one_component_per_pair() -> None:
    made = spec(("a", "b", 5), ("a", "c", 3), ("b", "e", 0))
    assert broken(world(), made) == (3, 1)
    assert broken(world(), made, {"b": "h3"}) == (8, 2)
    assert not feasible(world(), made, {"b": "h3"})
    assert feasible(world(), made, {"e": "h0"})
    apart = spec(("a", "b", -4), ("a", "c", -4), limit=2)
    assert broken(world(), apart) == (4, 1)
    assert not feasible(world(), apart, {"c": "h0"})
    assert table(world(), made)[0][1] == "a and b"


def test_faults() -> None:
    assert codes(faults(world(), spec(("a", "a", 1)))) == [("one-object", "object2")]
    assert codes(faults(world(), spec(("a", "z", 1)))) == [("unknown-name", "object2")]
