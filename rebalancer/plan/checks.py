"""Demands that no ledger can keep: cells that are no linear form, and those that only have to hold between waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import CellValues, Grid, HardCells, Model, Tally, evaluate_cells
from rebalancer.model.grid import apply
from rebalancer.plan.flight import ALWAYS, AT_END, BETWEEN_WAVES, Flight, moment
from rebalancer.plan.linear import LinearCells, linear_cells
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Demand:
    """Hard cells, when they have to hold, and how high they may be on the way."""

    hard: HardCells
    moment: str
    allowed: Grid

    @cached_property
    def tallies(self) -> list[Tally]:
        """What counts objects below the cells."""
        found, stack, seen = [], [self.hard.cells], set()
        while stack:
            cells = stack.pop()
            if cells.index in seen:
                continue
            seen.add(cells.index)
            if isinstance(cells, Tally):
                found.append(cells)
            stack.extend(cells.inputs)
        return found

    def counted(self, objects: int) -> NDArray[np.bool_]:
        """Return which objects some tally counts."""
        out = np.zeros(objects, np.bool_)
        for tally in self.tallies:
            out[tally.member] = True
        return out

    def exceeded(self, high: Grid) -> bool:
        """Return whether some cell is above what it may be."""
        cells = self.hard.cells
        over = apply(np.greater, cells.groups, cells.items, high, self.allowed)
        return bool(over.table.any() or over.values.any()) and len(over.where(lambda v: v)[0]) > 0


def demands(model: Model, start: NDArray[np.int32], end: NDArray[np.int32], strict: bool = False) -> list[Demand]:
    """Return what has to hold on the way from one assignment to another.

    A cell may be as bad as at the worse of both; what is stated to hold at the end only is left out.

    Parameters
    ----------
    strict : bool
        Whether what is stated to hold at the end has to hold between waves.
    """
    moments = {ALWAYS: ALWAYS, BETWEEN_WAVES: BETWEEN_WAVES, AT_END: BETWEEN_WAVES if strict else None}
    return _stated(model, start, end, moments)


def final_demands(model: Model, start: NDArray[np.int32], end: NDArray[np.int32]) -> list[Demand]:
    """Return what has to hold at the end only; a cell may be as bad as at the worse of two assignments."""
    return _stated(model, start, end, {AT_END: AT_END})


def _stated(
    model: Model, start: NDArray[np.int32], end: NDArray[np.int32], moments: Mapping[str, str | None]
) -> list[Demand]:
    before, after = CellValues(model.problem, start), CellValues(model.problem, end)
    known: dict[int, tuple[bool, bool]] = {}
    out = []
    for hard in model.hard:
        when = moments.get(moment(model.constraints[hard.constraint].in_flight, hard, known))
        if when is None:
            continue
        cells = hard.cells
        ends = [evaluate_cells(values, cells).integers for values in (before, after)]
        allowed = apply(lambda a, b: np.maximum(np.maximum(a, b), 0), cells.groups, cells.items, *ends)
        out.append(Demand(hard, when, allowed))
    return out


@dataclass(frozen=True, eq=False)
class Demands:
    """What has to hold, sorted by who sees to it.

    Parameters
    ----------
    always : list of LinearCells
        Of the ledger: at every moment.
    between : list of LinearCells
        Of a ledger of net changes: between waves.
    checks : list of Demand
        All others.
    """

    always: list[LinearCells]
    between: list[LinearCells]
    checks: list[Demand]


def sort_demands(stated: list[Demand]) -> Demands:
    """Return the demands by who sees to them."""
    sorted_out = Demands([], [], [])
    for demand in stated:
        linear = linear_cells(demand.hard)
        if linear is None:
            sorted_out.checks.append(demand)
        else:
            (sorted_out.always if demand.moment == ALWAYS else sorted_out.between).extend(linear)
    return sorted_out


def broken_by(
    model: Model, checks: list[Demand], assignment: NDArray[np.int32], moving: IntArray, destination: NDArray[np.int32]
) -> list[Demand]:
    """Return the demands that a wave breaks: while it is in flight, or when it has arrived.

    All of them hold before it, so it breaks none that counts nobody who moves.
    """
    flies = np.zeros(len(assignment), np.bool_)
    flies[moving] = True
    checks = [demand for demand in checks if any(flies[tally.member].any() for tally in demand.tallies)]
    if not checks:
        return []
    after = assignment.copy()
    after[moving] = destination
    flight, landed = Flight(model.problem, assignment, moving, destination), CellValues(model.problem, after)
    return [
        demand
        for demand in checks
        if demand.exceeded(evaluate_cells(landed, demand.hard.cells).integers)
        or (demand.moment == ALWAYS and demand.exceeded(flight.bounds(demand.hard.cells)[1]))
    ]


__all__ = ["Demand", "Demands", "broken_by", "demands", "final_demands", "sort_demands"]
