"""Order statistics of cells: the n-th largest, and the sum of all but the largest few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rebalancer.model.grid import DENSE_CELLS, LARGEST_TABLE, Grid, GridTooLarge
from rebalancer.problem.numbers import IntArray

if TYPE_CHECKING:
    from rebalancer.model.cells import Reduce


def reduced(cells: Reduce) -> tuple[IntArray, IntArray]:
    """Return the output group of each input group, and the output item of each input item; -1 for none."""
    source = cells.source
    group = np.zeros(source.groups, np.int64) if cells.group_map is None else cells.group_map
    return group, np.zeros(source.items, np.int64) if cells.item_map is None else cells.item_map


def targets(cells: Reduce) -> IntArray:
    """Return the output key of every input cell in row-major order, -1 for none."""
    to_group, to_item = reduced(cells)
    inside = (to_group >= 0)[:, None] & (to_item >= 0)[None, :]
    return np.where(inside, to_group[:, None] * cells.items + to_item[None, :], -1).ravel()


def order_statistic(
    values: Grid, maps: tuple[IntArray, IntArray], shape: tuple[int, int], rank: int, rest: bool
) -> Grid:
    """Return, for every output cell, a statistic of the cells that map to it.

    Parameters
    ----------
    values : Grid
        Of the cells: integers, or exact values.
    maps : two int64 arrays
        Output group of each group, and output item of each item; -1 for none.
    rank : int
        Without ``rest``: the value with this many above it (of too few cells: the smallest). With ``rest``: the sum
        of all but this many largest.
        0 where no cell maps.

    Raises
    ------
    GridTooLarge
        There are too many cells, and they are not alike but for exceptions.
    """
    group, item = maps
    rare = values.size > DENSE_CELLS and values.table.size == 1
    if max(shape[0] * shape[1], 0 if rare else values.size) > LARGEST_TABLE:
        raise GridTooLarge(f"{values.groups} groups × {values.items} items")
    # most cells hold the same: those at 0 where all are written down
    usual = values.table[0, 0] if rare else values.table.dtype.type(0)
    keys = values.keys if rare else np.flatnonzero(values.dense())
    to_group, to_item = group[keys // values.items], item[keys % values.items]
    kept = (to_group >= 0) & (to_item >= 0)
    keys, key = keys[kept], to_group[kept] * shape[1] + to_item[kept]
    number = values.at_keys(keys)
    order = np.lexsort((-number, key))
    key, number = key[order], number[order]
    # all other cells are alike: among those of their output, they begin after what is larger
    counted = [np.bincount(part[part >= 0], minlength=length) for part, length in zip(maps, shape, strict=True)]
    listed = np.bincount(key, minlength=shape[0] * shape[1])
    others = np.outer(*counted).ravel() - listed
    larger = np.bincount(key[number > usual], minlength=len(listed))
    first = np.cumsum(listed) - listed
    if rest:
        position = np.arange(len(key)) - np.repeat(first, listed)
        position += np.where(position < larger[key], 0, others[key])
        out = usual * np.maximum(0, others - np.maximum(0, rank - larger))
        np.add.at(out, key, np.where(position >= rank, number, 0))
    else:
        nth = np.minimum(rank, listed + others - 1)
        out = np.where(nth < 0, usual * 0, usual)
        found = np.flatnonzero((nth >= 0) & ((nth < larger) | (nth >= larger + others)))
        out[found] = number[(first + np.where(nth < larger, nth, nth - others))[found]]
    return Grid(*shape, out.reshape(shape))
