"""Local search as an engine of its own."""

from __future__ import annotations

from rebalancer.engines.base import Answer, Request
from rebalancer.engines.bounds import raise_bounds
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.local_search.forms import TooLargeForMoves
from rebalancer.engines.local_search.search import improve
from rebalancer.model import Model
from rebalancer.problem.errors import Fault, InputError


class LocalSearchEngine:
    """Compiled moves, exchanges and walks; proves only what a cheap bound proves."""

    name = "local_search"

    def solve(self, model: Model, request: Request) -> Answer:
        """Return the best assignment found within the request's limits.

        Raises
        ------
        InputError
            Some cells would need a table over too many groups and items.
        """
        incumbent = Incumbent.of(model, request)
        raise_bounds(incumbent)
        if len(model.problem.objects) and not incumbent.all_enough():
            try:
                improve(model, incumbent, incumbent.budget, request)
            except TooLargeForMoves as error:
                message = f"local search would need a table of {error}, which is too large; choose 'neighbourhood'"
                raise InputError([Fault("too-large", message, ("engine",), self.name, "neighbourhood")]) from error
        return finish(incumbent, self.name)
