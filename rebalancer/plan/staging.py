"""Breaks cycles that no order can carry out: an object waits on a third container, as few of them as possible."""

from __future__ import annotations

import numpy as np

from rebalancer.plan.ledger import Legs
from rebalancer.plan.waves import Journey
from rebalancer.problem.numbers import IntArray

#: How many objects, and how many of the legs that are stuck, are looked at when a journey is stuck.
_CANDIDATES = 48
_STUCK = 2_000
#: Objects after which to take the best, once one of them lets another leg fly.
_ENOUGH = 6
#: How often a journey may go back because something that was staged cannot arrive.
_RETRIES = 6


def travel(journey: Journey, staging: bool) -> Journey:
    """Fly everything that can fly, and return the journey; legs that cannot are still waiting.

    An object that was staged always arrives: where it could not, the journey goes back and does without.
    """
    banned: set[int] = set()
    snapshots: list[tuple[int, Journey]] = []
    retries = 0
    while True:
        while journey.next_wave():
            journey.reached = True
        if journey.reached and journey.fetch():
            continue
        if not len(journey.waiting) and not journey.fetch():
            return journey
        if not len(journey.waiting):
            continue
        before = journey.copy()
        chosen = _stage(journey, banned) if staging else None
        if chosen is not None:
            snapshots.append((chosen, before))
            continue
        if journey.fetch():
            continue
        stuck = {journey.who[leg] for leg in journey.waiting.tolist()} & set(journey.staged)
        if not stuck:
            return journey
        retries += 1
        first = next(position for position, (obj, _) in enumerate(snapshots) if obj in stuck or retries > _RETRIES)
        banned |= stuck
        staging = staging and retries <= _RETRIES
        journey = snapshots[first][1]
        del snapshots[first:]


def _stage(journey: Journey, banned: set[int]) -> int | None:
    """Send one object to a third container, so that others get nearer to flying; return it, or None where none helps.

    Objects that have to move anyway cost one extra move, others two (there and back), so they come second.
    """
    stuck = journey.waiting[:_STUCK]
    shortage = journey.always.shortage(stuck)
    who = np.array(journey.who, np.int64)
    never = banned | set(journey.staged)
    movers = [obj for obj in who[stuck].tolist() if obj not in never][:_CANDIDATES]
    found = _best(journey, stuck, shortage, movers)
    if found is None:
        moving = set(who[journey.waiting].tolist())
        places = np.unique(np.array(journey.destination, np.int32)[stuck])
        there = np.flatnonzero(np.isin(journey.assignment, places[places >= 0]))
        others = [obj for obj in there.tolist() if obj not in never and obj not in moving]
        found = _best(journey, stuck, shortage, others[:_CANDIDATES])
    if found is None:
        return None
    obj, container = found
    here = journey.assignment[obj]
    leg = journey.add(_leg(obj, int(here), container))
    journey.fly(leg)
    journey.staged.append(obj)
    journey.parked[container] += 1
    rest = journey.add(_leg(obj, container, int(journey.target[obj])))
    mine = who[journey.waiting] == obj
    if mine.any():
        journey.waiting = journey.waiting.copy()
        journey.waiting[mine] = rest
    else:
        journey.away = np.concatenate([journey.away, rest])
    journey.reached = False
    return obj


def _best(journey: Journey, stuck: IntArray, shortage: np.ndarray, objects: list[int]) -> tuple[int, int] | None:
    """Return the object and container that let most stuck legs fly, or bring them nearest to it."""
    containers = np.arange(len(journey.model.problem.containers), dtype=np.int32)
    stuck_who = np.array(journey.who, np.int64)[stuck]
    best: tuple[tuple[float, ...], int, int] | None = None
    looked = 0
    for obj in objects:
        here = journey.assignment[obj]
        open_to = containers[(containers != here) & (containers != journey.target[obj])]
        trial = journey.copy()
        legs = trial.add(Legs(np.full(len(open_to), obj), np.full(len(open_to), here, np.int32), open_to))
        for leg in _roomiest(trial, legs[trial.always.fits(legs)]):
            if not trial.may_fly(np.array([leg])):
                continue
            slack = trial.always.after(leg)
            others = stuck[stuck_who != obj]
            now = trial.always.shortage(others, slack)
            before = shortage[stuck_who != obj]
            freed = bool(((before > 0) & (now <= 0)).any())
            nearer = float(before.min() - now.min()) if len(others) else 0.0
            if not freed and nearer <= 1e-9:
                continue
            parked = float(journey.parked[trial.destination[leg]])
            value = (float(freed), nearer, -parked, float(before.sum() - now.sum()))
            if best is None or value > best[0]:
                best = value, obj, trial.destination[leg]
        looked += 1
        if best is not None and best[0][0] and looked >= _ENOUGH:
            break
    return None if best is None else (best[1], best[2])


def _roomiest(journey: Journey, legs: IntArray) -> list[int]:
    """Return a few of the legs: those that leave most room where they go, and of those where fewest were parked."""
    if not len(legs):
        return []
    which, row = journey.always.entries(legs)
    share = journey.always.take[row] / np.maximum(journey.always.slack[journey.always.slot[row]], 1)
    tightest = np.zeros(len(legs))
    np.maximum.at(tightest, which, share)
    parked = journey.parked[np.array(journey.destination, np.int32)[legs]]
    return [int(leg) for leg in legs[np.lexsort((parked, tightest))[:4]]]


def _leg(obj: int, source: int, destination: int) -> Legs:
    return Legs(np.array([obj], np.int64), np.array([source], np.int32), np.array([destination], np.int32))
