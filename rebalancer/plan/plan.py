"""Plans: an assignment carried out in waves that are safe at every moment, proven by replay, with the way back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Model
from rebalancer.plan.steps import Blocked, Excess, Peak, Steps
from rebalancer.scenario.plan_section import PlanOptions

if TYPE_CHECKING:
    import pandas as pd

    from rebalancer.inputs import AssignmentLike
    from rebalancer.plan.read import Verdict


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How to get from one assignment to another; it has passed `replay`, and so has the way back.

    Parameters
    ----------
    status : str
        COMPLETE, or PARTIAL where some moves are blocked.
    steps : Steps
    rollback : Steps
        From the end back to the start; from any wave onwards, its last steps.
    blocked : tuple of Blocked
    excess : tuple of Excess
        What is above its limit on the way, and may be.
    peaks : tuple of Peak
        One per wave.
    lower_bound : int
        No plan of these moves has fewer waves; where none is staged, no plan that makes each of them directly.
    exact : bool
        Whether there are proven to be as few waves as that.
    reasons : tuple of str
        Of each step.
    staged : tuple of (int, int)
        Steps that take an object to where it waits, and the step that fetches it from there.
    options : PlanOptions
    created : datetime
        With its time zone.
    beyond_caps : tuple of (int, str)
        Waves of the way back, counted from 1, that exceed a cap, and which: no less was found to go back together.
    least_blocked : int
        Every plan of these moves leaves so many blocked, or more; 0: that is not proven.
    """

    status: str
    steps: Steps
    rollback: Steps
    blocked: tuple[Blocked, ...]
    excess: tuple[Excess, ...]
    peaks: tuple[Peak, ...]
    lower_bound: int
    exact: bool
    reasons: tuple[str, ...]
    staged: tuple[tuple[int, int], ...]
    options: PlanOptions
    created: datetime
    beyond_caps: tuple[tuple[int, str], ...]
    least_blocked: int
    model: Model = field(repr=False)
    start: NDArray[np.int32] = field(repr=False)

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"at least {self.lower_bound}"
        return (
            f"Plan({self.status}, {len(self.steps)} steps, {self.steps.waves} waves ({how}), "
            f"{len(self.staged)} staged, {len(self.blocked)} blocked)"
        )

    @property
    def waves(self) -> int:
        """How many waves there are."""
        return self.steps.waves

    @property
    def about_blocked(self) -> str:
        """What is known of the moves that are blocked, in words."""
        room = "also not with others making room" if self.options.staging else "where none may wait elsewhere"
        least = self.least_blocked
        if 0 < least == len(self.blocked):
            return f"proven: no order carries out more of the moves, {room}"
        proven = f"proven: at least {least} stay blocked" if least else "that there is none is not proven"
        return f"no order was found that carries out more of the moves, {room}; {proven}"

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the constraints that are broken where the plan ends, those with policy SOFT left out."""
        parts = self.model.evaluate(self.steps.end(self.start)).broken_components
        pairs = zip(self.model.constraints, parts, strict=True)
        return tuple(one.name for one, broken in pairs if broken and one.policy != "SOFT")

    def expires_after(self, created: datetime | None = None) -> datetime | None:
        """Return when the plan expires if it was made at another time than `created`; None: never."""
        lasts = self.options.expires
        return None if lasts is None else (created or self.created) + timedelta(seconds=lasts)

    @property
    def expires(self) -> datetime | None:
        """When the plan expires: no step is to be started later; None: never."""
        return self.expires_after()

    def to_json(self, inputs: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return what ``plan.json`` holds, as plain values.

        Parameters
        ----------
        inputs : mapping, optional
            The files that the plan was made from: name -> SHA-256.
        """
        from rebalancer.plan.formats import to_json

        return to_json(self, inputs)

    def to_markdown(self, limit: int = 200) -> str:
        """Return a summary for a change ticket, with at most so many steps."""
        from rebalancer.plan.markdown import to_markdown

        return to_markdown(self, limit)

    def write(self, folder: str | os.PathLike[str], template: str | None = None) -> list[str]:
        """Write ``plan.csv``, ``plan.md`` and ``plan.json`` to a folder, whole or not at all; return their names.

        Parameters
        ----------
        folder : str or path
            Is made where it is missing.
        template : str, optional
            Also write ``plan.sh``, one command per step, such as ``mv-task {object} {source} {destination}``.

        Raises
        ------
        InputError
            The folder cannot be written to, or the template is wrong.
        """
        from rebalancer import arguments
        from rebalancer.folders import OutputFolder
        from rebalancer.plan.formats import plan_files

        path = arguments.file_path(folder, "folder")
        files = plan_files(self, template=template)
        with OutputFolder(path) as output:
            output.write(files)
        return list(files)

    def verify(self, assignment: AssignmentLike | None = None, moment: datetime | None = None) -> Verdict:
        """Return what of the plan still holds.

        Parameters
        ----------
        assignment : mapping, Series or DataFrame, optional
            Where everything is now, in any form that `Rebalancer.evaluate` takes; left out: where the plan starts.
        moment : datetime, optional
            The time, with its zone, for plans that expire; left out: now.

        Raises
        ------
        InputError
            Unknown, repeated or missing names in the assignment, or a moment without its time zone.
        """
        from rebalancer import arguments, inputs
        from rebalancer.plan.read import verify_plan

        problem, now = self.model.problem, self.start
        if assignment is not None:
            read = inputs.read_placements(assignment, problem.object_name, problem.container_name)
            now = inputs.indices(read, problem)
        expires = None if self.expires is None else self.expires.isoformat(timespec="seconds")
        content = {"steps": list(self.rows()), "expires": expires}
        return verify_plan(self.model, content, now, self.options, arguments.moment(moment, "moment"))

    @property
    def table(self) -> pd.DataFrame:
        """One row per step: id, object, source, destination, wave, after (ids), reason. Waves count from 1."""
        import pandas as pd

        rows, columns = list(self.rows()), ["id", "object", "source", "destination", "wave", "after", "reason"]
        return pd.DataFrame(rows, columns=None if rows else columns)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the steps as plain values."""
        yield from (
            {**row, "reason": reason} for row, reason in zip(self._rows(self.steps, "s"), self.reasons, strict=True)
        )

    def rollback_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the steps of the way back as plain values; each names the step that it undoes."""
        steps, back = self.steps, self.rollback
        undoes: dict[tuple[int, int, int], list[int]] = {}
        ends = zip(steps.who.tolist(), steps.source.tolist(), steps.destination.tolist(), strict=True)
        for number, key in enumerate(ends):
            undoes.setdefault(key, []).append(number)
        ends = zip(back.who.tolist(), back.destination.tolist(), back.source.tolist(), strict=True)
        for row, key in zip(self._rows(back, "r"), ends, strict=True):
            yield {**row, "undoes": f"s{undoes[key].pop() + 1}"}

    def _rows(self, steps: Steps, letter: str) -> Iterator[dict[str, Any]]:
        problem = self.model.problem
        containers = [*problem.containers, None]  # the index -1 finds None
        barrier = steps.waits.wave.tolist()
        ends = zip(
            steps.who.tolist(), steps.source.tolist(), steps.destination.tolist(), steps.wave.tolist(), strict=True
        )
        each = enumerate(zip(ends, steps.waits.each(), strict=True))
        for number, ((who, source, destination, wave), after) in each:
            yield {
                "id": f"{letter}{number + 1}",
                "object": problem.objects[who],
                "source": containers[source],
                "destination": containers[destination],
                "wave": wave + 1,
                "after": [f"{letter}{other + 1}" for other in after],
                **({"after_wave": barrier[number] + 1} if barrier[number] >= 0 else {}),
            }
