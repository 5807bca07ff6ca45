"""By hand: web is a and b on h0 and c on h1; db is e on h2 and d, which is unplaced."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.group_move_limit import GroupMoveLimitSpec
from tests.specs.worlds import broken, codes, faults, feasible, warnings, world


def spec(**fields: Any) -> GroupMoveLimitSpec:
    return GroupMoveLimitSpec(**{"partition": "job", **fields})


def source(*names: str) -> dict[str, Any]:
    return {"source_scope_items_affecting_limit_filter": {"items_whitelist": list(names)}}


def destination(*names: str) -> dict[str, Any]:
    return {"destination_scope_items_affecting_limit_filter": {"items_whitelist": list(names)}}


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 0),
        ({}, {"a": "h1"}, 0),
        ({}, {"a": "h1", "b": "h1"}, 1),
        ({}, {"a": "h1", "c": "h0", "e": "h0"}, 1),  # the largest excess, not the sum
        ({"limit": 0}, {"a": "h1", "e": "h0"}, 1),
        ({"limit": {"group_limits": {"db": 0}}}, {"e": "h3"}, 1),
        ({"limit": 0}, {"d": "h3"}, 0),  # placing is no move
        ({"limit": 0}, {"a": None}, 1),
        ({"limit": 0, **destination("h1", "h3")}, {"a": None}, 0),
        ({"limit": 0}, {"f": "h0"}, 0),  # f is in no group
        ({"limit": 0, "dimension": "cpu"}, {"b": "h3", "c": "h3"}, 6),
        ({"limit": 0, "dimension": "io"}, {"a": "h1"}, 5),  # what a weighs on h1
        ({"limit": 0, "dimension": "io"}, {"a": None}, 1),
        ({"limit": 0, **source("h0")}, {"a": "h3", "b": "h1", "c": "h3"}, 2),
        ({"limit": 0, **destination("h3")}, {"a": "h3", "b": "h1", "c": "h3"}, 2),
        ({"limit": 0, **source("h0"), **destination("h3")}, {"a": "h3", "b": "h1", "c": "h3"}, 1),
        ({"limit": 0, **source()}, {"a": "h3"}, 0),
        ({"limit": {"is_default_limit_unbounded": True}}, {"a": "h3", "b": "h3"}, 0),
    ],
)
def test_violation(fields: dict[str, Any], moves: dict[str, str | None], expected: float) -> None:
    assert broken(world(), spec(**fields), moves) == (expected, int(expected > 0))


def test_it_is_hard_from_the_start() -> None:
    assert feasible(world(), spec(), {"a": "h1", "e": "h0"})
    assert not feasible(world(), spec(), {"a": "h1", "b": "h1"})
    assert not feasible(world(), spec(limit=0), {"a": "h1"})
    assert feasible(world(), spec(limit=0), {"a": "h1"}, "SOFT")


def test_an_object_in_two_groups_counts_in_both() -> None:
    assert broken(world(), spec(partition="shared", limit={"group_limits": {"y": 0}}), {"b": "h3"}) == (1, 1)


def test_a_move_in_progress_is_no_move() -> None:
    going = world().moving({world().objects.index["c"]: world().containers.index["h0"]})
    assert broken(going, spec(limit=0)) == (0, 0)
    assert broken(going, spec(limit=0), {"a": "h3"}) == (1, 1)


def test_faults_and_warnings() -> None:
    assert codes(faults(world(), spec(dimension="vec"), "constraint")) == [("vector-dimension", "dimension")]
    assert codes(faults(world(), spec(dimension="net"), "constraint")) == [("negative-value", "dimension")]
    assert codes(faults(world(), spec(**source("h9")), "constraint")) == [("unknown-name", "0")]
    assert warnings(world(), spec(limit={"type": "RELATIVE"})) == ["raw-limit"]
