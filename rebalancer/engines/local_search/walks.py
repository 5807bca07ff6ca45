"""Which walk is next: how hot it starts, for how long, and whether limits are relaxed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

#: Short walks try one heat each, two longer ones the best of these and a hotter one; the winner takes the rest.
_HEATS, _HOTTER = (0.001, 0.01, 0.1, 3.0), 4.0
_SHORT, _LONGER = 0.025, 0.08


@dataclass(frozen=True)
class Walk:
    """One walk: how hot it starts, whether limits are relaxed at first, and its share of the time."""

    multiple: float
    relaxed: bool
    share: float


#: Where limits forbid most moves, a relaxed walk finds what others do not. It takes nearly all of the time where that
#: is many steps for each object; else it starts at this multiple of the best of the short ones. Then others take turns.
_THOROUGH, _RUSHED = Walk(4.0, True, 0.9), Walk(2.0, True, 0.6)
_AFTERWARDS = (Walk(0.3, False, 0.2), Walk(2.0, True, 0.25))


@dataclass
class Walks:
    """Decides what the next walk is like: longer walks can be hotter, and what that brings only trying tells.

    Parameters
    ----------
    crowded : bool
        Whether bounds forbid so many moves that relaxing them is worth a try.
    thorough : bool
        Whether there is time for many steps with each object.
    """

    crowded: bool
    thorough: bool
    ends: dict[float, float] = field(default_factory=dict)
    number: int = 0
    _first: float = 0.0

    def next(self) -> Walk:
        """Return the next walk."""
        number, at = self.number, self.number - len(_HEATS)
        self.number += 1
        if self.crowded and self.thorough:
            return _AFTERWARDS[number % 2 - 1] if number else _THOROUGH
        if at < 0:
            return Walk(_HEATS[at], False, _SHORT)
        best = min(self.ends, key=lambda multiple: self.ends[multiple])
        if at == 0:
            self.ends = {}
            self._first = best
            return Walk(best, False, _LONGER)
        if at == 1:
            return Walk(self._first * _HOTTER, False, _LONGER)
        if not self.crowded:
            return Walk(best, False, 1.0)
        if at == 2:
            return replace(_RUSHED, multiple=_RUSHED.multiple * max(best, _HEATS[-1]))
        return _AFTERWARDS[at % 2 - 1]

    def learn(self, walk: Walk, end: float) -> None:
        """Note where a walk ended; infinity: nowhere that holds the bounds."""
        self.ends[walk.multiple] = end


__all__ = ["Walk", "Walks"]
