"""Arrays that grow while a model is written down, and the numbers of a column that differ from cell to cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.atoms import Column
from rebalancer.model import Grid
from rebalancer.model.grid import apply


def packed(sets: list[NDArray[np.int32]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return sets of different sizes as where each begins, and all their members."""
    starts = np.concatenate([[0], np.cumsum([len(members) for members in sets])]).astype(np.int64)
    return starts, np.concatenate(sets) if sets else np.zeros(0, np.int32)


@dataclass
class Pool:
    """One growing array."""

    dtype: Any
    parts: list[NDArray[Any]] = field(default_factory=list)
    length: int = 0
    _known: dict[int, int] = field(default_factory=dict)

    def add(self, values: NDArray[Any]) -> int:
        """Append values; return where they begin. The same array is kept once."""
        if id(values) in self._known:
            return self._known[id(values)]
        start = self.length
        self.parts.append(values)  # keeps it alive, so that its id stays its own
        self._known[id(values)] = start
        self.length += values.size
        return start

    def array(self) -> NDArray[Any]:
        """Return everything that has been added, in a row."""
        parts = [part.ravel().astype(self.dtype, copy=False) for part in self.parts]
        return np.concatenate(parts) if parts else np.zeros(0, self.dtype)


class Records:
    """The numbers of a column that differ from cell to cell, one word each."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.grids: list[Grid] = []

    def word(self, grid: Grid, always: bool = False) -> tuple[int, int]:
        """Return the word of a number and its constant value, one of which counts."""
        if grid.table.size == 1 and not len(grid.keys) and not always:
            return -1, int(grid.table[0, 0])
        self.grids.append(apply(lambda v: v, self.column.groups, self.column.items, grid))
        return len(self.grids) - 1, 0


__all__ = ["Pool", "Records", "packed"]
