"""What was known when."""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import dataclass, field

from rebalancer.engines.base import Progress


@dataclass
class Timeline:
    """Best objective and bound of the first tuple position over time; give it to `Rebalancer.solve` as ``on_progress``.

    Parameters
    ----------
    rounding : float
        By how much the position's integers are rounded (`Model.epsilon`): progress tells what an integer guarantees
        from below, so this is added to objectives.
    began : float
        `time.monotonic` when the clock started.
    """

    rounding: float = 0.0
    began: float = field(default_factory=time.monotonic)
    seconds: list[float] = field(default_factory=list)
    known: list[tuple[float | None, float | None]] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        if progress.tuple_pos == 0:
            self.note(progress.objective, progress.bound, self.rounding)

    def note(self, objective: float | None, bound: float | None, rounding: float = 0.0) -> None:
        """Add what is known now; None: no news."""
        best, proven = self.known[-1] if self.known else (None, None)
        if objective is not None:
            best = min(objective + rounding, float("inf") if best is None else best)
        if bound is not None:
            proven = max(bound, float("-inf") if proven is None else proven)
        self.seconds.append(time.monotonic() - self.began)
        self.known.append((best, proven))

    def at(self, seconds: float) -> tuple[float | None, float | None]:
        """Return objective and bound as known at a time; None where unknown."""
        index = bisect_right(self.seconds, seconds)
        return self.known[index - 1] if index else (None, None)


def gap(objective: float | None, bound: float | None) -> float | None:
    """Return the proven gap, as solutions report it but relative to the objective even if that is below 1."""
    if objective is None or bound is None:
        return None
    return 0.0 if objective <= bound else (objective - bound) / abs(objective)
