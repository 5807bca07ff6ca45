"""`rebalance history`: what the nights of a job came to."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from rebalancer.cli import faults
from rebalancer.cli.exits import Exit
from rebalancer.cli.options import Duration, FilePath, common
from rebalancer.problem.errors import Fault, InputError, unknown_name

if TYPE_CHECKING:
    from rebalancer.jobs.trends import Trends
    from rebalancer.report.table import Table

#: Constraints that are listed.
_SHOWN = 20
#: Characters of a reason that a terminal shows; a pipe gets all.
_LONGEST_REASON = 200
_BARS = "▁▂▃▄▅▆▇█"
#: Values that a trend shows: the newest.
_LONGEST = 40
#: Columns of a terminal below which the table of runs leaves out what is least asked for.
_NARROW = 100


@click.command(name="history")
@click.argument("source", metavar="JOB.yaml|URL", type=FilePath())
@click.option("--runs", metavar="N", type=click.IntRange(min=1), default=20, show_default=True,
              help="The newest runs that are looked at.")  # fmt: skip
@click.option("--since", metavar="TIME", type=Duration(), help="Only runs that began less than this ago, such as 7d.")
@click.option("--job", metavar="NAME", help="Only this job, where URL holds several.")
@click.option("--objects", is_flag=True, help="Also list the objects that plans moved most.")
@common
def command(source: str, runs: int, since: float | None, job: str | None, objects: bool, as_json: bool) -> int:
    """Show the runs of a job, how its objective develops, and what is broken most often.

    Give the job file, or the SQLAlchemy URL of a history such as sqlite:///history.db. All times are in UTC.
    """
    url, only = _source(source, job)

    from rebalancer.jobs.history import History
    from rebalancer.jobs.times import utc_now
    from rebalancer.jobs.trends import jobs_of, trends

    history = History(url, create=False)
    known = jobs_of(history)
    if only is not None and only not in known:
        raise InputError([unknown_name("job", only, known)])
    found = trends(history, only, runs, None if since is None else utc_now() - timedelta(seconds=since))
    if as_json:
        content = found.to_json()
        if not objects:
            del content["objects"]
        faults.print_json({"jobs": known if only is None else [only], **content})
    else:
        _show(found, objects)
    return Exit.DONE


def _source(source: str, job: str | None) -> tuple[str, str | None]:
    """Return the URL of the history, and which job is asked for."""
    from rebalancer.jobs.job import read_job
    from rebalancer.scenario.urls import completed

    if "://" not in source:
        read = read_job(source)
        if job not in (None, read.name):
            message = f"{source} is the job '{read.name}', not '{job}'"
            raise InputError([Fault("wrong-value", message, (), job, read.name)])
        return read.history, read.name
    url = completed(source, os.getcwd())
    if isinstance(url, Fault):
        raise InputError([url])
    return url, job


def _show(found: Trends, objects: bool) -> None:
    from rich.console import Console

    from rebalancer.report.table import draw, plain

    console = Console(file=sys.stdout)
    tables = _tables(found, objects, console.is_terminal, console.is_terminal and console.width < _NARROW)
    for number, table in enumerate(tables):
        if console.is_terminal:
            if number:
                console.print()
            draw(table, console)
        else:
            console.file.write(("\n" if number else "") + plain(table))


def _tables(found: Trends, objects: bool, terminal: bool, narrow: bool) -> list[Table]:
    from rebalancer.report.table import Table

    several = len({row["job"] for row in found.runs}) > 1
    first = ["job"] if several else []
    if not found.runs:
        return [Table("no runs", [], [])]
    # A terminal has no room for another column; who reads lines wants each to say all.
    why = [] if terminal else ["why"]
    columns = [">run", *first, "started", "outcome", ">moves", ">waves", "broken", "objective", ">seconds", *why]
    shown = [at for at, name in enumerate(columns) if not (narrow and name in (">waves", ">seconds"))]
    runs = [[*_run_row(row, several, terminal), *([row["reason"] or ""] if why else [])] for row in found.runs]
    tables = [
        Table(
            "runs",
            [columns[at] for at in shown],
            [[row[at] for at in shown] for row in runs],
            [_colour(row["outcome"], row["exit_code"]) for row in found.runs],
            "\n".join(_reason(row) for row in found.runs if row["reason"]) if terminal else "",
        )
    ]
    if found.objectives:
        columns = [*first, ">position", "trend", ">first", ">last", ">best"]
        tables.append(Table("objective", columns, [_trend_row(row, several, terminal) for row in found.objectives]))
    if found.constraints:
        rows = [
            [*([row["job"]] if several else []), row["name"], row["spec"], row["policy"], str(row["broken_initial"]),
             str(row["broken_final"])]
            for row in found.constraints[:_SHOWN]
        ]  # fmt: skip
        columns = [*first, "constraint", "spec", "policy", ">runs broken before", ">runs broken after"]
        left = len(found.constraints) - len(rows)
        tables.append(Table("most often broken", columns, rows, note=f"… and {left} more" if left else ""))
    if objects:
        rows = [
            [*([row["job"]] if several else []), row["object"], str(row["moves"]), str(row["plans"])]
            for row in found.objects
        ]
        title = "moved most" if rows else "nothing was moved"
        tables.append(Table(title, [*first, "object", ">steps", ">plans"] if rows else [], rows))
    return tables


def _reason(row: dict[str, Any]) -> str:
    """Return why a run ended as it did, on a line or two: a snapshot may have had hundreds of faults."""
    from textwrap import shorten

    return f"run {row['run']}: {shorten(row['reason'], _LONGEST_REASON, placeholder=' …')}"


def _run_row(row: dict[str, Any], several: bool, terminal: bool) -> list[str]:
    from rebalancer.report.numbers import UNKNOWN, number, seconds

    def known(value: Any) -> str:
        return UNKNOWN if value is None else str(value)

    values = row["objective"]
    change = UNKNOWN
    if values:
        change = f"{number(values[0]['initial'], terminal)} → {number(values[0]['final'], terminal)}"
    broken = UNKNOWN if row["broken_initial"] is None else f"{row['broken_initial']} → {row['broken_final']}"
    took = row["seconds"]
    return [
        str(row["run"]),
        *([row["job"]] if several else []),
        row["started"][:16].replace("T", " "),
        row["outcome"].replace("_", " "),
        known(row["moves"]),
        known(row["waves"]),
        broken,
        change,
        UNKNOWN if took is None else seconds(took) if terminal else number(took),
    ]


def _trend_row(row: dict[str, Any], several: bool, terminal: bool) -> list[str]:
    from rebalancer.report.numbers import number

    final = row["final"]
    numbers = [number(value, terminal) for value in (final[0], final[-1], min(final))]
    return [*([row["job"]] if several else []), str(row["tuple_pos"]), sparkline(final[-_LONGEST:]), *numbers]


def sparkline(values: Sequence[float]) -> str:
    """Return one bar per value, the lowest for the smallest of them and the highest for the largest."""
    least, most = min(values), max(values)
    if most == least:
        return _BARS[0] * len(values)
    return "".join(_BARS[round((value - least) / (most - least) * (len(_BARS) - 1))] for value in values)


def _colour(outcome: str, code: int | None) -> str:
    if code == Exit.DONE:
        return ""
    return "yellow" if code in (Exit.BROKEN, Exit.REFUSED) else "dim" if outcome == "running" else "red"
