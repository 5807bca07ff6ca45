"""What is proven without a search, told to an incumbent: at once, or beside a search where it takes longer."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rebalancer.engines.bounds.leaving import whole_bound
from rebalancer.engines.bounds.prices import Prices
from rebalancer.engines.bounds.program import best_prices
from rebalancer.engines.bounds.terms import Terms
from rebalancer.engines.bounds.walk import known_bounds, stays_placed
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.left_behind import leave_behind
from rebalancer.engines.linear import load
from rebalancer.model import Model

_log = logging.getLogger(__name__)

#: Seconds that a bound from prices takes for each membership; up to how many it takes them at once, and up to which
#: share of the time that is left at all; and the most memberships, which take some 1 GB.
_EACH, _AT_ONCE, _SHARE, _MOST = 5e-6, 0.1, 0.25, 2_000_000
#: It ends after so many times as long, or so many seconds where that is more: what takes longer has many resources that
#: are too much nearly everywhere, and proves no more than their sums do, while searchers wait for the processor.
_PATIENCE, _AT_LEAST = 4.0, 1.0
#: Seconds that a bound that is not done has to come back once the search is over.
_GRACE = 0.3


def lower_bounds(model: Model) -> list[int]:
    """Return a proven lower bound of the integer objective of each tuple position."""
    bounds = _Bounds(model)
    return [max(bounds.walked(position), bounds.priced(position)) for position in range(model.positions)]


@contextmanager
def bounding(incumbent: Incumbent) -> Iterator[None]:
    """Tell an incumbent what is proven of each tuple position without a search.

    What takes longer is worked out beside what is done meanwhile, if that is long enough.
    """
    bounds, budget = _Bounds(incumbent.model), incumbent.budget
    later: dict[int, float] = {}
    for position in range(incumbent.model.positions):
        incumbent.raise_bound(position, bounds.walked(position))
        memberships = bounds.terms(position).memberships
        seconds = _EACH * memberships
        if not memberships:
            continue
        if memberships > _MOST or seconds > _SHARE * budget.remaining:
            _log.info("position %d: no bound from prices, as it takes about %.0f s", position, seconds)
        elif budget.deterministic or seconds <= _AT_ONCE:
            incumbent.raise_bound(position, bounds.priced(position))
            budget.spend(seconds)
        else:
            later[position] = max(_AT_LEAST, _PATIENCE * seconds)

    with _beside(incumbent, bounds, later) if later else nullcontext():
        yield


@contextmanager
def _beside(incumbent: Incumbent, bounds: _Bounds, positions: dict[int, float]) -> Iterator[None]:
    """Raise the bounds of some positions, within so many seconds each, in a thread of its own."""
    over = threading.Event()

    def work() -> None:
        try:
            for position, seconds in positions.items():
                bound = bounds.priced(position, min(seconds, _SHARE * incumbent.budget.remaining), over)
                if not over.is_set():  # nobody is told of anything once there is an answer
                    incumbent.raise_bound(position, bound)
        except Exception:  # an answer is worth more than a bound
            _log.warning("no bound from prices", exc_info=True)

    load()
    thread = threading.Thread(target=work, name="rebalancer-bounds", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_GRACE)
        if thread.is_alive():
            leave_behind(thread)


class _Bounds:
    """Bounds of a model's objectives.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._placed = stays_placed(model)
        self._known = known_bounds(model)
        self._terms: dict[int, Terms] = {}

    def walked(self, position: int) -> int:
        """Return what a walk over the model proves."""
        return self._known[self._model.tuple_positions[position].objective.index]

    def terms(self, position: int) -> Terms:
        """Return an objective from below."""
        if position not in self._terms:
            objective = self._model.tuple_positions[position].objective
            self._terms[position] = Terms(self._model, objective, self._known)
        return self._terms[position]

    def priced(self, position: int, seconds: float = math.inf, stop: threading.Event | None = None) -> int:
        """Return what prices prove; what a walk does where that is nothing."""
        terms = self.terms(position)
        if not terms.memberships:
            return self.walked(position)
        prices = Prices(self._model, terms, self._placed)
        best = best_prices(prices, seconds, stop)
        return math.ceil(max(prices.value(*best), whole_bound(prices, *best)))


__all__ = ["bounding", "lower_bounds"]
