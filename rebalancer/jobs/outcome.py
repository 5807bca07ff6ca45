"""What came of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from rebalancer.exits import Exit
from rebalancer.jobs.times import seconds_between
from rebalancer.problem import Fault


class Outcome(str, Enum):
    """How a run ended, or how far it is."""

    RUNNING = "running"
    WRITING = "writing"  # recorded, and its plan about to be put in its place
    PLANNED = "planned"  # there is a new plan
    KEPT = "kept"  # the plan of an earlier run still holds, and nothing better was found
    NOTHING_TO_DO = "nothing_to_do"
    NOT_WORTH_IT = "not_worth_it"  # a plan would gain too little
    REFUSED = "refused"  # a guard said no
    INFEASIBLE = "infeasible"
    NO_SOLUTION = "no_solution"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    DIED = "died"  # the process was killed, or its machine

    @property
    def succeeded(self) -> bool:
        """Whether the run came to an end that needs nobody's attention."""
        return self in (Outcome.PLANNED, Outcome.KEPT, Outcome.NOTHING_TO_DO, Outcome.NOT_WORTH_IT)

    @property
    def words(self) -> str:
        """The outcome as people read it."""
        return self.value.replace("_", " ")


#: How a run can end that lives to tell.
FINAL = tuple(outcome for outcome in Outcome if outcome not in (Outcome.RUNNING, Outcome.WRITING, Outcome.DIED))


@dataclass(frozen=True)
class Report:
    """A run: what it worked on, what it decided and why.

    Parameters
    ----------
    job : str
    started : datetime
        UTC, as all times here.
    run : int or None
        Its number in the history; None: the history could not be opened.
    finished : datetime or None
    outcome : Outcome
    exit_code : Exit or None
        None while it runs.
    reasons : tuple of str
        One sentence each.
    guard : str or None
        Which guard refused, as it is called in the job file.
    faults : tuple of Fault
        What was wrong with the input, or with where the output goes.
    snapshot_taken : datetime or None
    sizes : dict of str to int, or None
        Rows of each table, objects and containers.
    accepted : bool
        Whether the snapshot passed its guards: the next one is compared with it.
    status : str or None
        Of the solution: OPTIMAL, FEASIBLE, INFEASIBLE or UNKNOWN.
    objective : tuple of dict
        By tuple position: tuple_pos, initial, final, bound; final is what the plan attains.
    constraints : tuple of dict
        name, spec, policy, initial_violation, final_violation, initial_broken, final_broken (components).
    cooled_down : int or None
        Objects that stay because they moved not long ago.
    plan_folder : str or None
        Where the plan is: the new one, or the one that was kept.
    kept_from : int or None
        The run that made the plan that was kept.
    moves, moved_objects, waves, staged, blocked : int or None
        Steps to do, objects that they move, waves, steps that only make room, moves that nothing carries out.
    trimmed_from : int or None
        Steps of the plan before it was cut down to what the guards allow.
    interrupted : bool
        Whether the search was ended by a signal.
    """

    job: str
    started: datetime
    run: int | None = None
    finished: datetime | None = None
    outcome: Outcome = Outcome.RUNNING
    exit_code: Exit | None = None
    reasons: tuple[str, ...] = ()
    guard: str | None = None
    faults: tuple[Fault, ...] = ()
    snapshot_taken: datetime | None = None
    sizes: dict[str, int] | None = None
    accepted: bool = False
    status: str | None = None
    objective: tuple[dict[str, Any], ...] = ()
    constraints: tuple[dict[str, Any], ...] = ()
    cooled_down: int | None = None
    plan_folder: str | None = None
    kept_from: int | None = None
    moves: int | None = None
    moved_objects: int | None = None
    waves: int | None = None
    staged: int | None = None
    blocked: int | None = None
    trimmed_from: int | None = None
    interrupted: bool = False

    @property
    def seconds(self) -> float | None:
        """How long it took; 0 where the clock was set back meanwhile."""
        return None if self.finished is None else seconds_between(self.started, self.finished)

    @property
    def snapshot_age(self) -> float | None:
        """How old the snapshot was when the run began, in seconds; 0 where it was taken later."""
        return None if self.snapshot_taken is None else seconds_between(self.snapshot_taken, self.started)

    @property
    def words(self) -> str:
        """How the run ended, as people read it: that there is nothing to do is said where it is proven."""
        if self.outcome is Outcome.NOTHING_TO_DO and self.status != "OPTIMAL":
            return "nothing better was found"
        return self.outcome.words

    def broken(self, when: str) -> int | None:
        """Return how many constraints are broken, SOFT ones left out.

        Parameters
        ----------
        when : str
            "initial" or "final".
        """
        if not self.objective:
            return None
        return len([row for row in self.constraints if row[f"{when}_broken"] and row["policy"] != "SOFT"])

    def to_json(self) -> dict[str, Any]:
        """Return the report as `rebalance nightly --json` prints it, without the faults."""
        return {
            "job": self.job,
            "run": self.run,
            "outcome": self.outcome.value,
            "exit_code": None if self.exit_code is None else int(self.exit_code),
            "reasons": list(self.reasons),
            "guard": self.guard,
            "started": stamp(self.started),
            "finished": stamp(self.finished),
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "snapshot": None
            if self.sizes is None
            else {"taken": stamp(self.snapshot_taken), "accepted": self.accepted, "sizes": self.sizes},
            "status": self.status,
            "interrupted": self.interrupted,
            "objective": list(self.objective),
            "broken": {"initial": self.broken("initial"), "final": self.broken("final")},
            "constraints": list(self.constraints),
            "cooled_down": self.cooled_down,
            "plan": self.plan_folder,
            "kept_from": self.kept_from,
            "moves": self.moves,
            "moved_objects": self.moved_objects,
            "waves": self.waves,
            "staged": self.staged,
            "blocked": self.blocked,
            "trimmed_from": self.trimmed_from,
        }


def stamp(moment: datetime | None) -> str | None:
    """Return a moment in ISO 8601, to the second."""
    return None if moment is None else moment.isoformat(timespec="seconds").replace("+00:00", "Z")
