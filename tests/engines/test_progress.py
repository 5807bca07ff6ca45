"""Progress tells every improvement, at whatever tuple position, and ends with the result."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from rebalancer import BalanceSpec, CapacitySpec, MinimizeMovementSpec, Rebalancer
from rebalancer.engines.base import Answer, Progress, Request
from rebalancer.engines.bounds import lower_bounds
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.progress import ProgressLog
from rebalancer.model import Model
from tests.engines.news import last_of_each
from tests.engines.worlds import leaning
from tests.solver import engines as scripted


def two_positions(tasks: int = 30, hosts: int = 4) -> Rebalancer:
    """Tasks of many sizes, most of them on the first hosts: balance first, then few moves."""
    rng, names = random.Random(0), [f"h{number}" for number in range(hosts)]
    solver = leaning(rng, tasks, names)
    solver.add_object_dimension("cpu", {f"t{number}": rng.randrange(1, 97) for number in range(tasks)})
    solver.add_container_dimension("cpu", {}, default=80 * tasks // hosts)
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeMovementSpec(scope="host", dimension="cpu"), tuple_pos=1)
    return solver


@pytest.fixture(scope="module")
def model() -> Model:
    """Two positions that count in whole numbers."""
    solver = leaning(random.Random(0), 4, ["h0", "h1"])
    for position in range(2):
        solver.add_goal(MinimizeMovementSpec(scope="host", dimension="task_count"), tuple_pos=position)
    return solver.model


def told(model: Model) -> tuple[ProgressLog, list[tuple[int, float | None, float | None]]]:
    """Return a log, and what it tells in integers of the positions."""
    seen: list[tuple[int, float | None, float | None]] = []

    def note(event: Progress) -> None:
        unit = float(model.tuple_positions[event.tuple_pos].objective.unit)
        low = None if event.bound is None else round(event.bound / unit)
        seen.append((event.tuple_pos, None if event.objective is None else round(event.objective / unit), low))

    return ProgressLog(model, Request(on_progress=note)), seen


def test_an_earlier_position_is_news_and_the_later_ones_start_anew(model: Model) -> None:
    log, seen = told(model)
    log.tell_answer((90, 0))
    log.tell_answer((90, 0), 1)
    log.tell_answer((80, 7))
    log.tell_answer((80, 5))
    log.tell_answer((85, 1))
    log.tell_answer((80, 5), 0)
    assert seen == [(0, 90, None), (1, 0, None), (0, 80, None), (1, 5, None)]


def test_a_later_bound_is_told_once_it_holds(model: Model) -> None:
    log, seen = told(model)
    log.tell_answer((90, 8))
    log.tell(1, None, 3)
    log.tell_answer((90, 8), 1)
    log.tell(0, None, 60)
    assert seen == [(0, 90, None), (1, 8, None), (0, 90, 60)]
    seen.clear()
    log.tell(0, None, 90)
    log.tell(1, None, 2)
    log.tell(1, None, 4)
    assert seen == [(0, 90, 90), (1, 8, 3), (1, 8, 4)]


def test_what_was_found_for_an_older_answer_is_no_news(model: Model) -> None:
    log, seen = told(model)
    log.tell_answer((90, 8), 1)
    log.tell(1, 6, given=(90,))
    log.tell_answer((80, 9))
    log.tell(1, 2, given=(90,))
    log.tell_answer((80, 9), 1)
    assert seen == [(0, 90, None), (1, 8, None), (1, 6, None), (0, 80, None), (1, 9, None)]


def test_the_result_is_told_last(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Progress] = []

    def answer(model: Model, request: Request) -> Answer:
        """Go over both positions and back, as searchers do, and find something at the first in the end."""
        incumbent, start = Incumbent.of(model, request), model.problem.initial
        for position, bound in enumerate(lower_bounds(model)):
            incumbent.raise_bound(position, bound)
            incumbent.turn_to(position)
        for number in np.flatnonzero(start == 0):
            assert incumbent.best is not None
            moved = np.array(incumbent.best)
            moved[number] = 3
            incumbent.offer(moved)
        return finish(incumbent, "scripted")

    scripted.use(monkeypatch, answer)
    check(two_positions(), seen)
    assert [event.tuple_pos for event in seen].count(0) >= 3
    assert seen[-1].tuple_pos == 1
    assert seen[-1].bound is None


@pytest.mark.parametrize("engine", ["auto", "cpsat", "local_search", "neighbourhood"])
@pytest.mark.parametrize("tasks", [8, 150])
def test_every_engine_keeps_these_promises(engine: str, tasks: int) -> None:
    check(two_positions(tasks), [], engine=engine, iterations=40, time_limit=3, deterministic=True)


def check(solver: Rebalancer, seen: list[Progress], **limits: object) -> None:
    """Solve, and see that what was told is in order and ends with the result."""
    solution = solver.solve(on_progress=seen.append, **limits)  # type: ignore[arg-type]
    last = last_of_each(seen, solver.model)
    for row in solution.objective.itertuples():
        event = last[row.tuple_pos]
        assert event.objective == row.final
        for number, reported in ((event.bound, row.bound), (event.gap, row.gap)):
            assert (math.nan if number is None else number) == pytest.approx(reported, nan_ok=True)
