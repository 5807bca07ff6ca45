"""What progress promises, whoever tells it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rebalancer.engines.base import Progress


def last_of_each(seen: Sequence[Progress]) -> dict[int, Progress]:
    """Return the last event of each tuple position, after checking that each is news and nothing gets worse.

    An answer that is better at a position makes what was told of later ones void.
    """
    last: dict[int, Progress] = {}
    for event in seen:
        before, position = last.get(event.tuple_pos), event.tuple_pos
        better = before is None
        if before is not None:
            told = before.objective, before.bound
            assert told != (event.objective, event.bound), "nothing new"
            assert event.objective is not None or before.objective is None
            better = event.objective != before.objective
            if before.objective is not None and event.objective is not None:
                assert event.objective <= before.objective
            if before.bound is not None:
                assert event.bound is not None
                assert event.bound >= before.bound - 1e-9
        if event.bound is not None:
            for earlier in range(position):
                assert last[earlier].gap == pytest.approx(0, abs=1e-6), "a bound holds for proven positions before it"
        if better:
            last = {other: known for other, known in last.items() if other < position}
        last[position] = event
    return last
