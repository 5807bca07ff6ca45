"""Who improves the answer while CP-SAT looks at the whole problem, and when each has its turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.neighbourhood.fixed import Fixed
from rebalancer.engines.neighbourhood.search import Neighbourhoods

#: Improves a search's answer until a budget is over.
Improver = Callable[[Budget], object]
#: Improve it with so many workers.
Others = Callable[[Budget, int], object]

#: Share of the time in which the answer is improved part by part before the whole is tried, and where that has little
#: hope.
_SHARE, _LARGE_SHARE = 0.5, 0.8
#: Parts without gain after which improving gives up, and the whole is tried.
_PATIENCE = 40
#: One worker alone takes turns of this share of the time left, of so many seconds at least and at most: as the others
#: do, which gets farther the longer it takes, then part by part, until so many parts in a row have brought nothing.
_TURN_SHARE, _TURN, _LONGEST, _BORED = 1 / 3, 2.0, 60.0, 16


class Improving:
    """Improves a position's answer, by parts or by whoever has found it: before the whole, beside it, where it stalls.

    Parameters
    ----------
    position : Position
    others : callable or None
        Who has found the answer. What they have seeded goes to the whole at once, which needs its time for cuts; where
        it stalls, it is their turn.
    parts : bool
        Whether to improve part by part.

    Attributes
    ----------
    beside : callable or None
        Who improves the answer with one of the workers while CP-SAT proves with the rest.
    """

    def __init__(self, position: Position, others: Others | None = None, parts: bool = True) -> None:
        search = position.search
        parts = parts and not position.small and bool(len(position.rows.key))
        seeded = others is not None and not (position.large or position.encoding.squares)
        several = search.request.workers > 1 and not search.budget.deterministic
        self._position, self._others = position, others
        self._share = _LARGE_SHARE if position.large else _SHARE
        self._parts = self._another(search.request.workers) if parts and not seeded else None
        self._second: Improver | None = None
        self.beside: Improver | None = None
        if parts and several:
            self.beside = self._alone(0)

    @property
    def at_once(self) -> bool:
        """Whether the whole is tried at once, as the answer has been improved already."""
        return self._parts is None

    def before(self, budget: Budget, bound: int | None) -> None:
        """Improve the answer before the whole is tried, unless it has the bound."""
        if self._parts is not None and bound is not None:
            self._by_parts(self._parts, budget.part(budget.remaining * self._share), bound)

    def with_prover(self, budget: Budget) -> None:
        """Improve it with the worker that has proven what it can, too."""
        if self._second is None:
            self._second = self._alone(1)
        self._second(budget)

    def where_stalled(self, budget: Budget, bound: int) -> None:
        """Improve it where CP-SAT finds nothing."""
        if self._others is not None:
            self._others(budget, self._position.search.request.workers)
        elif self._parts is not None:
            self._by_parts(self._parts, budget, bound)

    def _alone(self, number: int) -> Improver:
        """Return one worker: as others do and part by part, in turns."""
        parts, position, others = self._another(1, number), self._position.number, self._others
        if others is None:
            return partial(parts.improve, position)

        def improve(budget: Budget) -> None:
            while not budget.over:
                seconds = max(_TURN, min(_LONGEST, _TURN_SHARE * budget.remaining))
                others(budget.part(seconds), 1)
                parts.improve(position, budget.part(seconds), None, _BORED)

        return improve

    def _another(self, workers: int, number: int = 0) -> Neighbourhoods:
        """Return who improves the answer part by part; by fixing the rest where the whole is not too large."""
        search, position = self._position.search, self._position
        request = replace(search.request, seed=search.request.seed + number)
        fixes = not (position.large or position.encoding.squares)
        return Neighbourhoods(search, request, workers, Fixed(position) if fixes else None)

    def _by_parts(self, parts: Neighbourhoods, budget: Budget, bound: int) -> None:
        parts.improve(self._position.number, budget, bound, _PATIENCE)


__all__ = ["Improver", "Improving", "Others"]
