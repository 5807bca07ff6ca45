"""How much work one kernel call may do."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from rebalancer.engines.budget import STEP, Budget

#: Seconds that one kernel call should take.
_CALL = 0.05


@dataclass
class Pace:
    """How many units of work a kernel call may do to last about `_CALL` seconds."""

    budget: Budget
    units: float
    largest: float = math.inf
    _began: float = field(default=0.0)

    def take(self) -> int:
        """Return the units of the next call, and start its clock."""
        self._began = time.perf_counter()
        return max(1, int(min(self.units, self.largest)))

    def took(self, units: int, steps: int) -> None:
        """Note that a call did this much; steps count where the clock does not."""
        self.budget.spend(steps * STEP)
        self.budget.tick(max(1, steps))
        if not self.budget.deterministic:
            seconds = max(1e-5, time.perf_counter() - self._began)
            self.units = min(4 * self.units, max(1.0, units * _CALL / seconds))


__all__ = ["Pace"]
