"""What local search does when: repair, descent, exchanges, then walks that cool down, again and again."""

from __future__ import annotations

import logging
import math
from functools import partial

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.classes import descend_in_classes
from rebalancer.engines.local_search.crossing import cross, shut_in
from rebalancer.engines.local_search.greedy import HORIZON, SWEEPS, WIDTH, Way, gain, greedy
from rebalancer.engines.local_search.kernels.descent import descend, swap_down
from rebalancer.engines.local_search.kernels.layout import N_BROKEN
from rebalancer.engines.local_search.kernels.trail import M_BEST
from rebalancer.engines.local_search.repair import repair
from rebalancer.engines.local_search.searcher import Searcher
from rebalancer.engines.local_search.walking import apart, levelled, relaxed, speed_when_relaxed, walk
from rebalancer.engines.local_search.walks import BETWEEN, HOT, MIXES, TRADED, Crossings, Trades, Walks, crosses
from rebalancer.model import Model

_log = logging.getLogger(__name__)

#: How warm walks are that take turns with descent and exchanges where containers are crowded, and how widely these look
#: where few moves are allowed.
_LUKEWARM, _WIDER = 0.01, ((descend, 128), (swap_down, 100))
#: They go on while they would gain so many times what there is in all of the time: before walks that find more, where
#: there is no time for such walks, and after one.
_BRIEF, _DRIED, _DRIED_AGAIN = 3.0, 0.05, 0.3
#: An answer is close to its bound where no more than this share of its value is open.
_NEAR = 0.05
#: Walks across earlier positions take at most this share of the time that is left.
_CROSSING = 0.5


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
    searcher.pull(budget)
    searcher.hand_over()
    if searcher.enough(position):
        return
    if searcher.crowded():
        _race(searcher, position, budget, _BRIEF)
    else:
        greedy(searcher, position, budget)
    # of a million objects it takes long to tell how fast walks are
    if budget.remaining <= 0 or budget.stop.is_set() or searcher.enough(position):
        return
    whole = budget.remaining if math.isfinite(budget.remaining) else 60.0
    steps, hot = searcher.speed * whole, 0.0
    shut = crosses(steps) and shut_in(searcher, position)
    crowded = searcher.crowded() and not shut  # wider limits are no way out where earlier positions still hold
    near = crowded and searcher.incumbent.within(position, _NEAR)
    if crowded and steps > searcher.containers:  # elsewhere there is no time for hot ones anyway
        hot = speed_when_relaxed(searcher, HOT) * whole
    walks = Walks(crowded, searcher.goals().differ, steps, searcher.daring, near, hot, searcher.containers)
    _log.debug("crowded %s, near %s, steps for each object: %g, hot ones %g", crowded, near, steps, hot)
    trades = Trades(BETWEEN if near else 1.0)
    if crowded and not walks.relaxing:
        _race(searcher, position, budget, _DRIED)
    crossings = Crossings() if shut else None
    while not (budget.over or searcher.enough(position)):
        searcher.join()
        if crossings is not None and crossings.due():
            _cross(searcher, position, crossings, budget, whole)
            continue
        began = budget.seconds
        walks.notice(searcher.goals().differ)
        kind = walks.next(min(1.0, budget.remaining / whole), trades.ratio)
        part = budget.part(kind.share * whole)
        mix = walks.mix(kind)
        afresh = kind.afresh and not position
        core = searcher.core(budget) if kind.levelled and walks.settles(kind) else None
        width = core.next() if core is not None else 0
        if core is not None:
            searcher.confine(core.most(width))
        if kind.levelled:
            levelled(searcher, position, budget, part, kind.multiple, mix, afresh)
        elif kind.relaxed:
            relaxed(searcher, budget, part, kind.multiple, mix, afresh)
        elif kind.raced:
            _stir(searcher, position, budget, part, kind.multiple, mix)
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
            _race(searcher, position, budget, _DRIED_AGAIN)
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


def _cross(searcher: Searcher, position: int, crossings: Crossings, budget: Budget, whole: float) -> None:
    """Walk across what is worse in earlier positions."""
    walk, before = crossings.next(), searcher.merit
    part = budget.part(min(walk.share * whole, _CROSSING * budget.remaining))
    gained = cross(searcher, position, budget, part, walk.multiple, crossings.mix())
    crossings.learn(gained)
    _log.debug("across, from %g: from %g to %g", walk.multiple, before, searcher.trail.merits[M_BEST])
    searcher.rest()
    searcher.hand_over()
    searcher.incumbent.walks += 1


def _race(searcher: Searcher, position: int, budget: Budget, dried: float) -> None:
    """Descend, exchange, push in chains, place anew, trade, empty, or walk: what gains fastest, until nothing does."""
    slow: list[Way] = [*(partial(searcher.sweep, kernel, width=width) for kernel, width in SWEEPS[2:]), searcher.vacate]
    with searcher.sharing.taking_over():
        _go_on(searcher, position, budget, [*_quick(searcher), *slow], dried)
    searcher.hand_over()


def _stir(
    searcher: Searcher,
    position: int,
    budget: Budget,
    part: Budget,
    multiple: float,
    mix: tuple[float, float, float],
) -> None:
    """Walk for a part of the budget, then do what gains from where that ends."""
    walk(searcher, part, multiple, mix)
    with apart(searcher, position):
        searcher.start_here()
        _go_on(searcher, position, budget, _quick(searcher), _DRIED_AGAIN)


def _quick(searcher: Searcher) -> list[Way]:
    """Return what gains fast where containers are crowded."""
    sweeps: list[Way] = [partial(searcher.sweep, kernel, width=width) for kernel, width in (*SWEEPS[:2], *_WIDER)]
    return [*sweeps, searcher.pull, searcher.even_out, partial(_stroll, searcher)]


def _go_on(searcher: Searcher, position: int, budget: Budget, ways: list[Way], dried: float) -> None:
    """Do what gains fastest while it would gain a share of what there is in all of the time."""
    whole = min(HORIZON, budget.seconds + budget.remaining)
    gain(searcher, position, budget, whole, dried / whole, ways, [math.inf] * len(ways))


def _stroll(searcher: Searcher, budget: Budget) -> None:
    """Walk a little, and return to the best answer if that has led nowhere."""
    walk(searcher, budget, _LUKEWARM, MIXES[0])
    if searcher.merit > searcher.trail.merits[M_BEST]:
        searcher.rest()


__all__ = ["improve", "is_crowded"]
