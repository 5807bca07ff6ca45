"""What the history shows: runs, how objectives develop, what is broken night after night, what moves most."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, case, func, select

from rebalancer.jobs import history_tables as tables
from rebalancer.jobs.history import History
from rebalancer.jobs.outcome import Outcome, stamp
from rebalancer.jobs.times import seconds_between

#: Objects that are listed.
_OBJECTS = 20


@dataclass(frozen=True)
class Trends:
    """What the history says of some runs, as plain values.

    Parameters
    ----------
    runs : list of dict
        The newest first: run, job, started, finished, seconds, outcome, exit_code, reason, guard, snapshot_taken,
        status, moves, moved_objects, waves, staged, blocked, broken_initial, broken_final, plan, kept_from, and
        objective, a list of tuple_pos, initial, final, bound.
    objectives : list of dict
        By job and tuple position: job, tuple_pos, and the lists run, initial, final, bound, the oldest run first.
    constraints : list of dict
        The most often broken first: job, name, spec, policy, and in how many runs it was broken, broken_initial before
        and broken_final after. Those that never were are left out.
    objects : list of dict
        Those that plans moved most: job, object, moves (steps), plans.
    """

    runs: list[dict[str, Any]]
    objectives: list[dict[str, Any]]
    constraints: list[dict[str, Any]]
    objects: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return everything as `rebalance history --json` prints it."""
        return dict(vars(self))


def trends(history: History, job: str | None, newest: int, since: datetime | None = None) -> Trends:
    """Return what the history says of the newest runs.

    Parameters
    ----------
    history : History
    job : str or None
        None: all jobs.
    newest : int
        How many runs.
    since : datetime, optional
        Only runs that began later.
    """
    runs = tables.runs
    chosen = select(runs.c.id).order_by(runs.c.id.desc()).limit(newest)
    if job is not None:
        chosen = chosen.where(runs.c.job == job)
    if since is not None:
        chosen = chosen.where(runs.c.started > since)
    ids = select(chosen.subquery().c.id)
    values: dict[int, list[dict[str, Any]]] = {}
    of_runs = select(tables.objectives).where(tables.objectives.c.run.in_(ids)).order_by("run", "tuple_pos")
    for value in history.rows(of_runs):
        values.setdefault(value.pop("run"), []).append(value)
    newest_first = select(runs).where(runs.c.id.in_(ids)).order_by(runs.c.id.desc())
    rows = [_run(row, values.get(row["id"], [])) for row in history.rows(newest_first)]
    return Trends(
        rows,
        _objectives(rows),
        history.rows(_broken(ids)),
        history.rows(_moved(ids)),
    )


def jobs_of(history: History) -> list[str]:
    """Return the names of all jobs that have a run in the history."""
    query = select(tables.runs.c.job).distinct().order_by(tables.runs.c.job)
    return [row["job"] for row in history.rows(query)]


def _run(row: dict[str, Any], objective: list[dict[str, Any]]) -> dict[str, Any]:
    started, finished = row["started"], row["finished"]
    same = ("outcome", "exit_code", "reason", "guard", "status", "moves", "moved_objects", "waves", "staged", "blocked",
            "broken_initial", "broken_final", "kept_from")  # fmt: skip
    return {
        "run": row["id"],
        "job": row["job"],
        "started": stamp(started),
        "finished": stamp(finished),
        "seconds": None if finished is None else round(seconds_between(started, finished), 3),
        "snapshot_taken": stamp(row["snapshot_taken"]),
        "plan": row["plan_folder"],
        **{name: row[name] for name in same},
        "objective": objective,
    }


def _objectives(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for row in reversed(rows):
        for value in row["objective"]:
            key = row["job"], value["tuple_pos"]
            empty = {"job": key[0], "tuple_pos": key[1], "run": [], "initial": [], "final": [], "bound": []}
            lists = found.setdefault(key, empty)
            lists["run"].append(row["run"])
            for name in ("initial", "final", "bound"):
                lists[name].append(value[name])
    return [found[key] for key in sorted(found)]


def _broken(ids: Select[tuple[int]]) -> Select[Any]:
    runs, constraints = tables.runs, tables.constraints
    before = func.count(case((constraints.c.initial_broken > 0, 1)))
    after = func.count(case((constraints.c.final_broken > 0, 1)))
    name = runs.c.job, constraints.c.name, constraints.c.spec, constraints.c.policy
    return (
        select(*name, before.label("broken_initial"), after.label("broken_final"))
        .join(runs, runs.c.id == constraints.c.run)
        .where(constraints.c.run.in_(ids))
        .group_by(*name)
        .having(before + after > 0)
        .order_by(after.desc(), before.desc(), *name)
    )


def _moved(ids: Select[tuple[int]]) -> Select[Any]:
    runs, moves = tables.runs, tables.moves
    steps, plans = func.count(), func.count(moves.c.run.distinct())
    return (
        select(runs.c.job, moves.c.object, steps.label("moves"), plans.label("plans"))
        .join(runs, runs.c.id == moves.c.run)
        .where(moves.c.run.in_(ids), runs.c.outcome == Outcome.PLANNED.value)
        .group_by(runs.c.job, moves.c.object)
        .order_by(plans.desc(), steps.desc(), runs.c.job, moves.c.object)
        .limit(_OBJECTS)
    )
