"""By hand: h0, h1 and h2 are in use, h3 is not; f on h2 weighs nothing."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.minimize_containers import MinimizeContainersSpec
from tests.specs.worlds import codes, faults, goal, world


def spec(**fields: Any) -> MinimizeContainersSpec:
    return MinimizeContainersSpec(**{"scope": "host", "dimension": "cpu", **fields})


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 3),
        ({}, {"d": "h3"}, 4),
        ({}, {"e": "h1"}, 2),
        ({"dimension": "task_count"}, {"e": "h1"}, 3),
        ({"max_free_limit": 2}, {}, 1),
        ({"max_free_limit": 2}, {"e": "h1", "c": "h0"}, 0),
        ({"max_free_limit": 9}, {}, 3),
        ({"container_costs": {"h0": 5, "h1": 0.5}}, {}, 6.5),
        ({"container_costs": {"h0": 5}, "max_free_limit": 1}, {}, 7 - 4 + 1),
        ({"container_costs": {"h0": 0, "h1": 0, "h2": 0}, "max_free_limit": 1}, {}, 0),
        ({"filter": {"items_blacklist": ["h0"]}, "container_costs": {"h0": 5}}, {}, 2),
        ({"filter": {"items_whitelist": []}}, {}, 0),
        ({"scope": "rack"}, {}, 2),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"formula": "LEGACY"}, [("unsupported-field", "formula")]),
        ({"max_free_limit": 0}, [("out-of-range", "max_free_limit")]),
        ({"dimension": "io"}, [("dynamic-dimension", "dimension")]),
        ({"dimension": "net"}, [("negative-value", "dimension")]),
        ({"container_costs": {"h9": 1}}, [("unknown-name", "h9")]),
    ],
)
def test_faults(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert codes(faults(world(), spec(**fields))) == expected
