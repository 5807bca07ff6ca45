"""Which kind of part to try next, and how large: what has paid lately, with a share kept for trying the others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

#: Share of the rounds in which any kind may be tried, and how fast old rounds are forgotten.
_TRYING, _MEMORY = 0.3, 0.9
#: Placements that a part starts with, and the bounds of its size.
SIZE, SMALLEST, LARGEST = 300, 60, 20_000
#: A part solved to its end makes the next one of its kind larger, one that was cut off smaller.
_LARGER, _SMALLER = 1.3, 0.7


class Arms:
    """Kinds of parts as arms of a bandit, each with a size that adapts.

    Which one is tried goes by the time that each has had, not by rounds: parts that are still too small to find
    anything take next to none, and would stay small for long while one kind that gains a little takes all the rest.

    Parameters
    ----------
    names : iterable of str
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        self._size = np.full(len(self.names), float(SIZE))
        self._gain = np.zeros(len(self.names))
        self._cost = np.full(len(self.names), 1e-6)
        self._had = np.zeros(len(self.names))

    def draw(self, rng: np.random.Generator) -> int:
        """Return an arm."""
        rate = self._gain / self._cost
        if rng.random() < _TRYING or not rate.any():
            return int(np.argmin(self._had))
        return int(rng.choice(len(rate), p=rate / rate.sum()))

    def size(self, arm: int) -> int:
        """Return how many placements its next part should have."""
        return int(self._size[arm])

    def tell(self, arm: int, gain: float, cost: float, solved: bool) -> None:
        """Note what a part brought and cost, in seconds, and whether it was solved to its end."""
        self._had[arm] += cost
        self._gain[arm] = _MEMORY * self._gain[arm] + gain
        self._cost[arm] = _MEMORY * self._cost[arm] + cost
        factor = _LARGER if solved else _SMALLER
        self._size[arm] = min(LARGEST, max(SMALLEST, self._size[arm] * factor))
