"""Which kind of part is next: what pays, while the others have a fair share of the time to show that they do."""

from __future__ import annotations

import numpy as np
import pytest

from rebalancer.engines.neighbourhood.arms import LARGEST, SIZE, SMALLEST, Arms


def test_kinds_that_find_nothing_share_the_time() -> None:
    arms, rng, spent = Arms(("quick", "slow")), np.random.default_rng(0), np.zeros(2)
    for _ in range(2_000):
        arm = arms.draw(rng)
        cost = (0.01, 0.2)[arm]
        spent[arm] += cost
        arms.tell(arm, 0.0, cost, True)
    assert 0.8 < spent[0] / spent[1] < 1.25


@pytest.mark.parametrize("seed", range(8))
def test_a_kind_that_gains_little_does_not_keep_the_others_small(seed: int) -> None:
    """Parts of the second kind find much, but only from four times the size on that they begin with."""
    arms, rng, gained, seconds = Arms("abcdef"), np.random.default_rng(seed), 0.0, 0.0
    while seconds < 30.0:
        arm = arms.draw(rng)
        cost, gain = (0.2, 0.1) if arm == 0 else (0.03, 0.0)
        if arm == 1 and arms.size(arm) > 4 * SIZE:
            cost, gain = 0.2, 50.0
            gained += gain
        seconds += cost
        arms.tell(arm, gain, cost, True)
    assert gained > 50.0 * 30.0 / 0.2 / 5  # a fifth of what all of the time could bring


def test_what_pays_has_most_of_the_rounds() -> None:
    arms, rng, rounds = Arms(("pays", "does not")), np.random.default_rng(0), np.zeros(2)
    for _ in range(1_000):
        arm = arms.draw(rng)
        rounds[arm] += 1
        arms.tell(arm, 1.0 - arm, 0.1, True)
    assert rounds[0] > 700


def test_sizes_follow_whether_parts_are_solved() -> None:
    arms = Arms(("one",))
    arms.tell(0, 0.0, 0.2, True)
    assert arms.size(0) > SIZE
    for _ in range(50):
        arms.tell(0, 0.0, 0.3, False)
    assert arms.size(0) == SMALLEST
    for _ in range(50):
        arms.tell(0, 0.0, 0.01, True)
    assert arms.size(0) == LARGEST
