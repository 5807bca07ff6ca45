"""What a night decides: from the snapshot to a plan that has passed the guards, or to why there is none."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rebalancer.engines.base import Status
from rebalancer.exits import Exit
from rebalancer.jobs.attained import assignment_table, attained_by
from rebalancer.jobs.cool_down import cooled_down, with_staying, without_repairs
from rebalancer.jobs.deadline import Deadline
from rebalancer.jobs.folders import PlanFolder
from rebalancer.jobs.guards import MoveLimits, Refused, gain, is_better, is_worth_it, moved_objects, trimmed
from rebalancer.jobs.history import History
from rebalancer.jobs.job import Job
from rebalancer.jobs.outcome import Outcome, Report
from rebalancer.jobs.snapshot import Snapshot, snapshot_refusals, take_snapshot
from rebalancer.jobs.standing import Standing, standing_plan
from rebalancer.jobs.times import spoken
from rebalancer.plan import Plan, draft_moves
from rebalancer.plan.steps import Blocked
from rebalancer.problem.errors import condensed
from rebalancer.search import InternalError
from rebalancer.settings import Settings
from rebalancer.solution import Solution, broken_components, constraints, number_of_moves, objective, records
from rebalancer.solver import Rebalancer

if TYPE_CHECKING:
    from rebalancer.engines.base import Progress
    from rebalancer.model import Model, Score
    from rebalancer.solution import Evaluation

log = logging.getLogger(__name__)

#: Blocked moves, and constraints that stay broken, that are named at most, where there is no plan that lists them.
_MOST_NAMED = 5


class VerificationFailed(Exception):
    """A plan that was made does not hold: a defect of this program, of which nothing is written."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A plan that may be written.

    Parameters
    ----------
    plan : Plan
    solution : Solution
        What the plan attains.
    inputs : dict of str to str
        What it was made from: file -> SHA-256.
    """

    plan: Plan
    solution: Solution
    inputs: dict[str, str]


class Night:
    """One run of a job.

    ``report`` holds what is known so far, also where something goes wrong on the way; ``standing`` is the plan of an
    earlier run that still holds, if there is one.

    Parameters
    ----------
    job : Job
    history : History
    folder : PlanFolder
    report : Report
    deadline : Deadline
    stop : threading.Event
        Ends the search with the best answer so far.
    clock : callable
        Returns the current time, in UTC.
    accept_shrunk : bool
        Whether a snapshot may be smaller than the last one, for once.
    searching : threading.Event
        Set once the search begins.
    """

    def __init__(
        self,
        job: Job,
        history: History,
        folder: PlanFolder,
        report: Report,
        deadline: Deadline,
        stop: threading.Event,
        clock: Callable[[], datetime],
        accept_shrunk: bool,
        searching: threading.Event,
    ) -> None:
        self.report = report
        self.standing: Standing | None = None
        self._job = job
        self._history = history
        self._folder = folder
        self._deadline = deadline
        self._stop = stop
        self._clock = clock
        self._accept_shrunk = accept_shrunk
        self._searching = searching
        self._timed_out = False

    @property
    def is_carried_out(self) -> bool:
        """Whether every step of the newest plan is done."""
        return self.standing is not None and not self.standing.to_do

    def decide(self) -> Proposal | None:
        """Return tonight's plan, or None where there is to be none: the report says why.

        Raises
        ------
        InputError
            The snapshot or the scenario is faulty.
        Refused
            A guard says no.
        DeadlinePassed
        VerificationFailed
            The plan that was made does not hold.
        KeyboardInterrupt
            The search was ended before it found anything.
        """
        snapshot = self._snapshot()
        solver, standing, solution = self._solved(snapshot)
        self.standing = standing
        # Whether there is an answer, or anything to do, is not known where a signal came before anything was found.
        unknown = self.report.interrupted and solution.status in (Status.FEASIBLE, Status.UNKNOWN)
        if not solution.found:
            if unknown:
                raise KeyboardInterrupt
            self._no_answer(solution)
            return None
        model = solver.model
        initial, final = solution._initial, solution._final
        if not is_better(model, initial, final):  # nothing moves, or moves to no avail
            if unknown:
                raise KeyboardInterrupt
            self._no_plan(solver, Outcome.NOTHING_TO_DO, *_why_nothing_moves(solution, solver.evaluate()))
            return None
        least = self._least_gain
        if not is_worth_it(model, initial, final, least):
            reason = f"all that could be gained is {gain(initial, final):.3g} of the objective, {least:g} is asked for"
            self._no_plan(solver, Outcome.NOT_WORTH_IT, reason)
            return None
        limits = MoveLimits(self._job.guards, snapshot.objects)
        if standing is not None and self._is_as_good(standing, model, limits, initial, final):
            self._keep(solver, standing, solution)
            return None
        plan = self._planned(solution, snapshot, limits)
        attained = attained_by(solver, solution, plan.steps.end(plan.start))
        # Where moves are blocked or trimmed away, plans fall short of what was found, tonight as the night before.
        if standing is not None and self._is_as_good(standing, model, limits, initial, attained._final):
            self._keep(solver, standing, solution)
            return None
        if not is_better(model, initial, attained._final):
            reason = f"{len(plan.blocked)} moves are blocked, and without them nothing is gained"
            why = [_obstacle(move) for move in plan.blocked if move.reasons][:_MOST_NAMED]
            self._no_plan(solver, Outcome.NOT_WORTH_IT, reason, *why, blocked=len(plan.blocked))
            return None
        self._settle(attained, Outcome.PLANNED, bool(plan.blocked))
        self.report = replace(
            self.report,
            moves=len(plan.steps),
            moved_objects=moved_objects(plan),
            waves=plan.waves,
            staged=len(plan.staged),
            blocked=len(plan.blocked),
        )
        return Proposal(plan, attained, snapshot.inputs)

    # -- the state ----------------------------------------------------------------------------------------------------

    def _snapshot(self) -> Snapshot:
        snapshot = take_snapshot(self._job)
        self._deadline.check()
        self.report = replace(self.report, snapshot_taken=snapshot.taken, sizes=dict(snapshot.sizes))
        for warning in condensed(snapshot.scenario.warnings):
            place = f"{warning.file}:{warning.line}:{warning.column}: " if warning.file else ""
            log.warning("%s%s", place, warning.message)
        now = self._clock()
        age = spoken((now - snapshot.taken).total_seconds())
        log.info(
            "the snapshot has %d objects in %d containers, and is %s old", snapshot.objects, snapshot.containers, age
        )
        before = None if self._accept_shrunk else self._history.last_sizes(self._job.name)
        refusals = snapshot_refusals(self._job, snapshot, now, before)
        if refusals:
            raise Refused("snapshot", *refusals)
        self.report = replace(self.report, accepted=True)
        return snapshot

    # -- the search ---------------------------------------------------------------------------------------------------

    def _solved(self, snapshot: Snapshot) -> tuple[Rebalancer, Standing | None, Solution]:
        """Return the solver, the plan of an earlier run that still holds, and tonight's solution."""
        solver = Rebalancer.from_scenario(snapshot.scenario)
        staying = self._staying(solver)
        if staying:
            solver = with_staying(snapshot.scenario, staying)
        standing = standing_plan(
            self._history, self._folder, self._job.name, solver.model, snapshot.scenario.plan, self._clock()
        )
        solution = self._search(solver, snapshot, standing)
        if not solution.found and staying and not self._stop.is_set():
            log.warning("no solution while what moved not long ago stays: trying without")
            self.report = replace(self.report, cooled_down=0)
            solver = Rebalancer.from_scenario(snapshot.scenario)
            solution = self._search(solver, snapshot, standing)
        self._deadline.check()
        return solver, standing, solution

    def _staying(self, solver: Rebalancer) -> tuple[str, ...]:
        """Return the objects that the cool-down keeps where they are."""
        if self._job.guards.cool_down is None:
            return ()
        since = self._clock() - timedelta(seconds=self._job.guards.cool_down)
        objects = cooled_down(solver.problem, self._history.sent_since(self._job.name, since))
        if len(objects):
            objects = without_repairs(solver.model, objects)
        self.report = replace(self.report, cooled_down=len(objects))
        if len(objects):
            log.info("%d objects moved not long ago and stay", len(objects))
        return tuple(solver.problem.objects[int(one)] for one in objects)

    def _search(self, solver: Rebalancer, snapshot: Snapshot, standing: Standing | None) -> Solution:
        limit = Settings.of(snapshot.scenario.solve).time_limit
        left = self._deadline.for_search()
        timer = None
        if left is not None:
            limit = min(limit, left)
            # Compiling takes time too, and a search that counts its work does not look at the clock.
            timer = threading.Timer(left, self._out_of_time)
            timer.daemon = True
            timer.start()
        span = "as long as it takes" if limit == float("inf") else f"{limit:.1f} s" if limit < 1 else spoken(limit)
        self._searching.set()
        log.info("searching, for %s at most", span)
        try:
            start = None if standing is None else assignment_table(solver, standing.end)
            solution = solver.solve(time_limit=limit, start=start, stop=self._stop, on_progress=_heard)
        finally:
            if timer is not None:
                timer.cancel()
        interrupted = self._stop.is_set() and not self._timed_out
        self.report = replace(self.report, status=solution.status.value, interrupted=interrupted)
        log.info("%s after %s, by %s", solution.status.value, spoken(solution.seconds), solution.engine)
        return solution

    def _out_of_time(self) -> None:
        self._timed_out = True
        self._stop.set()

    def _no_answer(self, solution: Solution) -> None:
        proven = solution.status.value == "INFEASIBLE"
        self.report = replace(
            self.report,
            outcome=Outcome.INFEASIBLE if proven else Outcome.NO_SOLUTION,
            exit_code=Exit.INFEASIBLE if proven else Exit.UNKNOWN,
            reasons=(str(solution.reason),),
        )

    # -- no plan, or an old one ---------------------------------------------------------------------------------------

    def _no_plan(self, solver: Rebalancer, outcome: Outcome, *reasons: str, blocked: int = 0) -> None:
        """Note that everything stays as it is."""
        self._settle(solver.evaluate(), outcome, blocked > 0)
        self.report = replace(
            self.report, reasons=reasons, moves=0, moved_objects=0, waves=0, staged=0, blocked=blocked
        )

    @property
    def _least_gain(self) -> float:
        return float(self._job.guards.min_gain or 0)

    def _is_as_good(self, standing: Standing, model: Model, limits: MoveLimits, initial: Score, other: Score) -> bool:
        """Whether the plan of an earlier run is to be kept rather than replaced by one that attains something else."""
        if not standing.to_do or limits.complaints(standing.to_do, standing.moved_objects):
            return False
        end = model.evaluate(standing.end)
        return end.feasible and is_better(model, initial, end) and not is_worth_it(model, end, other, self._least_gain)

    def _keep(self, solver: Rebalancer, standing: Standing, solution: Solution) -> None:
        self._settle(attained_by(solver, solution, standing.end), Outcome.KEPT, bool(standing.blocked))
        self.report = replace(
            self.report,
            reasons=(f"the plan of run {standing.run} still holds, and nothing better was found",),
            trimmed_from=None,
            plan_folder=os.path.abspath(standing.folder),
            kept_from=standing.run,
            moves=standing.to_do,
            moved_objects=standing.moved_objects,
            waves=standing.waves,
            blocked=standing.blocked,
        )

    def _settle(self, attained: Evaluation, outcome: Outcome, blocked: bool) -> None:
        """Note what everything will be worth."""
        broken = records(broken_components(attained))
        rows = (
            {**row, "initial_broken": part["initial"], "final_broken": part["final"]}
            for row, part in zip(records(constraints(attained)), broken, strict=True)
        )
        columns = ("tuple_pos", "initial", "final", "bound")
        self.report = replace(
            self.report,
            outcome=outcome,
            exit_code=Exit.BROKEN if attained.broken or blocked else Exit.DONE,
            objective=tuple({name: row[name] for name in columns} for row in records(objective(attained))),
            constraints=tuple(rows),
        )

    # -- the plan -----------------------------------------------------------------------------------------------------

    def _planned(self, solution: Solution, snapshot: Snapshot, limits: MoveLimits) -> Plan:
        """Return the plan, cut down to what the guards allow if that is what they say."""
        log.info("ordering %d moves, and the way back", number_of_moves(solution))
        try:
            plan = draft_moves(solution, snapshot.scenario.plan)
            self._deadline.check()
            complaints = limits.complaints(len(plan.steps), moved_objects(plan))
            if not complaints:
                return plan.plan()
            if self._job.guards.when_exceeded == "trim":
                shorter = trimmed(plan, limits)
                if shorter is not None:
                    reason = f"only the first {len(shorter.steps)} of {len(plan.steps)} steps are planned"
                    self.report = replace(self.report, reasons=(reason,), trimmed_from=len(plan.steps))
                    return shorter
                complaints.append((complaints[0][0], "no part of it that is allowed gains anything"))
        except InternalError as error:
            raise VerificationFailed(str(error)) from error
        raise Refused(complaints[0][0], *(message for _, message in complaints))


def _why_nothing_moves(solution: Solution, kept: Evaluation) -> Iterator[str]:
    """Yield what stays broken and why; nothing where all is well, and that is proven."""
    names, more = ", ".join(kept.broken[:_MOST_NAMED]), len(kept.broken) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    broken = f"{names}{rest} {'stays' if len(kept.broken) == 1 else 'stay'} broken: " if kept.broken else ""
    if solution.status is not Status.OPTIMAL:
        after = spoken(solution.seconds)
        yield f"{broken}the search ended after {after}, before it found anything better or proved that there is nothing"
    elif broken:
        yield f"{broken}it is proven that no assignment is better"


def _obstacle(move: Blocked) -> str:
    """Return what stands against a move."""
    return f"{move.object} cannot get to {move.destination}: {'; '.join(move.reasons)}"


def _heard(progress: Progress) -> None:
    values = progress.tuple_pos, progress.objective, progress.bound
    log.debug("after %.1f s: position %d, objective %s, bound %s", progress.seconds, *values)
