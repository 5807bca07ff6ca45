"""The compiled model that every engine reads, and the score of an assignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.builder import ModelBuilder
from rebalancer.model.cells import Cells
from rebalancer.model.evaluate import CellValues, evaluate_cells, floats_of
from rebalancer.model.grid import DENSE_CELLS, Grid, apply
from rebalancer.model.policy import Component, FixIt, HardCells, fix_it, hard_cells
from rebalancer.model.policy import violations as violations_of
from rebalancer.model.sign import is_never_negative
from rebalancer.problem import Names, Problem

#: The integer objective of a tuple position stays below this.
OBJECTIVE_LIMIT = 2**58


@dataclass(frozen=True, eq=False)
class GoalCells:
    """A compiled goal: one cell to minimise."""

    name: str
    spec_key: str
    weight: Fraction
    tuple_pos: int
    cells: Cells


@dataclass(frozen=True, eq=False)
class ConstraintCells:
    """A compiled constraint: its components, and the policy that applies to them.

    ``in_flight`` says when it must hold while a plan is carried out; None: as its cells suggest.
    """

    name: str
    spec_key: str
    policy: str
    invalid_cost: Fraction
    invalid_state: Fraction
    tuple_pos_if_broken: int
    components: tuple[Component, ...]
    implicit: bool = False
    in_flight: str | None = None


@dataclass(frozen=True, eq=False)
class Position:
    """One tuple position: its integer objective, and what it is made of.

    Parameters
    ----------
    objective : Cells
        One cell, the integer that every engine compares.
    goals : tuple of (Cells, Fraction)
        The goals at this position and their weights.
    fixes : tuple of FixIt
        The fix-it goals at this position.
    epsilon : float
        Reported values differ from ``objective * unit`` by at most this.
    floor : float
        No value is below this: 0 where nothing that is added up can be negative, else minus infinity.
    """

    objective: Cells
    goals: tuple[tuple[Cells, Fraction], ...]
    fixes: tuple[FixIt, ...]
    epsilon: float
    floor: float = -math.inf


@dataclass(frozen=True, eq=False)
class Score:
    """What an assignment is worth.

    Attributes
    ----------
    goals : float64 array
        Unweighted value of each goal.
    violations : float64 array
        Of each constraint, the sum over its components.
    broken_components : int64 array
        How many components of each constraint are broken.
    objective : float64 array
        Weighted sum of goals and fix-it goals, by tuple position.
    integers : tuple of int
        The exact integer objective by tuple position.
    worsened : tuple of str
        Constraints whose hard cells do not hold; empty iff the assignment is feasible.
    """

    goals: NDArray[np.float64]
    violations: NDArray[np.float64]
    broken_components: NDArray[np.int64]
    objective: NDArray[np.float64]
    integers: tuple[int, ...]
    worsened: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        """Whether every hard cell holds."""
        return not self.worsened


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that engines need to know, and the exact evaluator.

    Parameters
    ----------
    problem : Problem
        With moves in progress applied.
    graph : tuple of Cells
        All cells in topological order.
    goals, constraints
    hard : tuple of HardCells
    tuple_positions : tuple of Position
    """

    problem: Problem
    graph: tuple[Cells, ...]
    goals: tuple[GoalCells, ...]
    constraints: tuple[ConstraintCells, ...]
    hard: tuple[HardCells, ...]
    tuple_positions: tuple[Position, ...]

    @property
    def positions(self) -> int:
        """Number of tuple positions, at least 1."""
        return len(self.tuple_positions)

    @property
    def epsilon(self) -> NDArray[np.float64]:
        """Rounding of each tuple position, in true units."""
        return np.array([position.epsilon for position in self.tuple_positions])

    def real(self, position: int, integer: int) -> float:
        """Return the true value that an integer objective (or bound) of a position guarantees from below."""
        cells = self.tuple_positions[position].objective
        return float(integer * cells.unit - cells.error)

    def proven(self, position: int, bound: int) -> float:
        """Return the true value that no assignment is below where no integer objective is below a bound."""
        return max(self.real(position, bound), self.tuple_positions[position].floor)

    def evaluate(self, assignment: NDArray[np.int32]) -> Score:
        """Score an assignment from scratch.

        Parameters
        ----------
        assignment : int32 array
            Container index of each object, -1 for unplaced.
        """
        values = CellValues(self.problem, assignment)
        goals = [self._scalar(values, goal.cells) for goal in self.goals]
        violations, broken = [], []
        for constraint in self.constraints:
            parts = [violations_of(values, component) for component in constraint.components]
            violations.append(sum(float(amounts.sum()) for _, amounts in parts))
            broken.append(sum(len(owners) for owners, _ in parts))
        objective = self.objective_of(values)
        integers = [
            int(evaluate_cells(values, position.objective).integers.dense()[0, 0]) for position in self.tuple_positions
        ]
        worsened = {hard.constraint for hard in self.hard if not holds(values, hard)}
        return Score(
            np.array(goals, float),
            np.array(violations, float),
            np.array(broken, np.int64),
            objective,
            tuple(integers),
            tuple(self.constraints[index].name for index in sorted(worsened)),
        )

    def objective(self, assignment: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the objective of an assignment by tuple position, and score nothing else."""
        return self.objective_of(CellValues(self.problem, assignment))

    def objective_of(self, values: CellValues) -> NDArray[np.float64]:
        """Return the objective by tuple position of an assignment of which some values may be known."""
        out = np.zeros(self.positions)
        for at, position in enumerate(self.tuple_positions):
            goals, fixes = position.goals, position.fixes
            for number in range(len(goals) + len(fixes)):
                if (at, number) not in values.addends:
                    if number < len(goals):
                        cells, weight = goals[number]
                        value = float(weight) * self._scalar(values, cells)
                    else:
                        fix = fixes[number - len(goals)]
                        cells, value = fix.component.cells, fix.value(values)
                    values.addends[at, number] = cells.index, value
            parts = [values.addends[at, number][1] for number in range(len(goals) + len(fixes))]
            out[at] = sum(parts[: len(goals)]) + sum(parts[len(goals) :])
        return out

    @staticmethod
    def _scalar(values: CellValues, cells: Cells) -> float:
        return float(floats_of(cells, evaluate_cells(values, cells)).dense()[0, 0])

    def cells(self, name: str, assignment: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return a constraint cell by cell: columns item, group, amount, limit, violation, component.

        Of millions of cells only those that hold something or are broken.

        Raises
        ------
        KeyError
            There is no such constraint.
        """
        constraint = next((known for known in self.constraints if known.name == name), None)
        if constraint is None:
            raise KeyError(name)
        values = CellValues(self.problem, assignment)
        tables = []
        start = 0
        for component in constraint.components:
            tables.append(_cell_table(self.problem, values, component, start))
            start += component.count
        columns = ("item", "group", "amount", "limit", "violation", "component")
        return {
            column: np.concatenate([table[column] for table in tables]) if tables else np.empty(0, object)
            for column in columns
        }


def holds(values: CellValues, hard: HardCells) -> bool:
    """Whether hard cells hold at an assignment."""
    integers = evaluate_cells(values, hard.cells).integers
    over = apply(np.greater, hard.cells.groups, hard.cells.items, integers, hard.bound)
    return not (over.table.any() and _reached(over)) and not over.values.any()


def _reached(over: Any) -> bool:
    """Whether some cell really takes a true table entry (all may be overridden by exceptions)."""
    return len(over.where(lambda v: v)[0]) > 0


def _cell_table(problem: Problem, values: CellValues, component: Component, start: int) -> dict[str, NDArray[Any]]:
    cells = component.cells
    value = evaluate_cells(values, cells)
    held = cells if component.amount is None else component.amount
    amounts = floats_of(held, evaluate_cells(values, held))
    group, item = _listed_cells(cells, value.integers, amounts)
    weight = component.weight_at(group, item).floats().dense()[0]
    excess = floats_of(cells, value).at(group, item)
    violation = np.where(value.integers.at(group, item) > 0, np.maximum(excess, 0.0) * weight, 0.0)
    limit = np.zeros(len(group)) if component.limit is None else component.limit.at(group, item)
    names = problem.partitions[component.partition].groups if component.partition else component.group_names
    item_names = problem.scopes[component.scope].items if component.scope else None
    group_index = group
    if component.group_index is not None:  # of each row, or of each cell where they are gathered to one row
        by_row = len(component.group_index) == cells.groups
        group_index = component.group_index[group if by_row else item]
    item_index = item if component.item_index is None else component.item_index[item]

    def label(known: Names | None, index: NDArray[Any]) -> NDArray[Any]:
        return known.array[index] if known is not None and len(known) else np.full(len(index), None, object)

    return {
        "item": label(item_names, item_index),
        "group": label(names, group_index),
        "amount": amounts.at(group, item),
        "limit": limit,
        "violation": violation,
        "component": component.component_of(group, item) + start,
    }


def _listed_cells(cells: Cells, integers: Grid, amounts: Grid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return group and item of all cells.

    Or only of those that hold something or are broken where all would be too many.
    """
    size = cells.groups * cells.items
    if size <= DENSE_CELLS:
        key = np.arange(size)
    else:
        found = [integers.where(lambda v: v > 0), amounts.where(lambda v: v != 0)]
        key = np.unique(np.concatenate([group * cells.items + item for group, item in found]))
    return key // max(1, cells.items), key % max(1, cells.items)


def assemble(builder: ModelBuilder, goals: Sequence[GoalCells], constraints: Sequence[ConstraintCells]) -> Model:
    """Apply the policy to every constraint and put the tuple positions together."""
    hard: list[HardCells] = []
    weighted: dict[int, list[tuple[Cells, Fraction]]] = {}
    fixes: dict[int, list[FixIt]] = {}
    for goal in goals:
        weighted.setdefault(goal.tuple_pos, []).append((goal.cells, goal.weight))
    for index, constraint in enumerate(constraints):
        for component in constraint.components:
            demanded = hard_cells(builder, component, constraint.policy, index)
            if demanded is not None:
                hard.append(demanded)
            fix = fix_it(builder, component, constraint.policy, constraint.invalid_cost, constraint.invalid_state)
            if fix is not None:
                fixes.setdefault(constraint.tuple_pos_if_broken, []).append(fix)
    positions = []
    for position in range(max([*weighted, *fixes], default=0) + 1):
        stated, repairs = tuple(weighted.get(position, ())), tuple(fixes.get(position, ()))
        parts = [*stated, *(part for fix in repairs for part in fix.cells(builder))]
        objective = builder.linear(parts, limit=OBJECTIVE_LIMIT)
        signs: dict[int, bool] = {}
        floor = 0.0 if all(weight >= 0 and is_never_negative(cells, signs) for cells, weight in parts) else -math.inf
        positions.append(Position(objective, stated, repairs, float(2 * objective.error), floor))
    return Model(builder.problem, tuple(builder.cells), tuple(goals), tuple(constraints), tuple(hard), tuple(positions))
