"""The fewest waves, exactly: which wave each leg flies in, by CP-SAT."""

from __future__ import annotations

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


def earliest_waves(room: Room, legs: IntArray) -> IntArray:
    """Return a wave, counted from 0, before which no plan that makes each leg directly flies each; -1: none flies it.

    As if nothing took room but the leg itself: wave by wave, all that fits flies, and all that it gives back is there.
    """
    which, row = room.entries(legs)
    slot, take = room.slot[row], room.take[row]
    back = np.maximum(room.give[row] - take, 0)
    most = room.ledger.slack(room.keys)
    earliest = np.full(len(legs), -1, np.int64)
    wave = 0
    while True:
        short = np.bincount(which[take > most[slot]], minlength=len(legs))
        fresh = (earliest < 0) & (short == 0)
        if not fresh.any():
            return earliest
        earliest[fresh] = wave
        gives = fresh[which]
        np.add.at(most, slot[gives], back[gives])
        wave += 1


def lower_bound(room: Room, legs: IntArray, earliest: IntArray | None = None) -> int:
    """Return a number of waves that every plan of the legs needs: what has to pass through the tightest cap.

    Parameters
    ----------
    earliest : int64 array, one per leg, optional
        A wave before which each cannot fly, counted from 0; then what is late has to pass in the waves that are left.
    """
    if not len(legs):
        return 0
    late = np.zeros(len(legs), np.int64) if earliest is None else earliest
    which, row = room.entries(legs)
    slack = room.ledger.slack(room.keys)
    mixed = np.zeros(len(room.keys), np.bool_)
    mixed[room.slot[row[room.take[row] != room.give[row]]]] = True
    best = int(late.max()) + 1
    for first in np.unique(late).tolist():
        total = np.zeros(len(room.keys), np.int64)
        then = late[which] >= first
        np.add.at(total, room.slot[row[then]], room.take[row[then]])
        capped = (total > 0) & (slack > 0) & ~mixed  # all that is taken is given back, but only after the wave
        best = max(best, first + int((-(-total[capped] // slack[capped])).max(initial=1)))
    return best


def fewest_waves(always: Room, between: Room, legs: IntArray, known: int | None, work: float) -> Fewest:
    """Return the fewest waves for some legs, as far as the ledgers say.

    Parameters
    ----------
    always, between : Room
        Of legs that have not flown yet: their slack is that of the start.
    legs : int64 array
        By priority; among plans with as few waves, those first fly earlier.
    known : int or None
        A number of waves that is known to do.
    work : float
        Seconds of counted work (CP-SAT's deterministic time), so that every run finds the same.
    """
    left = work
    earliest = earliest_waves(always, legs)
    if earliest.min(initial=0) < 0:
        return Fewest(None, lower_bound(always, legs), impossible=True)
    bound = lower_bound(always, legs, earliest)
    most = len(legs) if known is None else known - 1
    for waves in range(bound, most + 1):
        status, wave, spent = _solve(always, between, legs, waves, left)
        left -= spent
        if status == "FOUND":
            return Fewest(wave, waves)
        if status == "UNKNOWN":
            return Fewest(None, waves)
    if known is None:
        return Fewest(None, bound, impossible=True)
    return Fewest(None, known)


def _solve(always: Room, between: Room, legs: IntArray, waves: int, work: float) -> tuple[str, IntArray | None, float]:
    from ortools.sat.python import cp_model

    if work <= 0:
        return "UNKNOWN", None, 0.0
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
    solver.parameters.max_deterministic_time = work
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    spent = solver.response_proto.deterministic_time
    if status == cp_model.INFEASIBLE:
        return "INFEASIBLE", None, spent
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return "UNKNOWN", None, spent
    return "FOUND", np.array([[solver.value(var) for var in row].index(1) for row in flies], np.int64), spent
