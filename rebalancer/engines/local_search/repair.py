"""From an assignment that breaks what must hold to one that does not: bounds get a price, which alone is minimised."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import STEP, Budget
from rebalancer.engines.local_search.greedy import Way
from rebalancer.engines.local_search.kernels.descent import descend, swap_down
from rebalancer.engines.local_search.kernels.layout import C_HIGH, C_LOW, C_WIDTH, N_BROKEN
from rebalancer.engines.local_search.kernels.trail import M_BEST, M_NOW, NEVER, T_LENGTH, T_POSITION, appraise
from rebalancer.engines.local_search.kernels.walk import anneal

if TYPE_CHECKING:
    from rebalancer.engines.local_search.searcher import Searcher

#: What greedy repair sweeps with beside pulls, and how widely that looks.
_SWEEPS = (descend, 32), (swap_down, 24)
#: Rounds of greedy repair before walks begin; steps of a walk, and how much longer each next one is.
_ROUNDS, _STEPS, _LONGER = 6, 50_000, 1.5
#: Temperature of walks, in prices of a typical object.
_HOT, _COLD = 1.0, 0.02


def repair(searcher: Searcher, budget: Budget) -> bool:
    """Walk to where everything holds; return whether it was reached within the budget."""
    flat, trail = searcher.flat, searcher.trail
    prices = unit_prices(searcher)
    flat.penalty[:] = prices
    trail.worth[:] = 0.0
    appraise(flat, trail)
    searcher.slopes()
    steps, rounds = float(_STEPS), 0
    while flat.counts[N_BROKEN] and not budget.over:
        if rounds < _ROUNDS:
            before = trail.merits[M_NOW]
            sweeps = (partial(searcher.sweep, kernel, width=width) for kernel, width in _SWEEPS)
            ways: tuple[Way, ...] = (searcher.pull, *sweeps, partial(searcher.together, most=math.inf))
            for way in ways:
                way(budget)
                if not flat.counts[N_BROKEN]:
                    break
            rounds = rounds + 1 if trail.merits[M_NOW] < 0.9 * before else _ROUNDS
        else:
            for hot in np.geomspace(_HOT, _COLD, 20):
                anneal(flat, trail, int(steps / 20), hot, hot, 0.4, 0.1, 0.3)
                budget.spend(steps / 20 * STEP)
                budget.tick(int(steps / 20))
                if trail.merits[M_BEST] < NEVER:  # it was where everything holds, and may have walked on
                    searcher.rest()
                trail.numbers[T_LENGTH] = 0
                if not flat.counts[N_BROKEN] or budget.over:
                    break
            steps *= _LONGER
            rounds = _ROUNDS - 1
            # what stays broken becomes dearer
            broken = flat.broken > 0
            flat.penalty[broken] *= 1.5
            appraise(flat, trail)
        trail.numbers[T_LENGTH] = 0
    flat.penalty[:] = np.inf
    if flat.counts[N_BROKEN]:
        return False
    searcher.turn_to(int(trail.numbers[T_POSITION]))
    return True


def unit_prices(searcher: Searcher) -> NDArray[np.float64]:
    """Return a price for one unit beyond each bound, so that a typical object beyond it costs 1."""
    prices = np.full(len(searcher.flat.penalty), np.inf)
    for index, column in enumerate(searcher.flattener.forms.columns):
        row = index * C_WIDTH
        if searcher.flat.columns[row + C_HIGH] < 0 and searcher.flat.columns[row + C_LOW] < 0:
            continue
        weight = 1.0
        if column.members is not None and len(column.members.default):
            sizes = np.abs(column.members.default)
            if len(column.members.weight):
                sizes = np.concatenate([sizes, np.abs(column.members.weight)])
            weight = float(sizes[sizes > 0].mean()) if (sizes > 0).any() else 1.0
        prices[row] = 1.0 / weight
    return prices
