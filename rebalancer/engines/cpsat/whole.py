"""CP-SAT at a position, over all candidates: turn after turn, until the answer is proven or the time is over."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.encode import Encoding
from rebalancer.engines.cpsat.improving import Improving
from rebalancer.engines.cpsat.infeasibility import second_opinion
from rebalancer.engines.cpsat.leavers import proven_of_leavers
from rebalancer.engines.cpsat.objective import ExactObjective
from rebalancer.engines.cpsat.position import Position
from rebalancer.engines.cpsat.run import DETERMINISTIC_SECOND, Outcome, solve
from rebalancer.engines.cpsat.secants import more_secants
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.together import side_by_side
from rebalancer.model import CellValues, Model
from rebalancer.model.evaluate import linear_form

_log = logging.getLogger(__name__)

#: Seconds that looking at who leaves may take, and share of those that are left.
_LEAVERS, _LEAVERS_SHARE = 15.0, 0.15
#: Seconds, and share of them, in which both workers then look for an answer that has what that proves: from so many
#: candidates on, searching the whole rarely raises it.
_LOOKING, _LOOKING_SHARE, _MANY = 60.0, 0.6, 5_000
#: Share of the time that is left for confirming what is proven, where that is to be.
_CONFIRMING = 1 / 3
#: Of CP-SAT's deterministic seconds, what counts as one round of searching the whole model.
_ROUND = 0.1
#: Where a bound is known, nothing starts from the pump: what CP-SAT 9.15 makes of its points may not be feasible once
#: translated back. CP-SAT notices, and says so on standard error, where nobody can use it; it still does so now and
#: then of what comes from a relaxation.
_ASKING: dict[str, Any] = {"use_feasibility_pump": False}
#: Where an answer is known, those of CP-SAT's searches are left out that look for a first one.
_IMPROVING: dict[str, Any] = _ASKING | {"num_violation_ls": 0}
#: Where the whole is not too large, one of two workers does nothing but raise the bound. The first of these gets far in
#: a moment; the second, which looks for answers that have the bound until there is none, farther in a longer turn if it
#: has the exact formula, and hardly depends on how good an answer it is told of. The other worker improves the answer:
#: with CP-SAT's own neighbourhoods, or as others do.
_AT_ONCE, _IN_TIME = "lb_tree_search", "objective_lb_search_max_lp"
#: Where there is no exact formula, the first has so many seconds. Then a third goes on, which gets nowhere with a poor
#: answer, and is several times as fast with the best.
_FIRST, _TOLD = 6.0, "max_lp"
#: Where no more than this share of the value is open, its bound stands still for half a minute and then rises all at
#: once: for so many seconds that is no stall.
_NEAR, _NEARLY = 0.02, 60.0
#: Seconds of searching the whole for a proof to the last integer; then one that is closed but for rounding will do.
_EXACTLY = 2.0
#: After so many seconds, half of a turn, and this share of what is left, in which neither bound nor answer has moved,
#: the others have a turn of that share, and answers just above the bound are asked for; so many times.
_STALLED, _STALLED_SHARE, _STALLS = 4.0, 0.3, 2
#: Seconds of the first such question, how much longer the next one is where there was no reply, and the share of the
#: time that one question may take.
_QUESTION, _LONGER, _QUESTION_SHARE = 2.0, 1.5, 0.25
#: A worker that does nothing but prove improves the answer as well after so many seconds, half of a turn, in which a
#: bound that was raised has not come closer by this share of what is open; a turn takes as long to begin. It does so
#: until CP-SAT's answer is stale, and at most for so many times what was proven in.
_FLAT, _FLAT_SHARE, _IMPROVED = 12.0, 0.05, 3.0
#: A turn ends after so many seconds if an answer that CP-SAT does not know of closes this share of what it sees open.
_STALE, _STALE_SHARE = 6.0, 0.4
#: And where the bound has come no closer for so many seconds, and a quarter of the turn, if it closes this share.
_STUCK, _STUCK_SHARE = 6.0, 0.25


class Whole:
    """The search for one position's least value. Where it stalls it goes on with answers that others find in between.

    Parameters
    ----------
    position : Position
    budget : Budget
    bound : int or None
        What is proven already.
    told : bool
        Whether bounds hold for what is reported: those after a position that is not proven do not. Those that are yet
        to be confirmed are not told before.
    improving : Improving
        Who improves the answer where CP-SAT stalls, and beside it.

    Attributes
    ----------
    bound : int or None
        What is proven; None: CP-SAT has contradicted itself.
    """

    def __init__(
        self,
        position: Position,
        budget: Budget,
        bound: int | None,
        told: bool,
        improving: Improving,
    ) -> None:
        self.bound = bound
        self._position, self._budget, self._improving = position, budget, improving
        self._told = told and not position.encoding.doubted
        objective = position.objective
        self._held = position.search.integers[: position.number]  # what CP-SAT holds the earlier positions at
        self._bends = bool(position.encoding.squares)  # with secants missing, CP-SAT's own values are too good
        # in the numbers that CP-SAT minimises: the best answer's; what is proven, and what is while it searches
        self._value = self._known = position.standing
        self._proven = None if bound is None else objective.at_least(bound, position.standing)
        self._low = self._proven
        self._exactly, self._stalls, self._stale = False, 0, False
        self._mark, self._raised = self._low, np.inf  # where the bound last came closer, and when
        self._turn, self._moved, self._unit = budget, 0.0, 1.0
        two = position.search.request.workers == 2 and not budget.deterministic
        self._proves_only = two and not (position.small or position.large)
        self._patient = self._proves_only and improving.beside is not None and isinstance(objective, ExactObjective)
        self._prover = _IN_TIME if self._patient else _AT_ONCE

    def look_at_leavers(self) -> None:
        """Prove what follows from who has to leave, and where that is new, look for an answer that has it."""
        position, search = self._position, self._position.search
        if position.small or position.encoding.doubted or position.enough(self.bound):
            return
        left = self._budget.remaining
        turn = self._budget.part(min(_LOOKING, _LOOKING_SHARE * left), self._is_found)

        def prove(budget: Budget, request: Request) -> None:
            part = budget.part(min(_LEAVERS, _LEAVERS_SHARE * left))
            literals, before = position.encoding.literals, self.bound
            bound, all_of_it = proven_of_leavers(
                search, position.number, literals, part, request, before, **_rounds(part)
            )
            _count(part, self._budget)
            if bound is None or before is None or bound <= before:
                return
            if bound > position.value + 2 * position.objective.error + 1:
                _log.warning("CP-SAT proves more of position %d than an answer has: no bound", position.number)
                return
            self._raise(position.objective.at_least(bound, position.standing), bound)
            if self._told:
                search.raise_bound(position.number, self.bound)
            several = self._improving.at_once and self._improving.beside is not None
            if all_of_it and several and literals.count >= _MANY:
                self._improving.with_prover(budget)
                if not self._patient:
                    self._prover = _TOLD

        self._beside_who_improves(prove, turn)

    def minimise(self) -> None:
        """Search until the answer is proven, or good enough, or nothing comes of it."""
        if not self._position.encoding.doubted:
            self._search_on()
            return
        known, whole = self.bound, self._budget
        self._budget = whole.part((1 - _CONFIRMING) * whole.remaining)
        self._search_on()
        if self.bound is not None and self.bound != known:
            self._confirm(known, whole)

    def _confirm(self, known: int | None, budget: Budget) -> None:
        """Keep what the search has proven only if another one, done differently, finds nothing below it."""
        position, outcome = self._position, None
        if self._proven is not None and not budget.over:
            position.aim(None, self._proven - 1)
            outcome = second_opinion(position.encoding, position.search.request, budget)
            position.take(outcome)
        if outcome is None or outcome.status != "INFEASIBLE":
            _log.info("what is proven of position %d is not confirmed: it counts for nothing", position.number)
            self.bound = known

    def _search_on(self) -> None:
        """Search turn after turn."""
        self._low, self._value = self._proven, self._position.standing
        self._began = self._budget.part(self._budget.remaining)
        while not (self._position.enough(self.bound) or self._budget.over):
            before = self._position.search.integers
            outcome = self._search()
            if outcome.status == "INFEASIBLE":
                number = self._position.number
                _log.warning("CP-SAT called position %d infeasible although an answer is known: no bound", number)
                self.bound = None
                return
            self._position.take(outcome)
            if outcome.bound is not None:
                self._raise(outcome.bound + self._position.objective.constant)
            if not self._goes_on(outcome, before):
                return

    def _search(self) -> Outcome:
        """Have CP-SAT search for one turn, from the best answer."""
        search, encoding = self._position.search, self._position.encoding
        assert search.best is not None
        encoding.hint_from(CellValues(search.model.problem, search.best))
        left = self._budget.remaining
        if self._bends:
            left = max(2.0, left / 3)
        elif self._stalls < _STALLS and self._budget.deterministic:  # how CP-SAT fares is known when it is done, there
            left = max(_STALLED, left / 2)
        self._turn, self._moved = self._budget.part(left), 0.0
        self._unit = self._position.aim(self._proven)
        told = self._known = self._position.standing
        if self._is_relieved():
            self._prover = _TOLD
        self._stale = False  # the best of the answers that CP-SAT knows
        self._mark, self._raised = self._proven, _FLAT if self._is_raised() else np.inf
        outcome = self._prove_beside()
        _count(self._turn, self._budget)
        known, best, low = self._known, self._position.standing, self._low
        _log.debug("told of %s, %s after %.1f s; best is %s, proven %s", told, known, self._turn.seconds, best, low)
        return outcome

    def _is_found(self) -> bool:
        """Whether the best answer has what is proven."""
        standing = self._position.standing
        return self._proven is not None and standing - self._proven <= self._position.objective.slack(standing)

    def _prove(self, turn: Budget, request: Request) -> Outcome:
        """Run CP-SAT for a turn."""
        return solve(
            self._position.encoding.bulk,
            request,
            turn,
            self._on_solution,
            self._on_bound,
            self._is_enough,
            **(_rounds(turn) | _IMPROVING | ({"subsolvers": (self._prover,)} if self._proves_only else {})),
        )

    def _prove_beside(self) -> Outcome:
        """Run CP-SAT for the turn, beside who improves the answer."""
        outcomes: list[Outcome] = []

        def prove(turn: Budget, request: Request) -> None:
            outcomes.append(self._prove(turn, request))
            if self._is_flat():
                self._improving.with_prover(turn.part(_IMPROVED * turn.seconds, self._is_settled))

        self._beside_who_improves(prove, self._turn)
        return outcomes[0] if outcomes else Outcome("UNKNOWN", None, 0, None)

    def _beside_who_improves(self, prove: Callable[[Budget, Request], None], turn: Budget) -> None:
        """Prove something, if there are several workers beside who improves the answer until that is done."""
        search, beside = self._position.search, self._improving.beside
        if beside is None:
            return prove(turn, search.request)

        def first(_model: Model, _incumbent: Incumbent, budget: Budget, request: Request) -> None:
            try:
                prove(budget, request)
            finally:
                turn.reach()

        def second(_model: Model, _incumbent: Incumbent, budget: Budget, _request: Request) -> None:
            beside(budget)

        side_by_side((first, second), search, turn, search.request)

    def _goes_on(self, outcome: Outcome, before: tuple[int, ...]) -> bool:
        """Make of a turn what can be made of it; return whether another one has something to find."""
        position = self._position
        if self._bends and outcome.values is not None:
            _refine(position.encoding, outcome)
            return True
        if self._closed() and self.bound is not None:
            self._exactly = True
            return not position.closed(self.bound)
        if self._bends:
            return True
        if outcome.status == "OPTIMAL":
            return False
        if self._stale or self._is_flat() or self._is_relieved():
            self._low, self._value = self._proven, position.standing
            return self.bound is not None
        if self._stalls < _STALLS and self.bound is not None:
            self._stalls += 1
            self._improving.where_stalled(self._budget.part(self._budget.remaining * _STALLED_SHARE), self.bound)
            self._rule_out()
            self._low, self._value = self._proven, position.standing
            return not position.closed(self.bound)
        return position.search.integers != before

    def _rule_out(self) -> None:
        """Ask for answers just above the bound, and raise it by what that proves.

        So low a ceiling leaves few placements, by their reduced costs: where CP-SAT cannot raise a bound as such, it
        often can say that there is nothing so close to it. If there is something, it is better than what was known.
        """
        position, budget = self._position, self._budget
        request, bulk = replace(position.search.request, gap=0.0), position.encoding.bulk
        step, seconds = max(1, position.objective.slack(position.standing)), _QUESTION
        while (
            self.bound is not None
            and self._proven is not None
            and not (budget.over or position.closed(self.bound))
            and self._proven < position.standing
        ):
            ceiling = min(self._proven + step, position.standing - 1)
            position.aim(self._proven, ceiling)
            question = budget.part(seconds)
            outcome = solve(bulk, request, question, None, None, None, **(_rounds(question) | _ASKING))
            _count(question, budget)
            position.take(outcome)
            if outcome.status == "INFEASIBLE":
                # believed only if said twice, in two ways: CP-SAT has been seen to say so falsely
                other, longer = replace(request, seed=request.seed + 1, workers=1), budget.part(4 * seconds)
                again = solve(bulk, other, longer, symmetry_level=0, cp_model_probing_level=0)
                position.take(again)
                if again.status != "INFEASIBLE":
                    break
                self._raise(ceiling + 1)
            elif outcome.bound is not None:
                self._raise(outcome.bound + position.objective.constant)
            if outcome.status != "UNKNOWN":
                step *= 2
            elif seconds > _QUESTION_SHARE * budget.remaining:
                break
            elif step > 1:
                step //= 2
            else:
                seconds *= _LONGER

    def _raise(self, number: int, bound: int | None = None) -> None:
        """Raise the bound by a number that is proven for all answers, or by more where that is known of the bound."""
        if self.bound is not None:
            self._proven = number if self._proven is None else max(self._proven, number)
            bound = self._position.objective.proven(number) if bound is None else bound
            self.bound = max(self.bound, min(bound, self._position.value))

    # -- while CP-SAT searches -------------------------------------------------------------------------------------

    def _on_bound(self, proven: float) -> None:
        before, self._low = self._low, _certain(proven / self._unit)
        if before is None or self._low > before:
            self._moved = self._turn.seconds
        if self._mark is None or self._low - self._mark > _FLAT_SHARE * (self._value - self._mark):
            self._mark, self._raised = self._low, self._turn.seconds
        if self._told:
            self._position.search.news.tell(self._position.number, None, self._position.objective.proven(self._low))

    def _on_solution(self, objective: float) -> None:
        self._moved = self._turn.seconds
        if not self._bends:
            search, number = self._position.search, self._position.number
            self._known = round(objective / self._unit)
            self._value = min(self._value, self._known)
            at_most = self._position.objective.at_most(self._value)
            search.news.tell(number, at_most, given=self._held)
            self._budget.improved()
            if search.at_target(number, at_most):
                self._turn.reach()

    def _is_enough(self) -> bool:
        """Whether CP-SAT should stop: the turn is settled, or its worker is of more use to the answer."""
        return self._is_settled() or self._is_flat() or self._is_relieved()

    def _is_relieved(self) -> bool:
        """Whether it is time to prove in another way."""
        waits = self._proves_only and self._prover == _AT_ONCE and not self._bends
        return waits and self._began.seconds >= _FIRST

    def _is_flat(self) -> bool:
        """Whether the bound comes no closer than it has come, and the worker that proves could improve the answer."""
        beside = self._improving.beside is not None and self._proves_only and not self._bends
        seconds = self._turn.seconds
        return beside and self._prover != _TOLD and self._raised < seconds - max(_FLAT, seconds / 2)

    def _is_raised(self) -> bool:
        """Whether searching has raised the bound above what is known without."""
        return self.bound is not None and self.bound > int(self._position.rows.low[0])

    def _is_settled(self) -> bool:
        """Whether to end a turn: closed but for rounding, nothing moves, or the answer that CP-SAT knows is old."""
        if self._improving.beside is not None and not self._bends:
            value = self._position.standing
            if value < self._value:
                self._value, self._moved = value, self._turn.seconds
            if self._low is not None and self._turn.seconds > _STALE:
                still = self._turn.seconds - max(_STUCK, self._turn.seconds / 4) > self._raised
                share = _STUCK_SHARE if still else np.inf if self._patient else _STALE_SHARE
                self._stale = self._known - value >= share * (self._known - self._low)
        left = self._turn.remaining if np.isfinite(self._turn.remaining) else 0.0
        least = _NEARLY if self._is_near() else _STALLED
        idle = self._turn.seconds - self._moved > max(least, self._turn.seconds / 2, _STALLED_SHARE * left)
        return self._stale or (self._stalls < _STALLS and not self._bends and idle) or self._closed()

    def _is_near(self) -> bool:
        """Whether all that is open may be proven at once."""
        if self._prover != _TOLD or self._low is None:
            return False
        return self._value - self._low <= _NEAR * abs(self._value)

    def _closed(self) -> bool:
        late = not self._exactly and self._turn.seconds > _EXACTLY
        slack = self._position.objective.slack(self._value)
        return late and self._low is not None and self._value - self._low <= slack


def _refine(encoding: Encoding, outcome: Outcome) -> None:
    """Make every square exact where the last solution has it."""
    assert outcome.values is not None
    chosen = encoding.literals.assignment(outcome.values[: encoding.literals.count] > 0)
    values = CellValues(encoding.model.problem, chosen)
    for squares in encoding.squares:
        group, item = np.divmod(squares.key, squares.cells.items)
        x = linear_form(values, squares.cells).at(group, item)
        most = np.maximum(squares.x.low, squares.x.high - 1)
        more_secants(encoding.bulk, squares, np.clip(x, squares.x.low, most))


def _rounds(turn: Budget) -> dict[str, float]:
    """Return CP-SAT's parameters for a budget that counts rounds: each is a piece of work."""
    if not np.isfinite(turn.ticks_left):
        return {}
    left = turn.remaining / DETERMINISTIC_SECOND if turn.deterministic else np.inf
    return {"max_deterministic_time": float(max(_ROUND, min(turn.ticks_left * _ROUND, left)))}


def _count(turn: Budget, budget: Budget) -> None:
    """Count the rounds that a turn took."""
    budget.tick(max(1, round(turn.worked / DETERMINISTIC_SECOND / _ROUND)))


def _certain(bound: float) -> int:
    """Return an integer bound that came as a float: lowered by what the float may have lost."""
    lost = int(abs(bound)) >> 50 if abs(bound) >= 2**52 else 0
    return round(bound) - lost


__all__ = ["Whole"]
