"""Breaks cycles that no order can carry out: an object waits on a third container, as few of them as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.plan.ledger import Legs
from rebalancer.plan.waves import Journey, Ways
from rebalancer.problem.numbers import IntArray

#: How many objects, and how many of the legs that are stuck, are looked at when a journey is stuck.
_CANDIDATES = 48
_STUCK = 2_000
#: Ways from one place to another that are remembered at most.
_REMEMBERED = 1_000_000
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
        ways = _roomiest(journey, obj, containers)
        if not len(ways):
            continue
        trial = journey.copy()
        for leg in trial.add(ways).tolist():
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
            touched = float(journey.touched[trial.destination[leg]])
            value = (float(freed), nearer, -touched, float(before.sum() - now.sum()))
            if best is None or value > best[0]:
                best = value, obj, trial.destination[leg]
        looked += 1
        if best is not None and best[0][0] and looked >= _ENOUGH:
            break
    return None if best is None else (best[1], best[2])


def _roomiest(journey: Journey, obj: int, containers: NDArray[np.int32]) -> Legs:
    """Return a few of the ways that an object may go: to where least has happened, and of those most room is left.

    Room that nobody has needed so far is there from the start: whoever waits there waits for nobody else.
    """
    here = int(journey.assignment[obj])
    key = obj, here
    if key not in journey.ways:  # what they take and give stays the same all along
        legs = Legs(np.full(len(containers), obj), np.full(len(containers), here, np.int32), containers)
        if len(journey.ways) * len(containers) > _REMEMBERED:
            journey.ways.clear()
        uses = journey.always.ledger.uses(legs)
        journey.ways[key] = Ways(legs, uses, journey.always.ledger.slack(uses.key))
    legs, uses = journey.ways[key].legs, journey.ways[key].uses
    slack = journey.always.slack_of(uses.key, journey.ways[key].slack)
    short = np.bincount(uses.leg[uses.take > slack], minlength=len(legs))
    fits = np.flatnonzero((short == 0) & (containers != here) & (containers != journey.target[obj]))
    if not len(fits):
        return legs.take(fits)
    tightest = np.zeros(len(legs))
    np.maximum.at(tightest, uses.leg, uses.take / np.maximum(slack, 1))
    order = np.lexsort((tightest[fits], journey.touched[containers[fits]]))
    return legs.take(fits[order[:4]])


def _leg(obj: int, source: int, destination: int) -> Legs:
    return Legs(np.array([obj], np.int64), np.array([source], np.int32), np.array([destination], np.int32))
