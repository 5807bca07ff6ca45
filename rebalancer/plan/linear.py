"""Hard cells that are linear forms of where objects are, so that a move takes room in some and gives it in others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, Extremum, Function, Gather, Gathering, Grid, HardCells, Map, Reduce, Tally
from rebalancer.model.grid import apply
from rebalancer.plan.flight import Leaf, leaves
from rebalancer.problem import Problem
from rebalancer.problem.membership import ByObject
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Path:
    """From a leaf up to a hard cell, factor by factor.

    Parameters
    ----------
    leaf : Leaf
    steps : tuple
        ``("times", coef)``, ``("regroup", group map, item map)`` or ``("pick", sorted keys, positions, items)``.
    """

    leaf: Leaf
    steps: tuple[tuple[object, ...], ...] = ()

    def then(self, *step: object) -> Path:
        """Return the path with one more step."""
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True, eq=False)
class LinearCells:
    """``const + Σ paths ≤ threshold``, cell by cell.

    Parameters
    ----------
    constraint : int
    cells : Cells
        The hard cells, for labels.
    groups, items : int
    const : Grid
    paths : tuple of Path
    threshold : Grid
        What the form must not exceed where the constraint simply holds.
    """

    constraint: int
    cells: Cells
    groups: int
    items: int
    const: Grid
    paths: tuple[Path, ...]
    threshold: Grid

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.groups * self.items

    def base(self, keys: IntArray) -> IntArray:
        """Return the constants of cells given by ``group * items + item``."""
        return _at(self.const, keys // self.items, keys % self.items)

    def limit(self, keys: IntArray) -> IntArray:
        """Return the thresholds of cells."""
        return _at(self.threshold, keys // self.items, keys % self.items)


def linear_cells(hard: HardCells) -> list[LinearCells] | None:
    """Return hard cells as linear forms that all have to hold, or None where they are no such thing.

    Parameters
    ----------
    hard : HardCells
        Nothing of its bound is used: what may be exceeded because it is broken already is the ledger's business.
    """
    cells = hard.cells
    if isinstance(cells, Map) and cells.function is not Function.IDENTITY:
        if cells.function in (Function.SQUARE, Function.MOD):
            return None
        forms = _form(cells)
        divisor = cells.divisor
        threshold = divisor.map(lambda d: d - 1 - d // 2 if cells.function is Function.ROUND else d * 0)
    else:
        forms = _forms(cells)
        threshold = Grid.constant(1, 1, 0)
    if forms is None:
        return None
    return [
        LinearCells(hard.constraint, cells, cells.groups, cells.items, const, paths, threshold)
        for const, paths in forms
    ]


_Forms: TypeAlias = "list[tuple[Grid, tuple[Path, ...]]]"


def _forms(cells: Cells) -> _Forms | None:
    """Return linear forms of which the largest is the cells."""
    if isinstance(cells, Tally):
        return [(Grid.constant(1, 1, 0), (Path(Leaf(cells, "all", Grid.constant(1, 1, 1))),))]
    if isinstance(cells, Map):
        return _form(cells) if cells.function is Function.IDENTITY else None
    if isinstance(cells, Extremum) and cells.largest_of:
        parts = [_forms(source) for source in cells.sources]
        return None if any(part is None for part in parts) else [form for part in parts for form in part or ()]
    if isinstance(cells, Gather):
        return _gathered(cells)
    if isinstance(cells, Reduce) and cells.how is Gathering.SUM:
        inner = _forms(cells.source)
        if inner is None or len(inner) > 1:
            return None
        const, paths = inner[0]
        source = cells.source
        if const.largest_magnitude():
            return None
        weighted = apply(lambda v: v, source.groups, source.items, cells.coef)
        return [
            (const, tuple(path.then("times", weighted).then("regroup", cells.group_map, cells.item_map)
                          for path in paths))
        ]  # fmt: skip
    return None


def _form(cells: Map) -> _Forms | None:
    """Return the linear form of a map without its function."""
    inner, others = leaves(cells)
    own: list[Path] = []
    for leaf in inner:
        if (leaf.tally.groups, leaf.tally.items) != (cells.groups, cells.items):
            return None
        own.append(Path(leaf).then("times", leaf.coef))
    forms: _Forms = [(cells.const, tuple(own))]
    for source, coef in others:
        found = _forms(source)
        shape = (cells.groups, cells.items)
        if found is None or (source.groups, source.items) != shape:
            return None
        if len(found) > 1 and not _positive(coef):
            return None
        forms = [
            (
                apply(lambda total, c, v: total + c * v, *shape, const, coef, added),
                (*paths, *(path.then("times", coef) for path in more)),
            )
            for const, paths in forms
            for added, more in found
        ]
    return forms


def _gathered(cells: Gather) -> _Forms | None:
    inner = _forms(cells.source)
    if inner is None:
        return None
    keys = cells.group * cells.source.items + cells.item
    order = np.argsort(keys, kind="stable")
    if len(keys) and (np.diff(keys[order]) == 0).any():
        return None  # one cell in two places
    return [
        (
            Grid(1, len(keys), _at(const, cells.group, cells.item)[None, :]),
            tuple(path.then("pick", keys[order], order, cells.source.items) for path in paths),
        )
        for const, paths in inner
    ]


def _positive(coef: Grid) -> bool:
    return all(array.min() >= 0 for array in (coef.table, coef.values) if array.size)


def _at(grid: Grid, group: IntArray, item: IntArray) -> IntArray:
    zeros = np.zeros(len(group), np.int64)
    found: IntArray = grid.at(zeros if grid.groups == 1 else group, zeros if grid.items == 1 else item)
    return np.broadcast_to(found, group.shape)


class Counter:
    """Counts what objects in given places add to linear cells.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._by_object: dict[int, ByObject] = {}

    def count(
        self, path: Path, items: int, who: IntArray, place: NDArray[np.int32]
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return query, cell, amount and leaf cell of everything that object ``who[i]`` in ``place[i]`` adds.

        Parameters
        ----------
        items : int
            Of the cells at the path's end; a cell is ``group * items + item``.
        """
        tally = path.leaf.tally
        if tally.index not in self._by_object:
            self._by_object[tally.index] = ByObject(tally.member)
        item_here = tally.item_of[place]
        counted = np.flatnonzero(path.leaf.counts(who, item_here))
        row, owner = self._by_object[tally.index].of(who[counted])
        query = counted[owner]
        amount = tally.weight_at(row, place[query].astype(np.int64), len(self.problem.objects))
        group, item = tally.group[row].astype(np.int64), item_here[query].astype(np.int64)
        leaf = group * tally.items + item
        for step in path.steps:
            kind, *parts = step
            if kind == "times":
                coef = parts[0]
                assert isinstance(coef, Grid)
                amount = amount * _at(coef, group, item)
                continue
            if kind == "regroup":
                group_map, item_map = parts
                group = np.zeros(len(group), np.int64) if group_map is None else np.asarray(group_map)[group]
                item = np.zeros(len(item), np.int64) if item_map is None else np.asarray(item_map)[item]
                kept = (group >= 0) & (item >= 0)
            else:
                keys, position, source_items = parts
                assert isinstance(keys, np.ndarray)
                assert isinstance(position, np.ndarray)
                assert isinstance(source_items, int)
                wanted = group * source_items + item
                slot = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
                kept = keys[slot] == wanted if len(keys) else np.zeros(len(wanted), np.bool_)
                group, item = np.zeros(len(wanted), np.int64), position[slot] if len(keys) else wanted
            query, group, item, amount, leaf = query[kept], group[kept], item[kept], amount[kept], leaf[kept]
        kept = amount != 0
        return query[kept], (group * items + item)[kept], amount[kept], leaf[kept]


__all__ = ["Counter", "LinearCells", "Path", "linear_cells"]
