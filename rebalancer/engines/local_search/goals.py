"""What an objective adds up, and walks that begin with all of it weighing about the same.

A goal whose typical move costs a hundred times what another's costs is a wall: no walk that is cold enough to heed the
mild goal ever crosses it. So it begins as steep as the mildest goal, and grows until it is what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.kernels.layout import C_VALUES, N_LEANING, Flat
from rebalancer.engines.local_search.kernels.trail import Trail
from rebalancer.engines.local_search.kernels.walk import effects
from rebalancer.problem.numbers import IntArray

#: Random moves that tell how steep each goal is.
_MOVES = 1_000
#: Goals that are steeper than the mildest one by less than this are left alone; mildest of those that are at least this
#: share of what may still be gained: where there is nearly nothing to gain, a goal is no measure for the others.
_ALIKE, _MATTERS = 10.0, 0.05


@dataclass(frozen=True, eq=False)
class Goals:
    """The goals of a tuple position.

    Parameters
    ----------
    columns : int64 array
        Where their columns begin: each has one cell.
    worth : float64 array
        What one unit of each is worth.
    steepness : float64 array
        How much a typical move that changes a goal changes the objective by that; 0 where none does.
    share : float64 array
        Which share each is of what the objective is above the least that its goals are known to be.
    """

    columns: IntArray
    worth: NDArray[np.float64]
    steepness: NDArray[np.float64]
    share: NDArray[np.float64]

    @staticmethod
    def of(
        flat: Flat, trail: Trail, columns: IntArray, worth: NDArray[np.float64], least: NDArray[np.float64]
    ) -> Goals:
        """Return goals as steep as they are where a searcher stands, given the least value that each may have."""
        changes = np.zeros((_MOVES, len(columns)))
        changes = np.abs(changes[: effects(flat, trail, columns, changes)]) * np.abs(worth)
        count = (changes > 0).sum(axis=0)
        value = flat.values[flat.columns[columns + C_VALUES]]
        above = np.abs((value - np.where(worth > 0, least, 0.0)) * worth)
        return Goals(
            columns,
            worth,
            np.where(count, changes.sum(axis=0) / np.maximum(1, count), 0.0),
            above / max(above.sum(), np.finfo(float).tiny),
        )

    @property
    def mildest(self) -> float:
        """What a typical move of the mildest goal that matters costs; 0 where none changes."""
        known = self.steepness[(self.steepness > 0) & (self.share >= _MATTERS)]
        return float(known.min()) if len(known) else 0.0

    @property
    def differ(self) -> bool:
        """Whether some goal is much steeper than another."""
        return bool(self.steepness.max(initial=0.0) > _ALIKE * self.mildest > 0)

    def level(self, flat: Flat, share: float) -> None:
        """Let goals be as steep as the mildest one, or less so: 1 completely, 0 not at all."""
        flat.lean[:] = 0.0
        steeper = self.steepness > (self.mildest or np.inf)
        factor = np.ones(len(self.worth))
        factor[steeper] = (self.mildest / self.steepness[steeper]) ** share
        flat.lean[self.columns] = self.worth * (factor - 1)
        flat.counts[N_LEANING] = share > 0


__all__ = ["Goals"]
