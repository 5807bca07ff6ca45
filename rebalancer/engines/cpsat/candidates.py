"""Which placements can be part of an answer at all: those that break no hard cell on their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.cpsat.literals import Literals
from rebalancer.engines.cpsat.rows import RowAlgebra, Rows
from rebalancer.model import Cells, Function, Gather, Gathering, HardCells, Map, Model, Reduce, Tally
from rebalancer.model.grid import apply, reduce_sum

#: Up to this many (object, container) pairs the whole problem is one CP-SAT model.
ALL_PAIRS = 4_000_000


def all_candidates(model: Model) -> Literals:
    """Return every placement that breaks no hard cell on its own."""
    return pruned(model, every_pair(model))


def every_pair(model: Model) -> Literals:
    """Return every placement there is, unplaced ones included."""
    problem = model.problem
    return Literals.of(np.ones((len(problem.objects), len(problem.containers) + 1), bool))


def pruned(model: Model, literals: Literals) -> Literals:
    """Drop the placements that no answer can have, judging each hard cell by itself.

    Until a round drops none; three rounds at most.
    """
    for _ in range(3):
        before = literals.count
        for hard in model.hard:
            literals = literals.without(_forbidden(literals, hard))
        if literals.count == before:
            break
    return literals


def _forbidden(literals: Literals, hard: HardCells) -> NDArray[np.bool_]:
    """Return the literals with which a hard cell breaks even if everything else is as good for it as can be."""
    out = np.zeros(literals.count, bool)
    rows = linear_rows(RowAlgebra(literals), hard.cells)
    if rows is None or not len(rows.key):
        return out
    none = np.zeros(len(rows.key), np.int64)
    bound = hard.bound.at(rows.group if hard.bound.groups > 1 else none, rows.item if hard.bound.items > 1 else none)
    slack = bound - rows.low
    tight = np.flatnonzero(rows.high > bound)
    if not len(tight):
        return out
    wanted = np.zeros(len(rows.key), bool)
    wanted[tight] = True
    row = rows.row_of_entry
    entry = np.flatnonzero(wanted[row])
    row, var, coef = row[entry], rows.var[entry], rows.coef[entry]
    obj = literals.object[var]
    head = np.flatnonzero(np.concatenate([[True], (obj[1:] != obj[:-1]) | (row[1:] != row[:-1])]))
    size = np.diff(np.append(head, len(var)))
    least = np.minimum.reduceat(coef, head)
    avoidable = size < literals.per_object[obj[head]]
    least = np.where(avoidable, np.minimum(least, 0), least)
    out[var[coef - np.repeat(least, size) > slack[row]]] = True
    # where staying out of the row breaks it, the object must take one of the row's literals
    must = avoidable & (-least > slack[row[head]])
    if must.any():
        demanded = np.bincount(obj[head[must]], minlength=len(literals.start) - 1)
        met = np.bincount(var[np.repeat(must, size)], minlength=literals.count)
        out |= met < demanded[literals.object]
    return out


def linear_rows(algebra: RowAlgebra, cells: Cells) -> Rows | None:
    """Return cells as rows over literals alone, or None where they are not linear in the placements."""
    if isinstance(cells, Tally):
        return algebra.tally(cells)
    if isinstance(cells, Gather):
        source = linear_rows(algebra, cells.source)
        return None if source is None else algebra.gather(source, cells.group, cells.item)
    if isinstance(cells, Map) and cells.function is Function.IDENTITY:
        parts = []
        for term in cells.terms:
            rows = linear_rows(algebra, term.cells)
            if rows is None or (len(rows.var) and (rows.groups, rows.items) != (cells.groups, cells.items)):
                return None
            parts.append((rows, term.coef))
        return algebra.combine(cells.groups, cells.items, parts, cells.const)
    if isinstance(cells, Reduce) and cells.how is Gathering.SUM:
        rows = linear_rows(algebra, cells.source)
        if rows is None:
            return None
        const = reduce_sum(
            apply(np.multiply, rows.groups, rows.items, rows.const, cells.coef),
            cells.groups,
            cells.items,
            cells.group_map,
            cells.item_map,
        )
        return algebra.regroup(rows, cells.groups, cells.items, cells.group_map, cells.item_map, cells.coef, const)
    return None
