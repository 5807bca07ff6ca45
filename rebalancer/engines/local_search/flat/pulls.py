"""Which few containers, of thousands, an object or a group may be drawn to: lists for `kernels.pull` to go through."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.atoms import Column, never_negative, positive
from rebalancer.engines.local_search.flat.records import Pool
from rebalancer.engines.local_search.kernels import layout as at
from rebalancer.model import Function
from rebalancer.problem.numbers import IntArray

#: What `unusual` returns.
Unusual: TypeAlias = tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]

#: More than this share of a table's cells, of containers or of objects are not few; so many tell what is usual.
_UNUSUAL, _SOME = 0.125, 1_001
#: The only group of a tally is one among others, of which it is not told, if it has no more objects.
_FEW = 64
#: Functions that do not change with each unit more.
_JUMPS = (Function.STEP, Function.CEIL, Function.RAISE, Function.MOD)


class Pulls:
    """Writes the lists down.

    Parameters
    ----------
    maps : Pool
        Takes them.
    home : int32 array (objects,)
        Initial container of each object; number of containers: unplaced.

    Attributes
    ----------
    wishes : int
        How many groups may wish for more in an item: see `Flat.wish`.
    """

    def __init__(self, maps: Pool, home: NDArray[np.int32]) -> None:
        self._maps, self._home = maps, home
        self._contents: dict[int, int] = {}
        self.wishes = 0

    def note(self, row: list[int], column: Column, special: Unusual) -> None:
        """Note in a column's row what draws those to some containers who are counted there.

        Exceptional weights elsewhere than where they started, who else of their group is there, and unusual records.
        """
        row[at.C_INSIDE] = row[at.C_WITHIN] = row[at.C_SPECIAL] = row[at.C_COMMON] = row[at.C_WISH] = -1
        members, item_of = column.members, column.item_of
        if members is None or item_of is None:
            return
        condition = item_of if members.condition is None else members.condition
        if (members.item != condition[self._home[members.member[members.row]]]).any():
            row[at.C_WITHIN] = self._list_contents(condition)
        by_group, common = special
        if row[at.C_FLAT]:
            return
        if common is None:
            common = _few_inside(item_of)
        grouped = column.groups > 1 or len(members.member) <= max(_FEW, _UNUSUAL * len(self._home))
        if grouped or common is not None:
            row[at.C_INSIDE], row[at.C_MEETS] = self._list_contents(item_of), int(grouped and _meets(column))
            row[at.C_WISH] = self.wishes
            self.wishes += column.groups
            for word, items in ((at.C_SPECIAL, by_group), (at.C_COMMON, common)):
                row[word] = -1 if items is None else self._maps.add(items)

    def _list_contents(self, item_of: NDArray[np.int32]) -> int:
        """Return where it says how many items there are, where the containers of each begin, and these."""
        where = self._maps.add(item_of)
        if where not in self._contents:
            inside = item_of[:-1]
            items = int(inside.max(initial=-1)) + 1
            order = np.argsort(inside, kind="stable")
            starts = np.searchsorted(inside[order], np.arange(items + 1))
            self._contents[where] = self._maps.add(np.concatenate([[items], starts, order]).astype(np.int32))
        return self._contents[where]


def _meets(column: Column) -> bool:
    """Return whether who else of a group is in an item may be a reason to go there.

    Where being there at all is what counts, where one more fits into what is paid anyway, or where more is better.
    """
    return any(
        any(stage.function in _JUMPS or not positive(stage.alpha) for stage in piece.atom.stages)
        or not never_negative(piece.atom.coef)
        for piece in column.pieces
    )


def _few_inside(item_of: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return the items, as `unusual` lists common ones, where few containers are in any of them."""
    inside = item_of[:-1][item_of[:-1] >= 0]
    if not 0 < len(inside) <= _UNUSUAL * (len(item_of) - 1):
        return None
    items = np.unique(inside)
    return np.concatenate([[len(items)], items]).astype(np.int32)


def has_pulls(columns: IntArray) -> NDArray[np.bool_]:
    """Return which columns may draw objects to some containers, of rows that are written down."""
    read = columns[:, at.C_USE] < columns[:, at.C_USE_END]
    counts = read | (columns[:, at.C_PIECE] < columns[:, at.C_PIECE_END]) | (columns[:, at.C_LOW] >= 0)
    return counts & (columns[:, [at.C_WITHIN, at.C_INSIDE]] >= 0).any(axis=1)


def unusual(groups: int, table: NDArray[np.int64], column: IntArray, keys: IntArray) -> Unusual:
    """Return which items have unusual records.

    Parameters
    ----------
    table : int64 array (1 or groups, columns, words)
        Records by group, and by class of items.
    column : int64 array (items,)
        Class of each item.
    keys : int64 array
        Cells with records of their own, ``group * items + item``.

    Returns
    -------
    by_group : int32 array or None
        Where the items of each group begin, and they; None where none are or many.
    common : int32 array or None
        How many items are unusual for whole classes of them, and they.
    """
    items, common = len(column), np.zeros(0, np.int64)
    if table.shape[:2] == (groups, items) and groups > 1:
        if not len(keys):
            cells = table.reshape(-1, table.shape[2])
            keys = np.flatnonzero((cells != _usual(cells)).any(axis=-1))
    elif table.shape[1] > 1:
        by_item = table.swapaxes(0, 1).reshape(table.shape[1], -1)
        usual = _usual(by_item) if table.shape[1] == items else by_item[np.bincount(column).argmax()]
        common = np.flatnonzero((by_item != usual).any(axis=-1)[column])
    starts = np.searchsorted(keys, np.arange(groups + 1) * items)
    few = 0 < len(keys) <= _UNUSUAL * groups * items, 0 < len(common) <= _UNUSUAL * items
    return (
        np.concatenate([starts, keys % items]).astype(np.int32) if few[0] else None,
        np.concatenate([[len(common)], common]).astype(np.int32) if few[1] else None,
    )


def _usual(records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the record that most of many are, if most are the same."""
    some = records[np.linspace(0, len(records) - 1, min(len(records), _SOME)).astype(np.int64)]
    usual: NDArray[np.int64] = np.median(some, axis=0).astype(np.int64)
    return usual


__all__ = ["Pulls", "Unusual", "has_pulls", "unusual"]
