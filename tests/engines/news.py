"""What progress promises, whoever tells it."""

from __future__ import annotations

from collections.abc import Sequence

from rebalancer.engines.base import Progress
from rebalancer.engines.closed import closed_as_reported
from rebalancer.model import Model


def last_of_each(seen: Sequence[Progress], model: Model) -> dict[int, Progress]:
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
                known = last[earlier]
                assert known.objective is not None
                assert known.bound is not None
                proven = closed_as_reported(model, earlier, known.objective, known.bound)
                assert proven, "a bound holds for proven positions before it"
        if better:
            last = {other: known for other, known in last.items() if other < position}
        last[position] = event
    return last
