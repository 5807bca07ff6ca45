"""By hand: of web (cpu 7, three objects) a and b, 3, are on h0 and c, 4, on h1; of db (cpu 11) e, 3, is on h2."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.group_assignment_affinities import GroupAssignmentAffinitiesSpec
from tests.specs.worlds import codes, faults, goal, warnings, world


def spec(*entries: tuple[str, str, float, float], **fields: Any) -> GroupAssignmentAffinitiesSpec:
    affinities = [
        {"group": group, "scope_item": item, "target_dimension_value": target, "affinity": affinity}
        for group, item, target, affinity in entries
    ]
    return GroupAssignmentAffinitiesSpec(
        **{"scope": "host", "partition": "job", "dimension": "cpu", "affinities": affinities, **fields}
    )


@pytest.mark.parametrize(
    ("made", "moves", "expected"),
    [
        (spec(("web", "h0", 5, 2)), {}, 2 * 2 / 7),
        (spec(("web", "h0", 2, 2)), {}, 0),
        (spec(("web", "h0", 2, -2)), {}, 2 / 7),
        (spec(("web", "h0", 5, -2)), {}, 0),
        (spec(("web", "h0", 5, 2), ("web", "h0", 5, 2)), {}, 8 / 7),
        (spec(("web", "h0", 5, 2), ("db", "h3", 4, 1)), {}, 4 / 7 + 4 / 11),
        (spec(("db", "h3", 4, 1)), {"d": "h3"}, 0),
        (spec(("web", "h0", 3, 6), dimension="task_count"), {}, 2),
        (spec(("web", "r0", 8, 7), scope="rack"), {}, 1),
        (spec(("none", "h0", 8, 7)), {}, 0),
        (spec(("web", "h0", 8, 0)), {}, 0),
        (spec(), {}, 0),
        (spec(("web", "h1", 8, 1), dimension="io"), {}, (8 - 1) / 7),  # there: a 5, b 1, c 1
        (spec(("web", "h0", 3, 1), dimension="net"), {}, 0),  # they total −1: −(3 − −1) is negative
        (spec(("web", "h0", -3, 1), dimension="net"), {}, 2),
    ],
)
def test_goal(made: GroupAssignmentAffinitiesSpec, moves: dict[str, str], expected: float) -> None:
    assert goal(world(), made, moves) == pytest.approx(expected)


def test_faults_and_warnings() -> None:
    assert codes(faults(world(), spec(dimension="vec"))) == [("vector-dimension", "dimension")]
    assert codes(faults(world(), spec(("wep", "h0", 1, 1)))) == [("unknown-name", "group")]
    assert codes(faults(world(), spec(("web", "h9", 1, 1)))) == [("unknown-name", "scope_item")]
    assert warnings(world(), spec(("none", "h0", 8, 7))) == ["empty-group"]
