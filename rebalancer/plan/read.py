"""Reads a plan and says what of it still holds: against the state that it was made for, or a newer one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.ledger import Legs
from rebalancer.plan.salvage import salvage
from rebalancer.plan.schema import plan_faults
from rebalancer.problem import Fault, InputError, Names, Problem
from rebalancer.scenario.json_keys import noting, repeated_text
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
    after : dict of str to list of str
        What each valid step has to wait for, as things are now.
    after_wave : dict of str to int
        Where not single steps but all up to a wave have to be waited for.
    reasons : list of str
        What there is to say about the plan as a whole.
    """

    verdict: str
    valid: list[str]
    done: list[str]
    invalid: dict[str, str]
    after: dict[str, list[str]]
    after_wave: dict[str, int]
    reasons: list[str]

    def __repr__(self) -> str:
        return f"Verdict({self.summary})"

    @property
    def summary(self) -> str:
        """The verdict in one line."""
        steps = "1 step" if len(self.valid) == 1 else f"{len(self.valid)} steps"
        counts = f"{steps} to do, {len(self.done)} done, {len(self.invalid)} not valid"
        return f"{self.verdict}: {counts}"

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as `rebalance verify --json` prints it."""
        return {
            "verdict": self.verdict,
            "valid": self.valid,
            "done": self.done,
            "invalid": [{"id": key, "reason": why} for key, why in self.invalid.items()],
            "after": self.after,
            "after_wave": self.after_wave,
            "reasons": self.reasons,
        }


def read_plan(path: str) -> dict[str, Any]:
    """Return the content of a ``plan.json``.

    Raises
    ------
    InputError
        It cannot be read, or is no plan; every fault at once.
    """
    repeated: list[str] = []
    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream, parse_constant=_no_number, object_pairs_hook=noting(repeated))
    except OSError as error:
        raise InputError([Fault("unreadable", f"cannot read: {error.strerror}", (), path, None, path)]) from None
    except UnicodeDecodeError:
        raise InputError([Fault("not-utf8", "the file is not UTF-8 text", (), None, None, path, 1, 1)]) from None
    except RecursionError:
        raise InputError([Fault("bad-json", "too much is nested in it", (), None, None, path, 1, 1)]) from None
    except ValueError as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        message = f"no JSON: {getattr(error, 'msg', error)}"
        raise InputError([Fault("bad-json", message, (), None, None, path, line, column)]) from None
    twice = [Fault("duplicate-key", repeated_text(key), (), key) for key in repeated]
    faults = [fault.at(path, None, None) for fault in (*twice, *plan_faults(content))]
    if faults:
        raise InputError(faults)
    plan: dict[str, Any] = content
    return plan


def _no_number(text: str) -> Any:
    """Refuse what Python writes for numbers that JSON has not."""
    raise ValueError(f"{text} is no number")


def verify_plan(
    model: Model,
    content: Mapping[str, Any],
    now: NDArray[np.int32],
    options: PlanOptions,
    moment: datetime | None = None,
) -> Verdict:
    """Replay a plan against a state.

    A step is done where its object stands at its end or further on, and invalid where it stands anywhere else than at
    its beginning, or where its object or container is not there any more. What is left is replayed wave by wave; of a
    wave that breaks something only steps that do not fit beside the others are left out, the first ones being kept.
    Whoever waited for them is kept where there is room.

    Parameters
    ----------
    content : mapping
        As `read_plan` returns it.
    now : int32 array, one per object
    options : PlanOptions
        The caps.
    moment : datetime, optional
        The time, with its zone, for plans that expire; left out: now.
    """
    rows = content["steps"]
    who, source, destination, invalid = _indices(rows, model.problem)
    wave = np.array([row["wave"] for row in rows], np.int64)
    order = [row for row in np.argsort(wave, kind="stable").tolist() if row not in invalid]
    done, left, elsewhere = _progress(rows, who, source, destination, order, now, model.problem)
    invalid |= elsewhere
    names = [row["id"] for row in rows]
    expired = _expired(content, moment)
    if expired is not None:
        invalid |= dict.fromkeys(left, expired)
        left = []
    at = np.array(left, np.int64)
    legs = Legs(who[at], source[at], destination[at])
    steps, kept, why = salvage(model, now, legs, wave[at], options)
    invalid |= {left[row]: reason for row, reason in why.items()}
    valid = [names[row] for row in at[kept].tolist()]
    waves = wave[at[kept]]
    first_of = np.unique(waves)  # the waves that are left, by their numbers in the plan
    barrier = {name: int(first_of[at]) for name, at in zip(valid, steps.waits.wave.tolist(), strict=True) if at >= 0}
    return Verdict(
        "VALID" if not invalid else "PARTIAL" if valid else "STALE",
        valid,
        [names[row] for row in done],
        {names[row]: reason for row, reason in sorted(invalid.items())},
        {name: [valid[other] for other in after] for name, after in zip(valid, steps.waits.each(), strict=True)},
        barrier,
        [] if expired is None else [expired],
    )


def _expired(content: Mapping[str, Any], moment: datetime | None) -> str | None:
    """Return that a plan has expired, if it has."""
    expires = content.get("expires")
    if expires is None or (moment or datetime.now(UTC)) <= datetime.fromisoformat(expires):
        return None
    return f"the plan expired at {expires}"


def _progress(
    rows: list[dict[str, Any]], who: NDArray[np.int64], source: NDArray[np.int32], destination: NDArray[np.int32],
    order: list[int], now: NDArray[np.int32], problem: Problem,
) -> tuple[list[int], list[int], dict[int, str]]:  # fmt: skip
    """Return the steps that are done, those to do, and those whose object is elsewhere."""
    own: dict[int, list[int]] = {}
    for row in order:
        own.setdefault(int(who[row]), []).append(row)
    reached = {}
    for obj, path in own.items():
        places = [int(source[path[0]]), *destination[path].tolist()]
        reached[obj] = [steps for steps, place in enumerate(places) if place == now[obj]]
    made = _steps_made(rows, own, reached)
    at = now.copy()
    done, todo, invalid = [], [], {}
    finished = {row for obj, path in own.items() for row in path[: made.get(obj, 0)]}
    for row in order:
        obj = int(who[row])
        if row in finished:
            done.append(row)
        elif at[obj] != source[row]:
            here = problem.containers[int(at[obj])] if at[obj] >= 0 else "no container"
            invalid[row] = f"{rows[row]['object']} is in {here}, not in {rows[row]['source'] or 'no container'}"
        else:
            todo.append(row)
            at[obj] = destination[row]
    return done, todo, invalid


def _steps_made(
    rows: list[dict[str, Any]], own: Mapping[int, list[int]], reached: Mapping[int, list[int]]
) -> dict[int, int]:
    """Return how many of its steps each object has made, of those that are on their way or at its end.

    Who passes a place twice, having made room for others in between, may stand there before or after that: it is as
    far as what its steps wait for allows. Any way of carrying out the plan has done as much or less, and left
    everything in the same place.

    Parameters
    ----------
    own : mapping of int to list of int
        Object: its steps, in order.
    reached : mapping of int to list of int
        Object: after how many of them it stands where it is.
    """
    made = {obj: found[-1] for obj, found in reached.items() if found}
    pending = {row for obj, steps in made.items() for row in own[obj][steps:]}
    first = min((rows[row]["wave"] for row in pending), default=math.inf)
    number = {row["id"]: at for at, row in enumerate(rows)}

    def waits(row: int) -> bool:
        whole = rows[row].get("after_wave") or 0
        return first <= whole or any(number[other] in pending for other in rows[row]["after"])

    unsure = [obj for obj, found in reached.items() if len(found) > 1]
    lowered = True
    while lowered:
        lowered = False
        for obj in unsure:
            path, found = own[obj], reached[obj]
            while made[obj] > found[0] and any(waits(row) for row in path[found[0] : made[obj]]):
                before = max(steps for steps in found if steps < made[obj])
                pending.update(path[before : made[obj]])
                first = min(first, rows[path[before]]["wave"])
                made[obj], lowered = before, True
    return made


def _indices(
    rows: list[dict[str, Any]], problem: Problem
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], dict[int, str]]:
    """Return objects and ends of steps, and why some are not valid: they name what has left the fleet."""
    gone: dict[int, str] = {}

    def found(names: list[str | None], known: Names, what: str) -> NDArray[np.int64]:
        index = known.lookup(names).astype(np.int64)
        lost = [at for at in np.flatnonzero(index < 0).tolist() if names[at] is not None]
        gone.update((at, f"{what} '{names[at]}' is not there any more") for at in lost)
        return index

    ends = [
        found([row[end] for row in rows], problem.containers, problem.container_name).astype(np.int32)
        for end in ("source", "destination")
    ]
    who = found([row["object"] for row in rows], problem.objects, problem.object_name)
    return who, ends[0], ends[1], gone
