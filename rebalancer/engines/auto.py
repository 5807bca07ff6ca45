"""The default: picks and combines engines by the size of the problem and what time there is.

Where CP-SAT can hold the whole problem it closes the gap. Where it cannot, all searchers improve one incumbent side by
side until the limit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module

from rebalancer.engines.base import Answer, EngineError, Request
from rebalancer.engines.bounds import bounding
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.engine import CpsatEngine, fits
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.kept import OFF_VARIABLE, is_off, is_warm
from rebalancer.engines.together import Searcher, side_by_side, together
from rebalancer.model import Model

_log = logging.getLogger(__name__)

#: Where the searchers are, best first; imported when they are needed.
LOCAL_SEARCH = "rebalancer.engines.local_search.search:improve"
SEARCHERS = (LOCAL_SEARCH, "rebalancer.engines.neighbourhood.engine:improve")
#: Up to this many pairs of object and container CP-SAT may close the gap of the whole problem …
_CLOSABLE = 100_000
#: … and from the first number on its hint is worth some seconds of the searchers; above the second it rarely closes the
#: gap. Up to so many pairs the searchers get so many seconds, and at most this share of the time: few, as local search
#: goes on beside CP-SAT. How many is measured (docs/design/cpsat.md).
_SEEDED, _HARD = 400, 20_000
_SEEDING = ((5_000, 3.0, 0.2), (_HARD, 2.0, 0.2), (float("inf"), 120.0, 0.7))
#: Many problems are closed from a hint of a moment: after the first share of those seconds CP-SAT has the second.
_MOMENT, _GLANCE = 0.12, 0.3
#: The searchers' seconds end where this share of them, and so many walks, have brought nothing: a walk brings something
#: at its end, if at all, and may take most of the time.
_IDLE, _WALKS = 0.35, 2
#: Above these pairs nobody closes the gap, nor where containers are crowded and more than this share of an objective is
#: open. Local searches side by side find more there than one beside another engine: that comes back for the end, or
#: where they have long found nothing. Up to so many pairs all of them search first, for this share of the time: what a
#: long walk starts from matters. And up to so many the end is this share: above it local search itself has far to go.
_SOUNDED, _SOUNDING, _OPEN = 5_000_000, 0.14, 0.05
_POLISHED, _POLISHING = 50_000_000, 0.08
#: CP-SAT's model is written for at most this share of the time: searchers find more meanwhile.
_WRITING = 0.125
#: Seconds that must be left for local search where its kernels have yet to be compiled. That takes longer, beside
#: others, who do not wait for it; what is compiled by the end is kept for later runs.
_COMPILING = 5.0


class AutoEngine:
    """Picks what suits the problem, under one budget."""

    name = "auto"

    def solve(self, model: Model, request: Request) -> Answer:
        """Return the best assignment found within the request's limits, with bounds where something is proven."""
        incumbent = Incumbent.of(model, request)
        if not len(model.problem.objects):
            return finish(incumbent, self.name)
        with bounding(incumbent):
            try:
                return self._search(incumbent, request)
            except EngineError:  # somebody's answer is not what it was said to be
                raise
            except Exception as failure:
                if incumbent.found is None:
                    raise
                return self._without(failure, incumbent, request)

    def _search(self, incumbent: Incumbent, request: Request) -> Answer:
        if incumbent.found is not None and incumbent.budget.over:  # searchers take a second to load, and more to begin
            return finish(incumbent, self.name)
        model, cpsat = incumbent.model, CpsatEngine()
        pairs = len(model.problem.objects) * (len(model.problem.containers) + 1)
        if pairs > _HARD and _for_local_search(incumbent, request, pairs):
            left = incumbent.budget.remaining
            seconds = left if pairs > _POLISHED else (1 - _POLISHING) * left
            most = incumbent.budget.part(seconds, _idle(incumbent, _IDLE * left, within=False))
            together(_alike(incumbent.budget, request), incumbent, most, request)
        elif fits(incumbent, _WRITING) and (pairs <= _CLOSABLE or incumbent.found is None):
            if pairs > _SEEDED and incumbent.found is not None and len(SEARCHERS) > 1:
                seconds, part = next((seconds, part) for limit, seconds, part in _SEEDING if pairs <= limit)

                # parts come later, beside CP-SAT
                def search(budget: Budget, workers: int = request.workers) -> None:
                    own = replace(request, workers=workers, seed=request.seed + incumbent.version)
                    together(_alike(budget, own), incumbent, budget, own)

                _load(incumbent.budget)
                seconds = min(seconds, part * incumbent.budget.remaining)
                search(incumbent.budget.part(_MOMENT * seconds))
                if cpsat.proves(incumbent, _GLANCE * seconds):
                    return finish(incumbent, cpsat.name)
                search(incumbent.budget.part((1 - _MOMENT) * seconds, _idle(incumbent, _IDLE * seconds)))
                return cpsat.conclude(incumbent, search)
            return cpsat.conclude(incumbent)
        if not incumbent.budget.stop.is_set():  # or whoever waits for the answer waits for searchers to begin
            together(searchers(incumbent.budget), incumbent, incumbent.budget, request)
        return finish(incumbent, self.name)

    def _without(self, failure: Exception, incumbent: Incumbent, request: Request) -> Answer:
        """Go on from the best answer where an engine failed, with the first searcher that does not fail as well."""
        for searcher in searchers(incumbent.budget):
            _log.error("an engine failed, another one goes on: %s: %s", type(failure).__name__, failure)
            _log.debug("where it failed", exc_info=failure)
            try:
                together((searcher,), incumbent, incumbent.budget, request)
                break
            except EngineError:
                raise
            except Exception as another:
                failure = another
        else:
            _log.error("all engines failed, the answer is the best so far: %s: %s", type(failure).__name__, failure)
        return finish(incumbent, self.name)


def _for_local_search(incumbent: Incumbent, request: Request, pairs: int) -> bool:
    """Search for a while, and return whether there are many pairs, or much is open then and limits forbid most moves.

    While local search is being compiled nobody knows.
    """
    team, budget = searchers(incumbent.budget), incumbent.budget
    several = request.workers > 1 and not request.deterministic and len(team) > 1
    if not several or incumbent.found is None or budget.remaining == float("inf"):
        return False
    if pairs <= _SOUNDED:
        together(team, incumbent, budget.part(_SOUNDING * budget.remaining), request)
    if budget.over or not is_warm():
        return False
    if pairs > _CLOSABLE:
        return True
    if incumbent.first_within(_OPEN):
        return False
    found: list[bool] = []

    def sound(model: Model, incumbent: Incumbent, _budget: Budget, request: Request) -> None:
        from rebalancer.engines.local_search.search import is_crowded

        found.append(is_crowded(model, incumbent, request))

    side_by_side((sound,), incumbent, budget, request)
    return any(found)


def _load(budget: Budget) -> None:
    """Load what is compiled, in a process that has not: it takes longer than the searchers' first moment."""
    if budget.remaining >= _COMPILING and is_warm():
        import_module("rebalancer.engines.local_search.warm").load()


def _idle(incumbent: Incumbent, seconds: float, *, within: bool = True) -> Callable[[], bool] | None:
    """Return what tells whether the answer has long been the same; None where no clock may decide.

    Before CP-SAT the clock tells ``within`` a walk too: a hint needs no walk that takes the time in which CP-SAT may
    close the gap. Where local search is all that there is, only ends of walks tell: a long one, ended for what those
    before it have not brought, is lost with what it would bring at its end.
    """
    if incumbent.budget.deterministic:
        return None
    version, since, walks = incumbent.version, incumbent.budget.seconds, incumbent.walks
    seen, ended = walks, since

    def idle() -> bool:
        nonlocal version, since, walks, seen, ended
        now = incumbent.budget.seconds
        if version != incumbent.version:
            version, since, walks = incumbent.version, now, incumbent.walks
        if seen != incumbent.walks:
            seen, ended = incumbent.walks, now
        return incumbent.walks - walks >= _WALKS and (now if within else ended) - since > seconds

    return idle


def _alike(budget: Budget, request: Request) -> tuple[Searcher, ...]:
    """Return the best searcher for each worker; all of them where that is not compiled, or runs have to be the same."""
    team = searchers(budget)
    return team if len(team) < 2 or request.deterministic else team[:1] * request.workers


def searchers(budget: Budget) -> tuple[Searcher, ...]:
    """Return what improves an incumbent, best first: without local search where there is no time to compile it.

    Where runs have to be the same, what an earlier one left on disk must not matter, nor does the clock: then it waits.
    """
    ready = not is_off() and (budget.deterministic or budget.remaining >= _COMPILING or is_warm())
    if is_off():
        _say_off()
    elif not ready:
        _log.info("local search is left out, as it is not compiled yet; `rebalance doctor --warm` does that once")
    found = []
    for where in SEARCHERS:
        if ready or where != LOCAL_SEARCH:
            module, _, name = where.partition(":")
            found.append(getattr(import_module(module), name))
    return tuple(found)


@cache
def _say_off() -> None:
    """Say once why there is no local search: searchers are chosen several times in a search."""
    _log.info("local search is left out: %s is set", OFF_VARIABLE)


__all__ = ["SEARCHERS", "AutoEngine", "searchers"]
