"""Constraints: components and their cells, what is hard about them, and the fix-it goal for what is broken."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from rebalancer.model.builder import ModelBuilder
from rebalancer.model.cells import Cells, Reduce
from rebalancer.model.grid import Grid
from rebalancer.model.param import Param
from rebalancer.problem import Names
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Component:
    """Cells that must not be positive, and how they make up components.

    The violation of a component is ``Σ weight · max(0, cell)`` over its cells; it holds iff no cell is positive.

    Parameters
    ----------
    cells : Cells
    by : {"cell", "item", "group", "all"}
        One component per cell, per item (over groups), per group (over items), or one in all.
    weight : Param
        Positive factor of each cell's excess.
    amount : Cells or None
        What the cells bound, for reports; of the same shape.
    limit : Grid or None
        The bound in float64 (infinite: none), for reports.
    scope, partition : str or None
        What the items and groups are, for reports.
    group_index, item_index : int64 array or None
        Original group and item of each cell where the cells were gathered, or original item of each column where only some items were
        kept, for reports.
    owner : int64 array or None
        Component of each cell where the cells were gathered, counted from 0 without gaps; replaces ``by``.
    group_names : Names or None
        What the groups are called where they are no partition's, for reports.
    """

    cells: Cells
    by: Literal["cell", "item", "group", "all"] = "cell"
    weight: Param = Param.constant(1)
    amount: Cells | None = None
    limit: Grid | None = None
    scope: str | None = None
    partition: str | None = None
    group_index: IntArray | None = None
    item_index: IntArray | None = None
    owner: IntArray | None = None
    group_names: Names | None = None

    @property
    def count(self) -> int:
        """How many components there are."""
        cells = self.cells
        if self.owner is not None:
            return int(self.owner.max(initial=-1)) + 1
        return {"cell": cells.groups * cells.items, "item": cells.items, "group": cells.groups, "all": 1}[self.by]

    def component_of(self, group: IntArray, item: IntArray) -> IntArray:
        """Return the component of each cell."""
        if self.owner is not None:
            return self.owner[item]
        if self.by == "cell":
            return group * self.cells.items + item
        return {"item": item, "group": group, "all": np.zeros(len(group), np.int64)}[self.by]

    def maps(self) -> tuple[IntArray | None, IntArray | None, int, int]:
        """Return group map, item map and shape that add up the cells of each component."""
        cells = self.cells
        if self.owner is not None:
            return None, self.owner, 1, self.count
        groups = np.arange(cells.groups) if self.by in ("cell", "group") else None
        items = np.arange(cells.items) if self.by in ("cell", "item") else None
        return groups, items, 1 if groups is None else cells.groups, 1 if items is None else cells.items


@dataclass(frozen=True, eq=False)
class HardCells:
    """Cells that must stay at or below a bound.

    Parameters
    ----------
    cells : Cells
    bound : Grid
        Integers, in the cells' unit.
    constraint : int
        Whose they are.
    """

    cells: Cells
    bound: Grid
    constraint: int


def hard_cells(model: ModelBuilder, component: Component, policy: str, constraint: int) -> HardCells | None:
    """Return what must hold: all of it under HARD, nothing under SOFT, and "no worse than at the start" under DEFAULT."""
    cells = component.cells
    if policy == "SOFT":
        return None
    if policy == "HARD":
        return HardCells(cells, Grid.constant(1, 1, 0), constraint)
    return HardCells(cells, model.initial(cells).map(lambda v: np.maximum(v, 0)), constraint)


def fix_it(model: ModelBuilder, component: Component, policy: str, invalid_cost: Fraction, invalid_state: Fraction) -> list[tuple[Cells, Fraction]]:
    """Return the goal that a constraint becomes where it is broken, as cells and their factors.

    Under DEFAULT it covers the components that are broken at the start. Their cells that hold are hard, so only the broken cells can pay.
    """
    if policy == "HARD":
        return []
    if policy == "SOFT":
        excess = model.hinge(component.cells)
        group_map, item_map, groups, items = component.maps()
        weighted = model.total(excess, component.weight)
        plain = excess if component.by == "cell" and component.owner is None else model.regroup(excess, group_map, item_map, groups, items)
        return [(weighted, invalid_cost), *([(model.total(model.step(plain)), invalid_state)] if invalid_state else [])]
    group, item = model.initial(component.cells).where(lambda v: v > 0)
    if not len(group):
        return []
    broken = model.gather(component.cells, group, item)
    excess = model.hinge(broken)
    owner, slot = np.unique(component.component_of(group, item), return_inverse=True)
    weight = component.weight
    factors = weight if weight.grid.size == 1 else Param(_row(Grid(component.cells.groups, component.cells.items, *_parts(weight.grid, component.cells)).at(group, item)), weight.unit)
    goals = [(model.total(excess, factors), invalid_cost)]
    if invalid_state:
        plain = excess if len(owner) == len(group) else model.regroup(excess, None, slot.astype(np.int64), 1, len(owner))
        goals.append((model.total(model.step(plain)), invalid_state))
    return goals


def _row(values: IntArray) -> Grid:
    return Grid(1, len(values), values[None, :])


def _parts(grid: Grid, cells: Cells) -> tuple[object, ...]:
    """Return table, columns, keys and values of a grid seen over the shape of ``cells``."""
    if (grid.groups, grid.items) == (cells.groups, cells.items):
        return grid.table, grid.column, grid.keys, grid.values
    return (grid.dense(),)


__all__ = ["Component", "HardCells", "Reduce", "fix_it", "hard_cells"]
