"""By hand: utilizations 2, 0.75, 0.3 and 0."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.problem import ProblemBuilder
from rebalancer.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from tests.specs.worlds import builder, codes, faults, goal, warnings, world


def spec(**fields: Any) -> MinimizeNthLargestUtilizationSpec:
    return MinimizeNthLargestUtilizationSpec(**{"scope": "host", "dimension": "cpu", "n": 0, **fields})


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 2),
        ({"n": 1}, {}, 0.75),
        ({"n": 2}, {}, 0.3),
        ({"n": 9}, {}, 0),
        ({"n": 9}, {"d": "h3"}, 0.3),
        ({"n": 1}, {"d": "h3"}, 2),
        ({"target_utilization": 0.5}, {}, 1.5),
        ({"target_utilization": 3}, {}, 0),
        ({"n": 1, "filter": {"items_blacklist": ["h1"]}}, {}, 0.3),
        ({"filter": {"items_whitelist": []}}, {}, 0),
        ({"scope": "rack", "n": 1}, {}, 0.6),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == pytest.approx(expected)


def test_items_without_capacity_are_left_out() -> None:
    out = builder()
    out.add_object_dimension("gpu", {"a": 1, "c": 2})
    out.add_scope_dimension("gpu", "host", {"h0": 2, "h1": 0, "h2": 1, "h3": 0})
    assert goal(out.build(), spec(dimension="gpu")) == 0.5
    assert warnings(out.build(), spec(dimension="gpu")) == ["zero-capacity"]


def test_faults() -> None:
    assert codes(faults(world(), spec(n=-1))) == [("out-of-range", "n")]
    assert codes(faults(world(), spec(target_utilization=-1))) == [("out-of-range", "target_utilization")]


def test_the_largest_is_reported_where_integers_cannot_tell_it_from_nothing() -> None:
    """1.0016 of what h0 offers is in use: next to nothing beside what it would be of h1."""
    made = ProblemBuilder("task", "host")
    made.set_assignment({"h0": ["a", "b"], "h1": []})
    made.add_object_dimension("cpu", {"a": 25 * 10**8, "b": 4000001.5})
    made.add_scope_dimension("cpu", "host", {"h0": 25 * 10**8, "h1": 7})
    assert goal(made.build(), spec()) == pytest.approx(1.0016000006, rel=1e-12)
