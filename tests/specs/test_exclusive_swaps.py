from __future__ import annotations

import pytest

from rebalancer.specs import exclusive_swaps
from rebalancer.specs.exclusive_swaps import ExclusiveSwapsSpec
from tests.specs.worlds import broken, codes, feasible, world


def test_every_move_is_matched_by_one_back() -> None:
    spec = ExclusiveSwapsSpec()
    assert broken(world(), spec) == (0, 0)
    assert broken(world(), spec, {"a": "h1", "c": "h0"}) == (0, 0)
    assert broken(world(), spec, {"a": "h1"}) == (1, 1)
    assert broken(world(), spec, {"a": "h1", "c": "h2", "e": "h0"}) == (1, 1)  # a ring is no swap
    assert broken(world(), spec, {"a": "h2", "e": "h0", "b": "h2", "f": "h0"}) == (0, 0)
    assert not feasible(world(), spec, {"a": "h1"})


def test_placing_and_taking_out_are_no_moves() -> None:
    assert broken(world(), ExclusiveSwapsSpec(), {"d": "h0", "c": None}) == (0, 0)


@pytest.mark.parametrize(
    ("definition", "none", "one", "both"),
    [("AT_LEAST_ONE_IN_SUBSET", 1, 0, 0), ("EXACTLY_ONE_IN_SUBSET", 1, 0, 1), ("BOTH_SAME_SIDE_OF_SUBSET", 0, 1, 0)],
)
def test_a_subset_says_which_two_may_trade(definition: str, none: int, one: int, both: int) -> None:
    swap = {"a": "h1", "c": "h0"}
    for subset, expected in ((["b"], none), (["a", "b"], one), (["c"], one), (["a", "c"], both)):
        spec = ExclusiveSwapsSpec(subset_objects=subset, subset_definition=definition)
        assert broken(world(), spec, swap) == (expected, expected)
        assert broken(world(), spec, {"b": "h1"}) == (1, 1)


def test_moves_pair_up_across_several_swaps() -> None:
    """Of two swaps between h0 and h2, one object of the subset is enough for one of them only."""
    swaps = {"a": "h2", "b": "h2", "e": "h0", "f": "h0"}
    for subset, expected in ((["a"], 1), (["a", "e"], 0), (["a", "b"], 0), (["a", "b", "e", "f"], 0)):
        assert broken(world(), ExclusiveSwapsSpec(subset_objects=subset), swaps) == (expected, expected)


def test_what_would_not_fit_into_memory_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    containers = len(world().containers)
    monkeypatch.setattr(exclusive_swaps, "_MOST", containers * (containers - 1) // 2)
    assert not list(ExclusiveSwapsSpec().faults(world()))
    monkeypatch.setattr(exclusive_swaps, "_MOST", containers * (containers - 1) // 2 - 1)
    assert codes(ExclusiveSwapsSpec().faults(world())) == [("too-large", "")]
