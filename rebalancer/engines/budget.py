"""What a search may take: time by the clock or by work, rounds, patience. One place that says when to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalancer.engines.base import Request

#: Seconds that a step of local search counts where the clock does not.
STEP = 1e-6


@dataclass
class Budget:
    """What may be spent, and how much of it is left. Safe to share between threads.

    Parameters
    ----------
    limit : float or None
        Seconds; None: as many as it takes.
    deterministic : bool
        Count what `spend` is told instead of the clock: the same work always costs the same.
    stop : threading.Event
        Ends everything.
    began : float
        `time.monotonic` when the clock started.
    iterations : int or None
        Rounds, as counted by `tick`.
    patience : float or None
        Seconds without an improvement, as told by `improved`, after which to stop.
    """

    limit: float | None
    deterministic: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)
    iterations: int | None = None
    patience: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _spent: float = 0.0
    _ticks: int = 0
    _gained: float = 0.0
    _reached: bool = False

    @staticmethod
    def of(request: Request) -> Budget:
        """Return the budget of a request."""
        budget = Budget(
            request.time_limit,
            request.deterministic,
            request.stop,
            request.began,
            request.iterations,
            request.patience,
        )
        budget.improved()  # patience counts from the search's start: compiling is no part of it
        return budget

    @property
    def seconds(self) -> float:
        """Seconds spent so far."""
        return self._spent if self.deterministic else time.monotonic() - self.began

    @property
    def worked(self) -> float:
        """Deterministic seconds spent so far, whether they count or not."""
        return self._spent

    @property
    def remaining(self) -> float:
        """Seconds left; infinite without a limit, negative where more were spent.

        Where the clock does not count, what is left of the patience is a limit as well.
        """
        left = float("inf") if self.limit is None else self.limit - self.seconds
        return min(left, self.patience_left) if self.deterministic else left

    @property
    def patience_left(self) -> float:
        """Seconds until patience ends if nothing improves; infinite without one."""
        return float("inf") if self.patience is None else self._gained + self.patience - self.seconds

    @property
    def ticks_left(self) -> float:
        """Rounds left; infinite without a limit."""
        return float("inf") if self.iterations is None else self.iterations - self._ticks

    @property
    def ended(self) -> bool:
        """Whether something other than the time says to stop: somebody, the target, rounds or patience used up."""
        return self.stop.is_set() or self._reached or self.ticks_left <= 0 or self.patience_left <= 0

    @property
    def over(self) -> bool:
        """Whether to stop."""
        return self.ended or self.remaining <= 0

    def spend(self, seconds: float) -> None:
        """Count deterministic seconds; without effect where the clock counts."""
        with self._lock:
            self._spent += seconds

    def tick(self, rounds: int = 1) -> None:
        """Count rounds."""
        with self._lock:
            self._ticks += rounds

    def improved(self) -> None:
        """Note that the answer has just become better."""
        self._gained = self.seconds

    def reach(self) -> None:
        """Note that the answer is as good as was asked for."""
        self._reached = True

    def part(self, seconds: float, until: Callable[[], bool] | None = None) -> Budget:
        """Return a budget of at most some seconds from now, which spends from this one as well; it may end early."""
        left = min(seconds, self.remaining)
        limit = None if left == float("inf") else left
        return _Part(limit, self.deterministic, self.stop, time.monotonic(), whole=self, until=until)


@dataclass
class _Part(Budget):
    """Has time and an end of its own; everything else is the whole's."""

    whole: Budget = field(default_factory=lambda: Budget(None))
    until: Callable[[], bool] | None = None

    @property
    def patience_left(self) -> float:
        return self.whole.patience_left

    @property
    def ticks_left(self) -> float:
        return self.whole.ticks_left

    @property
    def ended(self) -> bool:
        return self._reached or self.whole.ended or (self.until is not None and self.until())

    def spend(self, seconds: float) -> None:
        super().spend(seconds)
        self.whole.spend(seconds)

    def tick(self, rounds: int = 1) -> None:
        self.whole.tick(rounds)

    def improved(self) -> None:
        self.whole.improved()
