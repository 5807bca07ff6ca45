"""Walks that cool down: plain ones, ones with wider limits, ones with all goals equally steep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from rebalancer.engines.budget import STEP, Budget
from rebalancer.engines.local_search.greedy import WIDTH, greedy
from rebalancer.engines.local_search.kernels.chains import chase_down, oust
from rebalancer.engines.local_search.kernels.descent import descend
from rebalancer.engines.local_search.kernels.layout import N_BROKEN
from rebalancer.engines.local_search.kernels.trade import TRADE, trade
from rebalancer.engines.local_search.kernels.trail import (
    M_BEST,
    M_NOW,
    T_BEST,
    T_LENGTH,
    T_POSITION,
    T_RELAXED,
    appraise,
    follow,
)
from rebalancer.engines.local_search.kernels.walk import anneal
from rebalancer.engines.local_search.pace import Pace

if TYPE_CHECKING:
    from rebalancer.engines.local_search.searcher import Searcher

#: A walk starts at some multiple of the median cost of moves that are no gain, and ends at this share of that.
_COLD = 0.003
#: Limits on amounts are relaxed by this share at first, down to none at this share of a walk; what is beyond them costs
#: this multiple of a typical move per typical object, and up to so many times more at the end.
_WIDER, _NARROW, _PRICE, _URGENT = 0.1, 0.6, 20.0, 30.0
#: Goals that are levelled are as steep as they are from this share of a walk on, and it ends at this share of its heat.
_STEEP, _CHILLY = 0.95, 0.03
#: So many times limits or goals change during a walk.
_FIFTIETHS = 50
#: A relaxed walk takes at most this share of the time that is left. What it leaves beyond its limits is mended in so
#: many rounds, of so many steps, that are so warm.
_WALKING, _MENDING, _MENDING_STEPS, _WARM = 0.9, 20, 100_000, 0.02
#: So many steps tell how fast such walks are.
_SOUNDING = 50_000
#: Each round looks closely at the objects of so many containers for each cell that is beyond its limits.
_CLOSELY, _SPOTS = ((oust, 4_000), (chase_down, 64)), 2


def walk(
    searcher: Searcher,
    budget: Budget,
    multiple: float,
    mix: tuple[float, float, float] | None,
    between: Callable[[float, float], None] | None = None,
    typical: float = 0.0,
    coldest: float = _COLD,
) -> float:
    """Cool down over a budget; return the typical cost. By trades, where there is no mix of moves.

    ``between`` is told the share done and the typical cost at each fiftieth of the way; ``typical`` is what the
    temperature is measured by, where that is not what random moves cost.
    """
    searcher.slopes()
    if not typical:
        typical = searcher.typical()
        if not typical:
            budget.spend(STEP * 1_000)
            budget.tick(1_000)
            return 0.0
    hot, cold = typical * multiple, typical * multiple * coldest
    whole = budget.remaining
    pace = Pace(budget, 10_000)
    stale, step = 0, -1
    while not budget.over:
        if stale > searcher.fresh:
            searcher.slopes()
            stale = 0
        done = min(1.0, 1 - budget.remaining / whole) if math.isfinite(whole) else 0.5
        if between is not None and step != int(_FIFTIETHS * done):
            step = int(_FIFTIETHS * done)
            between(done, typical)
        now = hot * (cold / hot) ** done
        steps = pace.take()
        if mix is None:
            made = TRADE * max(1, trade(searcher.flat, searcher.trail, -(-steps // TRADE), now))
        else:
            made = max(1, anneal(searcher.flat, searcher.trail, steps, now, now, *mix))  # fewer where the log was full
        searcher.guess()
        pace.took(made, made)
        stale += made
        searcher.hand_over(patient=True)
        searcher.clear_log(half=True)
    return typical


def levelled(
    searcher: Searcher,
    position: int,
    budget: Budget,
    part: Budget,
    multiple: float,
    mix: tuple[float, float, float],
    afresh: bool = False,
) -> None:
    """Walk with all goals as steep as the mildest one at first, and as they are in the end; then descend.

    The walk takes a part of the budget. If it ends above the best answer of this searcher, that stays the best. Where
    it starts ``afresh`` it goes back to the initial assignment, and descends from there.
    """
    goals = searcher.goals()

    def steepen(done: float, typical: float) -> None:
        goals.level(searcher.flat, max(0.0, 1 - done / _STEEP))
        appraise(searcher.flat, searcher.trail)
        searcher.slopes()

    with apart(searcher, position):
        searcher.trail.numbers[T_RELAXED] = 1
        if afresh:
            _begin_afresh(searcher, part)
        walk(searcher, part, multiple, mix, steepen, goals.mildest, _CHILLY)
        goals.level(searcher.flat, 0.0)
        searcher.trail.numbers[T_RELAXED] = searcher.trail.numbers[T_LENGTH] = 0
        appraise(searcher.flat, searcher.trail)
        searcher.start_here()
        greedy(searcher, position, budget, walked=True)


@contextmanager
def apart(searcher: Searcher, position: int) -> Iterator[None]:
    """Search without regard to the best answer of a searcher, which stays that if what is found is no better."""
    searcher.harvest()
    best, merit, marks = searcher.best.copy(), searcher.best_merit, searcher.trail.best.copy()
    searcher.trail.numbers[T_LENGTH] = searcher.trail.numbers[T_BEST] = 0
    yield
    searcher.harvest()
    searcher.trail.numbers[T_LENGTH] = searcher.trail.numbers[T_BEST] = 0
    if (*searcher.trail.best[:position], searcher.best_merit) > (*marks[:position], merit):
        searcher.best[:], searcher.trail.best[:] = best, marks
        searcher.best_merit = searcher.trail.merits[M_BEST] = merit


def relaxed(
    searcher: Searcher,
    budget: Budget,
    part: Budget,
    multiple: float,
    mix: tuple[float, float, float],
    afresh: bool = False,
) -> None:
    """Walk with limits that are wider at first, and narrow down to what they are; mend what is then beyond them.

    The walk takes a part of the budget, and leaves some of it for mending. Where it starts ``afresh`` it goes back to
    the initial assignment, and descends from there.
    """
    searcher.harvest()
    searcher.trail.numbers[T_LENGTH] = searcher.trail.numbers[T_BEST] = 0
    searcher.trail.numbers[T_RELAXED] = 1
    if afresh:
        _begin_afresh(searcher, part)

    def narrow(done: float, typical: float) -> None:
        searcher.limits.widen(searcher.flat, _WIDER * max(0.0, 1 - done / _NARROW))
        urgency = 1 + _URGENT * max(0.0, done - _NARROW) / (1 - _NARROW)
        searcher.limits.price(searcher.flat, _PRICE * typical * urgency)
        appraise(searcher.flat, searcher.trail)

    typical = walk(searcher, part.part(_WALKING * budget.remaining), multiple, mix, narrow)
    searcher.limits.widen(searcher.flat, 0.0)
    _mend(searcher, budget, typical, mix)
    searcher.flat.penalty[:] = np.inf
    searcher.trail.numbers[T_RELAXED] = searcher.trail.numbers[T_LENGTH] = 0
    if searcher.flat.counts[N_BROKEN]:
        searcher.trail.merits[M_NOW] = math.inf  # nothing of this walk counts
        return
    appraise(searcher.flat, searcher.trail)
    position = int(searcher.trail.numbers[T_POSITION])
    known = (*searcher.trail.best[:position], searcher.best_merit)
    if (*searcher.trail.marks[:position], searcher.merit) < known:
        searcher.start_here()
        searcher.hand_over()


def speed_when_relaxed(searcher: Searcher, multiple: float) -> float:
    """Return how many steps a relaxed walk makes at first in a second for each object, where it is hot."""
    typical = searcher.typical()
    searcher.harvest()
    searcher.trail.numbers[T_LENGTH] = searcher.trail.numbers[T_BEST] = 0
    searcher.trail.numbers[T_RELAXED] = 1
    searcher.limits.widen(searcher.flat, _WIDER)
    searcher.limits.price(searcher.flat, _PRICE * typical)
    appraise(searcher.flat, searcher.trail)
    took = searcher.step(_SOUNDING, multiple * typical)
    searcher.limits.widen(searcher.flat, 0.0)
    searcher.flat.penalty[:] = np.inf
    searcher.trail.numbers[T_RELAXED] = searcher.trail.numbers[T_LENGTH] = 0
    searcher.rest()
    return _SOUNDING / took / len(searcher.flat.place)


def _begin_afresh(searcher: Searcher, budget: Budget) -> None:
    """Descend from the initial assignment, if that holds every bound.

    The better things fit where a walk starts, the less of what is large finds a place elsewhere while that is hot.
    """
    here = searcher.flat.place.copy()
    follow(searcher.flat, searcher.flat.home)
    if searcher.flat.counts[N_BROKEN]:
        follow(searcher.flat, here)
        return
    appraise(searcher.flat, searcher.trail)
    searcher.sweep(descend, budget, WIDTH)
    searcher.trail.numbers[T_LENGTH] = 0


def _mend(searcher: Searcher, budget: Budget, typical: float, mix: tuple[float, float, float]) -> None:
    """Move what is still beyond its limits: dearer and dearer, and in the end warmer as well."""
    finite = np.isfinite(searcher.flat.penalty)
    temperature = typical * _WARM
    for number in range(_MENDING):
        if not searcher.flat.counts[N_BROKEN] or budget.over:
            return
        searcher.flat.penalty[finite] *= 2.0
        temperature *= 1.0 if number < _MENDING // 2 else 1.5
        appraise(searcher.flat, searcher.trail)
        spots = searcher.overfull()[: _SPOTS * int(searcher.flat.counts[N_BROKEN])]
        searcher.slopes()
        for kernel, tries in _CLOSELY:
            searcher.work_on(spots, kernel, budget, tries, searcher.least)
        steps = anneal(searcher.flat, searcher.trail, _MENDING_STEPS, temperature, temperature / 4, *mix)
        budget.spend(steps * STEP)
        searcher.trail.numbers[T_LENGTH] = 0


__all__ = ["apart", "levelled", "relaxed", "speed_when_relaxed", "walk"]
