"""Time by the clock, and time that is the same on every run."""

import threading
import time

from rebalancer.engines.base import Progress, Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.progress import ProgressLog
from tests.engines.worlds import attracted


def test_the_clock_counts() -> None:
    budget = Budget(60.0, began=time.monotonic() - 20)
    assert 39 < budget.remaining <= 40
    budget.spend(1000)
    assert budget.remaining > 39
    assert 9 < budget.part(10).remaining <= 10
    assert budget.part(1000).remaining < 41
    assert not budget.over
    assert Budget(None).part(float("inf")).limit is None


def test_only_what_is_spent_counts() -> None:
    budget = Budget.of(Request(time_limit=5.0, deterministic=True, began=time.monotonic() - 100))
    part = budget.part(2.0)
    part.spend(1.5)
    assert (budget.seconds, part.remaining) == (1.5, 0.5)
    part.part(10).spend(1.0)
    assert part.over
    assert budget.remaining == 2.5


def test_a_part_may_end_early() -> None:
    budget, done = Budget(50.0), threading.Event()
    part = budget.part(10.0, done.is_set)
    inner = part.part(5.0)
    assert not inner.over
    done.set()
    assert part.over
    assert inner.over
    assert not budget.over


def test_a_stop_ends_every_part() -> None:
    stop = threading.Event()
    part = Budget(None, stop=stop).part(10).part(5)
    assert not part.over
    stop.set()
    assert part.over


def test_progress_only_gets_better() -> None:
    model = attracted(4, 2)
    seen: list[Progress] = []
    log = ProgressLog(model, Request(on_progress=seen.append))
    for objective, bound in ((-5, None), (-5, None), (None, -20), (-3, -30), (-9, -20), (None, -12), (-12, -12)):
        log.tell(0, objective, bound)
    unit = float(model.tuple_positions[0].objective.unit)
    shown = [(event.objective, event.bound) for event in seen]
    assert shown == [
        (number and number * unit, bound and bound * unit)
        for number, bound in ((-5, None), (-5, -20), (-9, -20), (-9, -12), (-12, -12))
    ]
    assert seen[-1].gap == 0
