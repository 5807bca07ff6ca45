"""Upper bounds on amounts that a walk may relax: of tallies over all objects, such as capacities.

Not those where an object weighs something else in some places, such as what stays taken where it leaves: what is above
such a bound often cannot be brought below it again, as nothing that leaves makes room.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.layout import (
    C_CLASS,
    C_EXCEPT,
    C_HIGH,
    C_ITEMS,
    C_RECORDS,
    C_WIDTH,
    C_WORDS,
    Flat,
)
from rebalancer.engines.local_search.kernels.settle import settle
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds that may be relaxed, as they are.

    Parameters
    ----------
    words : int64 array
        Where they are in ``Flat.words``.
    bounds : int64 array
        What they are.
    columns : int64 array
        The columns that they belong to.
    typical : float64 array
        Mean weight of an object in each of these.
    """

    words: IntArray
    bounds: IntArray
    columns: IntArray
    typical: NDArray[np.float64]

    @staticmethod
    def of(flattener: Flattener) -> Limits:
        """Return the limits of a model."""
        words, columns, typical = [], [], []
        fixed = flattener.fixed
        for index, column in enumerate(flattener.forms.columns):
            row = fixed["columns"][index * C_WIDTH : (index + 1) * C_WIDTH]
            members = column.members
            if members is None or len(members.row) or column.groups > 1 or row[C_HIGH] < 0 or row[C_EXCEPT] >= 0:
                continue
            sizes = np.concatenate([np.abs(members.default), np.abs(members.weight)])
            if not (sizes > 0).any():
                continue
            items = np.arange(int(row[C_ITEMS]))
            at = items * row[C_WORDS] if row[C_CLASS] == -2 else np.zeros(1, np.int64)
            if row[C_CLASS] >= 0:
                at = np.unique(fixed["maps"][row[C_CLASS] + items]).astype(np.int64)
            words.append(row[C_RECORDS] + at + row[C_HIGH])
            columns.append(index * C_WIDTH)
            typical.append(float(sizes[sizes > 0].mean()))
        where = np.concatenate(words) if words else np.empty(0, np.int64)
        return Limits(where, fixed["words"][where].copy(), np.array(columns, np.int64), np.array(typical))

    def widen(self, flat: Flat, share: float) -> None:
        """Let limits be larger by a share of what they are; 0: as they are."""
        flat.words[self.words] = self.bounds + (np.maximum(self.bounds, 0) * share).astype(np.int64)
        settle(flat)

    def price(self, flat: Flat, worth: float) -> None:
        """Allow what is beyond a limit, at a price per typical object."""
        flat.penalty[self.columns] = worth / self.typical
