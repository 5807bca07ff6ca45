"""The best answer so far, which searchers that run side by side share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.progress import ProgressLog
from rebalancer.model import Model

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Found:
    """An answer and its score; both belong together.

    Parameters
    ----------
    assignment : int32 array
        Read-only.
    integers : tuple of int
        Exact objective by tuple position.
    version : int
        Counts the answers: of two, the later has the higher one.
    """

    assignment: NDArray[np.int32]
    integers: tuple[int, ...]
    version: int


class Incumbent:
    """The best feasible answer so far, and what is proven about it. Safe to use from several threads.

    Parameters
    ----------
    model : Model
    request : Request
    budget : Budget
        Is told of improvements, and when the target is reached.
    news : ProgressLog
        Is told of better answers and bounds.

    Attributes
    ----------
    target : tuple of int
        What is good enough of the first positions, in their integers.
    position : int
        Tuple position that is being worked on; set by whoever conducts the search.
    walks : int
        How many walks of local search have ended, about: two that end at the same moment may count once.
    bounds : list of (int or None)
        Proven lower bound by tuple position, given the earlier positions' values; None where unknown. Holds for the
        exact formula, as `Answer.bounds` does.
    """

    def __init__(self, model: Model, request: Request, budget: Budget, news: ProgressLog) -> None:
        self.model = model
        self.request = request
        self.budget = budget
        self.news = news
        self.position = self.walks = 0
        self.bounds: list[int | None] = [None] * model.positions
        self.target = request.good_enough(model)
        self._lock = threading.Lock()
        self._found: Found | None = None
        self._making = threading.Lock()
        self._made: dict[Callable[[Model], Any], Any] = {}

    def once(self, make: Callable[[Model], _T]) -> _T:
        """Return what ``make`` makes of the model: made once, and shared by all searchers."""
        with self._making:
            if make not in self._made:
                self._made[make] = make(self.model)
            made: _T = self._made[make]
            return made

    @staticmethod
    def of(model: Model, request: Request) -> Incumbent:
        """Return the incumbent of a new search: the better one of the initial assignment and the requested start."""
        incumbent = Incumbent(model, request, Budget.of(request), ProgressLog(model, request))
        initial = request.initial_score
        if initial is None:
            incumbent.offer(model.problem.initial)
        elif initial.feasible:
            incumbent.offer(model.problem.initial, initial.integers)
        if request.start is not None:
            incumbent.offer(request.start)
        return incumbent

    # -- the answer ---------------------------------------------------------------------------------------------------

    @property
    def found(self) -> Found | None:
        """The best answer with its score, at one moment; None where there is none yet."""
        return self._found

    @property
    def best(self) -> NDArray[np.int32] | None:
        """The best assignment; None where there is none yet."""
        found = self._found
        return None if found is None else found.assignment

    @property
    def integers(self) -> tuple[int, ...]:
        """Its exact objective; empty where there is none yet."""
        found = self._found
        return () if found is None else found.integers

    @property
    def version(self) -> int:
        """How often it was replaced; 0 where there is none yet."""
        found = self._found
        return 0 if found is None else found.version

    def offer(self, assignment: NDArray[np.int32], integers: tuple[int, ...] | None = None) -> bool:
        """Take an assignment if it is lexicographically better.

        Parameters
        ----------
        integers : tuple of int, optional
            Its exact objective, where the searcher knows it, and that every hard cell holds. Otherwise both are
            computed here. Whatever is claimed, the answer is scored again from scratch before anybody sees it.

        Returns
        -------
        bool
            Whether it was taken.
        """
        if integers is None:
            score = self.model.evaluate(assignment)
            if not score.feasible:
                return False
            integers = score.integers
        elif self._found is not None and integers >= self._found.integers:
            return False
        return self._take(assignment, integers, False)

    def replace(self, assignment: NDArray[np.int32]) -> bool:
        """Take an assignment that is feasible and no worse: for tie-breaks that the objective does not see."""
        score = self.model.evaluate(assignment)
        return score.feasible and self._take(assignment, score.integers, True)

    def _take(self, assignment: NDArray[np.int32], integers: tuple[int, ...], ties: bool) -> bool:
        kept = np.array(assignment, np.int32)
        kept.setflags(write=False)
        with self._lock:
            before = self._found
            better = before is None or integers < before.integers
            if not better and not (ties and before is not None and integers == before.integers):
                return False
            self._found = Found(kept, integers, self.version + 1)
            if not better:
                return True
            self.budget.improved()
            if self.target and all(value <= good for value, good in zip(integers, self.target, strict=False)):
                self.budget.reach()
        self.news.tell_answer(integers)
        return True

    # -- what is proven -----------------------------------------------------------------------------------------------

    def enough(self, position: int, bound: int | None) -> bool:
        """Whether a position is proven, as close to its bound as was asked for, or at its target."""
        integers = self.integers
        if not integers:
            return False
        if self.at_target(position, integers[position]):
            return True
        if bound is None:
            return False
        if integers[position] <= bound:
            return True
        value, low = self.model.real(position, integers[position]), self.model.real(position, bound)
        return value - low <= self.request.gap * max(1.0, abs(value))

    def within(self, position: int, share: float) -> bool:
        """Whether no more than a share of the best answer's value of a position is known to be open."""
        integers, bound = self.integers, self.bounds[position]
        if not integers or bound is None:
            return False
        value, low = self.model.real(position, integers[position]), self.model.real(position, bound)
        return value - low <= share * abs(value)

    def first_within(self, share: float) -> bool:
        """Whether no more than a share of its value is open of the first position that is not good enough yet."""
        for position, bound in enumerate(self.bounds):
            if not self.enough(position, bound):
                return self.within(position, share)
        return True

    def at_target(self, position: int, value: int) -> bool:
        """Whether a value of a position is as good as its target, if it has one."""
        return position < len(self.target) and value <= self.target[position]

    def all_enough(self) -> bool:
        """Whether every position is as good as can be, or as was asked for."""
        return all(self.enough(position, bound) for position, bound in enumerate(self.bounds))

    @property
    def closed(self) -> bool:
        """Whether no assignment is better, by the bounds."""
        integers = self.integers
        return bool(integers) and all(
            bound is not None and value <= bound for value, bound in zip(integers, self.bounds, strict=True)
        )

    def turn_to(self, position: int) -> None:
        """Say which position is worked on from now; it is told as it is."""
        self.position = position
        self.news.tell(position, None, self.bounds[position])
        self.news.tell_answer(self.integers, position)

    def raise_bound(self, position: int, bound: int | None) -> None:
        """Note a proven bound of a position, given what the earlier ones are; a weaker one than before is ignored."""
        if bound is None:
            return
        with self._lock:
            known = self.bounds[position]
            self.bounds[position] = bound = bound if known is None else max(known, bound)
        self.news.tell(position, None, bound)


__all__ = ["Found", "Incumbent"]
