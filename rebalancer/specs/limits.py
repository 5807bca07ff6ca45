"""From the limits and filters of specs to parameters of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, Grid, ModelBuilder, Param
from rebalancer.problem import Names, Path, Problem
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.fields import Filter, Limit, Number, exact

#: A limit, or None where there is none.
Bound: TypeAlias = Fraction | None


def kept_items(names: Names, chosen: Filter | None) -> IntArray:
    """Return the indices that a filter keeps, in definition order."""
    if chosen is None or (chosen.items_whitelist is None and chosen.items_blacklist is None):
        return np.arange(len(names))
    listed = names.lookup(
        list(chosen.items_whitelist if chosen.items_whitelist is not None else chosen.items_blacklist or ())
    )
    keep = np.full(len(names), chosen.items_whitelist is None)
    keep[listed] = chosen.items_whitelist is not None
    return np.flatnonzero(keep)


def offering(
    problem: Problem, dimension: str, scope: str, chosen: Filter | None = None
) -> tuple[IntArray, list[Fraction]]:
    """Return the kept items that offer something of a dimension, and how much: those whose utilization is defined."""
    offered = problem.capacity(dimension, scope).exact
    kept = [item for item in kept_items(problem.scopes[scope].items, chosen).tolist() if offered[item]]
    return np.array(kept, np.int64), [offered[item] for item in kept]


def mean(values: Sequence[Fraction]) -> Fraction:
    """Return the mean, or 1 where there is nothing or it would be 0: what violations are measured in."""
    average = sum(values, Fraction(0)) / len(values) if values else Fraction(0)
    return average or Fraction(1)


def item_limits(limit: Limit, names: Names, kept: Sequence[int], base: Sequence[Fraction] | None) -> list[Bound]:
    """Return the limit of each kept item (None: none); a RELATIVE one times ``base``, the items' capacity, if given."""
    own = {names.index[name]: exact(value) for name, value in limit.scope_item_limits.items()}
    default: Bound = None if limit.is_default_limit_unbounded else exact(limit.global_limit)
    stated = [own.get(item, default) for item in kept]
    if base is None or limit.type.value != "RELATIVE":
        return stated
    return [None if value is None else value * base[item] for item, value in zip(kept, stated, strict=True)]


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
        return Param.of(
            cells,
            self.groups,
            self.items,
            column=self.column,
            keys=self.keys,
            values=[of(limit) for limit in self.values],
        )

    def over(self, model: ModelBuilder, cells: Cells) -> Cells:
        """Return ``cells`` less the limits, which count as at most the first number that the cells cannot reach."""
        most = (cells.high + 1) * cells.unit
        limits = self.param(lambda limit: most if limit is None else min(limit, most))
        return model.linear([(cells, 1)], limits.scaled(Fraction(-1)))

    def under(self, model: ModelBuilder, cells: Cells) -> Cells:
        """Return the limits less ``cells``; see `over`."""
        least = (cells.low - 1) * cells.unit
        return model.linear([(cells, -1)], self.param(lambda limit: least if limit is None else max(limit, least)))

    def times(self, base: Sequence[Fraction], keys: IntArray, factors: Sequence[Fraction]) -> Limits:
        """Return the limits times an amount of each (group, item).

        Parameters
        ----------
        base : sequence of Fraction, one per group
            The amount in every item …
        keys, factors
            … but for these, given like `keys` and `values`.
        """
        rows = self.table * (self.groups if len(self.table) == 1 else 1)
        table = [[None if limit is None else limit * base[group] for limit in row] for group, row in enumerate(rows)]
        special = dict(zip(keys.tolist(), factors, strict=True))
        own = dict(zip(self.keys.tolist(), self.values, strict=True))
        exceptions: dict[int, Bound] = {}
        for key in sorted({*special, *own}):
            group, item = divmod(key, self.items)
            column = 0 if self.column is None else int(self.column[item])
            limit = own[key] if key in own else rows[group][column]
            exceptions[key] = None if limit is None else limit * special.get(key, base[group])
        return replace(self, table=table, keys=np.array(list(exceptions), np.int64), values=list(exceptions.values()))

    def times_items(self, factors: Sequence[Fraction]) -> Limits:
        """Return the limits times a factor of each item."""
        column = [0] * self.items if self.column is None else self.column.tolist()
        pairs = dict.fromkeys(zip(column, factors, strict=True))
        place = {pair: position for position, pair in enumerate(pairs)}
        table: list[list[Bound]] = [
            [None if (limit := row[old]) is None else limit * factor for old, factor in pairs] for row in self.table
        ]
        values: list[Bound] = [
            None if limit is None else limit * factors[key % self.items]
            for key, limit in zip(self.keys.tolist(), self.values, strict=True)
        ]
        spread = np.array([place[pair] for pair in zip(column, factors, strict=True)], np.int64)
        return replace(self, table=table, column=spread, values=values)

    def with_exceptions(self, keys: IntArray, values: Sequence[Fraction]) -> Limits:
        """Return the limits with others for some ``group * items + item``."""
        own = dict(zip(self.keys.tolist(), self.values, strict=True)) | dict(zip(keys.tolist(), values, strict=True))
        return replace(self, keys=np.array(sorted(own), np.int64), values=[own[key] for key in sorted(own)])

    def shown(self, absent: float) -> Grid:
        """Return the limits as float64 for reports, with ``absent`` where there is none."""

        def number(limit: Bound) -> float:
            return absent if limit is None else float(limit)

        rows = [[number(limit) for limit in row] for row in self.table]
        table = np.array(rows, float).reshape(len(rows), self.columns)
        return Grid(
            self.groups,
            self.items,
            table,
            self.column,
            self.keys,
            np.array([number(limit) for limit in self.values], float),
        )

    @property
    def columns(self) -> int:
        """How many columns the table has."""
        return len(self.table[0]) if self.table else 1


def group_limits(limit: Limit, groups: Names, items: Names, kept: IntArray | None = None) -> Limits:
    """Return the limit of every (group, item) as it is stated: pair, then item, then group, then global.

    Parameters
    ----------
    groups : Names
        The groups to keep; what is stated of others has no effect.
    kept : int64 array, optional
        The items to keep; all where left out.
    """
    chosen = np.arange(len(items)) if kept is None else kept
    by_item = {items.index[name]: exact(value) for name, value in limit.scope_item_limits.items()}
    by_group = {name: exact(value) for name, value in limit.group_limits.items()}
    distinct = sorted(set(by_item.values()))
    column = np.zeros(len(items), np.int64)
    for item, value in by_item.items():
        column[item] = 1 + distinct.index(value)
    default: Bound = None if limit.is_default_limit_unbounded else exact(limit.global_limit)
    rows: list[list[Bound]] = [[by_group.get(name, default), *distinct] for name in (groups if by_group else [""])]
    position = np.full(len(items), -1, np.int64)
    position[chosen] = np.arange(len(chosen))
    pairs: dict[int, Fraction] = {}
    for item_name, values in limit.scope_item_to_group_limits.items():
        at = int(position[items.index[item_name]])
        if at >= 0:
            rows_of = ((groups.index[name], value) for name, value in values.items() if name in groups.index)
            pairs |= {row * len(chosen) + at: exact(value) for row, value in rows_of}
    keys = sorted(pairs)
    return Limits(
        len(groups),
        len(chosen),
        rows,
        column[chosen] if distinct and rows else None,
        np.array(keys, np.int64),
        [pairs[key] for key in keys],
    )


def stated_numbers(limit: Limit) -> Iterator[tuple[Path, Number]]:
    """Yield every number that a limit states, and where."""
    if not limit.is_default_limit_unbounded:
        yield ("global_limit",), limit.global_limit
    for name, value in limit.scope_item_limits.items():
        yield ("scope_item_limits", name), value
    for name, value in limit.group_limits.items():
        yield ("group_limits", name), value
    for item, values in limit.scope_item_to_group_limits.items():
        for name, value in values.items():
            yield ("scope_item_to_group_limits", item, name), value


def combined(limits: Sequence[Limits], value: Callable[[tuple[Bound, ...]], Fraction]) -> Param:
    """Return ``value`` of all limits of each (group, item) together; they are over the same groups and items."""
    first = limits[0]
    items = first.items
    rows = first.groups if any(len(each.table) > 1 for each in limits) else 1
    columns = [np.zeros(items, np.int64) if each.column is None else each.column for each in limits]
    distinct, column = np.unique(np.stack(columns), axis=1, return_inverse=True)
    known: dict[tuple[Bound, ...], Fraction] = {}

    def of(parts: tuple[Bound, ...]) -> Fraction:
        if parts not in known:
            known[parts] = value(parts)
        return known[parts]

    def at(row: int, place: Sequence[int]) -> list[Bound]:
        return [each.table[min(row, len(each.table) - 1)][col] for each, col in zip(limits, place, strict=True)]

    table = [[of(tuple(at(row, place))) for place in distinct.T.tolist()] for row in range(rows)]
    keys = np.unique(np.concatenate([each.keys for each in limits]))
    own = [dict(zip(each.keys.tolist(), each.values, strict=True)) for each in limits]
    values = []
    for key in keys.tolist():
        row, item = divmod(key, items)
        base = at(row, [int(each[item]) for each in columns])
        values.append(of(tuple(special.get(key, plain) for special, plain in zip(own, base, strict=True))))
    cells = _objects(table, distinct.shape[1])
    return Param.of(cells, first.groups, items, column=column.reshape(-1), keys=keys, values=values)


def group_sizes(
    problem: Problem, partition: str, dimension: str, scope: str, kept: IntArray
) -> tuple[list[Fraction], IntArray, list[Fraction]]:
    """Return what each group weighs if all of it is in an item: by group, with the exceptions of a dynamic dimension.

    Returns
    -------
    sizes : list of Fraction, one per group
    keys : int64 array
        Sorted ``group * kept items + item`` of the exceptions.
    values : list of Fraction
    """
    groups = problem.partitions[partition]
    known = problem.dimension(dimension)
    count = len(groups.groups)
    dynamic = known.dynamic
    total = np.zeros(count, np.int64)
    if dynamic is None:
        np.add.at(total, groups.group, known.values[groups.member, 0])
        return [Fraction(value, known.scale) for value in total.tolist()], np.empty(0, np.int64), []
    total = groups.sizes * dynamic.default
    objects = len(problem.objects)
    where, what = np.divmod(dynamic.key, max(1, objects))
    order = np.argsort(groups.member, kind="stable")
    start, stop = (np.searchsorted(groups.member[order], what, side=side) for side in ("left", "right"))
    often = stop - start
    slot = np.repeat(start, often) + np.arange(int(often.sum())) - np.repeat(np.cumsum(often) - often, often)
    group, more = groups.group[order][slot].astype(np.int64), np.repeat(dynamic.value - dynamic.default, often)
    place = np.repeat(where, often)
    outer = (
        np.arange(len(problem.scopes[scope].items))
        if dynamic.scope == scope
        else outer_items(problem, scope, dynamic.scope)
    )
    sums: dict[int, int] = {}
    for position, item in enumerate(outer[kept].tolist()):
        here = place == item
        for owner, extra in zip(group[here].tolist(), more[here].tolist(), strict=True):
            key = owner * len(kept) + position
            sums[key] = sums.get(key, int(total[owner])) + extra
    keys = sorted(sums)
    return (
        [Fraction(value, known.scale) for value in total.tolist()],
        np.array(keys, np.int64),
        [Fraction(sums[key], known.scale) for key in keys],
    )


def outer_items(problem: Problem, inner: str, outer: str) -> IntArray:
    """Return the item of ``outer`` around each item of ``inner``, -1 where there is none (or no container in it)."""
    inside, around = problem.scopes[inner].item_of[:-1], problem.scopes[outer].item_of[:-1]
    out = np.full(len(problem.scopes[inner].items), -1, np.int64)
    known = inside >= 0
    out[inside[known]] = around[known]
    return out


def outer_groups(problem: Problem, inner: str, outer: str) -> IntArray:
    """Return the group of ``outer`` that contains each group of ``inner``, -1 where none does (or it is empty).

    Raises
    ------
    ValueError
        Some group of ``inner`` lies only partly in a group of ``outer``, or in several.
    """
    finer, coarser = problem.partitions[inner], problem.partitions[outer]
    groups_of: dict[int, list[int]] = {}
    for group, member in zip(coarser.group.tolist(), coarser.member.tolist(), strict=True):
        groups_of.setdefault(member, []).append(group)
    out = np.full(len(finer.groups), -1, np.int64)
    seen: dict[int, list[int]] = {}
    for group, member in zip(finer.group.tolist(), finer.member.tolist(), strict=True):
        around = groups_of.get(member, [])
        if len(around) > 1 or seen.setdefault(group, around) != around:
            raise ValueError(f"group '{finer.groups[group]}' lies in no single group of '{outer}'")
        out[group] = around[0] if around else -1
    return out


def nested(problem: Problem, inner: str, outer: str) -> bool:
    """Return whether all containers of each item of ``inner`` are in one item of ``outer``, or all in none."""
    inside, around = problem.scopes[inner].item_of[:-1], problem.scopes[outer].item_of[:-1]
    known = inside >= 0
    return bool((outer_items(problem, inner, outer)[inside[known]] == around[known]).all())


def _objects(rows: list[list[Fraction]], columns: int) -> NDArray[Any]:
    table: NDArray[Any] = np.empty((len(rows), columns), object)
    for position, row in enumerate(rows):
        table[position] = row
    return table
