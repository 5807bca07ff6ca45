"""Walks through where earlier tuple positions are worse, and back to what they were.

Where an earlier position is as low as it can be, most moves would raise it, and a search that never does is shut in. So
a walk takes earlier positions as goals: as steep as the one that is minimised at first, and far steeper in the end.
What is then still above what they were is mended, position by position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import Budget
from rebalancer.engines.local_search.greedy import SWEEPS, greedy
from rebalancer.engines.local_search.kernels.trail import M_BEST, T_LENGTH, T_POSITION, T_RELAXED, appraise
from rebalancer.engines.local_search.kernels.walk import effects
from rebalancer.engines.local_search.walking import apart, walk

if TYPE_CHECKING:
    from rebalancer.engines.local_search.searcher import Searcher

#: Random moves that tell how steep a position is, and the share of them that has to raise one for it to be in the way.
_MOVES, _IN_THE_WAY = 1_000, 0.05
#: Earlier positions are so many times as steep as the one that is minimised from this share of a walk on, and it ends
#: at this share of its heat.
_STEEPER, _STEEP, _CHILLY = 100.0, 0.8, 0.01
#: Mending takes at most as long as the walk: of each position so many rounds of moves that gain, with walks between
#: that take this share of what is left of that and are so warm.
_ROUNDS, _MENDING, _WARM = 4, 0.2, 0.1


def shut_in(searcher: Searcher, position: int) -> bool:
    """Return whether earlier positions are in the way of many moves."""
    return bool(position) and bool(((_effects(searcher, position) > 0).mean(axis=0) > _IN_THE_WAY).any())


def cross(
    searcher: Searcher, position: int, budget: Budget, part: Budget, multiple: float, mix: tuple[float, float, float]
) -> bool:
    """Walk across what is worse in earlier positions for a part of the budget, come back, and do what gains from there.

    If that ends above the best answer of this searcher, that stays the best.

    Returns
    -------
    bool
        Whether it ends below.
    """
    flat, trail = searcher.flat, searcher.trail
    *steep, typical = _steepness(searcher, position + 1)
    known = tuple(trail.best[:position].tolist())
    before = (*known, float(trail.merits[M_BEST]))
    worth = np.divide(typical, steep, out=np.zeros(position), where=np.asarray(steep) > 0)

    def steepen(done: float, _: float) -> None:
        trail.worth[:position] = worth * _STEEPER ** min(1.0, done / _STEEP)
        appraise(flat, trail)
        searcher.slopes()

    with apart(searcher, position):
        trail.numbers[T_RELAXED] = 1
        trail.numbers[T_POSITION] = 0  # so that none is held
        began = budget.seconds
        walk(searcher, part, multiple, mix, steepen, typical, _CHILLY)
        mending = budget.part(budget.seconds - began)
        back = all(_mended(searcher, earlier, known, mending, mix) for earlier in range(position))
        trail.numbers[T_RELAXED] = trail.numbers[T_LENGTH] = 0
        searcher.turn_to(position)
        if back:
            greedy(searcher, position, budget, walked=True)
    return (*trail.best[:position].tolist(), searcher.best_merit) < before


def _mended(
    searcher: Searcher, position: int, known: tuple[int, ...], budget: Budget, mix: tuple[float, float, float]
) -> bool:
    """Lower a position until it and those before it are at most what they were; return whether that was reached."""
    searcher.aim_at(position)
    for number in range(_ROUNDS):
        if _integers(searcher, position + 1) <= known[: position + 1]:
            return True
        if budget.over:
            return False
        if number:
            walk(searcher, budget.part(_MENDING * budget.remaining), _WARM, mix)
        for kernel, width in SWEEPS[:2]:
            searcher.sweep(kernel, budget, width)
        searcher.trail.numbers[T_LENGTH] = 0
    return _integers(searcher, position + 1) <= known[: position + 1]


def _integers(searcher: Searcher, positions: int) -> tuple[int, ...]:
    """Return the integers of the first positions where it stands."""
    appraise(searcher.flat, searcher.trail)
    return tuple(searcher.trail.marks[:positions].tolist())


def _steepness(searcher: Searcher, positions: int) -> NDArray[np.float64]:
    """Return by how much a random move changes each of the first positions, where it does."""
    changes = np.abs(_effects(searcher, positions))
    steepness: NDArray[np.float64] = changes.sum(axis=0) / np.maximum(1, np.count_nonzero(changes, axis=0))
    return steepness


def _effects(searcher: Searcher, positions: int) -> NDArray[np.float64]:
    """Return by how much each of some random moves changes each of the first positions: (moves, positions)."""
    changes = np.zeros((_MOVES, positions))
    found = int(effects(searcher.flat, searcher.trail, searcher.flat.objectives[:positions], changes))
    return np.asarray(changes[: max(1, found)])


__all__ = ["cross", "shut_in"]
