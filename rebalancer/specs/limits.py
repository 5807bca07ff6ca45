"""From the limits and filters of specs to parameters of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, Grid, Param
from rebalancer.problem import Names, Problem, ScopeDimension
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.fields import Filter, Limit, exact

#: A limit, or None where there is none.
Bound: TypeAlias = Fraction | None


def kept_items(names: Names, chosen: Filter | None) -> IntArray:
    """Return the indices that a filter keeps, in definition order."""
    if chosen is None or (chosen.items_whitelist is None and chosen.items_blacklist is None):
        return np.arange(len(names))
    listed = names.lookup(list(chosen.items_whitelist if chosen.items_whitelist is not None else chosen.items_blacklist or ()))
    keep = np.full(len(names), chosen.items_whitelist is None)
    keep[listed] = chosen.items_whitelist is not None
    return np.flatnonzero(keep)


def capacities(problem: Problem, dimension: str, scope: str) -> tuple[ScopeDimension, list[Fraction]]:
    """Return what the items of a scope offer, also as exact numbers."""
    capacity = problem.capacity(dimension, scope)
    return capacity, [Fraction(value, capacity.scale) for value in capacity.values.tolist()]


def mean(values: Sequence[Fraction]) -> Fraction:
    """Return the mean, or 1 where there is nothing or it would be 0: what violations are measured in."""
    average = sum(values, Fraction(0)) / len(values) if values else Fraction(0)
    return average or Fraction(1)


def item_limits(limit: Limit, names: Names, base: Sequence[Fraction] | None) -> list[Bound]:
    """Return the limit of each scope item, times ``base`` (its capacity) if the limit is RELATIVE and a base is given; None: no limit."""
    relative = base is not None and limit.type.value == "RELATIVE"
    own = {name: exact(value) for name, value in limit.scope_item_limits.items()}
    default = exact(limit.global_limit)
    out: list[Bound] = []
    for index, name in enumerate(names):
        raw = own.get(name)
        if raw is None and limit.is_default_limit_unbounded:
            out.append(None)
            continue
        value = default if raw is None else raw
        out.append(value * base[index] if relative and base is not None else value)
    return out


@dataclass(frozen=True, eq=False)
class Limits:
    """The limit of every (group, item); None where there is none. In memory proportional to what is stated.

    Parameters
    ----------
    groups, items : int
        Shape; items are the kept ones.
    table : list of rows of Fraction or None
        One row, or one per group.
    column : int64 array, one per item, or None
        Column of the table that an item takes; None: one column for all.
    keys : int64 array
        Sorted ``group * items + item`` of the exceptions.
    values : list of Fraction
        Their limits.
    """

    groups: int
    items: int
    table: list[list[Bound]]
    column: NDArray[np.int64] | None
    keys: IntArray
    values: list[Bound]

    def param(self, value: Callable[[Bound], Fraction]) -> Param:
        """Return ``value`` of every limit."""
        known: dict[Bound, Fraction] = {}

        def of(limit: Bound) -> Fraction:
            if limit not in known:
                known[limit] = value(limit)
            return known[limit]

        cells = _objects([[of(limit) for limit in row] for row in self.table], self.columns)
        return Param.of(cells, self.groups, self.items, column=self.column, keys=self.keys, values=[of(limit) for limit in self.values])

    def at_most(self, cells: Cells) -> Param:
        """Return the limits as upper bounds of ``cells``: where there is none, or none that can be reached, the first number out of reach."""
        most = (cells.high + 1) * cells.unit
        return self.param(lambda limit: most if limit is None else min(limit, most))

    def at_least(self, cells: Cells) -> Param:
        """Return the limits as lower bounds of ``cells``; see `at_most`."""
        least = (cells.low - 1) * cells.unit
        return self.param(lambda limit: least if limit is None else max(limit, least))

    def shown(self, absent: float) -> Grid:
        """Return the limits as float64 for reports, with ``absent`` where there is none."""
        def number(limit: Bound) -> float:
            return absent if limit is None else float(limit)

        rows = [[number(limit) for limit in row] for row in self.table]
        table = np.array(rows, float).reshape(len(rows), self.columns)
        return Grid(self.groups, self.items, table, self.column, self.keys, np.array([number(limit) for limit in self.values], float))

    @property
    def columns(self) -> int:
        """How many columns the table has."""
        return len(self.table[0]) if self.table else 1


def group_limits(limit: Limit, groups: Names, items: Names, sizes: Sequence[Fraction] | None = None, kept: IntArray | None = None) -> Limits:
    """Return the limit of every (group, item): pair, then item, then group, then global.

    Parameters
    ----------
    sizes : sequence of Fraction, one per group, or None
        What a RELATIVE limit is multiplied by.
    kept : int64 array, optional
        The items to keep; all where left out.
    """
    relative = sizes is not None and limit.type.value == "RELATIVE"
    chosen = np.arange(len(items)) if kept is None else kept
    by_item = {items.index[name]: exact(value) for name, value in limit.scope_item_limits.items()}
    by_group = {name: exact(value) for name, value in limit.group_limits.items()}
    distinct = sorted(set(by_item.values()))
    column = np.zeros(len(items), np.int64)
    for item, value in by_item.items():
        column[item] = 1 + distinct.index(value)

    def times(value: Fraction, group: int) -> Fraction:
        return value * sizes[group] if relative and sizes is not None else value

    default = exact(limit.global_limit)
    rows: list[list[Bound]] = []
    for group, name in enumerate(groups) if relative or by_group else [(0, None)]:
        own = by_group.get(name) if name is not None else None
        usual = None if own is None and limit.is_default_limit_unbounded else times(default if own is None else own, group)
        rows.append([usual, *(times(value, group) for value in distinct)])
    position = np.full(len(items), -1, np.int64)
    position[chosen] = np.arange(len(chosen))
    pairs: list[tuple[int, Fraction]] = []
    for item_name, values in limit.scope_item_to_group_limits.items():
        column_of = int(position[items.index[item_name]])
        if column_of >= 0:
            pairs.extend((groups.index[name] * len(chosen) + column_of, times(exact(value), groups.index[name])) for name, value in values.items())
    pairs.sort()
    return Limits(len(groups), len(chosen), rows, column[chosen] if distinct and rows else None, np.array([key for key, _ in pairs], np.int64),
                  [value for _, value in pairs])


def _objects(rows: list[list[Fraction]], columns: int) -> NDArray[Any]:
    table: NDArray[Any] = np.empty((len(rows), columns), object)
    for position, row in enumerate(rows):
        table[position] = row
    return table
