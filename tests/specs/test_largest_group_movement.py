from __future__ import annotations

from rebalancer.specs.largest_group_movement import LargestGroupMovementSpec
from tests.specs.worlds import codes, faults, goal, world


def test_the_group_that_moves_most_counts() -> None:
    spec = LargestGroupMovementSpec(partition="job")
    assert goal(world(), spec) == 0
    assert goal(world(), spec, {"a": "h3", "e": "h3"}) == 1
    assert goal(world(), spec, {"a": "h3", "c": "h3", "e": "h3"}) == 2
    assert goal(world(), spec, {"f": "h3"}) == 0  # in no group


def test_amounts_and_scopes() -> None:
    cpu = LargestGroupMovementSpec(partition="job", dimension="cpu")
    assert goal(world(), cpu, {"a": "h3", "b": "h3", "e": "h3"}) == 3
    assert goal(world(), cpu, {"c": "h3", "e": "h3"}) == 4
    rack = LargestGroupMovementSpec(partition="job", scope="rack")
    assert goal(world(), rack, {"a": "h1", "c": "h0"}) == 0  # within r0
    assert goal(world(), rack, {"a": "h3", "c": "h2"}) == 2  # h3 is in no rack


def test_placing_is_no_movement_and_taking_out_is() -> None:
    spec = LargestGroupMovementSpec(partition="job", dimension="cpu")
    assert goal(world(), spec, {"d": "h0"}) == 0
    assert goal(world(), spec, {"e": None}) == 3


def test_overlapping_groups_count_in_each() -> None:
    assert goal(world(), LargestGroupMovementSpec(partition="shared"), {"b": "h3", "c": "h3"}) == 2


def test_negative_amounts_do_not_go_below_zero() -> None:
    assert goal(world(), LargestGroupMovementSpec(partition="shared", dimension="net"), {"a": "h3"}) == 0
    assert goal(world(), LargestGroupMovementSpec(partition="shared", dimension="net"), {"b": "h3"}) == 1


def test_faults() -> None:
    for dimension, code in (("vec", "vector-dimension"), ("io", "dynamic-dimension"), ("cpuu", "unknown-name")):
        spec = LargestGroupMovementSpec(partition="job", dimension=dimension)
        assert codes(faults(world(), spec)) == [(code, "dimension")]
    assert codes(faults(world(), LargestGroupMovementSpec(partition="jobb"))) == [("unknown-name", "partition_name")]
    (wrong,) = faults(world(), LargestGroupMovementSpec(partition="job"), "constraint")
    assert wrong.code == "wrong-kind"
