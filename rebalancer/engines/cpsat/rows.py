"""Cells as linear forms over CP-SAT variables: sparse rows, built with array operations only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.cpsat.literals import Literals
from rebalancer.model import Family, Grid, Tally
from rebalancer.model.grid import DENSE_CELLS, apply, linear
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Linear forms of cells: ``Σ coef · variable + const``.

    Parameters
    ----------
    groups, items : int
        Shape of the cells.
    key : int64 array
        Sorted ``group * items + item`` of the cells that vary; all others are constant.
    start : int64 array, len(key) + 1
        First entry of each row.
    var, coef : int64 arrays
        The entries, sorted by row, then by variable; no variable twice in a row.
    const : Grid
        Constant part of every cell.
    low, high : int64 arrays
        Bounds of each varying cell, constant included.
    """

    groups: int
    items: int
    key: IntArray
    start: IntArray
    var: IntArray
    coef: IntArray
    const: Grid
    low: IntArray
    high: IntArray

    @property
    def group(self) -> IntArray:
        """Group of each varying cell."""
        return self.key // self.items

    @property
    def item(self) -> IntArray:
        """Scope item of each varying cell."""
        return self.key % self.items

    @property
    def lengths(self) -> IntArray:
        """Number of variables of each row."""
        return np.diff(self.start)

    @property
    def row_of_entry(self) -> IntArray:
        """Row of each entry."""
        return np.repeat(np.arange(len(self.key)), self.lengths)

    @property
    def const_at_key(self) -> IntArray:
        """Constant of each varying cell."""
        return self.const.at(self.group, self.item)


def constant_rows(const: Grid) -> Rows:
    """Return cells that do not vary."""
    none = np.empty(0, np.int64)
    return Rows(const.groups, const.items, none, np.zeros(1, np.int64), none, none, const, none, none)


def single_rows(
    shape: tuple[int, int], key: IntArray, var: IntArray, const: Grid, low: IntArray, high: IntArray
) -> Rows:
    """Return cells that are one variable each; ``const`` must be 0 at their keys."""
    return Rows(*shape, key, np.arange(len(key) + 1), var, np.ones(len(key), np.int64), const, low, high)


def with_values(grid: Grid, key: IntArray, values: IntArray) -> Grid:
    """Return a grid with other values at some keys."""
    if not len(key):
        return grid
    if grid.size <= DENSE_CELLS:
        table = grid.dense()
        table[key // grid.items, key % grid.items] = values
        return Grid(grid.groups, grid.items, table)
    kept = ~np.isin(grid.keys, key)
    keys = np.concatenate([grid.keys[kept], key])
    order = np.argsort(keys)
    return Grid(
        grid.groups,
        grid.items,
        grid.table,
        grid.column,
        keys[order],
        np.concatenate([grid.values[kept], values])[order],
    )


def counted_in(tally: Tally, literals: Literals) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return where a tally counts whom: membership, literal, item and weight, by membership and then by literal."""
    membership, lit = literals.of_members(tally.member)
    container = literals.container[lit]
    item = tally.item_of[container].astype(np.int64)
    counted = item >= 0
    if tally.family is Family.STAYED:
        counted &= item == tally.home[tally.member[membership]]
    membership, lit, item = membership[counted], lit[counted], item[counted]
    return membership, lit, item, tally.weight_at(membership, container[counted], len(literals.start) - 1)


class RowAlgebra:
    """Operations on rows that know which variables are literals, and what bounds the others have.

    Parameters
    ----------
    literals : Literals
    """

    def __init__(self, literals: Literals) -> None:
        self.literals = literals
        self.var_low: list[IntArray] = []
        self.var_high: list[IntArray] = []
        self.variables = literals.count

    def new_variables(self, low: IntArray, high: IntArray) -> IntArray:
        """Reserve variables with these bounds and return them."""
        first = self.variables
        self.variables += len(low)
        self.var_low.append(low)
        self.var_high.append(high)
        return np.arange(first, self.variables)

    def auxiliary_bounds(self) -> tuple[IntArray, IntArray]:
        """Return the bounds of all variables after the literals."""
        none = np.empty(0, np.int64)
        low = np.concatenate([none, *self.var_low])
        high = np.concatenate([none, *self.var_high])
        self.var_low, self.var_high = [low], [high]
        return low, high

    def tally(self, tally: Tally) -> Rows:
        """Return the rows of a tally over the literals of its members."""
        membership, lit, item, coef = counted_in(tally, self.literals)
        key = tally.group[membership] * tally.items + item
        const = Grid.constant(tally.groups, tally.items, 0)
        return self.collect(tally.groups, tally.items, key, lit, coef, const)

    def collect(self, groups: int, items: int, key: IntArray, var: IntArray, coef: IntArray, const: Grid) -> Rows:
        """Return rows from loose entries: sorted, merged, bounded; rows that cannot vary become constants."""
        order = np.lexsort((var, key))
        key, var, coef = key[order], var[order], coef[order]
        if len(key):
            fresh = np.concatenate([[True], (key[1:] != key[:-1]) | (var[1:] != var[:-1])])
            if not fresh.all():
                first = np.flatnonzero(fresh)
                coef = np.add.reduceat(coef, first)
                key, var = key[first], var[first]
            nonzero = coef != 0
            if not nonzero.all():
                key, var, coef = key[nonzero], var[nonzero], coef[nonzero]
        keys, first = np.unique(key, return_index=True)
        start = np.append(first, len(key)).astype(np.int64)
        offset = const.at(keys // max(1, items), keys % max(1, items)).astype(np.int64)
        low, high = self._bounds(key, start, var, coef)
        low, high = low + offset, high + offset
        fixed = low == high
        if fixed.any():
            const = with_values(const, keys[fixed], low[fixed])
            vary = ~np.repeat(fixed, np.diff(start))
            lengths = np.diff(start)[~fixed]
            var, coef = var[vary], coef[vary]
            keys, low, high = keys[~fixed], low[~fixed], high[~fixed]
            start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Rows(groups, items, keys, start, var, coef, const, low, high)

    def _bounds(self, key: IntArray, start: IntArray, var: IntArray, coef: IntArray) -> tuple[IntArray, IntArray]:
        """Bound each row, using that an object takes exactly one of its candidates."""
        rows = len(start) - 1
        if not rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        low, high = np.zeros(len(var), np.int64), np.zeros(len(var), np.int64)
        literal = var < self.literals.count
        if literal.any():
            at = np.flatnonzero(literal)
            obj = self.literals.object[var[at]]
            head = np.concatenate([[True], (obj[1:] != obj[:-1]) | (key[at][1:] != key[at][:-1])])
            first = np.flatnonzero(head)
            size = np.diff(np.append(first, len(at)))
            least, most = np.minimum.reduceat(coef[at], first), np.maximum.reduceat(coef[at], first)
            avoidable = size < self.literals.per_object[obj[first]]
            low[at[first]] = np.where(avoidable, np.minimum(least, 0), least)
            high[at[first]] = np.where(avoidable, np.maximum(most, 0), most)
        if not literal.all():
            at = np.flatnonzero(~literal)
            bottom, top = self.auxiliary_bounds()
            slot = var[at] - self.literals.count
            ends = np.stack([coef[at] * bottom[slot], coef[at] * top[slot]])
            low[at], high[at] = ends.min(axis=0), ends.max(axis=0)
        return np.add.reduceat(low, start[:-1]), np.add.reduceat(high, start[:-1])

    def magnitude(self, rows: Rows) -> float:
        """Return the most that the variables of a row add up to if each is as large as it can be by itself.

        CP-SAT refuses rows where that overflows, though an object takes only one of its candidates.
        """
        if not len(rows.var):
            return 0.0
        low, high = self.auxiliary_bounds()
        largest = np.concatenate([np.ones(self.literals.count), np.maximum(np.abs(low), np.abs(high))])
        return float(np.bincount(rows.row_of_entry, np.abs(rows.coef) * largest[rows.var]).max())

    def combine(self, groups: int, items: int, parts: list[tuple[Rows, Grid]], const: Grid) -> Rows:
        """Return ``Σ coefficient · rows + const`` cell by cell, repeating rows along axes of length 1."""
        total = apply(linear, groups, items, const, *(grid for rows, coef in parts for grid in (coef, rows.const)))
        keys, variables, coefs = [], [], []
        for rows, coef in parts:
            key, entry, row_key = _repeat_rows(rows, groups, items)
            keys.append(key)
            variables.append(rows.var[entry])
            coefs.append(rows.coef[entry] * coef_at(coef, row_key, groups, items))
        none = [np.empty(0, np.int64)]
        return self.collect(
            groups,
            items,
            np.concatenate(keys or none),
            np.concatenate(variables or none),
            np.concatenate(coefs or none),
            total,
        )

    def regroup(
        self,
        rows: Rows,
        groups: int,
        items: int,
        group_map: IntArray | None,
        item_map: IntArray | None,
        coef: Grid,
        const: NDArray[np.int64],
    ) -> Rows:
        """Return sums of rows that map to each output cell.

        ``const`` is the sum of the constants, shape (groups, items).
        """
        row = rows.row_of_entry
        weight = coef_at(coef, rows.key, rows.groups, rows.items)[row]
        to_group = np.zeros(len(rows.key), np.int64) if group_map is None else group_map[rows.group]
        to_item = np.zeros(len(rows.key), np.int64) if item_map is None else item_map[rows.item]
        key = (to_group * items + to_item)[row]
        kept = ((to_group >= 0) & (to_item >= 0))[row]
        return self.collect(
            groups, items, key[kept], rows.var[kept], (rows.coef * weight)[kept], Grid(groups, items, const)
        )

    def gather(self, rows: Rows, group: IntArray, item: IntArray) -> Rows:
        """Return chosen cells in a row."""
        wanted = group * rows.items + item
        const = Grid(1, len(wanted), rows.const.at(group, item)[None, :].astype(np.int64))
        if not len(rows.key):
            return constant_rows(const)
        slot = np.minimum(np.searchsorted(rows.key, wanted), len(rows.key) - 1)
        varying = np.flatnonzero(rows.key[slot] == wanted)
        source = slot[varying]
        lengths = rows.lengths[source]
        entry = _ranges(rows.start[source], lengths)
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Rows(
            1,
            len(wanted),
            varying.astype(np.int64),
            start,
            rows.var[entry],
            rows.coef[entry],
            const,
            rows.low[source],
            rows.high[source],
        )


def coef_at(coef: Grid, key: IntArray, groups: int, items: int) -> IntArray:
    """Return a coefficient grid (perhaps repeated along an axis) at keys of a shape."""
    group = key // items if coef.groups == groups else np.zeros(len(key), np.int64)
    item = key % items if coef.items == items else np.zeros(len(key), np.int64)
    return coef.at(group, item).astype(np.int64)


def _ranges(first: IntArray, lengths: IntArray) -> IntArray:
    """Return the concatenated ranges first[i] … first[i] + lengths[i] - 1."""
    total = int(lengths.sum())
    if not total:
        return np.empty(0, np.int64)
    ends = np.cumsum(lengths)
    return np.arange(total) - np.repeat(ends - lengths, lengths) + np.repeat(first, lengths)


def _repeat_rows(rows: Rows, groups: int, items: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return, for each entry of the rows repeated to a larger shape: its key, position, and key for coefficients."""
    row = rows.row_of_entry
    group, item = rows.group, rows.item
    entry = np.arange(len(rows.var))
    if (rows.groups, rows.items) == (groups, items):
        key = rows.key[row]
        return key, entry, key
    wide_groups = np.arange(groups) if rows.groups == 1 else None
    wide_items = np.arange(items) if rows.items == 1 else None
    copies_g = groups if wide_groups is not None else 1
    copies_i = items if wide_items is not None else 1
    g = (
        np.tile(np.arange(groups), len(entry) * copies_i)
        if wide_groups is not None
        else np.repeat(group[row], copies_i)
    )
    i = (
        np.repeat(np.tile(np.arange(items), len(entry)), copies_g)
        if wide_items is not None
        else np.repeat(item[row], copies_g)
    )
    position = np.repeat(entry, copies_g * copies_i)
    key = g * items + i
    return key, position, key


def broadcast_index(rows: Rows, grid: Grid) -> tuple[IntArray, IntArray]:
    """Return group and item of each varying row in a grid, whose axes may have length 1."""
    none = np.zeros(len(rows.key), np.int64)
    return rows.group if grid.groups == rows.groups else none, rows.item if grid.items == rows.items else none


def take_rows(rows: Rows, picked: IntArray) -> Rows:
    """Return some of the varying rows (the constant grid stays whole)."""
    lengths = rows.lengths[picked]
    first = rows.start[picked]
    entry = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(first, lengths)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Rows(
        rows.groups,
        rows.items,
        rows.key[picked],
        start,
        rows.var[entry],
        rows.coef[entry],
        rows.const,
        rows.low[picked],
        rows.high[picked],
    )


def steps_of(rows: Rows) -> IntArray:
    """Return what the values of each row differ by multiples of."""
    return np.gcd.reduceat(np.abs(rows.coef), rows.start[:-1]) if len(rows.key) else np.empty(0, np.int64)


def merge_rows(one: Rows, other: Rows) -> Rows:
    """Return the varying rows of both, with the first one's constants."""
    if not len(other.key):
        return one
    key = np.concatenate([one.key, other.key])
    order = np.argsort(key)
    lengths = np.concatenate([one.lengths, other.lengths])
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    whole = Rows(
        one.groups,
        one.items,
        key,
        start,
        np.concatenate([one.var, other.var]),
        np.concatenate([one.coef, other.coef]),
        one.const,
        np.concatenate([one.low, other.low]),
        np.concatenate([one.high, other.high]),
    )
    return take_rows(whole, order)
