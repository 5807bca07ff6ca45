"""Searchers that improve one incumbent: side by side, or in turns."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.left_behind import leave_behind
from rebalancer.engines.local_search.flat.forms import TooLargeForMoves
from rebalancer.engines.local_search.kept import is_warm
from rebalancer.model import Model

_log = logging.getLogger(__name__)

#: Improves a shared incumbent until a budget is over: ``searcher(model, incumbent, budget, request)``.
Searcher = Callable[[Model, Incumbent, Budget, Request], None]

#: Seconds of a searcher's first turn where searchers take turns, and how much longer each next round is.
_TURN, _LONGER = 2.0, 2.0
#: How often somebody who waits for searchers looks whether the search was stopped, in seconds.
_GLANCE = 0.05
#: Seconds that searchers have to come back after somebody has stopped the search, which building a large model may not
#: keep, and once their time is over, which compiling kernels may not.
_GRACE, _LATE = 0.2, 2.0


def together(team: tuple[Searcher, ...], incumbent: Incumbent, budget: Budget, request: Request) -> None:
    """Let searchers improve an incumbent until a budget is over or nothing is left to improve.

    Side by side where there are workers for it, or somebody may have to be compiled first, for which nobody waits; in
    turns otherwise, and where every run has to be the same.
    """
    if request.deterministic or (is_warm() and (request.workers < 2 or len(team) < 2)):
        team = (partial(_in_turns, team),)
    side_by_side(team, incumbent, budget, request)


def _search(searcher: Searcher, incumbent: Incumbent, budget: Budget, request: Request) -> bool:
    """Let a searcher search; return whether it can hold the model."""
    try:
        searcher(incumbent.model, incumbent, budget, request)
    except TooLargeForMoves as reason:
        _log.info("local search is left out: it would need a table of %s", reason)
        return False
    return True


def _in_turns(
    team: tuple[Searcher, ...], _model: Model, incumbent: Incumbent, budget: Budget, request: Request
) -> None:
    """Give one searcher after the other a turn, round after round, each longer than the last."""
    turn, able = _TURN, list(team)
    while able and not (budget.over or incumbent.all_enough()):
        for searcher in tuple(able):
            share = budget.part(turn if len(able) > 1 else budget.remaining)
            if not _search(searcher, incumbent, share, request):
                able.remove(searcher)
            if budget.over:
                return
        turn *= _LONGER


def side_by_side(team: tuple[Searcher, ...], incumbent: Incumbent, budget: Budget, request: Request) -> None:
    """Run every searcher in a thread of its own: the first with all workers that the others leave, these with one.

    Where somebody waits for the answer (``budget.stop``), searchers that are busy with something are left behind, and
    so are those that do not come back when the time is over. Rounds and counted work are no time: whoever has used them
    up is not left behind because a kernel has to be compiled first, or one and the same run would find less on a new
    machine.
    """
    whole = budget.part(budget.remaining)
    failures: list[BaseException] = []
    back = threading.Semaphore(0)

    def work(searcher: Searcher, workers: int, seed: int) -> None:
        try:
            _search(searcher, incumbent, whole, replace(request, workers=workers, seed=seed))
            if incumbent.all_enough():
                whole.reach()
        except BaseException as failure:
            failures.append(failure)
            whole.reach()
        finally:
            back.release()

    first = max(1, request.workers - len(team) + 1)
    threads = [
        threading.Thread(
            target=work,
            args=(searcher, first if number == 0 else 1, request.seed + number),
            name=f"rebalancer-searcher-{number}",
            daemon=True,
        )
        for number, searcher in enumerate(team)
    ]
    for thread in threads:
        thread.start()
    over, missing = None, len(threads)
    while missing:
        if back.acquire(timeout=_GLANCE):
            missing -= 1
        elif whole.over and not (missing == len(threads) and _counted_out(whole)):
            over = over or time.monotonic()
            # who is late has nothing to add: every answer is handed over
            if time.monotonic() - over > (_GRACE if budget.stop.is_set() or not is_warm() else _LATE):
                break
    for thread in threads:
        if thread.is_alive():
            leave_behind(thread)
    if failures:
        raise failures[0]


def _counted_out(budget: Budget) -> bool:
    """Whether a budget is over by its rounds, or counts nothing but work, and nobody is waiting."""
    return (budget.deterministic or (budget.ticks_left <= 0 < budget.remaining)) and not budget.stop.is_set()


__all__ = ["Searcher", "side_by_side", "together"]
