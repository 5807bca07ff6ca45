"""One tuple position, as CP-SAT is asked to minimise it: what is known of it, and what a solve found."""

from __future__ import annotations

from rebalancer.engines.base import EngineError
from rebalancer.engines.bounds import closed_as_reported
from rebalancer.engines.cpsat.encode import Encoding
from rebalancer.engines.cpsat.objective import ExactObjective, direct
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.run import Outcome
from rebalancer.engines.incumbent import Found, Incumbent
from rebalancer.model import CellValues

#: Up to the first number of candidate placements the whole is easy; above the second it has little hope.
_SMALL, _LARGE = 400, 40_000


class Position:
    """A tuple position of a search over all candidates.

    Parameters
    ----------
    search : Incumbent
    encoding : Encoding
    number : int

    Attributes
    ----------
    rows : Rows
        Its objective: one row, or none where that is a constant.
    objective : Objective
        What CP-SAT minimises of it, in numbers of its own.
    small, large : bool
        Whether searching the whole is easy, or has little hope, by the number of candidate placements.
    """

    def __init__(self, search: Incumbent, encoding: Encoding, number: int) -> None:
        self.search, self.encoding, self.number = search, encoding, number
        self.rows = encoding.objectives[number]
        count = encoding.literals.count
        self.small, self.large = count <= _SMALL, count > _LARGE
        self.objective = direct(search.model, number, self.rows)
        exact = encoding.exact[number]
        if exact is not None and not (self.small or self.large or encoding.squares):
            known, _ = encoding.solution(CellValues(search.model.problem, search.model.problem.initial))
            if known[exact.var].all():  # or nobody could tell an answer's number
                self.objective = exact
        self._standing = 0, 0

    @property
    def value(self) -> int:
        """What the best answer has."""
        return self.search.integers[self.number]

    @property
    def bound(self) -> int:
        """What is known without a search."""
        low = int(self.rows.low[0]) if len(self.rows.key) else self.objective.constant
        return max(low, self.search.bounds[self.number] or -INFINITE)

    @property
    def standing(self) -> int:
        """The best answer's number."""
        found = self.search.found
        assert found is not None
        return self.number_of(found)

    def number_of(self, found: Found) -> int:
        """Return the number of an answer."""
        if not isinstance(self.objective, ExactObjective):
            return found.integers[self.number]
        version, number = self._standing
        if version != found.version:
            _, values = self.encoding.solution(CellValues(self.search.model.problem, found.assignment))
            number = self.objective.number(values)
            self._standing = found.version, number
        return number

    def enough(self, bound: int | None) -> bool:
        """Whether the best answer is as good as was asked for, or as it can be."""
        return self.search.enough(self.number, bound)

    def closed(self, bound: int) -> bool:
        """Whether a bound proves the best answer as far as can be told from what is reported."""
        assert self.search.best is not None
        value = float(self.search.model.evaluate(self.search.best).objective[self.number])
        return closed_as_reported(self.search.model, self.number, value, bound)

    def aim(self, low: int | None = None, most: int | None = None) -> float:
        """Make it the one to minimise; return what CP-SAT's numbers have to be divided by.

        What is known of it goes along: presolve drops every placement with which it is above ``most``, which is what
        the best answer has where nothing else is said.
        """
        objective = self.objective
        if most is None:
            most = self.standing if self.search.found is not None else INFINITE
        least = -INFINITE if low is None else low - objective.constant
        within = (least, most - objective.constant) if most < INFINITE else None
        # Only where a gap ends the search must CP-SAT know what its numbers mean.
        target = self.search.model.tuple_positions[self.number].objective
        unit = float(target.unit) / objective.scale if self.search.request.gap > 0 else 1.0
        self.encoding.bulk.minimize(objective.var, objective.coef, objective.constant, unit, within)
        return unit

    def take(self, outcome: Outcome) -> None:
        """Offer what a solve found, after the evaluator has confirmed what CP-SAT says of it."""
        if outcome.values is None:
            return
        literals = self.encoding.literals
        assignment = literals.assignment(outcome.values[: literals.count] > 0)
        score = self.search.model.evaluate(assignment)
        if not score.feasible:
            raise EngineError(f"CP-SAT's answer breaks {', '.join(score.worsened)}")
        claimed = self.objective.at_most(outcome.objective + self.objective.constant)
        real = score.integers[self.number]
        if real > claimed and not self.encoding.squares:
            raise EngineError(f"CP-SAT claims {claimed} at position {self.number}, the evaluator says {real}")
        self.search.offer(assignment)

    def hold(self) -> None:
        """Have it stay at what it is, or better, from now on."""
        self.encoding.hold(self.number, self.value)


__all__ = ["Position"]
