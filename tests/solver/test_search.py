"""Every answer of an engine is judged: wrong ones are internal errors, bounds decide the status."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from rebalancer import CapacitySpec, Rebalancer, Solution
from rebalancer.engines.base import Answer, Progress, Request, Status
from rebalancer.model import Model
from rebalancer.solver import InternalError
from tests.solver import engines

MEMORY = CapacitySpec(scope="host", dimension="memory")


def solver(policy: str = "DEFAULT", capacity: int = 20) -> Rebalancer:
    made = Rebalancer("task", "host")
    made.set_assignment({"h0": ["t0", "t1", "t2"], "h1": ["t3"]})
    made.add_object_dimension("memory", {}, default=10)
    made.add_container_dimension("memory", {"h0": capacity, "h1": capacity})
    made.add_constraint(MEMORY, name="fits", policy=policy)
    made.add_goal(MEMORY, tuple_pos=1)
    return made


def answer_of(status: Status, assignment: list[int] | None, *bounds: int | None, reason: str | None = None) -> Answer:
    placed = None if assignment is None else np.array(assignment, np.int32)
    return Answer(status, placed, bounds or (None, None), reason, "scripted")


def solution_of(monkeypatch: pytest.MonkeyPatch, answer: Answer, made: Rebalancer | None = None) -> Solution:
    engines.use(monkeypatch, lambda model, request: answer)
    return (made or solver()).solve()


def test_closed_bounds_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solution_of(monkeypatch, answer_of(Status.FEASIBLE, [0, 0, 1, 1], 0, 0))
    assert solution.status is Status.OPTIMAL
    assert solution.objective["gap"].tolist() == [0.0, 0.0]


def test_without_a_bound_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solution_of(monkeypatch, answer_of(Status.OPTIMAL, [0, 0, 1, 1], None, 0))
    assert solution.status is Status.FEASIBLE
    assert solution.objective[["bound", "gap"]].isna().all(axis=None), (
        "unknown after the first position that is not proven"
    )


def test_a_gap_is_relative_to_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    made = solver(capacity=10)
    final = made.evaluate().objective["final"][0]
    unit = made.model.tuple_positions[0].objective.unit
    bound = int(final / 2 / float(unit))
    solution = solution_of(monkeypatch, answer_of(Status.FEASIBLE, [0, 0, 0, 1], bound, 0), made)
    assert solution.status is Status.FEASIBLE
    assert solution.objective["gap"][0] == pytest.approx(0.5)
    assert np.isnan(solution.objective["gap"][1])
    assert solution.broken == ("fits",)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (answer_of(Status.FEASIBLE, [1, 1, 1, 1]), "breaks what has to hold: fits"),
        (answer_of(Status.OPTIMAL, None), "without an assignment"),
        (answer_of(Status.INFEASIBLE, None), "reports INFEASIBLE, but"),
        (answer_of(Status.OPTIMAL, [0, 0, 1, 1], 5, None), "is 0 at tuple position 0, below its bound 25"),
    ],
)
def test_wrong_answers_are_internal_errors(monkeypatch: pytest.MonkeyPatch, answer: Answer, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        solution_of(monkeypatch, answer)


def test_an_answer_worse_than_its_start_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, lambda model, request: answer_of(Status.FEASIBLE, [0, 0, 0, 1]))
    with pytest.raises(InternalError, match="worse than where it started"):
        solver().solve(start={"h0": ["t0", "t1"], "h1": ["t2", "t3"]})


def test_infeasible_keeps_the_initial_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answer_of(Status.INFEASIBLE, None, reason="fits cannot hold")
    solution = solution_of(monkeypatch, answer, solver("HARD", capacity=10))
    assert (solution.status, solution.reason, solution.found) == (Status.INFEASIBLE, "fits cannot hold", False)
    assert solution.moves.empty
    assert solution.assignment.tolist() == ["h0", "h0", "h0", "h1"]


def test_unknown_where_the_initial_assignment_does_is_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solution_of(monkeypatch, answer_of(Status.UNKNOWN, None)).status is Status.FEASIBLE
    unknown = solution_of(monkeypatch, answer_of(Status.UNKNOWN, None), solver("HARD"))
    assert unknown.status is Status.UNKNOWN
    assert unknown.reason


def test_the_request_is_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Request] = []

    def answer(model: Model, request: Request) -> Answer:
        seen.append(request)
        return answer_of(Status.FEASIBLE, [0, 0, 1, 1])

    engines.use(monkeypatch, answer)
    stop = threading.Event()
    solver().solve("cpsat", 5, 0.01, 3, 1, {"h0": ["t0", "t1"], "h1": ["t2", "t3"]}, deterministic=True, stop=stop)
    solver().solve(time_limit=float("inf"))
    asked, unlimited = seen
    assert (asked.time_limit, asked.gap, asked.seed, asked.workers, asked.deterministic) == (5.0, 0.01, 3, 1, True)
    assert asked.start is not None
    assert asked.start.tolist() == [0, 0, 1, 1]
    assert asked.stop is stop
    assert (unlimited.time_limit, unlimited.start) == (None, None)


def test_an_interrupt_stops_the_engine_and_keeps_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    def answer(model: Model, request: Request) -> Answer:
        signal.raise_signal(signal.SIGINT)  # reaches the main thread, which waits
        assert request.stop.wait(30), "the engine was not told to stop"
        return answer_of(Status.FEASIBLE, [0, 0, 1, 1])

    engines.use(monkeypatch, answer)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background start with it ignored
    try:
        solution = solver().solve()
    finally:
        signal.signal(signal.SIGINT, before)
    assert solution.constraints["final_violation"].tolist() == [0.0]


@pytest.mark.parametrize("interrupts", [1, 2])
def test_an_engine_that_nobody_waits_for_any_more_is_told_to_stop(
    interrupts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a handler of the caller's raises, a deadline of their own, say, or a second interrupt."""
    import signal

    class Late(BaseException):
        pass

    error = Late if interrupts == 1 else KeyboardInterrupt
    stopped = threading.Event()
    left: list[threading.Thread] = []

    def answer(model: Model, request: Request) -> Answer:
        signal.raise_signal(signal.SIGINT)
        assert request.stop.wait(30), "the engine was not told to stop"
        if interrupts == 2:
            signal.raise_signal(signal.SIGINT)
        stopped.set()
        return answer_of(Status.FEASIBLE, [0, 0, 1, 1])

    def interrupt(*_: object) -> None:
        raise error

    engines.use(monkeypatch, answer)
    monkeypatch.setattr("rebalancer.engines.left_behind.leave_behind", left.append)
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(error):
            solver().solve()
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.wait(30)
    assert [thread.name for thread in left] == ["rebalancer-engine"]


def test_an_exception_of_the_callers_function_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(model: Model, request: Request) -> Answer:
        assert request.on_progress is not None
        request.on_progress(Progress(0.1, 0, 1.0, None, None))
        assert request.stop.is_set()
        return answer_of(Status.FEASIBLE, [0, 0, 1, 1])

    def refuse(progress: Progress) -> None:
        raise LookupError("no more")

    engines.use(monkeypatch, answer)
    with pytest.raises(LookupError, match="no more"):
        solver().solve(on_progress=refuse)


def test_a_failing_engine_fails_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(model: Model, request: Request) -> Answer:
        raise ZeroDivisionError

    engines.use(monkeypatch, answer)
    with pytest.raises(ZeroDivisionError):
        solver().solve()


def test_real_optimum_by_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, engines.enumerated)
    solution = solver("HARD").solve()
    assert solution.status is Status.OPTIMAL
    assert replace(solution, seed=3).seed == 3


def test_a_status_prints_as_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    status = solution_of(monkeypatch, answer_of(Status.FEASIBLE, [0, 0, 1, 1], 0, 0)).status
    assert f"{status} {status!s}" == "OPTIMAL OPTIMAL"
