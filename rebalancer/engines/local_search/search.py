"""What local search does when: repair, descent, exchanges, then walks that cool down, again and again."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import partial
from itertools import count

from rebalancer.engines.base import Request
from rebalancer.engines.budget import STEP, Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.classes import descend_in_classes
from rebalancer.engines.local_search.greedy import SWEEPS, WIDTH, greedy
from rebalancer.engines.local_search.kernels.descent import descend
from rebalancer.engines.local_search.kernels.layout import N_BROKEN
from rebalancer.engines.local_search.kernels.trail import M_BEST
from rebalancer.engines.local_search.repair import repair
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.engines.local_search.walking import levelled, relaxed, walk
from rebalancer.engines.local_search.walks import BETWEEN, MIXES, TRADED, Trades, Walks
from rebalancer.model import Model

_log = logging.getLogger(__name__)

#: What gains fastest is told by turns of so many seconds, or this share of the time where that is less, and by walks of
#: this heat.
_LAP, _LAP_SHARE, _LUKEWARM = 0.3, 0.03, 0.01
#: An answer is close to its bound where no more than this share of its value is open.
_NEAR = 0.05


def improve(model: Model, incumbent: Incumbent, budget: Budget, request: Request) -> None:
    """Improve a shared incumbent, position by position, until the budget is over.

    Raises
    ------
    TooLargeForMoves
        Some cells would need a table over too many groups and items.
    """
    if len(model.problem.containers) and len(model.problem.objects):
        searcher = Searcher(model, incumbent, request.seed)
        with searcher.sharing.at_work():
            _search(searcher, budget)


def is_crowded(model: Model, incumbent: Incumbent, request: Request) -> bool:
    """Whether limits on amounts forbid a large share of all moves, once objects have left where it hurts most.

    Raises
    ------
    TooLargeForMoves
        Some cells would need a table over too many groups and items.
    """
    if not len(model.problem.containers) or incumbent.found is None:
        return False
    searcher = Searcher(model, incumbent, request.seed)
    searcher.turn_to(0)
    if not searcher.flat.counts[N_BROKEN]:
        descend_in_classes(searcher, incumbent.budget, WIDTH)
        searcher.hand_over()
    return searcher.crowded()


def _search(searcher: Searcher, budget: Budget) -> None:
    """Search until the budget is over."""
    searcher.turn_to(0)
    if searcher.flat.counts[N_BROKEN] and not repair(searcher, budget):
        return
    positions = searcher.model.positions
    for position in range(positions):
        if budget.over:
            break
        left = positions - position
        share = budget.part(budget.remaining / (1 if left == 1 else 2))
        searcher.turn_to(position)
        _minimise(searcher, position, share)
    searcher.hand_over()


def _minimise(searcher: Searcher, position: int, budget: Budget) -> None:
    """Minimise a position until the budget is over."""
    if searcher.daring:
        descend_in_classes(searcher, budget, WIDTH)
    else:
        searcher.sweep(descend, budget, WIDTH)
    (_race if searcher.crowded() else greedy)(searcher, position, budget)
    if budget.stop.is_set():  # a million objects take most of a second to tell how fast walks are
        return
    whole = budget.remaining if math.isfinite(budget.remaining) else 60.0
    crowded = searcher.crowded()
    near = crowded and searcher.incumbent.within(position, _NEAR)
    walks = Walks(crowded, searcher.goals().differ, searcher.speed * whole, searcher.daring, near)
    trades = Trades(BETWEEN if near else 1.0)
    for turn in count():
        if budget.over or searcher.enough(position):
            break
        searcher.join()
        began = budget.seconds
        walks.notice(searcher.goals().differ)
        kind = walks.next(min(1.0, budget.remaining / whole), trades.ratio)
        part, mix = budget.part(kind.share * whole), MIXES[turn % len(MIXES)]
        afresh = kind.afresh and not position
        core = searcher.core(budget) if kind.levelled and walks.settles(kind) else None
        width = core.next() if core is not None else 0
        if core is not None:
            searcher.confine(core.most(width))
        if kind.levelled:
            levelled(searcher, position, budget, part, kind.multiple, mix, afresh)
        elif kind.relaxed:
            relaxed(searcher, budget, part, kind.multiple, mix, afresh)
        else:
            walk(searcher, part, kind.multiple, mix)
        walks.learn(kind, searcher.merit)
        _log.debug("%s: best %g, ended at %g", kind, searcher.trail.merits[M_BEST], searcher.merit)
        if walks.settles(kind):
            _trade(searcher, trades, budget, budget.seconds - began)
        if core is not None:
            _log.debug("width %d ended at %g", width, searcher.merit)
            core.learn(width, searcher.merit)
            searcher.confine()
        searcher.rest()
        if kind.relaxed:  # it ends too warm for exchanges and chains to be found by chance
            _race(searcher, position, budget)
        searcher.home(budget)
        searcher.together(budget)
        searcher.vacate(budget)
        searcher.hand_over()
        searcher.incumbent.walks += 1


def _trade(searcher: Searcher, trades: Trades, budget: Budget, walked: float) -> None:
    """Trade where another walk of so many seconds has ended, which need not be the best answer."""
    if budget.over or not math.isfinite(searcher.merit):
        return
    heat, seconds = trades.next(walked, budget.remaining)
    before, part = searcher.merit, budget.part(seconds)
    walk(searcher, part, heat, None, coldest=TRADED)
    after = min(before, searcher.merit)
    trades.learn((before - after) / max(abs(before), searcher.least))
    _log.debug("trades from %g for %g s: from %g to %g", heat, part.seconds, before, after)


def _race(searcher: Searcher, position: int, budget: Budget) -> None:
    """Descend, exchange, push in chains, place anew, empty, or walk, whatever gains fastest, until that is walking."""
    ways: list[Callable[[Budget], object]] = [
        *(partial(searcher.sweep, kernel, width=width) for kernel, width in SWEEPS),
        searcher.vacate,
        partial(walk, searcher, multiple=_LUKEWARM, mix=MIXES[0]),
    ]
    rates = [math.inf] * len(ways)
    while not (budget.over or searcher.enough(position)):
        way = rates.index(max(rates))
        if rates[way] <= 0 or (way == len(ways) - 1 and rates[way] < math.inf):
            break
        before, turn = searcher.merit, budget.part(min(_LAP, _LAP_SHARE * budget.remaining))
        ways[way](turn)
        rates[way] = (before - searcher.merit) / max(turn.seconds, STEP)
        searcher.hand_over(patient=True)
    searcher.rest()
    searcher.home(budget)
    searcher.hand_over()


__all__ = ["improve", "is_crowded"]
