"""Moves that gain: descent and exchanges until they dry up, then recalls, chains and placing anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rebalancer.engines.budget import Budget
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
#: Recalls take turns of these shares of the time that is left, or of so many seconds. They go on while they would gain
#: this share of what there is in all of that: walks gain so much, if they make so many steps for each object, and less
#: with fewer.
_FIRST, _TURN, _HORIZON, _PAYS, _STEPS = 0.01, 0.05, 60.0, 0.5, 1_000


def greedy(searcher: Searcher, position: int, budget: Budget) -> None:
    """Descend from hot containers until that dries up, then exchange; again until neither gains much."""
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
    _recall(searcher, position, budget)
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


def _recall(searcher: Searcher, position: int, budget: Budget) -> None:
    """Recall objects while that pays; where nothing is scarce all of them are where they gain most."""
    if budget.over or not searcher.flat.scarce.any():
        return
    whole, size = min(_HORIZON, budget.remaining), _FIRST
    least = _PAYS * min(1.0, searcher.speed * whole / _STEPS)
    for share in (_CHEAPEST, 1.0):
        for _ in range(_ROUNDS):
            before, turn = searcher.merit, budget.part(size * whole)
            searcher.recall(turn, share)
            if budget.over or searcher.enough(position):
                return
            if before - searcher.merit <= least * turn.seconds / whole * abs(before):
                break
            size = _TURN
        if size == _FIRST:  # not even the cheapest ones pay
            return


def _dry(searcher: Searcher, before: float) -> bool:
    """Whether little has been gained since."""
    return before - searcher.merit <= _WORTHWHILE * abs(before)


__all__ = ["SWEEPS", "WIDTH", "greedy"]
