"""Keys of cells, ``group * items + item``, from one shape to another; and rows of cells at some keys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.cpsat.rows import Rows
from rebalancer.engines.neighbourhood.lookup import TooWide
from rebalancer.model import Function, Grid, Reduce
from rebalancer.problem.numbers import IntArray

#: A part that would reach more cells of one kind than this is refused.
MOST_CELLS = 200_000


def as_row(values: IntArray) -> Grid:
    """Return values as a grid of one row."""
    return Grid(1, len(values), values[None, :])


def bent(function: Function, form: Rows) -> NDArray[np.bool_]:
    """Return which varying linear forms still vary once a function has been applied."""
    if function is Function.HINGE:
        return np.asarray(form.high > 0)
    if function is Function.STEP:
        return np.asarray((form.high > 0) & (form.low <= 0))
    return np.ones(len(form.key), bool)


def narrowed(keys: IntArray, shape: tuple[int, int], own: tuple[int, int]) -> IntArray:
    """Return the keys, in cells of shape ``own``, of what is repeated at keys of a larger shape."""
    if shape == own:
        return keys
    group = keys // shape[1] if own[0] == shape[0] else np.zeros(len(keys), np.int64)
    item = keys % shape[1] if own[1] == shape[1] else np.zeros(len(keys), np.int64)
    return group * own[1] + item


def widened(keys: IntArray, own: tuple[int, int], shape: tuple[int, int]) -> IntArray:
    """Return all keys of a larger shape to which cells at keys are repeated."""
    if shape == own:
        return keys
    group, item = keys // own[1], keys % own[1]
    size = len(keys) * (1 if own[0] == shape[0] else shape[0]) * (1 if own[1] == shape[1] else shape[1])
    if size > MOST_CELLS:
        raise TooWide(f"{size} of {shape[0]} × {shape[1]} cells")
    groups = group[:, None] if own[0] == shape[0] else np.broadcast_to(np.arange(shape[0]), (len(keys), shape[0]))
    items = item[:, None] if own[1] == shape[1] else np.broadcast_to(np.arange(shape[1]), (len(keys), shape[1]))
    return np.unique((groups[:, :, None] * shape[1] + items[:, None, :]).ravel())


def targets_of(cells: Reduce, keys: IntArray) -> IntArray:
    """Return the output key of some source cells, -1 for none."""
    source = cells.source
    group, item = keys // source.items, keys % source.items
    to_group = np.zeros(len(keys), np.int64) if cells.group_map is None else cells.group_map[group]
    to_item = np.zeros(len(keys), np.int64) if cells.item_map is None else cells.item_map[item]
    return np.where((to_group >= 0) & (to_item >= 0), to_group * cells.items + to_item, -1)


def sums(rows: Rows, coef: IntArray, slot: IntArray, size: int) -> IntArray:
    """Return the sums of the constants of rows, weighted, by output; shape (1, size)."""
    out = np.zeros(size, np.int64)
    np.add.at(out, slot, coef * rows.const.dense().ravel())
    return out[None, :]


def shifted(rows: Rows, const: IntArray) -> Rows:
    """Return rows plus constants."""
    moved = const[rows.key]
    return replace(rows, const=as_row(rows.const.dense().ravel() + const), low=rows.low + moved, high=rows.high + moved)


__all__ = ["MOST_CELLS", "as_row", "bent", "narrowed", "shifted", "sums", "targets_of", "widened"]
