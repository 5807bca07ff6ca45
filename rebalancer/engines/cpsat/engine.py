"""The exact engine: tuple position after tuple position, each to its proof or its share of the time."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Answer, EngineError, Progress, Request, Status
from rebalancer.engines.cpsat import infeasibility
from rebalancer.engines.cpsat.candidates import ALL_PAIRS, all_candidates
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.neighbourhoods import improve
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.run import Outcome, solve
from rebalancer.engines.cpsat.secants import more_secants
from rebalancer.engines.tidy import undo_idle_moves
from rebalancer.model import CellValues, Model
from rebalancer.model.evaluate import linear_form

_log = logging.getLogger(__name__)

#: The tie-break (fewest moves) may take this share of the time that the proofs took, and at least a second.
_TIE_BREAK_SHARE = 0.5
#: Models with more candidate placements than the first are improved part by part before the whole is tried, for at most this share of the time;
#: with more than the second, where the whole has little hope, for most of it.
_SMALL, _IMPROVING_SHARE = 2_000, 0.5
_LARGE, _LARGE_SHARE = 40_000, 0.8


@dataclass
class _Search:
    """The best answer so far, and what is proven about it."""

    model: Model
    request: Request
    best: NDArray[np.int32] | None = None
    integers: tuple[int, ...] = ()
    bounds: list[int | None] = field(default_factory=list)
    proven: bool = False

    def offer(self, assignment: NDArray[np.int32]) -> bool:
        """Take an assignment if it is feasible and better than the best so far."""
        score = self.model.evaluate(assignment)
        if not score.feasible or (self.best is not None and score.integers >= self.integers):
            return False
        self.best, self.integers = assignment, score.integers
        return True

    def progress(self, position: int, bound: int | None) -> None:
        """Report the best answer and the bound of a position."""
        if self.request.on_progress is None:
            return
        value = None if self.best is None else self.model.real(position, self.integers[position])
        low = None if bound is None else self.model.real(position, bound)
        gap = None if value is None or low is None else max(0.0, value - low) / max(1.0, abs(value))
        self.request.on_progress(Progress(self.request.seconds, position, value, low, gap))


class CpsatEngine:
    """Exact search with CP-SAT; proves what it can."""

    name = "cpsat"

    def solve(self, model: Model, request: Request) -> Answer:
        """Return the best assignment found within the request's time, with proven bounds."""
        problem = model.problem
        search = _Search(model, request, bounds=[None] * model.positions)
        search.offer(problem.initial)
        if request.start is not None:
            search.offer(request.start)
        pairs = len(problem.objects) * (len(problem.containers) + 1)
        if not len(problem.objects):
            return self._answer(
                search, Status.OPTIMAL, [search.integers[position] for position in range(model.positions)]
            )
        if pairs <= ALL_PAIRS:
            reason = self._exact(search, all_candidates(model))
            if reason is not None:
                return Answer(Status.INFEASIBLE, None, tuple(search.bounds), reason, self.name)
        else:
            self._parts_only(search)
        if search.best is None:
            return Answer(
                Status.UNKNOWN,
                None,
                tuple(search.bounds),
                infeasibility.least_violation(model, problem.initial),
                self.name,
            )
        search.best = undo_idle_moves(model, search.best, request)
        return self._answer(search, Status.OPTIMAL if search.proven else Status.FEASIBLE, search.bounds)

    def _answer(self, search: _Search, status: Status, bounds: list[int | None] | list[int]) -> Answer:
        return Answer(status, search.best, tuple(bounds), None, self.name)

    def _exact(self, search: _Search, literals: Literals) -> str | None:
        """Search all candidates; return why there is no answer, if that is proven."""
        model, request = search.model, search.request
        known = search.best if search.best is not None else model.problem.initial
        if (literals.per_object == 0).any():
            stuck = model.problem.objects[int(np.flatnonzero(literals.per_object == 0)[0])]
            return (
                infeasibility.reason(model, request)
                or f"no {model.problem.container_name} is allowed for {model.problem.object_name} '{stuck}'"
            )
        encoding = encode(model, literals, CellValues(model.problem, known))
        _log.info(
            "%d candidate placements, %d variables, compiled after %.1f s",
            literals.count,
            encoding.algebra.variables,
            request.seconds,
        )
        proven = True
        for position in range(model.positions):
            if search.best is None and position == 0:
                first = self._first_answer(search, encoding)
                if first is not None:
                    return first
            if search.best is None:
                return None
            share = request.remaining if position == model.positions - 1 else request.remaining / 2
            closed = self._minimise(search, encoding, position, share, proven)
            proven = proven and closed
            if request.stop.is_set() or request.remaining <= 0:
                proven = proven and position == model.positions - 1
                break
        search.proven = proven
        if proven and not request.stop.is_set():
            self._fewest_moves(search, encoding)
        return None

    def _first_answer(self, search: _Search, encoding: Encoding) -> str | None:
        """Find any assignment that holds all hard cells (the start does not); return why there is none, if that is proven."""
        request = search.request
        rows = encoding.objectives[0]
        encoding.bulk.minimize(rows.var, rows.coef)
        outcome = solve(
            encoding.bulk,
            request,
            request.remaining / 4 if search.model.positions > 1 else request.remaining,
            stop_after_first_solution=True,
        )
        if outcome.status == "INFEASIBLE":
            again = solve(
                encoding.bulk,
                request,
                max(5.0, request.remaining),
                cp_model_presolve=False,
                num_workers=1,
                random_seed=request.seed + 1,
            )
            if again.status == "INFEASIBLE":
                return infeasibility.reason(search.model, request) or "no assignment holds every hard constraint"
            outcome = again
        self._take(search, encoding, outcome, 0)
        return None

    def _take(self, search: _Search, encoding: Encoding, outcome: Outcome, position: int) -> None:
        """Offer what a solve found, after the evaluator has confirmed what CP-SAT says of it."""
        if outcome.values is None:
            return
        assignment = encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
        score = search.model.evaluate(assignment)
        if not score.feasible:
            raise EngineError(f"CP-SAT's answer breaks {', '.join(score.worsened)}")
        claimed = outcome.objective + int(encoding.objectives[position].const.dense()[0, 0])
        if score.integers[position] > claimed and not encoding.squares:
            raise EngineError(
                f"CP-SAT claims {claimed} at position {position}, the evaluator says {score.integers[position]}"
            )
        search.offer(assignment)

    def _minimise(
        self, search: _Search, encoding: Encoding, position: int, seconds: float, earlier_proven: bool
    ) -> bool:
        """Minimise one position, the earlier ones held at their values; return whether the result is proven."""
        model, request = search.model, search.request
        rows = encoding.objectives[position]
        constant = int(rows.const.dense()[0, 0])
        bound = int(rows.low[0]) if len(rows.key) else constant
        deadline = time.monotonic() + seconds
        if encoding.literals.count > _SMALL:
            share = _LARGE_SHARE if encoding.literals.count > _LARGE else _IMPROVING_SHARE
            self._improve(search, position, seconds * share, bound, encoding.literals, earlier_proven)
        if len(rows.key):
            encoding.bulk.minimize(rows.var, rows.coef)
        while search.integers[position] > bound and not request.stop.is_set() and time.monotonic() < deadline:
            assert search.best is not None
            values = CellValues(model.problem, search.best)
            encoding.hint_from(values)
            left = deadline - time.monotonic()
            slice_ = max(2.0, left / 3) if encoding.squares else left

            def on_bound(low: float) -> None:
                search.progress(position, max(bound, round(low) + constant) if earlier_proven else None)

            def on_solution(objective: int, low: int) -> None:
                if (
                    request.on_progress is not None and not encoding.squares
                ):  # with secants missing, CP-SAT's own value is too good
                    value, least = (
                        model.real(position, objective + constant),
                        model.real(position, max(bound, low + constant)),
                    )
                    known = least if earlier_proven else None
                    gap = max(0.0, value - least) / max(1.0, abs(value)) if earlier_proven else None
                    request.on_progress(Progress(request.seconds, position, value, known, gap))

            outcome = solve(encoding.bulk, request, min(left, slice_), on_solution, on_bound)
            before = search.integers
            self._take(search, encoding, outcome, position)
            if outcome.status in ("OPTIMAL", "FEASIBLE", "UNKNOWN"):
                bound = max(bound, min(outcome.bound + constant, search.integers[position]))
            elif outcome.status == "INFEASIBLE":
                _log.warning(
                    "CP-SAT called position %d infeasible although an answer is known; its bound is not used", position
                )
                break
            if self._closed(search, position, bound):
                break
            if encoding.squares and outcome.values is not None:
                self._refine(encoding, outcome)
            elif not encoding.squares and (outcome.status == "OPTIMAL" or search.integers == before):
                break
        closed = self._closed(search, position, bound)
        if earlier_proven:
            search.bounds[position] = bound
            search.progress(position, bound)
        if len(rows.key) and position < model.positions - 1:
            encoding.bulk.linear_of(rows.var, rows.coef, -INFINITE, search.integers[position] - constant)
        return closed

    def _improve(
        self,
        search: _Search,
        position: int,
        seconds: float,
        bound: int,
        literals: Literals | None,
        report_bound: bool,
        patience: int = 60,
    ) -> None:
        """Improve the answer part by part before the whole is tried: CP-SAT is only as good as its hint."""
        assert search.best is not None

        def offer(assignment: NDArray[np.int32]) -> bool:
            better = search.offer(assignment)
            search.progress(position, bound if report_bound else None)
            return better

        improve(
            search.model,
            search.request,
            search.best,
            search.integers,
            position,
            seconds,
            bound,
            offer,
            literals,
            patience,
        )

    @staticmethod
    def _closed(search: _Search, position: int, bound: int) -> bool:
        return search.integers[position] <= bound

    def _refine(self, encoding: Encoding, outcome: Outcome) -> None:
        """Make every square exact where the last solution has it."""
        assert outcome.values is not None
        values = CellValues(
            encoding.model.problem, encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
        )
        for squares in encoding.squares:
            x = linear_form(values, squares.cells).at(
                squares.key // squares.cells.items, squares.key % squares.cells.items
            )
            more_secants(
                encoding.bulk, squares, np.clip(x, squares.x.low, np.maximum(squares.x.low, squares.x.high - 1))
            )

    def _fewest_moves(self, search: _Search, encoding: Encoding) -> None:
        """Among answers of the proven value, take one that moves the fewest objects."""
        model, request = search.model, search.request
        initial = model.problem.initial
        assert search.best is not None
        home = np.flatnonzero(encoding.literals.container == initial[encoding.literals.object])
        moved = int((search.best != initial).sum())
        if moved == 0:
            return
        last = encoding.objectives[-1]
        if len(last.key):
            encoding.bulk.linear_of(last.var, last.coef, -INFINITE, search.integers[-1] - int(last.const.dense()[0, 0]))
        encoding.bulk.minimize(home, np.full(len(home), -1))
        encoding.hint_from(CellValues(model.problem, search.best))
        outcome = solve(encoding.bulk, request, min(request.remaining, max(1.0, request.seconds * _TIE_BREAK_SHARE)))
        if outcome.values is not None:
            assignment = encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
            score = model.evaluate(assignment)
            if score.feasible and score.integers <= search.integers and int((assignment != initial).sum()) < moved:
                search.best, search.integers = assignment, score.integers

    def _parts_only(self, search: _Search) -> None:
        """Too large for one CP-SAT model: improve part by part, position by position. Proves nothing."""
        for position in range(search.model.positions):
            if search.best is None or search.request.remaining <= 0 or search.request.stop.is_set():
                return
            last = position == search.model.positions - 1
            self._improve(
                search, position, search.request.remaining / (1 if last else 2), -INFINITE, None, False, patience=1000
            )
