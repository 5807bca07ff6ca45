"""The steps of a plan, and what stands beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rebalancer.plan.waiting import Waiting
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps, by wave.

    Parameters
    ----------
    who : int64 array
        Object index of each step.
    source, destination : int32 arrays
        Container indices, -1: unplaced.
    wave : int64 array
        Counted from 0, never falling.
    waits : Waiting
        Who waits for whom.
    """

    who: IntArray
    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    wave: IntArray
    waits: Waiting

    def __len__(self) -> int:
        return len(self.who)

    @property
    def waves(self) -> int:
        """How many waves there are."""
        return int(self.wave[-1]) + 1 if len(self.wave) else 0

    def in_wave(self, wave: int) -> IntArray:
        """Return the steps of a wave."""
        return np.arange(*np.searchsorted(self.wave, [wave, wave + 1]), dtype=np.int64)

    def end(self, start: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return where everything is after all steps."""
        out = start.copy()
        out[self.who] = self.destination  # of the same object twice, the later one counts
        return out


@dataclass(frozen=True)
class Blocked:
    """A move that a plan does not carry out, and why.

    Parameters
    ----------
    object, source, destination : str or None
    reasons : tuple of str
        What it would break where everything stands at the end of the plan.
    """

    object: str
    source: str | None
    destination: str | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Excess:
    """A cell that is above its limit on the way.

    Parameters
    ----------
    constraint : str
    item, group : str or None
    first_wave, last_wave : int
        Counted from 1.
    amount : float
        By how much, at most, in the constraint's own units.
    in_flight : str
        When the constraint has to hold.
    """

    constraint: str
    item: str | None
    group: str | None
    first_wave: int
    last_wave: int
    amount: float
    in_flight: str


@dataclass(frozen=True)
class Peak:
    """How much is in flight in a wave.

    Parameters
    ----------
    wave : int
        Counted from 1.
    steps : int
    amounts : dict of str to float
        Dimension -> amount in flight, of every dimension that is not by place; of a vector, its largest component.
    objective : tuple of float
        By tuple position, once the wave has arrived; empty where there are too many waves to score them all.
    """

    wave: int
    steps: int
    amounts: dict[str, float] = field(default_factory=dict)
    objective: tuple[float, ...] = ()
