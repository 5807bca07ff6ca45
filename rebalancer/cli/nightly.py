"""`rebalance nightly`: tonight's snapshot of a fleet becomes a move plan, unattended."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

import click

from rebalancer.cli import faults
from rebalancer.cli.exits import Exit
from rebalancer.cli.interrupts import kept_answers
from rebalancer.cli.options import Duration, FilePath, configure_logging
from rebalancer.problem.errors import Fault, InputError, condensed

if TYPE_CHECKING:
    from rebalancer.jobs.lock import LockHeld
    from rebalancer.jobs.outcome import Report

log = logging.getLogger("rebalancer.nightly")

#: What the first signal says, be it during the search or when moves are ordered, which takes its time.
_NOTICE = b"what was found so far is planned; interrupt again to give up\n"


@click.command(name="nightly")
@click.argument("job", metavar="JOB.yaml", type=FilePath())
@click.option("--wait", metavar="TIME", type=Duration(),
              help="Wait so long for another run of the job to end, such as 10m; otherwise not at all.")  # fmt: skip
@click.option("--accept-shrunk", is_flag=True,
              help="The snapshot may be smaller than the last one, for once, because that is right.")  # fmt: skip
@click.option("--log", "log_format", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="Log lines as text, or as one JSON object each.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout, and nothing else there.")
@click.option("-q", "--quiet", is_flag=True, help="Log only what needs attention.")
@click.option("--debug", is_flag=True, help="Log everything, and show the traceback of an internal error.")
def command(
    job: str, wait: float | None, accept_shrunk: bool, log_format: str, as_json: bool, quiet: bool, debug: bool
) -> int:
    """Run a job: read its snapshot, check it, solve, plan, verify, write the plan, record the run.

    Nothing is carried out. Exit code 0 or 3 where the run is done (3: something stays broken, or moves are blocked), 6
    where another run is under way, 8 where a guard refuses. Ctrl-C and SIGTERM end the search, and the best answer so
    far is planned; before the search begins, and the second time, they end the run.
    """
    from rebalancer.jobs.job import read_job
    from rebalancer.jobs.lock import LockHeld
    from rebalancer.jobs.logs import JsonLines

    fields: dict[str, Any] = {"job": os.path.splitext(os.path.basename(job))[0]}
    lines = JsonLines(fields) if log_format == "json" else None
    configure_logging(not quiet, debug, lines)
    stop, searching = threading.Event(), threading.Event()
    with kept_answers(stop, bytes if lines is None else lines.notice, searching, _NOTICE):
        try:
            read = read_job(job)
            fields["job"] = read.name

            from rebalancer.jobs.run import run_job

            report = run_job(read, stop=stop, wait=wait or 0.0, accept_shrunk=accept_shrunk, log_fields=fields,
                             searching=searching)  # fmt: skip
        except InputError as error:
            _tell(error.faults, lines is not None)
            if as_json:
                faults.print_json({"errors": [faults.record(fault) for fault in error.faults]})
            return Exit.BAD_INPUT
        except LockHeld as error:
            return _locked(error, fields["job"], as_json, lines is not None)
        except KeyboardInterrupt:
            if lines is None:
                raise
            log.error("interrupted")
            return Exit.INTERRUPTED
        except Exception as error:
            if lines is None:
                raise
            fault = faults.internal(error)  # in the log's own form, with the traceback
            log.error("%s", fault.message, exc_info=error, extra={"fields": faults.record(fault)})
            if as_json:
                faults.print_json({"errors": [faults.record(fault)]})
            return Exit.INTERNAL
    _tell(report.faults, lines is not None)
    if as_json:
        _print(report)
    elif report.outcome.succeeded:
        show(report)
    assert report.exit_code is not None
    return report.exit_code


def _tell(found: tuple[Fault, ...], as_records: bool) -> None:
    """Say what is wrong on stderr: one line per fault, in the form that the log has."""
    if not as_records:
        faults.tell(found)
        return
    for fault in condensed(found):
        log.error("%s", fault.message, extra={"fields": faults.record(fault)})


def _locked(error: LockHeld, job: str, as_json: bool, as_records: bool) -> Exit:
    fault = Fault("locked", str(error), (), error.path, None)
    _tell((fault,), as_records)
    if as_json:
        holder = None if error.holder is None else vars(error.holder)
        faults.print_json({"job": job, "outcome": "locked", "exit_code": int(Exit.LOCKED), "reasons": [str(error)],
                           "holder": holder, "errors": [faults.record(fault)]})  # fmt: skip
    return Exit.LOCKED


def _print(report: Report) -> None:
    content = report.to_json()
    if report.faults:
        content["errors"] = [faults.record(fault) for fault in report.faults]
    faults.print_json(content)


def show(report: Report) -> None:
    """Print what came of a run in a few lines."""
    from rebalancer.report.numbers import count, listed, number

    what = report.words
    if report.moves:
        waves = count(report.waves or 0, "wave")
        what += f": {count(report.moves, 'step')} in {waves}, {count(report.moved_objects or 0, 'object')} move"
    click.echo(what)
    for reason in report.reasons:
        click.echo(reason)
    if report.blocked:
        click.echo(f"{count(report.blocked, 'move')} blocked" + (": see plan.md" if report.plan_folder else ""))
    for row in report.objective:
        change = f"{number(row['initial'], True)} → {number(row['final'], True)}"
        bound = "" if row["bound"] is None else f" (no assignment is below {number(row['bound'], True)})"
        click.echo(f"objective {row['tuple_pos']}: {change}{bound}")
    broken = [row["name"] for row in report.constraints if row["final_broken"] and row["policy"] != "SOFT"]
    if broken:
        click.echo(f"still broken: {listed(broken)}")
    if report.plan_folder is not None:
        click.echo(f"the plan is in {report.plan_folder}")
