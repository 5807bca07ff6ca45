"""Caps on moves in flight, as resources: a move takes some when it starts and gives it back when it arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem import Names, Partition, Problem
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.plan_section import Cap, PlanOptions
from rebalancer.specs.fields import exact

#: More than any number of moves.
UNLIMITED = np.int64(2**62)
_Rows: TypeAlias = tuple[IntArray, IntArray, IntArray]
_Count: TypeAlias = Callable[[IntArray, NDArray[np.int32], NDArray[np.int32]], tuple[IntArray, IntArray, IntArray]]


@dataclass(frozen=True, eq=False)
class CapCells:
    """One kind of cap.

    Parameters
    ----------
    name : str
        As in the plan section.
    names : Names or None
        Of the cells; None: there is one.
    limits : int64 array
    unit : Fraction
        What 1 means.
    count : callable
        ``(who, source, destination)`` of legs -> leg, cell and amount of what they take.
    """

    name: str
    names: Names | None
    limits: IntArray
    unit: Fraction
    count: _Count

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.limits)

    def limit(self, cell: IntArray) -> IntArray:
        """Return the limits of cells."""
        return self.limits[cell]


def cap_cells(options: PlanOptions, problem: Problem) -> list[CapCells]:
    """Return the caps of a plan section, those without any limit left out."""
    out = []
    if options.max_in_flight is not None:
        out.append(_one("max_in_flight", options.max_in_flight, Fraction(1), _every))
    if options.max_in_per_container is not None:
        out.append(_named("max_in_per_container", options.max_in_per_container, problem.containers, _into))
    if options.max_out_per_container is not None:
        out.append(_named("max_out_per_container", options.max_out_per_container, problem.containers, _out_of))
    for name, cap in options.max_per_scope_item.items():
        scope = problem.scopes[name]
        out.append(_named(f"max_per_scope_item.{name}", cap, scope.items, _touching(scope.item_of)))
    for name, cap in options.max_per_group.items():
        partition = problem.partitions[name]
        out.append(_named(f"max_per_group.{name}", cap, partition.groups, _of_group(partition)))
    for name, amount in options.max_amount.items():
        dimension = problem.dimension(name)
        for component in range(dimension.components):
            limit = exact(amount) * dimension.scale
            most = limit.numerator // limit.denominator
            out.append(
                _one(f"max_amount.{name}", most, Fraction(1, dimension.scale), _weight(problem, name, component))
            )
    return out


def turned_caps(options: PlanOptions, problem: Problem) -> list[CapCells]:
    """Return the caps that a way back meets otherwise than the way there, counted from the way there.

    Where that leaves a container, the way back goes into it. All other caps are the same both ways.
    """
    out = []
    if options.max_in_per_container is not None:
        out.append(_named("max_in_per_container", options.max_in_per_container, problem.containers, _out_of))
    if options.max_out_per_container is not None:
        out.append(_named("max_out_per_container", options.max_out_per_container, problem.containers, _into))
    return out


def _one(name: str, limit: int, unit: Fraction, count: _Count) -> CapCells:
    return CapCells(name, None, np.array([min(limit, int(UNLIMITED))], np.int64), unit, count)


def _named(name: str, cap: Cap, names: Names, count: _Count) -> CapCells:
    limits = np.full(len(names), UNLIMITED if cap.default is None else cap.default, np.int64)
    for known, limit in cap.values.items():
        limits[names.index[known]] = limit
    return CapCells(name, names, limits, Fraction(1), count)


def _rows(where: NDArray[np.integer]) -> tuple[IntArray, IntArray, IntArray]:
    leg = np.flatnonzero(where >= 0).astype(np.int64)
    return leg, where[leg].astype(np.int64), np.ones(len(leg), np.int64)


def _every(who: IntArray, source: NDArray[np.int32], destination: NDArray[np.int32]) -> _Rows:
    return np.arange(len(who)), np.zeros(len(who), np.int64), np.ones(len(who), np.int64)


def _into(who: IntArray, source: NDArray[np.int32], destination: NDArray[np.int32]) -> _Rows:
    return _rows(destination)


def _out_of(who: IntArray, source: NDArray[np.int32], destination: NDArray[np.int32]) -> _Rows:
    return _rows(source)


def _touching(item_of: NDArray[np.int32]) -> _Count:
    def count(who: IntArray, source: NDArray[np.int32], destination: NDArray[np.int32]) -> _Rows:
        here, there = item_of[source], item_of[destination]
        first, second = _rows(here), _rows(np.where(here == there, -1, there))
        leg, cell, amount = (np.concatenate(pair) for pair in zip(first, second, strict=True))
        return leg, cell, amount

    return count


def _of_group(partition: Partition) -> _Count:
    def count(who: IntArray, source: NDArray[np.int32], destination: NDArray[np.int32]) -> _Rows:
        rows, leg = partition.by_object.of(who)
        return leg, partition.group[rows].astype(np.int64), np.ones(len(leg), np.int64)

    return count


def _weight(problem: Problem, dimension: str, component: int) -> _Count:
    """Count what objects weigh where it is most: what weighs by place weighs the larger of both ends."""
    known = problem.dimension(dimension)

    def count(who: IntArray, source: NDArray[np.int32], destination: NDArray[np.int32]) -> _Rows:
        if known.dynamic is None:
            amount = known.values[who, component]
        else:
            item_of = problem.scopes[known.dynamic.scope].item_of
            ends = (known.dynamic.at(item_of[place], who, len(problem.objects)) for place in (source, destination))
            amount = np.maximum(*ends)
        leg = np.flatnonzero(amount).astype(np.int64)
        return leg, np.zeros(len(leg), np.int64), amount[leg]

    return count
