"""The fewest waves, exactly: which wave each leg flies in, by CP-SAT."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rebalancer.plan.room import Room
from rebalancer.problem.numbers import IntArray

#: More legs than this are left to the greedy method.
MOST_LEGS = 40


@dataclass(frozen=True, eq=False)
class Fewest:
    """What is known of the fewest waves.

    Parameters
    ----------
    wave : int64 array or None
        Wave of each leg, where a plan was found.
    bound : int
        No plan of these legs has fewer waves.
    impossible : bool
        Proven: no order of these legs, and no number of waves, carries them out.
    """

    wave: IntArray | None
    bound: int
    impossible: bool = False


def lower_bound(room: Room, legs: IntArray) -> int:
    """Return a number of waves that every plan of the legs needs: what has to pass through the tightest cap."""
    if not len(legs):
        return 0
    _, row = room.entries(legs)
    passing = np.minimum(room.take[row], room.give[row])  # is taken, and given back only after the wave
    total = np.zeros(len(room.keys), np.int64)
    np.add.at(total, room.slot[row], passing)
    mixed = np.zeros(len(room.keys), np.bool_)
    mixed[room.slot[row[room.take[row] != room.give[row]]]] = True
    slack = room.ledger.slack(room.keys)
    capped = (total > slack) & (slack > 0) & ~mixed
    return max(1, int((-(-total[capped] // slack[capped])).max(initial=1)))


def fewest_waves(always: Room, between: Room, legs: IntArray, known: int | None, seconds: float) -> Fewest:
    """Return the fewest waves for some legs, as far as the ledgers say.

    Parameters
    ----------
    always, between : Room
        Of legs that have not flown yet: their slack is that of the start.
    legs : int64 array
        By priority; among plans with as few waves, those first fly earlier.
    known : int or None
        A number of waves that is known to do.
    seconds : float
    """
    end = time.monotonic() + seconds
    bound = lower_bound(always, legs)
    most = len(legs) if known is None else known - 1
    for waves in range(bound, most + 1):
        status, wave = _solve(always, between, legs, waves, end - time.monotonic())
        if status == "FOUND":
            return Fewest(wave, waves)
        if status == "UNKNOWN":
            return Fewest(None, waves)
    if known is None:
        return Fewest(None, bound, impossible=True)
    return Fewest(None, known)


def _solve(always: Room, between: Room, legs: IntArray, waves: int, seconds: float) -> tuple[str, IntArray | None]:
    from ortools.sat.python import cp_model

    if seconds <= 0:
        return "UNKNOWN", None
    model = cp_model.CpModel()
    flies = [[model.new_bool_var("") for _ in range(waves)] for _ in legs]
    for row in flies:
        model.add_exactly_one(row)
    for room, at_every_moment in ((always, True), (between, False)):
        which, entry = room.entries(legs)
        slack = room.ledger.slack(room.keys)
        for slot in np.unique(room.slot[entry]).tolist():
            mine = np.flatnonzero(room.slot[entry] == slot)
            parts = [(int(which[at]), int(room.take[entry[at]]), int(room.give[entry[at]])) for at in mine.tolist()]
            if at_every_moment and sum(take for _, take, _ in parts) <= slack[slot]:
                continue
            for now in range(waves):
                terms = []
                for leg, take, give in parts:
                    for wave in range(now + 1):
                        done = wave < now or not at_every_moment
                        terms.append((take - give if done else take) * flies[leg][wave])
                model.add(sum(terms) <= int(slack[slot]))
    model.minimize(
        sum(
            (len(legs) - position) * wave * flies[position][wave]
            for position in range(len(legs))
            for wave in range(waves)
        )
    )
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return "INFEASIBLE", None
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return "UNKNOWN", None
    return "FOUND", np.array([[solver.value(var) for var in row].index(1) for row in flies], np.int64)
