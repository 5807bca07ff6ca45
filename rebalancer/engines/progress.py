"""Progress as callers may rely on it: answers only get better, position by position, and bounds only rise.

Objectives are rounded up and bounds down by what a position's integers may be off, so that neither is too good.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from rebalancer.engines.base import Progress, Request
from rebalancer.engines.closed import closed_as_reported
from rebalancer.model import Model


class ProgressLog:
    """Passes news on to ``request.on_progress``, from whatever thread they come and in whatever order.

    What is told of a position holds for what was told of the earlier ones: where one of these gets better, the later
    ones are forgotten, and told anew once they are worked on or get better.

    Parameters
    ----------
    model : Model
    request : Request
    """

    def __init__(self, model: Model, request: Request) -> None:
        self._model = model
        self._request = request
        self._lock = threading.Lock()
        self._values: list[int | None] = [None] * model.positions
        self._bounds: list[int | None] = [None] * model.positions
        # objective and bound as they were told; None: nothing was, of what the earlier positions are now
        self._told: list[tuple[float | None, float | None] | None] = [None] * model.positions

    def tell(
        self,
        position: int,
        objective: int | None = None,
        bound: int | None = None,
        given: Sequence[int] | None = None,
    ) -> None:
        """Report a better answer or bound of a tuple position, as integers of its objective; None: no news of that.

        What is no better than before is dropped.

        Parameters
        ----------
        given : sequence of int, optional
            What the earlier positions are in that answer; otherwise what they are in the best one.
        """
        if self._request.on_progress is None:
            return
        with self._lock:
            known = self._bounds[position]
            if bound is not None and (known is None or bound > known):
                self._bounds[position] = bound
            earlier = self._values[:position] if given is None else list(given)
            if objective is not None:
                self._take([*earlier, objective])
            # a bound is no reason to speak of a position that nobody works on yet
            self._show(position, anew=position == 0 or (objective is not None and self._values[:position] == earlier))

    def tell_answer(self, integers: Sequence[int], position: int | None = None) -> None:
        """Report an answer by its exact objective: news are of the first position that it improves.

        Parameters
        ----------
        position : int, optional
            Is worked on from now, and hence told in any case.
        """
        if self._request.on_progress is None:
            return
        with self._lock:
            better = self._take(integers)
            if better is not None:
                self._show(better, anew=True)
            if position is not None and self._values[: position + 1] == list(integers[: position + 1]):
                self._show(position, anew=True)

    def _take(self, integers: Sequence[int | None]) -> int | None:
        """Note the first values of an answer if it is better; return the first position that it improves."""
        for position, (value, known) in enumerate(zip(integers, self._values, strict=False)):
            if value is None or (known is not None and value > known):
                return None
            if known is None or value < known:
                unknown = [None] * (self._model.positions - len(integers))
                self._values[position:] = [*integers[position:], *unknown]
                self._told[position + 1 :] = [None] * (self._model.positions - position - 1)
                return position if known is not None or position == 0 else None
        return None

    def _show(self, position: int, anew: bool) -> None:
        """Tell a position, and later ones that its bound proves something of; what was not told yet only ``anew``."""
        call = self._request.on_progress
        assert call is not None
        for number in range(position, self._model.positions):
            told = self._told[number]
            if told is None and not (anew and number == position):
                continue
            news = objective, bound = self._objective(number), self._bound(number)
            if news != told:
                self._told[number] = news
                call(Progress(self._request.seconds, number, objective, bound, _gap(objective, bound)))

    def _objective(self, position: int) -> float | None:
        """Return the true value that the answer cannot exceed."""
        value = self._values[position]
        if value is None:
            return None
        cells = self._model.tuple_positions[position].objective
        return float(value * cells.unit + cells.error)

    def _bound(self, position: int) -> float | None:
        """Return the bound if the earlier positions are proven: it is about answers that are as good there."""
        bound = self._bounds[position]
        proven = bound is not None and all(self._is_proven(earlier) for earlier in range(position))
        return self._model.proven(position, bound) if proven and bound is not None else None

    def _is_proven(self, position: int) -> bool:
        objective, bound = self._objective(position), self._bounds[position]
        return (
            objective is not None and bound is not None and closed_as_reported(self._model, position, objective, bound)
        )


def _gap(objective: float | None, bound: float | None) -> float | None:
    if objective is None or bound is None:
        return None
    return max(0.0, objective - bound) / max(1.0, abs(objective))
