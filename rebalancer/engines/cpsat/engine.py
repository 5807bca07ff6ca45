"""The exact engine: tuple position after tuple position, each to its proof or its share of the time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Answer, EngineError, Request, Status
from rebalancer.engines.bounds import bounding, closed_as_reported
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat import infeasibility
from rebalancer.engines.cpsat.candidates import ALL_PAIRS, all_candidates
from rebalancer.engines.cpsat.encode import Encoding, encode
from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.rows import Rows
from rebalancer.engines.cpsat.run import DETERMINISTIC_SECOND, Outcome, solve
from rebalancer.engines.cpsat.secants import more_secants
from rebalancer.engines.cpsat.shares import bound_by_parts
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood import engine as neighbourhood
from rebalancer.engines.neighbourhood.kinds import scopes_of
from rebalancer.engines.neighbourhood.search import Neighbourhoods
from rebalancer.model import CellValues, Model
from rebalancer.model.evaluate import linear_form

_log = logging.getLogger(__name__)

#: The tie-break (fewest moves) may take this share of the time that the proofs took, and at least a second.
_TIE_BREAK_SHARE = 0.2
#: Models with more candidate placements than the first are improved part by part before the whole is tried, for at
#: most this share of the time; with more than the second, where the whole has little hope, for most of it.
_SMALL, _IMPROVING_SHARE = 1_000, 0.5
_LARGE, _LARGE_SHARE = 40_000, 0.8
#: Seconds that compiling takes per pair of object and container: where that is half of the time, there are only parts.
_SECONDS_PER_PAIR = 5e-6
#: Of CP-SAT's deterministic seconds, what counts as one round of searching the whole model.
_ROUND = 0.1
#: Where an answer is known, those of CP-SAT's searches are left out that look for a first one. With two workers one
#: proves, and the other one improves part by part; the first is the one with all cuts, up to so many placements.
_IMPROVING: dict[str, Any] = {"num_violation_ls": 0, "use_feasibility_pump": False}
_ALL_CUTS: dict[str, Any] = {"subsolvers": ("max_lp",)}
#: Seconds of searching the whole for a proof to the last integer; then one that is closed but for rounding will do.
_EXACTLY = 2.0
#: After so many seconds, half of a turn, and this share of what is left, in which neither bound nor answer has moved,
#: the parts have a turn of that share, and answers just above the bound are asked for; so many times.
_STALLED, _STALLED_SHARE, _STALLS = 4.0, 0.3, 2
#: Seconds of the first such question, how much longer the next one is where there was no reply, and the share of the
#: time that one question may take.
_QUESTION, _LONGER, _QUESTION_SHARE = 2.0, 1.5, 0.25
#: Share of the time for what parts of the containers cost at least, and the most seconds.
_BY_PARTS, _BY_PARTS_SECONDS = 0.08, 20.0
#: Rounds without gain after which improving part by part gives up, and the whole model is tried.
_PATIENCE = 40


#: Improve a search's answer until a budget is over.
Others = Callable[[Budget], object]


class CpsatEngine:
    """Exact search with CP-SAT; proves what it can."""

    name = "cpsat"

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
        reason = self.search(search, others)
        if reason is not None:
            return Answer(Status.INFEASIBLE, None, tuple(search.bounds), reason, self.name)
        return finish(search, self.name)

    def search(self, search: Incumbent, others: Others | None = None) -> str | None:
        """Search all candidates; return why there is no answer, if that is proven."""
        model, budget = search.model, search.budget
        literals = all_candidates(model)
        if (literals.per_object == 0).any():
            return infeasibility.without_candidates(model, search.request, budget, literals)
        known = search.best
        if known is None:
            known = search.request.start if search.request.start is not None else model.problem.initial
        encoding = encode(model, literals, CellValues(model.problem, known))
        _log.info(
            "%d candidate placements, %d variables, compiled after %.1f s",
            literals.count,
            encoding.algebra.variables,
            search.request.seconds,
        )
        if search.best is None:
            reason = self._first_answer(search, encoding, known)
            if search.best is None:
                return reason
        proven = True
        for position in range(model.positions):
            share = budget.remaining if position == model.positions - 1 else budget.remaining / 2
            proven = self._minimise(search, encoding, position, budget.part(share), proven, others) and proven
            if budget.over:
                proven = proven and position == model.positions - 1
                break
        if proven and not budget.stop.is_set():
            self._fewest_moves(search, encoding)
        return None

    def _first_answer(self, search: Incumbent, encoding: Encoding, known: NDArray[np.int32]) -> str | None:
        """Find any assignment that holds all hard cells; return why there is none, if that is proven."""
        request, budget, problem = search.request, search.budget, search.model.problem
        self._aim(search, encoding, 0)
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
        self._take(search, encoding, outcome, 0)
        return None

    def _aim(
        self, search: Incumbent, encoding: Encoding, position: int, bound: int | None = None, most: int | None = None
    ) -> float:
        """Make a position's objective the one to minimise; return what CP-SAT's numbers have to be divided by.

        What is known of it goes along: presolve drops every placement with which it is above ``most``, which is what
        the best answer has where nothing else is said.
        """
        rows = encoding.objectives[position]
        constant = _constant(rows)
        low = -INFINITE if bound is None else bound - constant
        if most is None:
            most = search.integers[position] if search.found is not None else INFINITE
        within = (low, most - constant) if most < INFINITE else None
        # Only where a gap ends the search must CP-SAT know what its numbers mean.
        unit = float(search.model.tuple_positions[position].objective.unit) if search.request.gap > 0 else 1.0
        encoding.bulk.minimize(rows.var, rows.coef, constant, unit, within)
        return unit

    def _take(self, search: Incumbent, encoding: Encoding, outcome: Outcome, position: int) -> None:
        """Offer what a solve found, after the evaluator has confirmed what CP-SAT says of it."""
        if outcome.values is None:
            return
        assignment = encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
        score = search.model.evaluate(assignment)
        if not score.feasible:
            raise EngineError(f"CP-SAT's answer breaks {', '.join(score.worsened)}")
        claimed = outcome.objective + _constant(encoding.objectives[position])
        if score.integers[position] > claimed and not encoding.squares:
            real = score.integers[position]
            raise EngineError(f"CP-SAT claims {claimed} at position {position}, the evaluator says {real}")
        search.offer(assignment)

    def _minimise(
        self,
        search: Incumbent,
        encoding: Encoding,
        position: int,
        budget: Budget,
        earlier_proven: bool,
        others: Others | None,
    ) -> bool:
        """Minimise one position, the earlier ones held at their values; return whether the result is proven."""
        rows = encoding.objectives[position]
        constant = _constant(rows)
        bound: int | None = max(int(rows.low[0]) if len(rows.key) else constant, search.bounds[position] or -INFINITE)
        large = encoding.literals.count > _LARGE
        parts = Neighbourhoods(search, search.request) if encoding.literals.count > _SMALL else None
        # what others have seeded goes to the whole at once, which needs its time for cuts; parts follow where it stalls
        waiting = others is not None and not large and not encoding.squares
        search.turn_to(position)
        whole = len(rows.key) and not encoding.squares and _SMALL < encoding.literals.count <= _LARGE
        if bound is not None and whole:
            bound = self._raised(search, encoding, position, budget, bound)
            if earlier_proven:
                search.raise_bound(position, bound)
        if parts is not None and not waiting and not search.enough(position, bound):
            share = _LARGE_SHARE if large else _IMPROVING_SHARE
            parts.improve(position, budget.part(budget.remaining * share), bound, _PATIENCE)
        if others is None and parts is not None:
            others = partial(parts.improve, position, bound=bound, patience=_PATIENCE)
        search.news.tell(position, None, bound if earlier_proven else None)
        if len(rows.key):
            bound = self._search_whole(search, encoding, position, budget, bound, earlier_proven, others)
        if earlier_proven:
            search.raise_bound(position, bound)
        search.news.tell(position, search.integers[position])
        if len(rows.key) and position < search.model.positions - 1:
            encoding.bulk.linear_of(rows.var, rows.coef, -INFINITE, search.integers[position] - constant)
        return bound is not None and (search.integers[position] <= bound or self._closed(search, position, bound))

    @staticmethod
    def _raised(search: Incumbent, encoding: Encoding, position: int, budget: Budget, bound: int) -> int:
        """Return a bound, or what the parts of some scope cost at least where that is more."""
        share = budget.part(min(_BY_PARTS * budget.remaining, _BY_PARTS_SECONDS))
        for item_of in scopes_of(search.model):
            if share.over or search.enough(position, bound):
                break
            by_parts = bound_by_parts(encoding, encoding.objectives[position], item_of, search.request, share)
            if by_parts is not None:
                bound = max(bound, min(by_parts, search.integers[position]))
        return bound

    @staticmethod
    def _closed(search: Incumbent, position: int, bound: int) -> bool:
        assert search.best is not None
        value = float(search.model.evaluate(search.best).objective[position])
        return closed_as_reported(search.model, position, value, bound)

    def _search_whole(
        self,
        search: Incumbent,
        encoding: Encoding,
        position: int,
        budget: Budget,
        bound: int | None,
        earlier_proven: bool,
        others: Others | None,
    ) -> int | None:
        """Let CP-SAT minimise a position over all candidates; return the proven bound, None where there is none.

        Where it stalls it goes on with answers that ``others`` find in between.
        """
        problem = search.model.problem
        constant = _constant(encoding.objectives[position])
        target = search.model.tuple_positions[position].objective
        slack = int(target.error / target.unit)
        value, low, exactly, stalls = search.integers[position], bound, False, 0
        turn, moved = budget, 0.0
        two = search.request.workers == 2 and not budget.deterministic
        with_cuts = two and encoding.literals.count <= _LARGE
        parameters = _IMPROVING | _ALL_CUTS if with_cuts else _IMPROVING

        def on_bound(proven: float) -> None:
            nonlocal low, moved
            before, low = low, _certain(proven / unit)
            if before is None or low > before:
                moved = turn.seconds
            if earlier_proven:
                search.news.tell(position, None, low)

        def closed() -> bool:
            return not exactly and turn.seconds > _EXACTLY and low is not None and value - low <= slack

        def enough() -> bool:
            left = turn.remaining if np.isfinite(turn.remaining) else 0.0
            patience = max(_STALLED, turn.seconds / 2, _STALLED_SHARE * left)
            stalled = stalls < _STALLS and not encoding.squares and turn.seconds - moved > patience
            return stalled or closed()

        def on_solution(objective: float) -> None:
            nonlocal value, moved
            moved = turn.seconds
            if not encoding.squares:  # with secants missing, CP-SAT's own value is too good
                value = round(objective / unit)
                search.news.tell(position, value)
                budget.improved()
                if search.at_target(position, value):
                    turn.reach()

        while not search.enough(position, bound) and not budget.over:
            assert search.best is not None
            encoding.hint_from(CellValues(problem, search.best))
            left = budget.remaining
            if encoding.squares:
                left = max(2.0, left / 3)
            elif stalls < _STALLS and budget.deterministic:  # how CP-SAT fares is known when it is done, there
                left = max(_STALLED, left / 2)
            turn, moved = budget.part(left), 0.0
            unit = self._aim(search, encoding, position, bound)
            outcome = solve(
                encoding.bulk, search.request, turn, on_solution, on_bound, enough, **_rounds(turn), **parameters
            )
            budget.tick(max(1, round(turn.worked / DETERMINISTIC_SECOND / _ROUND)))
            if outcome.status == "INFEASIBLE":
                _log.warning("CP-SAT called position %d infeasible although an answer is known: no bound", position)
                return None
            before = search.integers
            self._take(search, encoding, outcome, position)
            if outcome.bound is not None and bound is not None:
                bound = max(bound, min(outcome.bound + constant, search.integers[position]))
            if encoding.squares and outcome.values is not None:
                self._refine(encoding, outcome)
            elif closed() and bound is not None:
                if self._closed(search, position, bound):
                    break
                exactly = True
            elif not encoding.squares and outcome.status == "OPTIMAL":
                break
            elif stalls < _STALLS and not encoding.squares and bound is not None:
                if others is not None:
                    others(budget.part(budget.remaining * _STALLED_SHARE))
                bound = self._rule_out(search, encoding, position, budget, bound)
                low, value = bound, search.integers[position]
                if self._closed(search, position, bound):
                    break
            elif not encoding.squares and search.integers == before:
                break
            stalls += 1
        return bound

    def _rule_out(self, search: Incumbent, encoding: Encoding, position: int, budget: Budget, bound: int) -> int:
        """Ask for answers just above the bound; return the bound that this proves.

        So low a ceiling leaves few placements, by their reduced costs: where CP-SAT cannot raise a bound as such, it
        often can say that there is nothing so close to it. If there is something, it is better than what was known.
        """
        constant = _constant(encoding.objectives[position])
        target = search.model.tuple_positions[position].objective
        step, seconds = max(1, int(target.error / target.unit)), _QUESTION
        while not budget.over and not self._closed(search, position, bound):
            ceiling = min(bound + step, search.integers[position] - 1)
            self._aim(search, encoding, position, bound, ceiling)
            question = budget.part(seconds)
            outcome = solve(
                encoding.bulk, replace(search.request, gap=0.0), question, None, None, None, **_rounds(question)
            )
            budget.tick(max(1, round(question.worked / DETERMINISTIC_SECOND / _ROUND)))
            self._take(search, encoding, outcome, position)
            if outcome.status == "INFEASIBLE":
                # believed only if said twice, in two ways: CP-SAT has been seen to say so falsely
                again = solve(
                    encoding.bulk,
                    replace(search.request, gap=0.0, seed=search.request.seed + 1, workers=1),
                    budget.part(4 * seconds),
                    symmetry_level=0,
                    cp_model_probing_level=0,
                )
                self._take(search, encoding, again, position)
                if again.status != "INFEASIBLE":
                    break
                bound = ceiling + 1
            elif outcome.bound is not None:
                bound = max(bound, min(outcome.bound + constant, search.integers[position]))
            if outcome.status != "UNKNOWN":
                step *= 2
            elif seconds > _QUESTION_SHARE * budget.remaining:
                break
            elif step > 1:
                step //= 2
            else:
                seconds *= _LONGER
        return bound

    def _refine(self, encoding: Encoding, outcome: Outcome) -> None:
        """Make every square exact where the last solution has it."""
        assert outcome.values is not None
        chosen = encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
        values = CellValues(encoding.model.problem, chosen)
        for squares in encoding.squares:
            group, item = np.divmod(squares.key, squares.cells.items)
            x = linear_form(values, squares.cells).at(group, item)
            most = np.maximum(squares.x.low, squares.x.high - 1)
            more_secants(encoding.bulk, squares, np.clip(x, squares.x.low, most))

    def _fewest_moves(self, search: Incumbent, encoding: Encoding) -> None:
        """Among answers of the proven value, take one that moves the fewest objects."""
        model, budget = search.model, search.budget
        initial = model.problem.initial
        assert search.best is not None
        home = np.flatnonzero(encoding.literals.container == initial[encoding.literals.object])
        moved = int((search.best != initial).sum())
        if moved == 0:
            return
        last = encoding.objectives[-1]
        if len(last.key):
            encoding.bulk.linear_of(last.var, last.coef, -INFINITE, search.integers[-1] - _constant(last))
        encoding.bulk.minimize(home, np.full(len(home), -1))
        encoding.hint_from(CellValues(model.problem, search.best))
        share = budget.part(max(1.0, budget.seconds * _TIE_BREAK_SHARE))
        outcome = solve(encoding.bulk, replace(search.request, gap=0.0), share)
        if outcome.values is not None:
            assignment = encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
            score = model.evaluate(assignment)
            fewer = int((assignment != initial).sum()) < moved
            if fewer and score.integers <= search.integers:
                search.replace(assignment)


def fits(search: Incumbent) -> bool:
    """Whether the whole problem can be one CP-SAT model, and be compiled in the time that there is."""
    problem = search.model.problem
    pairs = len(problem.objects) * (len(problem.containers) + 1)
    hurried = pairs > _SMALL and pairs * _SECONDS_PER_PAIR > search.budget.remaining / 2
    return pairs <= ALL_PAIRS and not (search.found is not None and hurried)


def _rounds(turn: Budget) -> dict[str, float]:
    """Return CP-SAT's parameters for a budget that counts rounds: each is a piece of work."""
    if not np.isfinite(turn.ticks_left):
        return {}
    left = turn.remaining / DETERMINISTIC_SECOND if turn.deterministic else np.inf
    return {"max_deterministic_time": float(max(_ROUND, min(turn.ticks_left * _ROUND, left)))}


def _constant(rows: Rows) -> int:
    return int(rows.const.dense()[0, 0])


def _certain(bound: float) -> int:
    """Return an integer bound that came as a float: lowered by what the float may have lost."""
    lost = int(abs(bound)) >> 50 if abs(bound) >= 2**52 else 0
    return round(bound) - lost
