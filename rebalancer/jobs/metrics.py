"""What a run came to, as a text file that Prometheus's node exporter collects.

The format is a dozen lines to write, and a job writes its file once a night: a client library, with its registries and
threads, would be more than this needs. The tests read the file with that library's own parser.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from rebalancer.folders import OutputFolder
from rebalancer.jobs.outcome import FINAL, Report

_PREFIX = "rebalancer_"
_LAST_SUCCESS = f"{_PREFIX}last_success_timestamp_seconds"


def write_metrics(path: str, report: Report, last_success: datetime | None) -> None:
    """Write the metrics of a run that is over, whole or not at all.

    Parameters
    ----------
    path : str
        Of a ``.prom`` file; each job needs one of its own.
    last_success : datetime or None
        When a run last came to a good end, this one included. None: what the file says so far stays.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    if last_success is None:
        last_success = _said_before(path)
    with OutputFolder(Path(path).parent) as folder:
        folder.write({Path(path).name: list(lines(report, last_success))})


def check_metrics(path: str) -> None:
    """Make sure, before the work is done, that a metrics file can be written.

    Raises
    ------
    InputError
        It cannot.
    """
    with OutputFolder(Path(path).parent):
        pass


def lines(report: Report, last_success: datetime | None) -> Iterator[str]:
    """Yield the lines of the file, their ends included."""
    assert report.finished is not None
    assert report.exit_code is not None
    seconds = report.seconds or 0.0
    code = int(report.exit_code)
    outcomes = [({"outcome": one.value}, float(one is report.outcome)) for one in FINAL]
    objective = [
        ({"tuple_pos": str(row["tuple_pos"]), "when": when}, row[when])
        for row in report.objective
        for when in ("initial", "final", "bound")
    ]
    broken = [({"when": when}, report.broken(when)) for when in ("initial", "final")]
    age = report.snapshot_age
    yield from (
        line
        for name, what, samples in (
            ("last_run_timestamp_seconds", "When the last run ended.", [({}, report.finished.timestamp())]),
            ("last_success_timestamp_seconds", "When a run last came to a good end.",
             [({}, None if last_success is None else last_success.timestamp())]),
            ("run_duration_seconds", "How long the last run took.", [({}, seconds)]),
            ("exit_code", "Exit code of the last run.", [({}, code)]),
            ("outcome", "1 for how the last run ended, 0 for everything else.", outcomes),
            ("moves", "Steps to do in the plan of the last run.", [({}, report.moves)]),
            ("waves", "Waves to do in the plan of the last run.", [({}, report.waves)]),
            ("blocked_moves", "Moves of the last run that its plan does not carry out.", [({}, report.blocked)]),
            ("objective", "Objective by tuple position: before, after the plan, proven bound.", objective),
            ("broken_constraints", "Broken constraints before and after the plan, SOFT ones left out.", broken),
            ("snapshot_age_seconds", "How old the snapshot was when the last run began.", [({}, age)]),
        )
        for line in _metric(_PREFIX + name, what, report.job, samples)
    )  # fmt: skip


def _metric(name: str, what: str, job: str, samples: Iterable[tuple[dict[str, str], float | None]]) -> Iterator[str]:
    """Yield a metric: its help, its type, a line per sample. One of which nothing is known is left out."""
    known = [(labels, value) for labels, value in samples if value is not None and not math.isnan(value)]
    if not known:
        return
    yield f"# HELP {name} {what}\n"
    yield f"# TYPE {name} gauge\n"
    for labels, value in known:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in {"job": job, **labels}.items())
        yield f"{name}{{{pairs}}} {_number(value)}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _said_before(path: str) -> datetime | None:
    """Return the time of the last success that a metrics file holds.

    A database that is away must not make the last success vanish: alerts watch its age.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(rf"^{_LAST_SUCCESS}\{{.*\}} (\S+)$", text, re.MULTILINE)
    try:
        return None if found is None else datetime.fromtimestamp(float(found[1]), UTC)
    except (ValueError, OverflowError, OSError):
        return None
