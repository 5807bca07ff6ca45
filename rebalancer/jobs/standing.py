"""The newest plan of a job, where it still holds."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rebalancer.jobs.folders import PlanFolder
from rebalancer.jobs.history import History
from rebalancer.model import Model
from rebalancer.plan import PlanOptions
from rebalancer.plan.read import read_plan, verify_plan
from rebalancer.problem import InputError

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Standing:
    """A plan of an earlier run: each of its steps is done already, or can still be carried out.

    Parameters
    ----------
    run : int
        The run that made it.
    folder : Path
    end : int32 array, one per object
        Where everything is once it is carried out.
    to_do : int
        Steps that are left.
    moved_objects, waves, blocked : int
        Objects that those steps move, the waves that they are in, moves that the plan does not carry out.
    """

    run: int
    folder: Path
    end: NDArray[np.int32]
    to_do: int
    moved_objects: int
    waves: int
    blocked: int


def standing_plan(
    history: History, folder: PlanFolder, job: str, model: Model, options: PlanOptions, moment: datetime
) -> Standing | None:
    """Return the newest plan of a job if it holds in the state that a model starts from.

    Parameters
    ----------
    options : PlanOptions
        The caps that it has to keep: tonight's.
    moment : datetime
        The time, for plans that expire.
    """
    last = history.last_plan(job)
    if last is None:
        return None
    run, name = last
    if name not in folder:
        log.info("the plan of run %d is not there any more", run)
        return None
    try:
        content = read_plan(str(folder.locate(name) / "plan.json"))
        verdict = verify_plan(model, content, model.problem.initial, options, moment)
    except InputError as error:
        log.info("the plan of run %d does not hold any more: %s", run, error.faults[0].message)
        return None
    if verdict.verdict != "VALID":
        why = [*verdict.invalid.values(), *verdict.reasons, "for no reason"][0]
        log.info("the plan of run %d does not hold any more: %s", run, why)
        return None
    left = set(verdict.valid)
    steps = [row for row in content["steps"] if row["id"] in left]
    log.info("the plan of run %d still holds: %d steps are done, %d are left", run, len(verdict.done), len(steps))
    end = model.problem.initial.copy()
    problem = model.problem
    for row in sorted(steps, key=lambda step: int(step["wave"])):
        destination = row["destination"]
        end[problem.objects.index[row["object"]]] = -1 if destination is None else problem.containers.index[destination]
    return Standing(
        run,
        folder.locate(name),
        end,
        len(steps),
        len({row["object"] for row in steps}),
        len({row["wave"] for row in steps}),
        len(content["blocked"]),
    )
