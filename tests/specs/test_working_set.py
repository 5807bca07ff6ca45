"""By hand: cpu 3 on h0, 4 on h1, 3 on h2."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.working_set import WorkingSetSpec
from tests.specs.worlds import codes, faults, goal, warnings, world

#: h0 keeps 7, h1 3, h2 3; nobody keeps anything for d.
UNITS = [
    {"endpoints": ["a", "b"], "weight": 7},
    {"endpoints": ["c", "f", "f"], "weight": 3},
    {"endpoints": ["d"], "weight": 100},
]


def spec(**fields: Any) -> WorkingSetSpec:
    return WorkingSetSpec(**{"scope": "host", "dimension": "cpu", "working_units": UNITS, **fields})


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 3 * 7 + 4 * 3 + 3 * 3),
        ({}, {"c": "h0"}, 7 * 10 + 3 * 3),
        ({}, {"b": "h1"}, 1 * 7 + 6 * 10 + 3 * 3),
        ({"metric": "MAX"}, {}, 7),
        ({"metric": "MAX"}, {"c": "h0"}, 10),
        ({"metric": "MAX"}, {"d": "h3"}, 100),
        ({"scope": "rack"}, {}, 7 * 10 + 3 * 3),
        ({"working_units": []}, {}, 0),
        ({"working_units": [{"endpoints": ["a"], "weight": -2}], "metric": "MAX"}, {}, 0),
        ({"working_units": [{"endpoints": ["a"], "weight": -2}]}, {}, -6),
        ({"working_units": [{"endpoints": [], "weight": 2}]}, {}, 0),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == expected


def test_faults_and_warnings() -> None:
    unknown = [{"endpoints": ["a", "zz"], "weight": 1}]
    assert codes(faults(world(), spec(working_units=unknown))) == [("unknown-name", "1")]
    assert warnings(world(), spec(working_units=[{"endpoints": [], "weight": 2}])) == ["no-effect"]
