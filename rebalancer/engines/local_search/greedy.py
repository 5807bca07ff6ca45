"""Moves that gain: descent, then exchanges, evening out and recalls by what they gain, chains and placing anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rebalancer.engines.budget import STEP, Budget
from rebalancer.engines.local_search.kernels.chains import chase_down, rebuild
from rebalancer.engines.local_search.kernels.descent import descend, swap_down

if TYPE_CHECKING:
    from rebalancer.engines.local_search.searcher import Searcher

#: Something that may gain, within a budget.
Way = Callable[[Budget], object]
#: Destinations that an object looks at, partners for an exchange, and chains that begin with each object.
WIDTH, _PARTNERS, _CHAINS = 32, 24, 2
SWEEPS = ((descend, WIDTH), (swap_down, _PARTNERS), (chase_down, _CHAINS), (rebuild, WIDTH // 2))
#: The share of the time, and the most seconds, for chains and for placing anew when greedy search has dried up.
_POLISH, _LAP = 0.01, 0.3
#: What is recalled first: this share of what is away; then all of it.
_CHEAPEST = 0.3
#: Turns have these shares of the time that is left, or of so many seconds, and none is shorter than so many seconds for
#: each object, as sorting them takes a tenth of that.
_FIRST, _TURN, HORIZON, _BRIEFEST = 0.01, 0.05, 60.0, 2e-6
#: Ways are taken while they would gain this share of what there is in all of the time: walks gain so much, if they make
#: so many steps for each object, and much less with fewer. A walk of as many steps as the third number warms up again
#: what they have settled, so that they have to gain so many times as fast before the first one.
_PAYS, _STEPS, _MANY, _BEFORE = 1.0, 5_000, 2_000, 10.0
#: Of searchers side by side every other one turns to walks while the others still gain so many times as fast.
_EARLIER = 4.0
#: Descent goes on by itself while it gains so many times as fast.
_DRY = 2.0
#: What a way gained counts for more with each turn of another one, which may have made it pay again.
_STALE = 1.1


def greedy(searcher: Searcher, position: int, budget: Budget, walked: bool = False) -> None:
    """Descend from hot containers until that dries up, then whatever gains fastest; in the end chains and placing anew.

    Parameters
    ----------
    walked : bool
        Whether a walk has ended here.
    """
    whole = min(HORIZON, budget.seconds + budget.remaining)
    fast = _PAYS / whole
    _descend(searcher, position, budget, _DRY * fast)
    if not searcher.enough(position):
        searcher.together(budget)
        searcher.vacate(budget)
    if budget.over or searcher.enough(position):
        searcher.hand_over()
        return
    with searcher.sharing.taking_over():
        ways, rates = _ways(searcher)
        gain(searcher, position, budget, whole, _BEFORE * fast, ways, rates)
        # how fast walks are is told by where they would begin: in a descent that goes on most moves are kept, and slow
        if not budget.over and (walked or searcher.speed * budget.remaining <= _MANY):
            share = min(1.0, searcher.speed * whole / _STEPS) ** 2
            earlier = _EARLIER if searcher.daring and searcher.sharing.accompanied else 1.0
            slow = fast * min(1.0, share * earlier)
            gain(searcher, position, budget, whole, slow if searcher.flat.scarce.any() else fast, ways, rates)
    for kernel, width in SWEEPS[2:]:
        searcher.sweep(kernel, budget.part(min(_LAP, _POLISH * budget.remaining)), width)
    searcher.hand_over()


def _descend(searcher: Searcher, position: int, budget: Budget, least: float) -> None:
    """Descend until a round gains less than a share of ``least`` of what there is in a second."""
    rate = math.inf
    while rate > least and not (budget.over or searcher.enough(position)):
        before, began = searcher.merit, budget.seconds
        searcher.sweep(descend, budget, WIDTH)
        rate = _rate(searcher, before - searcher.merit, budget.seconds - began)


def _ways(searcher: Searcher) -> tuple[list[Way], list[float]]:
    """Return what may gain, and how fast each is thought to be before it is tried: very, or not at all."""
    ways: list[Way] = [
        partial(searcher.sweep, descend, width=WIDTH),
        partial(searcher.sweep, swap_down, width=_PARTNERS),
    ]
    if searcher.flattener.pulls:
        ways.append(searcher.pull)
    if searcher.flattener.meets:
        ways.append(partial(searcher.together, most=math.inf))
    if not searcher.flat.scarce.any():  # all are where they gain most
        return ways, [math.inf] * len(ways)
    rates = [math.inf] * (len(ways) + 2)
    ways += [searcher.even_out, *(partial(searcher.recall, share=share) for share in (_CHEAPEST, 1.0))]
    return ways, [*rates, 0.0]


def gain(
    searcher: Searcher, position: int, budget: Budget, whole: float, least: float, ways: list[Way], rates: list[float]
) -> None:
    """Take turns of whatever gained fastest when last tried; ``rates`` are shares of what there is in a second.

    Until a round in which each was tried gains no more than ``least``. What others have found is taken over, but gained
    by nobody here.
    """
    sharing = searcher.sharing
    briefest, tried = _BRIEFEST * len(searcher.flat.place), set[int]()
    gained = math.inf
    while gained > least:
        began, total, left = budget.seconds, 0.0, set(range(len(ways)))
        while left:
            paying = [way for way in range(len(ways)) if rates[way] > least]
            way = max(paying or left, key=rates.__getitem__)
            size = (_TURN if way in tried else _FIRST) * min(whole, budget.remaining)
            turn, before = budget.part(max(briefest, size)), searcher.merit + sharing.taken
            ways[way](turn)
            searcher.home(budget)
            searcher.hand_over(patient=True)
            if budget.over or searcher.enough(position):
                return
            own = max(0.0, before - searcher.merit - sharing.taken)
            rates[:] = [_STALE * rate for rate in rates]
            rates[way] = _rate(searcher, own, turn.seconds)
            sharing.expect(max(rates) * abs(searcher.merit) * _TURN * whole)
            total += own
            tried.add(way)
            left.discard(way)
        gained = _rate(searcher, total, budget.seconds - began)


def _rate(searcher: Searcher, gained: float, seconds: float) -> float:
    """Return what share of what there is a gain comes to in a second."""
    return gained / max(STEP, seconds) / max(abs(searcher.merit), searcher.least)


__all__ = ["HORIZON", "SWEEPS", "WIDTH", "Way", "gain", "greedy"]
