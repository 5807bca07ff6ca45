"""By hand: utilizations 0.75, 2, 0.3 and 0."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.scope_affinities import ScopeAffinitiesSpec
from tests.specs.worlds import builder, codes, faults, goal, warnings, world


def spec(**fields: Any) -> ScopeAffinitiesSpec:
    return ScopeAffinitiesSpec(**{"scope": "host", "dimension": "cpu", **fields})


@pytest.mark.parametrize(
    ("affinities", "moves", "expected"),
    [
        ({"h0": 1}, {}, -0.75),
        ({"h0": 2, "h1": -1}, {}, -1.5 + 2),
        ({"h3": 0.5}, {}, 0),
        ({"h3": 0.5}, {"d": "h3"}, -1),
        ({}, {}, 0),
    ],
)
def test_goal(affinities: dict[str, float], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(affinities=affinities), moves) == pytest.approx(expected)


def test_racks() -> None:
    assert goal(world(), spec(scope="rack", affinities={"r1": 10})) == pytest.approx(-6)


def test_items_without_capacity_are_left_out() -> None:
    out = builder()
    out.add_object_dimension("gpu", {"a": 1, "c": 2})
    out.add_scope_dimension("gpu", "host", {"h0": 2, "h1": 0, "h2": 1, "h3": 0})
    assert goal(out.build(), spec(dimension="gpu", affinities={"h0": 2, "h1": 5})) == -1
    assert warnings(out.build(), spec(dimension="gpu", affinities={"h0": 2, "h1": 5})) == ["zero-capacity"]
    assert warnings(out.build(), spec(dimension="gpu", affinities={"h0": 2})) == []


def test_faults() -> None:
    assert codes(faults(world(), spec(affinities={"h9": 1}))) == [("unknown-name", "h9")]
