"""Numbers on a (group × item) grid that may be far too large to write down.

A `Grid` is a small table plus exceptions: the value at ``(g, s)`` is ``values[i]`` where ``keys[i] == g * items +
s``, and otherwise ``table[g, column(s)]``. A dense grid is the case without exceptions; a constant is the case with a
1 × 1 table. Parameters (limits, weights) and values (amounts, violations) are both grids, so one `apply` evaluates
every formula, in memory proportional to what differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.numbers import IntArray

#: A grid with at most this many cells is kept as one dense table.
DENSE_CELLS = 4_000_000
#: No table may grow beyond this.
LARGEST_TABLE = 200_000_000

_NO_KEYS: IntArray = np.empty(0, np.int64)


def _no_keys() -> IntArray:
    return _NO_KEYS


class GridTooLarge(MemoryError):
    """A formula would need a table over too many groups and items."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Values over groups × items.

    Parameters
    ----------
    groups, items : int
        Shape of the grid.
    table : array, shape (1 or groups, columns)
        int64, float64, bool, or Python integers of any size.
    column : int array of length items, or None
        Column of each item; None means one column for all items, or one column each.
    keys : int64 array
        Sorted ``group * items + item`` of the exceptions.
    values : array
        Their values.
    """

    groups: int
    items: int
    table: NDArray[Any]
    column: NDArray[np.int64] | None = None
    keys: IntArray = field(default_factory=_no_keys)
    values: NDArray[Any] = field(default_factory=_no_keys)

    @staticmethod
    def constant(groups: int, items: int, value: Any, dtype: Any = np.int64) -> Grid:
        """Return the grid that is ``value`` everywhere."""
        return Grid(groups, items, np.array([[value]], dtype))

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.groups * self.items

    @property
    def columns(self) -> int:
        """Number of columns of the table."""
        return int(self.table.shape[1])

    def at(self, group: NDArray[Any], item: NDArray[Any]) -> NDArray[Any]:
        """Return the values at pairs of group and item."""
        row = np.zeros(len(group), np.int64) if self.table.shape[0] == 1 else group
        out: NDArray[Any] = self.table[row, self._column_of(item)]
        if len(self.keys):
            wanted = np.asarray(group, np.int64) * self.items + item
            slot = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
            out = np.where(self.keys[slot] == wanted, self.values[slot], out)
        return out

    def at_keys(self, keys: IntArray) -> NDArray[Any]:
        """Return the values at sorted keys: mostly those of the grid itself, or a constant, which need no search."""
        if len(keys) == len(self.keys) and np.array_equal(keys, self.keys):
            return self.values
        if self.table.size == 1 and not len(self.keys):
            return np.broadcast_to(self.table[0], keys.shape)
        return self.at(keys // self.items, keys % self.items)

    def _column_of(self, item: NDArray[Any]) -> NDArray[Any]:
        if self.column is not None:
            return np.asarray(self.column[item])
        return item if self.columns == self.items else np.zeros(len(item), np.int64)

    def dense(self) -> NDArray[Any]:
        """Return the whole grid as an array of shape (groups, items).

        Raises
        ------
        GridTooLarge
        """
        if self.size > LARGEST_TABLE:
            raise GridTooLarge(f"{self.groups} groups × {self.items} items")
        wide = self.table if self.column is None else self.table[:, self.column]
        out = np.array(np.broadcast_to(wide, (self.groups, self.items)))
        if len(self.keys):
            out[self.keys // self.items, self.keys % self.items] = self.values
        return out

    def where(self, test: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> tuple[IntArray, IntArray]:
        """Return group and item of every cell whose value passes ``test``.

        Cells are visited only where some can pass.
        """
        passing = test(self.table)
        found = [self.keys[test(self.values)]] if len(self.keys) else []
        candidates = self._keys_where(passing)
        if len(candidates):
            found.append(candidates[~self._excepted(candidates)] if len(self.keys) else candidates)
        key = np.sort(np.concatenate(found)) if found else _NO_KEYS
        return key // max(1, self.items), key % max(1, self.items)

    def _keys_where(self, passing: NDArray[np.bool_]) -> IntArray:
        """Return the keys of the cells whose table entry passes."""
        rows, cols = np.nonzero(passing)
        if not len(rows) or not self.size:
            return _NO_KEYS
        if self.table.shape[0] == self.groups and self.column is None and self.columns == self.items:
            return np.asarray(rows * self.items + cols, np.int64)
        groups = 1 if self.table.shape[0] == self.groups else self.groups
        items_of = {col: self._items_of(col) for col in np.unique(cols).tolist()}
        many = groups * sum(len(items_of[col]) for col in cols.tolist())
        if many > LARGEST_TABLE:
            raise GridTooLarge(f"{many} cells of {self.groups} groups × {self.items} items")
        if groups == 1:
            parts = [row * self.items + items_of[col] for row, col in zip(rows.tolist(), cols.tolist(), strict=True)]
            return np.concatenate(parts)
        item = np.concatenate([items_of[col] for col in cols.tolist()])
        return np.asarray((np.arange(self.groups)[:, None] * self.items + item).ravel(), np.int64)

    def _excepted(self, keys: IntArray) -> NDArray[np.bool_]:
        """Return which keys are exceptions."""
        slot = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.asarray(self.keys[slot] == keys)

    def _items_of(self, col: int) -> IntArray:
        if self.column is not None:
            return np.flatnonzero(self.column == col)
        return np.array([col]) if self.columns == self.items else np.arange(self.items)

    def take(self, group: NDArray[Any], item: NDArray[Any]) -> Grid:
        """Return the values at pairs of group and item as a row: shape (1, n)."""
        return Grid(1, len(group), self.at(group, item)[None, :])

    def astype(self, dtype: Any) -> Grid:
        """Return the grid with values of another type."""
        if self.table.dtype == dtype and (self.values.dtype == dtype or not len(self.keys)):
            return self
        return Grid(
            self.groups, self.items, self.table.astype(dtype), self.column, self.keys, self.values.astype(dtype)
        )

    def map(self, function: Callable[..., Any]) -> Grid:
        """Return the grid of ``function`` of every value."""
        return Grid(
            self.groups,
            self.items,
            function(self.table),
            self.column,
            self.keys,
            function(self.values) if len(self.keys) else self.values,
        )

    @cached_property
    def extremes(self) -> tuple[int | float, int | float]:
        """The smallest and the largest value, as Python numbers; 0 where there is none. They are asked for often."""
        if self.table.size == 1 and not len(self.keys):  # most grids are one number
            alone = self.table.item()
            return alone, alone
        parts = [array for array in (self.table, self.values) if array.size]
        return _plain(min((part.min() for part in parts), default=0)), _plain(
            max((part.max() for part in parts), default=0)
        )

    def largest_magnitude(self) -> int | float:
        """Return the largest absolute value."""
        least, most = self.extremes
        return max(abs(least), abs(most))


def _plain(value: Any) -> int | float:
    number: int | float = value.item() if isinstance(value, np.generic) else value
    return number


def apply(function: Callable[..., Any], groups: int, items: int, *grids: Grid) -> Grid:
    """Return ``function`` of the grids, cell by cell; grids with one group or one item are repeated.

    Raises
    ------
    GridTooLarge
        The result has no compact form.
    """
    if not groups or not items:
        return Grid(groups, items, np.atleast_2d(function(*(np.ones((1, 1), grid.table.dtype) for grid in grids))))
    if all(grid.column is None and not len(grid.keys) for grid in grids):  # tables that repeat by themselves
        _check_size(groups, items, [grid.table for grid in grids])
        return Grid(groups, items, np.atleast_2d(function(*(grid.table for grid in grids))))
    spread = [_repeated(grid, groups, items) for grid in grids]
    column, columns = _common_columns(spread, items)
    tables = [_widen(grid, column, columns) for grid in spread]
    _check_size(groups, items, tables)
    table = function(*tables)
    keyed = [grid.keys for grid in spread if len(grid.keys)]
    if not keyed:
        return Grid(groups, items, np.atleast_2d(table), column)
    keys = keyed[0] if len(keyed) == 1 else _united(keyed)
    values = function(*(grid.at_keys(keys) for grid in spread))
    if groups * items <= DENSE_CELLS:
        return Grid(groups, items, _dense(table, values, groups, items, column, keys))
    return Grid(groups, items, np.atleast_2d(table), column, keys, np.broadcast_to(values, keys.shape))


def _check_size(groups: int, items: int, tables: list[NDArray[Any]]) -> None:
    """Refuse what would be too large once the tables are repeated to one shape."""
    rows, columns = (max((table.shape[axis] for table in tables), default=1) for axis in (0, 1))
    if rows * columns > LARGEST_TABLE:
        raise GridTooLarge(f"{groups} groups × {items} items")


def linear(const: NDArray[Any], *pairs: NDArray[Any]) -> NDArray[Any]:
    """Return a constant plus the products of the pairs of arrays that follow, for `apply`."""
    total = const
    for position in range(0, len(pairs), 2):
        total = total + pairs[position] * pairs[position + 1]
    return total


def most_often(numbers: IntArray) -> int:
    """Return how often the most frequent of some numbers occurs."""
    if len(numbers) < 2:
        return len(numbers)
    ordered = np.sort(numbers)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return int(np.diff(ends, prepend=-1).max())


def _united(parts: list[IntArray]) -> IntArray:
    """Return all keys of sorted parts once; a stable sort merges sorted runs, which `numpy.unique` does not use."""
    keys = np.sort(np.concatenate(parts), kind="stable")
    fresh = np.ones(len(keys), np.bool_)
    fresh[1:] = keys[1:] != keys[:-1]
    return np.asarray(keys[fresh])


def _dense(
    table: NDArray[Any], values: NDArray[Any], groups: int, items: int, column: NDArray[np.int64] | None, keys: IntArray
) -> NDArray[Any]:
    wide = np.atleast_2d(table) if column is None else np.atleast_2d(table)[:, column]
    out = np.array(np.broadcast_to(wide, (groups, items)))
    out[keys // items, keys % items] = values
    return out


def _repeated(grid: Grid, groups: int, items: int) -> Grid:
    """Return the grid seen as one of the given shape."""
    if (grid.groups, grid.items) == (groups, items):
        return grid
    plain = grid.column is None and not len(grid.keys)  # then its table repeats by itself
    return Grid(groups, items, grid.table if plain else grid.dense())


def _common_columns(grids: list[Grid], items: int) -> tuple[NDArray[np.int64] | None, int]:
    """Return the columns on which all tables can be written."""
    if any(grid.column is None and grid.columns == items for grid in grids) and items > 1:
        return None, items
    classed = [grid.column for grid in grids if grid.column is not None]
    if not classed:
        return None, 1
    first = classed[0]
    if all(column is first for column in classed):
        return first, max(grid.columns for grid in grids if grid.column is first)
    _, combined = np.unique(np.stack(classed), axis=1, return_inverse=True)
    combined = combined.reshape(-1).astype(np.int64)
    return combined, int(combined.max(initial=0)) + 1


def _widen(grid: Grid, column: NDArray[np.int64] | None, columns: int) -> NDArray[Any]:
    if grid.column is column or (grid.column is None and grid.columns == columns):
        return grid.table
    if grid.column is None and grid.columns == 1:
        return grid.table
    if column is None:
        return grid.table[:, grid.column] if grid.column is not None else grid.table
    first = np.full(columns, 0, np.int64)
    first[column] = np.arange(len(column))  # any item of the column stands for it
    return grid.table[:, grid.column[first]] if grid.column is not None else grid.table[:, first]


def stack(groups: int, items: int, grids: list[Grid]) -> tuple[NDArray[Any], NDArray[np.int64] | None, IntArray, Any]:
    """Return several grids as one grid of records.

    Returns
    -------
    table : array, shape (1 or groups, columns, len(grids))
    column : int array of length items, or None
        As in `Grid`.
    keys : int64 array
    values : array, shape (len(keys), len(grids))
    """
    spread = [_repeated(grid, groups, items) for grid in grids]
    column, columns = _common_columns(spread, items)
    rows = max(grid.table.shape[0] for grid in spread)
    if rows * columns * len(grids) > LARGEST_TABLE:
        raise GridTooLarge(f"{groups} groups × {items} items")
    table = np.stack([np.broadcast_to(_widen(grid, column, columns), (rows, columns)) for grid in spread], axis=-1)
    keyed = [grid.keys for grid in spread if len(grid.keys)]
    keys = _united(keyed) if keyed else _NO_KEYS
    values = [grid.at(keys // max(1, items), keys % max(1, items)) for grid in spread]
    return table, column, keys, np.stack(values, axis=-1)


def reduce_sum(
    grid: Grid, groups: int, items: int, group_map: NDArray[np.int64] | None, item_map: NDArray[np.int64] | None
) -> NDArray[Any]:
    """Return the sums of the cells that map to each output cell, shape (groups, items).

    Parameters
    ----------
    group_map, item_map : int64 array or None
        Output group of each group and output item of each item, -1 to leave out; None: all to output 0.
    """
    dtype = np.float64 if grid.table.dtype.kind == "f" else np.int64
    table = grid.table
    out = np.zeros((groups, items), dtype)
    if table.shape[0] == 1:
        share = (
            np.array([grid.groups]) if group_map is None else np.bincount(group_map[group_map >= 0], minlength=groups)
        )
        out += share[:, None].astype(dtype) * _sum_columns(grid, table.astype(dtype), items, item_map)
    elif group_map is None:
        out += _sum_columns(grid, table.sum(axis=0, keepdims=True, dtype=dtype), items, item_map)
    else:
        by_group = np.zeros((groups, table.shape[1]), dtype)
        kept = group_map >= 0
        np.add.at(by_group, group_map[kept], table[kept])
        out += _sum_columns(grid, by_group, items, item_map)
    if len(grid.keys):
        group, item = grid.keys // grid.items, grid.keys % grid.items
        one = grid.table.size == 1
        bare = grid.table[0, 0] if one else Grid(grid.groups, grid.items, grid.table, grid.column).at(group, item)
        to_group = np.zeros(len(group), np.int64) if group_map is None else group_map[group]
        to_item = np.zeros(len(item), np.int64) if item_map is None else item_map[item]
        kept_keys = (to_group >= 0) & (to_item >= 0)
        np.add.at(out, (to_group[kept_keys], to_item[kept_keys]), (grid.values - bare)[kept_keys])
    return out


def _sum_columns(grid: Grid, table: NDArray[Any], items: int, item_map: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return, for each row of a table over the grid's columns, the sums over the items that map to each output item."""
    if grid.column is None and grid.columns == 1:
        share = np.array([grid.items]) if item_map is None else np.bincount(item_map[item_map >= 0], minlength=items)
        return np.asarray(table * share)
    column = np.arange(grid.items) if grid.column is None else grid.column
    if item_map is None:
        return np.asarray((table * np.bincount(column, minlength=grid.columns)).sum(axis=1, keepdims=True))
    out = np.zeros((table.shape[0], items), table.dtype)
    kept = np.flatnonzero(item_map >= 0)
    np.add.at(out.T, item_map[kept], table[:, column[kept]].T)
    return out


def reduce_extremum(
    grid: Grid,
    groups: int,
    items: int,
    group_map: NDArray[np.int64] | None,
    item_map: NDArray[np.int64] | None,
    largest: bool,
    empty: int | float,
) -> Grid:
    """Return the largest (or smallest) of the cells that map to each output cell; ``empty`` where none does.

    Raises
    ------
    GridTooLarge
        The result has no compact form.
    """
    floats = grid.table.dtype.kind == "f"
    operation, edge = (np.maximum, -1) if largest else (np.minimum, 1)
    extreme = edge * np.inf if floats else np.iinfo(np.int64).min if largest else np.iinfo(np.int64).max
    to_group = np.zeros(grid.groups, np.int64) if group_map is None else np.asarray(group_map, np.int64)
    to_item = np.zeros(grid.items, np.int64) if item_map is None else np.asarray(item_map, np.int64)
    counts = [np.bincount(to[to >= 0], minlength=outputs) for to, outputs in ((to_group, groups), (to_item, items))]
    if groups * items > DENSE_CELLS and grid.table.size == 1 and all(count.all() for count in counts):
        return _rare_extremum(grid, (groups, items), to_group, to_item, counts, operation)
    if groups * items > LARGEST_TABLE:
        raise GridTooLarge(f"{groups} groups × {items} items")
    out = np.full((groups, items), extreme, np.float64 if floats else np.int64)
    if grid.size <= DENSE_CELLS:
        rows, cols = np.flatnonzero(to_group >= 0), np.flatnonzero(to_item >= 0)
        if len(rows) and len(cols):
            operation.at(out, (to_group[rows][:, None], to_item[cols][None, :]), grid.dense()[np.ix_(rows, cols)])
    else:
        _sparse_extremum(grid, out, to_group, to_item, operation)
    return Grid(groups, items, np.where(out == extreme, empty, out))


def _rare_extremum(
    grid: Grid,
    shape: tuple[int, int],
    to_group: IntArray,
    to_item: IntArray,
    counts: list[IntArray],
    operation: np.ufunc,
) -> Grid:
    """Return extremes of cells that are alike but for exceptions, where every output has some: alike, but for a few."""
    group, item = grid.keys // grid.items, grid.keys % grid.items
    kept = (to_group[group] >= 0) & (to_item[item] >= 0)
    key = to_group[group[kept]] * shape[1] + to_item[item[kept]]
    order = np.argsort(key, kind="stable")
    keys, first, number = np.unique(key[order], return_index=True, return_counts=True)
    values = operation.reduceat(grid.values[kept][order], first) if len(keys) else grid.values[:0]
    usual = number < counts[0][keys // shape[1]] * counts[1][keys % shape[1]]
    values = np.where(usual, operation(values, grid.table[0, 0]), values)
    return Grid(*shape, grid.table, None, keys, values)


def _sparse_extremum(grid: Grid, out: NDArray[Any], to_group: IntArray, to_item: IntArray, operation: np.ufunc) -> None:
    """Enter the cells into ``out``.

    Table entry by table entry, as far as some cell takes the entry and is no exception.
    """
    group, item = grid.keys // grid.items, grid.keys % grid.items
    kept = (to_group[group] >= 0) & (to_item[item] >= 0)
    group, item, values = group[kept], item[kept], grid.values[kept]
    if len(values):
        operation.at(out, (to_group[group], to_item[item]), values)
    row_of = np.arange(grid.groups) if grid.table.shape[0] == grid.groups else np.zeros(grid.groups, np.int64)
    column_of = grid._column_of(np.arange(grid.items))
    rows, row_slot, row_count = _blocks(row_of, to_group, out.shape[0])
    cols, col_slot, col_count = _blocks(column_of, to_item, out.shape[1])
    if len(rows) * len(cols) > LARGEST_TABLE:
        raise GridTooLarge(f"{grid.groups} groups × {grid.items} items")
    cells = np.outer(row_count, col_count)
    np.subtract.at(cells, (row_slot[group], col_slot[item]), 1)
    row, col = np.nonzero(cells > 0)
    target = rows[row] % max(1, out.shape[0]), cols[col] % max(1, out.shape[1])
    operation.at(out, target, grid.table[rows[row] // max(1, out.shape[0]), cols[col] // max(1, out.shape[1])])


def _blocks(source: IntArray, target: IntArray, outputs: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the pairs (table row or column.

    Output) that occur as ``source * outputs + output``, the pair of each member, and their sizes.
    """
    kept = np.flatnonzero(target >= 0)
    pairs, slot, count = np.unique(source[kept] * outputs + target[kept], return_inverse=True, return_counts=True)
    position = np.full(len(target), -1, np.int64)
    position[kept] = slot
    return pairs, position, count
