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

#: Destinations that an object looks at, partners for an exchange, and chains that begin with each object.
WIDTH, _PARTNERS, _CHAINS = 32, 24, 2
SWEEPS = ((descend, WIDTH), (swap_down, _PARTNERS), (chase_down, _CHAINS), (rebuild, WIDTH // 2))
#: The share of the time, and the most seconds, for chains and for placing anew when greedy search has dried up.
_POLISH, _LAP = 0.01, 0.3
#: What is recalled first: this share of what is away; then all of it.
_CHEAPEST = 0.3
#: Turns have these shares of the time that is left, or of so many seconds, and none is shorter than so many seconds for
#: each object, as sorting them takes a tenth of that.
_FIRST, _TURN, _HORIZON, _BRIEFEST = 0.01, 0.05, 60.0, 2e-6
#: Ways are taken while they would gain this share of what there is in all of the time: walks gain so much, if they make
#: so many steps for each object, and much less with fewer. A walk of as many steps as the third number warms up again
#: what they have settled, so that they have to gain so many times as fast before the first one.
_PAYS, _STEPS, _MANY, _BEFORE = 1.0, 5_000, 2_000, 10.0
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
    whole = min(_HORIZON, budget.seconds + budget.remaining)
    fast = _PAYS / whole
    _descend(searcher, position, budget, _DRY * fast)
    searcher.together(budget)
    searcher.vacate(budget)
    if budget.over or searcher.enough(position):
        searcher.hand_over()
        return
    if not walked and searcher.speed * budget.remaining > _MANY:
        least = fast * _BEFORE
    else:
        least = fast * min(1.0, searcher.speed * whole / _STEPS) ** 2
    with searcher.sharing.taking_over():
        _gain(searcher, position, budget, whole, least)
    for kernel, width in SWEEPS[2:]:
        searcher.sweep(kernel, budget.part(min(_LAP, _POLISH * budget.remaining)), width)
    searcher.hand_over()


def _descend(searcher: Searcher, position: int, budget: Budget, least: float) -> None:
    """Descend until a round gains less than a share of ``least`` of what there is in a second."""
    rate = math.inf
    while rate > least and not (budget.over or searcher.enough(position)):
        before, began = searcher.merit, budget.seconds
        searcher.sweep(descend, budget, WIDTH)
        rate = (before - searcher.merit) / max(STEP, budget.seconds - began) / max(abs(before), searcher.least)


def _gain(searcher: Searcher, position: int, budget: Budget, whole: float, least: float) -> None:
    """Descend, exchange, even out and recall in turns, whatever gained fastest when last tried, until nothing does.

    That is when nothing gains a share of ``least`` of what there is in a second. What others have found is taken over,
    but gained by nobody here.
    """
    sharing = searcher.sharing
    ways: list[Callable[[Budget], object]] = [
        partial(searcher.sweep, descend, width=WIDTH),
        partial(searcher.sweep, swap_down, width=_PARTNERS),
    ]
    rates = [math.inf, math.inf]
    if searcher.flat.scarce.any():  # elsewhere all are where they gain most
        ways += [searcher.even_out, *(partial(searcher.recall, share=share) for share in (_CHEAPEST, 1.0))]
        rates += [math.inf, math.inf, 0.0]
    briefest, tried, vain = _BRIEFEST * len(searcher.flat.place), set[int](), set[int]()
    while len(vain) < len(ways):
        way = max((way for way in range(len(ways)) if way not in vain), key=rates.__getitem__)
        size = (_TURN if way in tried else _FIRST) * min(whole, budget.remaining)
        tried.add(way)
        turn, before = budget.part(max(briefest, size)), searcher.merit + sharing.taken
        ways[way](turn)
        searcher.home(budget)
        searcher.hand_over(patient=True)
        if budget.over or searcher.enough(position):
            return
        rate = max(0.0, before - searcher.merit - sharing.taken) / max(STEP, turn.seconds)
        sharing.expect(rate * _TURN * whole)
        rates = [_STALE * rate for rate in rates]
        rates[way] = rate / max(abs(searcher.merit), searcher.least)
        if rates[way] > least:
            vain.clear()
        else:
            vain.add(way)


__all__ = ["SWEEPS", "WIDTH", "greedy"]
