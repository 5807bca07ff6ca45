"""Moves that gain: descent and exchanges until they dry up, then recalls, chains and placing anew."""

from __future__ import annotations

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
#: Greedy search goes on while a round gains this share of what there is, for so many rounds at most.
_WORTHWHILE, _ROUNDS = 0.01, 1_000
#: The share of the time, and the most seconds, for chains and for placing anew when greedy search has dried up.
_POLISH, _LAP = 0.01, 0.3
#: What is recalled first: this share of what is away; then all of it.
_CHEAPEST = 0.3
#: Recalls take turns of these shares of the time that is left, or of so many seconds, and none shorter than so many
#: seconds for each object, as sorting them takes a tenth of that.
_FIRST, _TURN, _HORIZON, _BRIEFEST = 0.01, 0.05, 60.0, 2e-6
#: They go on while they would gain this share of what there is in all of the time: walks gain so much, if they make so
#: many steps for each object, and much less with fewer. Where a walk of as many steps as the third number follows, it
#: warms up again what they have settled, so that they have no more than this share of the time before the first one.
_PAYS, _STEPS, _MANY, _BEFORE = 1.0, 5_000, 2_000, 0.02


def greedy(searcher: Searcher, position: int, budget: Budget, walked: bool = False) -> None:
    """Descend from hot containers until that dries up, then exchange; again until neither gains much. Then recall."""
    for turn in range(_ROUNDS):
        before = searcher.merit
        _descend(searcher, position, budget)
        if turn % 3 == 0:
            searcher.together(budget)
            searcher.vacate(budget)
        between = searcher.merit
        searcher.sweep(swap_down, budget, _PARTNERS)
        searcher.home(budget)
        searcher.hand_over(patient=True)
        if budget.over or searcher.enough(position) or (_dry(searcher, between) and _dry(searcher, before)):
            break
    _recall(searcher, position, budget, walked)
    for kernel, width in SWEEPS[2:]:
        searcher.sweep(kernel, budget.part(min(_LAP, _POLISH * budget.remaining)), width)
    searcher.hand_over()


def _descend(searcher: Searcher, position: int, budget: Budget) -> None:
    """Descend until a round gains little."""
    for _ in range(_ROUNDS):
        before = searcher.merit
        searcher.sweep(descend, budget, WIDTH)
        if budget.over or searcher.enough(position) or _dry(searcher, before):
            break


def _recall(searcher: Searcher, position: int, budget: Budget, walked: bool) -> None:
    """Recall objects and even out, in turns, while that pays; where nothing is scarce all are where they gain most."""
    if budget.over or not searcher.flat.scarce.any():
        return
    whole, size = min(_HORIZON, budget.seconds + budget.remaining), _FIRST
    least = _PAYS / whole * min(1.0, searcher.speed * whole / _STEPS) ** 2
    if not walked and searcher.speed * budget.remaining > _MANY:
        budget = budget.part(_BEFORE * budget.remaining)
    briefest = _BRIEFEST * len(searcher.flat.place)
    ways = (partial(searcher.recall, share=_CHEAPEST), partial(searcher.recall, share=1.0), searcher.even_out)
    way = vain = 0
    while vain < len(ways):
        before, began = searcher.merit, budget.seconds
        ways[way](budget, max(briefest, size * min(whole, budget.remaining)))
        if budget.over or searcher.enough(position):
            return
        rate = (before - searcher.merit) / max(STEP, budget.seconds - began) / max(abs(before), searcher.least)
        if rate > least:
            vain, size = 0, _TURN
        elif size == _FIRST:  # not even the cheapest ones pay
            return
        else:
            way, vain = (way + 1) % len(ways), vain + 1


def _dry(searcher: Searcher, before: float) -> bool:
    """Whether little has been gained since."""
    return before - searcher.merit <= _WORTHWHILE * abs(before)


__all__ = ["SWEEPS", "WIDTH", "greedy"]
