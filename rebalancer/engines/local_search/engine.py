"""Local search as an engine of its own."""

from __future__ import annotations

import logging

from rebalancer.engines.base import Answer, Request
from rebalancer.engines.bounds import bounding
from rebalancer.engines.budget import Budget
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.flat.forms import TooLargeForMoves
from rebalancer.engines.local_search.kept import OFF_VARIABLE, is_off, is_warm, obstacle
from rebalancer.engines.local_search.search import improve
from rebalancer.engines.together import together
from rebalancer.model import Model
from rebalancer.problem.errors import Fault, InputError

_log = logging.getLogger(__name__)


class LocalSearchEngine:
    """Compiled moves, exchanges and walks; proves only what a cheap bound proves."""

    name = "local_search"

    def solve(self, model: Model, request: Request) -> Answer:
        """Return the best assignment found within the request's limits, by as many searchers as there are workers.

        Raises
        ------
        InputError
            Some cells would need a table over too many groups and items, or the compiler is switched off.
        """
        if is_off():
            message = f"local search cannot run with {OFF_VARIABLE} set, as it is compiled; unset it, or choose 'auto'"
            raise InputError([Fault("not-compiled", message, ("engine",), self.name, "auto")])
        incumbent = Incumbent.of(model, request)
        with bounding(incumbent):
            self._search(incumbent, request)
        return finish(incumbent, self.name)

    def _search(self, incumbent: Incumbent, request: Request) -> None:
        model = incumbent.model
        if incumbent.budget.over or incumbent.all_enough():
            return
        if len(model.problem.objects) and len(model.problem.containers):
            try:
                incumbent.once(Flattener)
            except TooLargeForMoves as error:
                message = f"local search would need a table of {error}, which is too large; choose 'neighbourhood'"
                raise InputError([Fault("too-large", message, ("engine",), self.name, "neighbourhood")]) from error
            team = (improve,) * (1 if request.deterministic else request.workers)
            together(team, incumbent, incumbent.budget, request)
            _tell_if_cold(incumbent.budget)


def _tell_if_cold(budget: Budget) -> None:
    """Say why so little was found where the time, or the patience, was over while kernels were being compiled."""
    if min(budget.remaining, budget.patience_left) <= 0 and not is_warm() and obstacle() is None:
        _log.warning(
            "the time was over before all of local search was compiled: `rebalance doctor --warm` does it once"
        )
