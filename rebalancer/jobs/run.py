"""Runs a job: one at a time, recorded from its beginning to its end, whatever happens in between.

A plan appears only after it is recorded, and a run counts as planned only after its plan has appeared:

1. the plan is written into a hidden folder, read back and verified;
2. one transaction records the run with all its moves, as "writing";
3. the folder gets its name, and `latest` points to it;
4. the run becomes "planned".

A process that is killed in between leaves a hidden folder, or a run that is "writing". The next run removes the folder,
and settles the run by whether its plan is in its place. So neither a plan nor its record is ever there alone for longer
than until then.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from rebalancer.exits import Exit
from rebalancer.exports import solution_files
from rebalancer.jobs.deadline import Deadline, DeadlinePassed
from rebalancer.jobs.folders import Draft, PlanFolder
from rebalancer.jobs.guards import Refused
from rebalancer.jobs.history import History
from rebalancer.jobs.job import Job
from rebalancer.jobs.lock import Holder, JobLock
from rebalancer.jobs.metrics import check_metrics, write_metrics
from rebalancer.jobs.night import Night, Proposal, VerificationFailed
from rebalancer.jobs.outcome import Outcome, Report
from rebalancer.jobs.times import utc_now
from rebalancer.plan.formats import plan_files
from rebalancer.plan.read import read_plan, verify_plan
from rebalancer.problem.errors import InputError, condensed

log = logging.getLogger(__name__)

#: What a report says of a plan, where there is none.
_NO_PLAN: dict[str, Any] = {
    "plan_folder": None, "kept_from": None, "moves": None, "moved_objects": None, "waves": None, "staged": None,
    "blocked": None, "trimmed_from": None, "objective": (), "constraints": (),
}  # fmt: skip


def run_job(
    job: Job,
    *,
    stop: threading.Event | None = None,
    wait: float = 0.0,
    accept_shrunk: bool = False,
    clock: Callable[[], datetime] = utc_now,
    log_fields: dict[str, Any] | None = None,
    searching: threading.Event | None = None,
) -> Report:
    """Run a job once.

    Bad input, a guard that refuses, a database that is away: all of these are what the report says, and what history
    and metrics hold.

    Parameters
    ----------
    job : Job
    stop : threading.Event, optional
        Set it, from any thread, to end the search with the best answer so far.
    wait : float
        Seconds to wait for another run of the job to end.
    accept_shrunk : bool
        Whether the snapshot may be smaller than the last one, for once.
    clock : callable
        Returns the current time, in UTC.
    log_fields : dict, optional
        Gets "run", the number of the run, as soon as there is one.
    searching : threading.Event, optional
        Set once the search begins: until then there is nothing that ``stop`` could keep.

    Returns
    -------
    Report

    Raises
    ------
    LockHeld
        Another run is under way; nothing was done.
    InputError
        The lock file cannot be written.
    KeyboardInterrupt
        A second interrupt, or one before the search found anything; it is recorded.
    """
    stop = stop or threading.Event()
    with JobLock(job.lock, job.name, wait, stop):
        fields = {} if log_fields is None else log_fields
        run = _Run(job, stop, clock, accept_shrunk, fields, searching or threading.Event())
        try:
            run.go()
        except BaseException as error:
            run.fail(error)
            raise
        finally:
            run.measure()
        return run.report


class _Run:
    """One run, and what has to be left behind in order."""

    def __init__(
        self,
        job: Job,
        stop: threading.Event,
        clock: Callable[[], datetime],
        accept_shrunk: bool,
        log_fields: dict[str, Any],
        searching: threading.Event,
    ) -> None:
        self.job = job
        self.report = Report(job.name, clock())
        self._stop = stop
        self._clock = clock
        self._accept_shrunk = accept_shrunk
        self._log_fields = log_fields
        self._searching = searching
        self._folder = PlanFolder(job.output.folder, job.name)
        self._deadline = Deadline(job.guards.deadline)
        self._history: History | None = None
        self._night: Night | None = None
        self._draft: Draft | None = None
        self._recorded = False

    def go(self) -> None:
        """Do everything; what is wrong with the input, and what a guard refuses, ends in the report."""
        try:
            with self._deadline.enforced():
                proposal = self._proposed()
                if proposal is not None:
                    self._write(proposal)
                self._deadline.check()
            self._finish(proposal)
        except InputError as error:
            reasons = tuple(fault.message for fault in condensed(error.faults))
            self._end(Outcome.FAILED, Exit.BAD_INPUT, reasons, faults=error.faults)
        except Refused as error:
            self._end(Outcome.REFUSED, Exit.REFUSED, error.reasons, guard=error.guard)
        except DeadlinePassed:
            reason = f"the run takes longer than its deadline of {self._deadline}"
            self._end(Outcome.REFUSED, Exit.REFUSED, (reason,), guard="deadline")
        except VerificationFailed as error:
            self._end(Outcome.FAILED, Exit.STALE, (str(error),))

    # -- the stages ---------------------------------------------------------------------------------------------------

    def _proposed(self) -> Proposal | None:
        job = self.job
        history = History(job.history)
        for run, outcome in history.repair(job.name, lambda folder: folder in self._folder):
            log.warning("run %d did not come to its end: it counts as %s", run, outcome.words)
        number = history.begin(job.name, self.report.started, str(Holder.of_this_process(job.name)))
        self._history = history
        self._log_fields["run"] = number
        self.report = replace(self.report, run=number)
        log.info("run %d of the job '%s' begins", number, job.name)
        if job.metrics is not None:
            check_metrics(job.metrics)
        self._folder.prepare()
        self._night = Night(job, history, self._folder, self.report, self._deadline, self._stop, self._clock,
                            self._accept_shrunk, self._searching)  # fmt: skip
        try:
            return self._night.decide()
        finally:
            self.report = self._night.report

    def _write(self, proposal: Proposal) -> None:
        """Write the plan into a hidden folder, and verify what stands there."""
        plan = proposal.plan
        moment = self._clock()
        files = {
            **solution_files(proposal.solution),
            **plan_files(plan, proposal.inputs, self.job.output.format, moment),
        }
        self._draft = self._folder.begin(moment, files)
        self._verify(proposal, self._draft, moment)

    @staticmethod
    def _verify(proposal: Proposal, draft: Draft, moment: datetime) -> None:
        """Replay the plan as it stands in its file.

        Raises
        ------
        VerificationFailed
        """
        plan = proposal.plan
        try:
            read = read_plan(str(draft.hidden / "plan.json"))
            verdict = verify_plan(plan.model, read, plan.start, plan.options, moment)
        except InputError as error:
            raise VerificationFailed(f"the plan as it was written cannot be read: {error.faults[0].message}") from error
        if verdict.verdict != "VALID" or len(verdict.valid) != len(plan.steps):
            why = next(iter(verdict.invalid.values()), "not every step is to do")
            raise VerificationFailed(f"the plan as it was written does not hold: {why}")
        if not np.array_equal(plan.steps.end(plan.start), proposal.solution._assignment):
            raise VerificationFailed("the plan does not end where it should")

    def _finish(self, proposal: Proposal | None) -> None:
        """Record the run, and put the plan in its place: see above for the order."""
        history, draft, folder = self._history, self._draft, self._folder
        assert history is not None
        assert self._night is not None
        self.report = replace(self.report, finished=self._clock())
        if proposal is None or draft is None:
            history.record(self.report)
            self._recorded = True
            if self.report.plan_folder is not None:
                folder.point(folder.locate(self.report.plan_folder))
            elif self.report.outcome.succeeded and not self._night.is_carried_out:
                folder.point(None)  # it must not lead to what does not hold any more, or is not wanted any more
        else:
            self.report = replace(self.report, plan_folder=os.path.abspath(draft.final))
            history.record(replace(self.report, outcome=Outcome.WRITING), proposal.plan.rows())
            self._recorded = True
            folder.place(draft)
            self._draft = None
            assert self.report.run is not None
            try:
                history.confirm(self.report.run)
            except InputError as error:
                log.warning("the next run will count this one as planned; %s", error.faults[0].message)
            try:
                folder.prune(self.job.output.keep)
            except OSError as error:
                log.warning("old plans could not be removed: %s", error)
        if self.report.outcome.succeeded:
            log.info("run %d ends: %s", self.report.run, self.report.words)
        else:  # there is no solution, or none was found
            log.error("%s: %s", self.report.outcome.words, "; ".join(self.report.reasons))

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self, outcome: Outcome, code: Exit, reasons: tuple[str, ...], **others: Any) -> None:
        """Note that there is no plan tonight, and why."""
        self.report = replace(
            self.report, finished=self._clock(), outcome=outcome, exit_code=code, reasons=reasons, **_NO_PLAN, **others,
        )  # fmt: skip
        if self._draft is not None:
            self._folder.discard(self._draft)
            self._draft = None
        if not self.report.faults:  # which are told one by one, each with its place
            log.error("%s: %s", outcome.words, "; ".join(reasons))
        if self._history is None or self.report.run is None:
            return
        try:
            if self._recorded:
                self._history.withdraw(self.report.run, outcome, "; ".join(reasons), int(code))
            else:
                self._history.record(self.report)
        except InputError as error:
            log.error("the run could not be recorded: %s", error.faults[0].message)

    def fail(self, error: BaseException) -> None:
        """Note that something unexpected ended the run."""
        if self._recorded and (self._draft is None or self._draft.final.exists()):
            return  # whatever there was to do is done, and what is not noted yet the next run will note
        interrupted = isinstance(error, KeyboardInterrupt)
        what = "a signal ended it" if interrupted else f"internal error: {type(error).__name__}: {error}"
        outcome = Outcome.INTERRUPTED if interrupted else Outcome.FAILED
        self._end(outcome, Exit.INTERRUPTED if interrupted else Exit.INTERNAL, (what,))

    def measure(self) -> None:
        """Write the metrics, if the job wants any."""
        if self.job.metrics is None or self.report.finished is None:
            return
        success = None
        if self.report.outcome.succeeded:
            success = self.report.finished
        elif self._history is not None:
            with suppress(InputError):
                success = self._history.last_success(self.job.name)
        try:
            write_metrics(self.job.metrics, self.report, success)
        except InputError as error:
            log.error("the metrics could not be written: %s", error.faults[0].message)
