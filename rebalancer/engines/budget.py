"""Time that a search may take: of the clock or, where every run is to be the same, of what CP-SAT says it worked."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalancer.engines.base import Request


@dataclass
class Budget:
    """Seconds to spend.

    Parameters
    ----------
    limit : float or None
        None: as many as it takes.
    deterministic : bool
        Count what `spend` is told instead of the clock: the same work always costs the same.
    stop : threading.Event
        Ends everything.
    began : float
        `time.monotonic` when the clock started.
    """

    limit: float | None
    deterministic: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)
    _spent: float = 0.0

    @staticmethod
    def of(request: Request) -> Budget:
        """Return the budget of a request."""
        return Budget(request.time_limit, request.deterministic, request.stop, request.began)

    @property
    def seconds(self) -> float:
        """Seconds spent so far."""
        return self._spent if self.deterministic else time.monotonic() - self.began

    @property
    def remaining(self) -> float:
        """Seconds left; infinite without a limit, negative where more were spent."""
        return float("inf") if self.limit is None else self.limit - self.seconds

    @property
    def over(self) -> bool:
        """Whether to stop: nothing is left, or somebody asked for it."""
        return self.stop.is_set() or self.remaining <= 0

    def spend(self, seconds: float) -> None:
        """Count deterministic seconds; without effect where the clock counts."""
        self._spent += seconds

    def part(self, seconds: float) -> Budget:
        """Return a budget of at most some seconds from now, which spends from this one as well."""
        left = min(seconds, self.remaining)
        return _Part(
            None if left == float("inf") else left, self.deterministic, self.stop, time.monotonic(), whole=self
        )


@dataclass
class _Part(Budget):
    whole: Budget | None = None

    def spend(self, seconds: float) -> None:
        super().spend(seconds)
        if self.whole is not None:
            self.whole.spend(seconds)
