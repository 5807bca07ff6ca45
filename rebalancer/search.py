"""Runs an engine on a model and judges what it says: every answer is scored again before anybody sees it."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem import InputError, unknown_name
from rebalancer.settings import Settings
from rebalancer.solution import Solution

if TYPE_CHECKING:
    from rebalancer.engines.base import Answer, Engine, Progress, Request
    from rebalancer.model import Model, Score

log = logging.getLogger(__name__)

#: How often the calling thread looks up from waiting, in seconds, so that signals are served on every platform.
_LOOK_UP = 0.2


class InternalError(RuntimeError):
    """An engine's answer is not what it says it is: a defect of this program, never of the input."""


def search(
    model: Model,
    settings: Settings,
    start: NDArray[np.int32] | None,
    on_progress: Callable[[Progress], None] | None,
    stop: threading.Event,
    began: float,
) -> Solution:
    """Return the best assignment that an engine finds, scored by the exact evaluator.

    Parameters
    ----------
    start : int32 array or None
        An assignment to start from.
    stop : threading.Event
        Ends the search with the best answer so far.
    began : float
        `time.monotonic` from which the time limit counts.

    Raises
    ------
    InputError
        There is no such engine, or the target has more numbers than the objective.
    InternalError
        The answer breaks what has to hold, is worse than a feasible start, or beats its own bound.
    """
    from rebalancer.engines.base import Request

    settings.check_target(model.positions)
    initial = model.evaluate(model.problem.initial)  # before anybody waits for the answer
    watch = _Watch(on_progress, stop)
    request = Request(
        time_limit=settings.seconds,
        gap=settings.gap,
        seed=settings.seed,
        workers=settings.workers,
        start=start,
        deterministic=settings.counts_work,
        iterations=settings.iterations,
        patience=settings.patience,
        target=settings.target,
        on_progress=None if on_progress is None else watch,
        initial_score=initial,
        stop=stop,
        began=began,
    )
    engine = _engine(settings.engine)
    answer = _run(engine, model, request)
    watch.raise_if_failed()
    solution = judge(model, answer, request, settings.engine)
    watch.conclude(solution)
    return solution


def _engine(name: str) -> Engine:
    from rebalancer import engines

    try:
        return engines.get(name)
    except KeyError:
        known = list(engines.NAMES)
        raise InputError([unknown_name("engine", name, known, ("engine",))]) from None


class _Watch:
    """Passes progress on. An exception of the caller's function ends the search and is raised after it."""

    def __init__(self, call: Callable[[Progress], None] | None, stop: threading.Event) -> None:
        self.call = call
        self.stop = stop
        self.failure: BaseException | None = None
        self._told: dict[int, tuple[float | None, ...]] = {}
        self._lock = threading.Lock()

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            self._tell(progress)

    def _tell(self, progress: Progress) -> None:
        if self.call is None or self.failure is not None:
            return
        before = self._told.get(progress.tuple_pos, (None,))
        if progress.objective != before[0]:  # what was told of later positions holds no longer
            self._told = {position: told for position, told in self._told.items() if position < progress.tuple_pos}
        self._told[progress.tuple_pos] = _numbers(progress)
        try:
            self.call(progress)
        except BaseException as failure:
            self.failure = failure
            self.stop.set()

    def conclude(self, solution: Solution) -> None:
        """Tell what the result has, from the first position on where that is not what was told last.

        From then on nothing is passed on: a searcher that was left behind has nothing to tell.
        """
        with self._lock:
            result = _events(solution)
            changed = [event for event in result if self._told.get(event.tuple_pos) != _numbers(event)]
            for event in result[changed[0].tuple_pos :] if changed else ():
                self._tell(event)
            self.call = None
        self.raise_if_failed()

    def raise_if_failed(self) -> None:
        """Raise what the caller's function has raised."""
        if self.failure is not None:
            raise self.failure


def _numbers(event: Progress) -> tuple[float | None, ...]:
    return event.objective, event.bound, event.gap


def _events(solution: Solution) -> list[Progress]:
    """Return a solution's tuple positions as progress; nothing where there is no answer."""
    from rebalancer.engines.base import Progress

    if not solution.found:
        return []
    rows = zip(solution._final.objective, solution._bounds, solution._gaps, strict=True)  # no table: it needs pandas
    known = ([None if math.isnan(number) else float(number) for number in row] for row in rows)
    return [Progress(solution.seconds, position, *numbers) for position, numbers in enumerate(known)]


def _run(engine: Engine, model: Model, request: Request) -> Answer:
    """Run the engine in a thread of its own, so that Ctrl-C reaches the caller while native code computes."""
    from rebalancer.engines.left_behind import leave_behind

    answers: list[Answer] = []
    failures: list[BaseException] = []
    waiting = threading.Event()
    done = threading.Event()  # and not Thread.join, which an interrupt can make believe that the thread has ended

    def work() -> None:
        waiting.wait()
        try:
            answers.append(engine.solve(model, request))
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    thread = threading.Thread(target=work, name="rebalancer-engine", daemon=True)
    thread.start()
    while not done.is_set():
        try:
            waiting.set()
            while not done.wait(_LOOK_UP):
                pass
        except BaseException as interrupt:
            again = request.stop.is_set()
            request.stop.set()
            if again or not isinstance(interrupt, KeyboardInterrupt):  # nobody is left who takes the answer
                leave_behind(thread)
                raise
            log.info("interrupted: keeping the best answer so far")
    if failures:
        raise failures[0]
    return answers[0]


def judge(model: Model, answer: Answer, request: Request, engine: str) -> Solution:
    """Return an engine's answer as a solution, scored again from scratch.

    Raises
    ------
    InternalError
        It is not what it says it is.
    """
    from rebalancer.engines.base import Status

    initial_assignment = model.problem.initial
    initial = request.initial_score or model.evaluate(initial_assignment)
    known = [(initial_assignment, initial)]
    if request.start is not None:
        known.append((request.start, model.evaluate(request.start)))
    feasible = [(assignment, score) for assignment, score in known if score.feasible]
    status, reason, assignment = answer.status, answer.reason, answer.assignment
    if status in (Status.OPTIMAL, Status.FEASIBLE) and assignment is None:
        raise InternalError(f"{answer.engine or engine} reports {status.value} without an assignment")
    if status is Status.INFEASIBLE and feasible:
        raise InternalError(
            f"{answer.engine or engine} reports INFEASIBLE, but the initial assignment or the start holds everything"
        )
    if status is Status.UNKNOWN and feasible:
        assignment, status, reason = min(feasible, key=lambda pair: pair[1].integers)[0], Status.FEASIBLE, None
    found = status in (Status.OPTIMAL, Status.FEASIBLE)
    placed = np.asarray(assignment, np.int32) if found else initial_assignment
    final = model.evaluate(placed) if found else initial
    if found:
        _check_answer(final, feasible, answer.engine or engine)
    bounds, gaps, proven = _bounds(model, final, answer, found)
    if found:
        status = Status.OPTIMAL if proven else Status.FEASIBLE
        if answer.status is Status.OPTIMAL and not proven:
            log.info("%s calls the answer OPTIMAL, its bounds do not prove it", answer.engine or engine)
    return Solution(
        worsened=tuple(final.worsened),
        _model=model,
        _initial=initial,
        _final=final,
        _assignment=placed,
        _bounds=bounds,
        _gaps=gaps,
        _plan_options=None,
        status=status,
        engine=answer.engine or engine,
        seconds=request.seconds,
        seed=request.seed,
        reason=None if found else reason or _no_reason(status.value),
    )


def _no_reason(status: str) -> str:
    return "no assignment holds every constraint" if status == "INFEASIBLE" else "no assignment was found in time"


def _check_answer(final: Score, feasible: list[tuple[NDArray[np.int32], Score]], engine: str) -> None:
    if not final.feasible:
        raise InternalError(f"the answer of {engine} breaks what has to hold: {', '.join(final.worsened)}")
    for _, start in feasible:
        if tuple(final.integers) > tuple(start.integers):
            raise InternalError(
                f"the answer of {engine} is worse than where it started: {final.integers} after {start.integers}"
            )


def _bounds(
    model: Model, final: Score, answer: Answer, found: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Return bound and gap of each tuple position, unknown after the first open one, and whether all are closed."""
    from rebalancer.engines.base import Status
    from rebalancer.engines.bounds import CLOSED, closed_as_reported

    bounds = np.full(model.positions, np.nan)
    gaps = np.full(model.positions, np.nan)
    if answer.status is Status.INFEASIBLE:
        return bounds, gaps, False  # there is nothing that a bound could be about
    for position in range(model.positions):
        integer = answer.bounds[position] if position < len(answer.bounds) else None
        if integer is None:
            return bounds, gaps, False
        value = float(final.objective[position])
        bound = model.proven(position, integer)
        if found and bound - value > CLOSED * max(1.0, abs(value)):
            raise InternalError(
                f"the answer of {answer.engine} is {value:g} at tuple position {position}, below its bound {bound:g}"
            )
        if not math.isfinite(bound):
            return bounds, gaps, False
        bounds[position] = min(bound, value) if found else bound
        if not found:
            return bounds, gaps, False
        gaps[position] = (value - bounds[position]) / max(1.0, abs(value))
        if not closed_as_reported(model, position, value, integer):
            return bounds, gaps, False
    return bounds, gaps, True
