"""By hand: utilizations 0.75, 2, 0.3 and 0 of four hosts."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.minimize_squares import MinimizeSquaresSpec
from tests.specs.worlds import builder, goal, warnings, world


def spec(**fields: Any) -> MinimizeSquaresSpec:
    return MinimizeSquaresSpec(**{"scope": "host", "dimension": "cpu", **fields})


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, (0.75**2 + 4 + 0.09) / 4),
        ({}, {"d": "h3"}, (0.75**2 + 4 + 0.09 + 4) / 4),
        ({"filter": {"items_whitelist": ["h1"]}}, {}, 4 / 4),
        ({"filter": {"items_whitelist": []}}, {}, 0),
        ({"scope": "rack"}, {}, (0.49 + 0.36) / 2),
        ({"dimension": "net"}, {}, 0),  # −2 and 1 together on h0
        ({"dimension": "net"}, {"a": "h1"}, 1 / 4),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == pytest.approx(expected)


def test_items_without_capacity_are_left_out_of_the_sum() -> None:
    out = builder()
    out.add_object_dimension("gpu", {"a": 1, "c": 2})
    out.add_scope_dimension("gpu", "host", {"h0": 2, "h1": 0, "h2": 1, "h3": 0})
    assert goal(out.build(), spec(dimension="gpu")) == 0.25 / 4
    assert warnings(out.build(), spec(dimension="gpu")) == ["zero-capacity"]


def test_what_shapes_an_approximation_has_no_effect() -> None:
    shaped = spec(upper_bound=2, lower_bound=0.5, piece_count=10)
    assert goal(world(), shaped) == goal(world(), spec())
    assert warnings(world(), shaped) == ["no-effect"] * 3
