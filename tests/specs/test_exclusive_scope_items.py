"""By hand: h0, h1 and h2 are in use; h0 conflicts with h1 and h3."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.specs.exclusive_scope_items import ExclusiveScopeItemsSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, warnings, world


def conflicts(**others: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {
            "scope_item": item,
            "conflicting_scope_items_with_overlap": [
                {"conflicting_scope_item": name, "overlap": overlap} for name, overlap in names.items()
            ],
        }
        for item, names in others.items()
    ]


def spec(**fields: Any) -> ExclusiveScopeItemsSpec:
    return ExclusiveScopeItemsSpec(
        **{
            "scope": "host",
            "dimension": "task_count",
            "conflict_info_list": conflicts(h0={"h1": 1, "h3": 0.5}),
            **fields,
        }
    )


PACKING = {"formula": "AGGRESSIVE_PACKING"}


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 3),  # h0 has h1 beside it, h1 and h3 have h0
        ({}, {"c": "h2"}, 2),
        ({}, {"a": "h1", "b": "h1"}, 1),
        ({"conflict_info_list": []}, {}, 0),
        ({"conflict_info_list": conflicts(h2={})}, {}, 0),
        # h0 (1 + 1)², h1 (1 + 1)², h3 (0 + 0.5)²; h2 has no conflict
        (PACKING, {}, -(4 + 4 + 0.25)),
        (PACKING, {"d": "h3"}, -(2.5**2 + 4 + 1.5**2)),
        ({**PACKING, "scope_item_weights": {"h0": 2}}, {}, -(2 * 9 + 4 + 0.25)),
        ({**PACKING, "conflict_info_list": conflicts(h0={"h1": 1}, h1={"h0": 3})}, {}, -(16 + 16)),
        ({**PACKING, "conflict_info_list": []}, {}, 0),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == expected


def test_constraint_is_broken_once_however_often() -> None:
    assert broken(world(), spec()) == (1, 1)
    assert broken(world(), spec(), {"d": "h3"}) == (1, 1)
    assert broken(world(), spec(), {"c": "h3", "a": "h2", "b": "h2"}) == (0, 0)
    assert feasible(world(), spec(), {"d": "h3"})
    assert not feasible(world(), spec(conflict_info_list=conflicts(h3={"h2": 1})), {"d": "h3"})
    assert broken(world(), spec(conflict_info_list=[])) == (0, 0)


def test_with_a_partition_items_conflict_within_a_group() -> None:
    grouped = spec(partition="job")
    assert broken(world(), grouped) == (1, 1)  # web on h0 and h1
    assert broken(world(), grouped, {"c": "h2", "d": "h3"}) == (0, 0)
    assert broken(world(), grouped, {"d": "h3", "e": "h0"}) == (2, 2)
    assert not feasible(world(), grouped, {"d": "h3", "e": "h0"})


def test_what_weighs_nothing_uses_nothing() -> None:
    assert goal(world(), spec(dimension="cpu", conflict_info_list=conflicts(h2={"h3": 1})), {"e": "h1"}) == 0


def test_faults_and_warnings() -> None:
    assert codes(faults(world(), spec(dimension="net"))) == [("negative-value", "dimension")]
    assert codes(faults(world(), spec(conflict_info_list=conflicts(h0={"h0": 1})))) == [
        ("own-conflict", "conflicting_scope_item")
    ]
    assert codes(faults(world(), spec(conflict_info_list=conflicts(h9={"h0": 1})))) == [("unknown-name", "scope_item")]
    old = [{"scope_item": "h0", "conflicting_scope_items": ["h1"]}]
    assert warnings(world(), spec(conflict_info_list=old)) == ["no-effect"]
    assert goal(world(), spec(conflict_info_list=old)) == 0
