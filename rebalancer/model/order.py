"""Order statistics of cells: the n-th largest, and the sum of all but the largest few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.grid import Grid
from rebalancer.problem.numbers import IntArray

if TYPE_CHECKING:
    from rebalancer.model.cells import Reduce


def reduced(cells: Reduce) -> tuple[IntArray, IntArray]:
    """Return the output group of each input group, and the output item of each input item; -1 for none."""
    source = cells.source
    group = np.zeros(source.groups, np.int64) if cells.group_map is None else cells.group_map
    return group, np.zeros(source.items, np.int64) if cells.item_map is None else cells.item_map


def targets(
    source_groups: int, source_items: int, items: int, group_map: IntArray | None, item_map: IntArray | None
) -> IntArray:
    """Return the output key of every input cell in row-major order, -1 for none."""
    to_group = np.zeros(source_groups, np.int64) if group_map is None else group_map
    to_item = np.zeros(source_items, np.int64) if item_map is None else item_map
    inside = (to_group >= 0)[:, None] & (to_item >= 0)[None, :]
    return np.where(inside, to_group[:, None] * items + to_item[None, :], -1).ravel()


def order_statistic(
    decisive: Grid, values: Grid, target: IntArray, shape: tuple[int, int], rank: int, rest: bool
) -> NDArray[Any]:
    """Return, for every output cell, a statistic of the cells that map to it.

    Parameters
    ----------
    decisive : Grid of int64
        What cells are ordered by.
    values : Grid
        What is returned of them: the same integers, or their exact values.
    target : int64 array
        Output key of every input cell, -1 for none.
    rank : int
        Without ``rest``: the value with this many above it (of too few cells: the smallest). With ``rest``: the sum
        of all but this many largest.
        0 where no cell maps.
    """
    chosen = np.flatnonzero(target >= 0)
    key = target[chosen]
    ints, exact = decisive.dense().ravel()[chosen], values.dense().ravel()[chosen]
    order = np.lexsort((-ints, key))
    key, exact = key[order], exact[order]
    out = np.zeros(shape[0] * shape[1], exact.dtype)
    if not len(key):
        return out.reshape(shape)
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    size = np.diff(np.append(first, len(key)))
    if rest:
        position = np.arange(len(key)) - np.repeat(first, size)
        np.add.at(out, key, np.where(position >= rank, exact, 0))
    else:
        out[key[first]] = exact[first + np.minimum(rank, size - 1)]
    return out.reshape(shape)
