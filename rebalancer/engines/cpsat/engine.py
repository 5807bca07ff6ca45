"""The exact engine: tuple position after tuple position, each to its proof or its share of the time."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Answer, Request, Status
from rebalancer.engines.bounds import bounding
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import infeasibility
from rebalancer.engines.cpsat.candidates import ALL_PAIRS, all_candidates
from rebalancer.engines.cpsat.encode import Encoding, Late, encode
from rebalancer.engines.cpsat.improving import Improving, Others
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.cpsat.run import solve
from rebalancer.engines.cpsat.whole import Whole
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood import engine as neighbourhood
from rebalancer.model import CellValues, Model

_log = logging.getLogger(__name__)

#: The tie-break (fewest moves) may take this share of the time that the proofs took, and at least so many seconds. It
#: ends where as many, and half of its time, have brought nothing.
_TIE_BREAK_SHARE, _TIE_BREAK = 0.2, 1.0
#: What presolving takes longest with, and most often in vain, is left out of it: the answer is known.
_TIE_BREAKING: dict[str, Any] = {"cp_model_probing_level": 0, "symmetry_level": 0, "find_big_linear_overlap": False}
#: Seconds that compiling takes per pair of object and container (half to three times that), and per cells of any size:
#: where that is more than a share of the time, and than a moment, there are only parts.
_SECONDS_PER_PAIR, _SECONDS_PER_CELLS, _SHARE, _MOMENT = 1e-5, 3e-4, 0.5, 0.02
#: Cells of one kind, of which CP-SAT would get each in writing: pairs of objects by where they start and end are more.
_CELLS = 32_000_000


class CpsatEngine:
    """Exact search with CP-SAT; proves what it can."""

    name = "cpsat"

    def __init__(self) -> None:
        self._kept: Encoding | None = None  # as it was compiled, for a second search of the same model

    def solve(self, model: Model, request: Request) -> Answer:
        """Return the best assignment found within the request's limits, with proven bounds."""
        search = Incumbent.of(model, request)
        if not len(model.problem.objects):
            return finish(search, self.name)
        with bounding(search):
            if fits(search):
                return self.conclude(search)
            neighbourhood.improve(model, search, search.budget, request)
        return finish(search, self.name)

    def conclude(self, search: Incumbent, others: Others | None = None) -> Answer:
        """Return the answer of searching the whole problem, from the best that is known.

        ``others`` are who has found that; where the whole stalls, they have another turn.
        """
        reason = self._reason(search, others)
        if reason is not None:
            return Answer(Status.INFEASIBLE, None, tuple(search.bounds), reason, self.name)
        return finish(search, self.name)

    def proves(self, search: Incumbent, seconds: float) -> bool:
        """Whether the best answer, or a better one, is proven or good enough after so short a search.

        What is compiled for it is kept for `conclude`.
        """
        self._kept = self._compiled(search)
        if self._kept is None:
            return False
        brief = replace(self._kept, bulk=self._kept.bulk.copy())
        return self.search(search, brief, search.budget.part(seconds), parts=False)[1] or search.all_enough()

    def _reason(self, search: Incumbent, others: Others | None) -> str | None:
        """Search the whole problem; return why there is no answer, if that is proven."""
        if search.found is None:
            literals = search.once(all_candidates)
            if (literals.per_object == 0).any():
                return infeasibility.without_candidates(search.model, search.request, search.budget, literals)
        encoding = self._kept or self._compiled(search)
        return None if encoding is None else self.search(search, encoding, search.budget, others)[0]

    @staticmethod
    def _compiled(search: Incumbent) -> Encoding | None:
        """Return the model of all candidates; None where there is no time for it."""
        if search.budget.over and search.found is not None:
            return None
        model, literals = search.model, search.once(all_candidates)
        try:
            encoding = encode(model, literals, CellValues(model.problem, _known(search)), search.budget)
        except Late:
            _log.info("not compiled: the time was over before")
            return None
        _log.info(
            "%d candidate placements, %d variables, compiled after %.1f s",
            literals.count,
            encoding.algebra.variables,
            search.request.seconds,
        )
        return encoding

    def search(
        self, search: Incumbent, encoding: Encoding, budget: Budget, others: Others | None = None, parts: bool = True
    ) -> tuple[str | None, bool]:
        """Search all candidates; return why there is no answer, if that is proven, and whether the answer is.

        ``parts`` says whether to improve it part by part as well.
        """
        model = search.model
        if search.best is None:
            reason = self._first_answer(search, budget, encoding)
            if search.best is None:
                return reason, False
        proven = True
        for position in range(model.positions):
            share = budget.remaining if position == model.positions - 1 else budget.remaining / 2
            part = budget.part(share)
            proven = self._minimise(Position(search, encoding, position), part, proven, others, parts) and proven
            if budget.over:
                proven = proven and position == model.positions - 1
                break
        if proven and not budget.stop.is_set():
            self._fewest_moves(search, encoding)
        return None, proven

    def _first_answer(self, search: Incumbent, budget: Budget, encoding: Encoding) -> str | None:
        """Find any assignment that holds all hard cells; return why there is none, if that is proven."""
        request, problem, known = search.request, search.model.problem, _known(search)
        first = Position(search, encoding, 0)
        first.aim()
        encoding.hint_from(CellValues(problem, known))
        outcome = solve(encoding.bulk, request, budget, stop_after_first_solution=True)
        if outcome.status == "INFEASIBLE":
            # asked again of the hard cells alone: an objective's large coefficients have been seen to mislead CP-SAT
            bare = encode(replace(search.model, tuple_positions=()), encoding.literals, CellValues(problem, known))
            again = infeasibility.second_opinion(bare, request, budget)
            if again.status == "INFEASIBLE":
                return infeasibility.reason(search.model, request, budget) or infeasibility.NO_REASON
            if again.values is not None:
                _log.warning("CP-SAT called a problem infeasible that is not: it did not say so a second time")
                search.offer(bare.literals.assignment(again.values[: bare.literals.count] > 0))
            return None
        first.take(outcome)
        return None

    def _minimise(
        self, position: Position, budget: Budget, earlier_proven: bool, others: Others | None, parts: bool
    ) -> bool:
        """Minimise one position, the earlier ones held at their values; return whether the result is proven."""
        search, number = position.search, position.number
        search.turn_to(number)
        low = position.bound
        if earlier_proven:
            search.raise_bound(number, low)
        improving = Improving(position, others, parts)
        search.news.tell(number, None, low if earlier_proven else None)
        bound: int | None = low
        if len(position.rows.key):
            turns = Whole(position, budget, low, earlier_proven, improving)
            if parts:
                turns.look_at_leavers()
            improving.before(budget, turns.bound)
            turns.minimise()
            bound = turns.bound
        if earlier_proven:
            search.raise_bound(number, bound)
        search.news.tell(number, position.value)
        if number < search.model.positions - 1:
            position.hold()
        return bound is not None and (position.value <= bound or position.closed(bound))

    def _fewest_moves(self, search: Incumbent, encoding: Encoding) -> None:
        """Among answers of the proven value, take one that moves the fewest objects."""
        model, budget = search.model, search.budget
        initial = model.problem.initial
        assert search.best is not None
        home = np.flatnonzero(encoding.literals.container == initial[encoding.literals.object])
        moved = int((search.best != initial).sum())
        if moved == 0:
            return
        Position(search, encoding, model.positions - 1).hold()
        encoding.bulk.minimize(home, np.full(len(home), -1))
        encoding.hint_from(CellValues(model.problem, search.best))
        part = budget.part(max(_TIE_BREAK, budget.seconds * _TIE_BREAK_SHARE))
        gained = np.inf  # when there was something fewer, the first answer being what is known

        def note(_objective: float) -> None:
            nonlocal gained
            gained = part.seconds

        def in_vain() -> bool:
            return not part.deterministic and part.seconds - gained > max(_TIE_BREAK, part.seconds / 2)

        request = replace(search.request, gap=0.0)
        outcome = solve(encoding.bulk, request, part, note, None, in_vain, **_TIE_BREAKING)
        if outcome.values is not None:
            assignment = encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
            score = model.evaluate(assignment)
            fewer = int((assignment != initial).sum()) < moved
            if fewer and score.integers <= search.integers:
                search.replace(assignment)


def _known(search: Incumbent) -> NDArray[np.int32]:
    """Return the best answer, or where to start from if there is none."""
    if search.best is not None:
        return search.best
    return search.request.start if search.request.start is not None else search.model.problem.initial


def fits(search: Incumbent, share: float = _SHARE) -> bool:
    """Whether the whole problem can be one CP-SAT model, and be compiled in a share of the time that there is."""
    problem = search.model.problem
    pairs = len(problem.objects) * (len(problem.containers) + 1)
    compiling = pairs * _SECONDS_PER_PAIR + len(search.model.graph) * _SECONDS_PER_CELLS
    hurried = compiling > _MOMENT and compiling > share * search.budget.remaining
    largest = max((cells.groups * cells.items for cells in search.model.graph), default=0)
    return pairs <= ALL_PAIRS and largest <= _CELLS and not (search.found is not None and hurried)
