"""Reads a plan and says what of it still holds: against the state that it was made for, or a newer one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.schema import plan_faults
from rebalancer.plan.steps import Steps
from rebalancer.plan.verify import replay
from rebalancer.plan.waiting import Waiting
from rebalancer.problem import Fault, FaultList, InputError, Problem
from rebalancer.scenario.plan_section import PlanOptions


@dataclass(frozen=True, eq=False)
class Verdict:
    """What still holds of a plan.

    Parameters
    ----------
    verdict : str
        VALID, PARTIAL or STALE.
    valid, done : list of str
        Steps that can still be carried out, and those that were already: ids.
    invalid : dict of str to str
        The other steps, and why.
    reasons : list of str
        What there is to say about the plan as a whole.
    """

    verdict: str
    valid: list[str]
    done: list[str]
    invalid: dict[str, str]
    reasons: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as `rebalance verify --json` prints it."""
        return {
            "verdict": self.verdict,
            "valid": self.valid,
            "done": self.done,
            "invalid": [{"id": key, "reason": why} for key, why in self.invalid.items()],
            "reasons": self.reasons,
        }


def read_plan(path: str) -> dict[str, Any]:
    """Return the content of a ``plan.json``.

    Raises
    ------
    InputError
        It cannot be read, or is no plan; every fault at once.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream)
    except OSError as error:
        raise InputError([Fault("unreadable", f"cannot read: {error.strerror}", (), path, None, path)]) from None
    except UnicodeDecodeError:
        raise InputError([Fault("not-utf8", "the file is not UTF-8 text", (), None, None, path, 1, 1)]) from None
    except ValueError as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        message = f"no JSON: {getattr(error, 'msg', error)}"
        raise InputError([Fault("bad-json", message, (), None, None, path, line, column)]) from None
    faults = [fault.at(path, None, None) for fault in plan_faults(content)]
    if faults:
        raise InputError(faults)
    plan: dict[str, Any] = content
    return plan


def verify_plan(model: Model, content: Mapping[str, Any], now: NDArray[np.int32], options: PlanOptions) -> Verdict:
    """Replay a plan against a state.

    A step is done where its object stands at the end of its way, and invalid where it stands anywhere else than at its
    beginning. What is left is replayed; a wave that breaks something loses the steps that break it, and with them
    whatever waited for them.

    Parameters
    ----------
    content : mapping
        As `read_plan` returns it.
    now : int32 array, one per object
    options : PlanOptions
        The caps.

    Raises
    ------
    InputError
        The plan names what is not there.
    """
    rows = content["steps"]
    who, source, destination = _indices(rows, model.problem)
    wave = np.array([row["wave"] for row in rows], np.int64)
    order = np.argsort(wave, kind="stable")
    done, todo, invalid = _progress(rows, who, source, destination, order.tolist(), now, model.problem)
    todo = _without_waiters(rows, todo, invalid)
    while todo:
        steps = _steps(who, source, destination, wave, todo)
        report = replay(model, now, steps, options)
        if report.safe:
            break
        number, message = report.problems[0]
        guilty = [row for row in todo if wave[row] == np.unique(wave[todo])[number - 1]]
        invalid.update(dict.fromkeys(guilty, f"wave {int(wave[guilty[0]])}: {message}"))
        todo = _without_waiters(rows, [row for row in todo if row not in invalid], invalid)
    names = [row["id"] for row in rows]
    verdict = "VALID" if not invalid else "PARTIAL" if todo else "STALE"
    return Verdict(
        verdict,
        [names[row] for row in todo],
        [names[row] for row in done],
        {names[row]: why for row, why in sorted(invalid.items())},
        [],
    )


def _progress(
    rows: list[dict[str, Any]], who: NDArray[np.int64], source: NDArray[np.int32], destination: NDArray[np.int32],
    order: list[int], now: NDArray[np.int32], problem: Problem,
) -> tuple[list[int], list[int], dict[int, str]]:  # fmt: skip
    """Return the steps that are done, those to do, and those whose object is elsewhere.

    An object where its first step begins has done none of its steps, also where it was to come back there.
    """
    first: dict[int, int] = {}
    last_done: dict[int, int] = {}
    for position, row in enumerate(order):
        obj = int(who[row])
        first.setdefault(obj, row)
        if now[obj] == destination[row] and now[obj] != source[first[obj]]:
            last_done[obj] = position
    at = now.copy()
    done, todo, invalid = [], [], {}
    for position, row in enumerate(order):
        obj = int(who[row])
        if position <= last_done.get(obj, -1):
            done.append(row)
        elif at[obj] != source[row]:
            here = problem.containers[int(at[obj])] if at[obj] >= 0 else "no container"
            invalid[row] = f"{rows[row]['object']} is in {here}, not in {rows[row]['source'] or 'no container'}"
        else:
            todo.append(row)
            at[obj] = destination[row]
    return done, todo, invalid


def _indices(
    rows: list[dict[str, Any]], problem: Problem
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    faults = FaultList()
    who = problem.objects.lookup([row["object"] for row in rows])
    for at in np.flatnonzero(who < 0).tolist():
        faults.unknown(problem.object_name, rows[at]["object"], problem.objects, ("steps", at, "object"))
    ends = []
    for end in ("source", "destination"):
        names = [row[end] for row in rows]
        found = problem.containers.lookup(names)
        for at in np.flatnonzero(found < 0).tolist():
            if names[at] is not None:
                faults.unknown(problem.container_name, names[at], problem.containers, ("steps", at, end))
        ends.append(found.astype(np.int32))
    faults.raise_if_any()
    return who, ends[0], ends[1]


def _without_waiters(rows: list[dict[str, Any]], todo: list[int], invalid: dict[int, str]) -> list[int]:
    """Return the steps without those that wait for an invalid one; they become invalid too."""
    lost = {rows[row]["id"] for row in invalid}
    first = min((rows[row]["wave"] for row in invalid), default=None)
    kept = []
    for row in todo:  # by wave, so that one pass finds all
        waits = [other for other in rows[row]["after"] if other in lost]
        barrier = rows[row].get("after_wave")
        if waits or (barrier is not None and first is not None and first <= barrier):
            invalid[row] = f"waits for {waits[0] if waits else f'wave {barrier}'}, which is not valid"
            lost.add(rows[row]["id"])
        else:
            kept.append(row)
    return kept


def _steps(
    who: NDArray[np.int64], source: NDArray[np.int32], destination: NDArray[np.int32], wave: NDArray[np.int64],
    todo: list[int],
) -> Steps:  # fmt: skip
    rows = np.array(todo, np.int64)
    empty = np.empty(0, np.int64)
    _, dense = np.unique(wave[rows], return_inverse=True)
    waits = Waiting(empty, empty, np.full(len(rows), -1, np.int64))
    return Steps(who[rows], source[rows], destination[rows], dense.astype(np.int64), waits)
