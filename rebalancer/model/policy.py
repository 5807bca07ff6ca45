"""Constraints: components and their cells, what is hard about them, and the fix-it goal for what is broken."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.builder import ModelBuilder
from rebalancer.model.cells import Cells
from rebalancer.model.evaluate import CellValues, evaluate_cells, floats_of
from rebalancer.model.grid import Grid
from rebalancer.model.param import Param
from rebalancer.problem import Names
from rebalancer.problem.numbers import IntArray

#: The weight of cells that count as they are.
ONE = Param.constant(1)


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
    no_worse : Cells or None
        Cells that must not be positive under DEFAULT, where "no worse than at the start" is not simply that no cell
        grows.
    scope, partition : str or None
        What the items and groups are, for reports.
    group_index, item_index : int64 array or None
        Original group of each row and item of each column, where they differ; of each cell, where the cells were
        gathered to one row. For reports.
    owner : int64 array or None
        Component of each cell where the cells were gathered, counted from 0 without gaps; replaces ``by``.
    group_names : Names or None
        What the groups are called where they are no partition's, for reports.
    """

    cells: Cells
    by: Literal["cell", "item", "group", "all"] = "cell"
    weight: Param = ONE
    amount: Cells | None = None
    limit: Grid | None = None
    scope: str | None = None
    partition: str | None = None
    group_index: IntArray | None = None
    item_index: IntArray | None = None
    no_worse: Cells | None = None
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

    def weight_at(self, group: IntArray, item: IntArray) -> Param:
        """Return the weights of cells: one for all, or a row."""
        grid = self.weight.grid
        if grid.size == 1:
            return Param(Grid(1, len(group), np.broadcast_to(grid.table, (1, 1))), self.weight.unit, self.weight.slack)
        row = group if grid.groups > 1 else np.zeros(len(group), np.int64)
        return Param(
            grid.take(row, item if grid.items > 1 else np.zeros(len(item), np.int64)),
            self.weight.unit,
            self.weight.slack,
        )

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
    """Return what must hold.

    All of it under HARD, nothing under SOFT, and "no worse than at the start" under DEFAULT.
    """
    cells = component.cells
    if policy == "SOFT":
        return None
    if policy == "DEFAULT" and component.no_worse is not None:
        return HardCells(component.no_worse, Grid.constant(1, 1, 0), constraint)
    if policy == "HARD":
        return HardCells(cells, Grid.constant(1, 1, 0), constraint)
    return HardCells(cells, model.initial(cells).map(lambda v: np.maximum(v, 0)), constraint)


@dataclass(frozen=True, eq=False)
class FixIt:
    """What a component that is broken costs: ``invalid_cost`` · violation + ``invalid_state`` · [violation > 0].

    Parameters
    ----------
    component : Component
    owners : int64 array or None
        The components that pay, sorted; None: all.
    invalid_cost, invalid_state : Fraction
    """

    component: Component
    owners: IntArray | None
    invalid_cost: Fraction
    invalid_state: Fraction

    def cells(self, model: ModelBuilder) -> list[tuple[Cells, Fraction]]:
        """Return the cost as cells and their factors, for the integer objective.

        Where only the components broken at the start pay, their cells that hold at the start are hard, so only the
        others are needed.
        """
        component = self.component
        if self.owners is None:
            excess = model.hinge(component.cells)
            group_map, item_map, groups, items = component.maps()
            single = component.by == "cell" and component.owner is None
            plain = excess if single else model.regroup(excess, group_map, item_map, groups, items)
            return [
                self._paid(model, excess, component.weight),
                *([(model.total(model.step(plain)), self.invalid_state)] if self.invalid_state else []),
            ]
        group, item = model.initial(component.cells).where(lambda v: v > 0)
        if not len(group):
            return []
        excess = model.hinge(model.gather(component.cells, group, item))
        owner, slot = np.unique(component.component_of(group, item), return_inverse=True)
        goals = [self._paid(model, excess, component.weight_at(group, item))]
        if self.invalid_state:
            plain = (
                excess
                if len(owner) == len(group)
                else model.regroup(excess, None, slot.astype(np.int64), 1, len(owner))
            )
            goals.append((model.total(model.step(plain)), self.invalid_state))
        return goals

    def _paid(self, model: ModelBuilder, excess: Cells, weight: Param) -> tuple[Cells, Fraction]:
        """Return what the violation costs, as a cell and its factor; of weights that are alike no cells are made."""
        alike = weight.grid.table.size == 1 and not len(weight.grid.keys) and not weight.slack
        if alike:
            return model.total(excess), self.invalid_cost * weight.unit * int(weight.grid.table[0, 0])
        return model.total(excess, weight), self.invalid_cost

    def value(self, values: CellValues) -> float:
        """Return the cost at an assignment by the exact formula, also where hard cells do not hold."""
        owners, amounts = violations(values, self.component)
        if self.owners is not None:
            paying = np.isin(owners, self.owners)
            owners, amounts = owners[paying], amounts[paying]
        return float(self.invalid_cost) * float(amounts.sum()) + float(self.invalid_state) * len(owners)


def fix_it(
    model: ModelBuilder, component: Component, policy: str, invalid_cost: Fraction, invalid_state: Fraction
) -> FixIt | None:
    """Return the goal that a constraint becomes where it is broken.

    Under DEFAULT for the components that are broken at the start.
    """
    if policy == "HARD":
        return None
    if policy == "SOFT":
        return FixIt(component, None, invalid_cost, invalid_state)
    group, item = model.initial(component.cells).where(lambda v: v > 0)
    return (
        FixIt(component, np.unique(component.component_of(group, item)), invalid_cost, invalid_state)
        if len(group)
        else None
    )


def violations(values: CellValues, component: Component) -> tuple[IntArray, NDArray[np.float64]]:
    """Return the broken components in ascending order, and the violation of each."""
    if component not in values.violations:
        values.violations[component] = _violations(values, component)
    return values.violations[component]


def _violations(values: CellValues, component: Component) -> tuple[IntArray, NDArray[np.float64]]:
    value = evaluate_cells(values, component.cells)
    group, item = value.integers.where(lambda v: v > 0)
    if not len(group):
        return np.empty(0, np.int64), np.empty(0)
    excess = np.maximum(floats_of(component.cells, value).at(group, item), 0.0)
    owners, slot = np.unique(component.component_of(group, item), return_inverse=True)
    weight = component.weight_at(group, item).floats().dense()[0]
    return owners, np.bincount(slot, excess * weight, len(owners)).astype(np.float64)


__all__ = ["Component", "FixIt", "HardCells", "fix_it", "hard_cells", "violations"]
