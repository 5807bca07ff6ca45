"""By hand: utilizations 3/4, 4/2, 3/10 and 0/4; six objects."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.maximize_allocation import MaximizeAllocationSpec
from tests.specs.worlds import builder, codes, faults, goal, warnings, world


def spec(**fields: Any) -> MaximizeAllocationSpec:
    return MaximizeAllocationSpec(**{"scope": "host", "dimension": "cpu", **fields})


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, -3.05 / 6),
        ({}, {"d": "h3"}, -5.05 / 6),
        ({}, {"a": None}, -2.8 / 6),
        ({"filter": {"items_whitelist": ["h0", "h3"]}}, {}, -0.75 / 6),
        ({"filter": {"items_whitelist": []}}, {}, 0),
        ({"scope": "rack"}, {}, -(0.7 + 0.6) / 6),
        ({"dimension": "vec"}, {}, -(5 + 4) / 6),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str | None], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == pytest.approx(expected)


def test_items_without_capacity_are_left_out() -> None:
    out = builder()
    out.add_object_dimension("gpu", {"a": 1, "c": 2})
    out.add_scope_dimension("gpu", "host", {"h0": 2, "h1": 0, "h2": 1, "h3": 0})
    assert goal(out.build(), spec(dimension="gpu")) == pytest.approx(-0.5 / 6)
    assert warnings(out.build(), spec(dimension="gpu")) == ["zero-capacity"]
    assert codes(faults(world(), spec(dimension=""))) == [("unknown-name", "dimension")]
