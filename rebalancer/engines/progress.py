"""Progress as callers may rely on it: within a tuple position answers only get better, and bounds only rise.

Objectives are rounded up and bounds down by what a position's integers may be off, so that neither is too good.
"""

from __future__ import annotations

import threading

from rebalancer.engines.base import Progress, Request
from rebalancer.model import Model


class ProgressLog:
    """Passes news on to ``request.on_progress``, from whatever thread they come and in whatever order.

    Parameters
    ----------
    model : Model
    request : Request
    """

    def __init__(self, model: Model, request: Request) -> None:
        self._model = model
        self._request = request
        self._lock = threading.Lock()
        self._position = -1
        self._objective: float | None = None
        self._bound: float | None = None

    def tell(self, position: int, objective: int | None = None, bound: int | None = None) -> None:
        """Report a better answer or bound of a tuple position, as integers of its objective; None: no news of that.

        What is no better than before is dropped.
        """
        call = self._request.on_progress
        if call is None:
            return
        value = None if objective is None else self._at_most(position, objective)
        low = None if bound is None else self._model.real(position, bound)
        with self._lock:
            if position < self._position:
                return
            fresh = position > self._position
            if fresh:
                self._position, self._objective, self._bound = position, None, None
            better = value is not None and (self._objective is None or value < self._objective)
            higher = low is not None and (self._bound is None or low > self._bound)
            if better:
                self._objective = value
            if higher:
                self._bound = low
            if fresh or better or higher:
                call(Progress(self._request.seconds, position, self._objective, self._bound, self._gap()))

    def _at_most(self, position: int, objective: int) -> float:
        """Return the true value that an answer of an integer objective cannot exceed."""
        cells = self._model.tuple_positions[position].objective
        return float(objective * cells.unit + cells.error)

    def _gap(self) -> float | None:
        if self._objective is None or self._bound is None:
            return None
        return max(0.0, self._objective - self._bound) / max(1.0, abs(self._objective))
