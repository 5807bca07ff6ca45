"""Cells by the formulas that they stand for, in fractions: slow, obvious, and sharing nothing with the evaluator."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rebalancer.model import (
    Cells,
    CellValues,
    Extremum,
    Family,
    Function,
    Gather,
    Gathering,
    Map,
    Param,
    Product,
    Ratio,
    Reduce,
    Tally,
    evaluate_cells,
)
from rebalancer.problem import Problem

Table = list[list[Fraction]]


def integers(problem: Problem, cells: Cells, assignment: np.ndarray) -> np.ndarray:
    """What the evaluator says."""
    return evaluate_cells(CellValues(problem, assignment), cells).integers.dense()


def exact(problem: Problem, cells: Cells, assignment: np.ndarray) -> Table:
    """The true values. Steps and ceilings are decided by the integers, as everywhere."""
    if isinstance(cells, Tally):
        return _tally(problem, cells, assignment)
    sources = [exact(problem, source, assignment) for source in cells.inputs]
    if isinstance(cells, Map):
        return _map(problem, cells, sources, assignment)
    if isinstance(cells, Gather):
        return [[sources[0][group][item] for group, item in zip(cells.group, cells.item, strict=True)]]
    if isinstance(cells, Extremum):
        pick = max if cells.largest_of else min
        return [
            [pick(source[group][item] for source in sources) for item in range(cells.items)]
            for group in range(cells.groups)
        ]
    if isinstance(cells, Product):
        return [
            [_at(sources[0], group, item) * _at(sources[1], group, item) for item in range(cells.items)]
            for group in range(cells.groups)
        ]
    if isinstance(cells, Ratio):
        return [
            [sources[0][group][item] / sources[1][group][item] for item in range(cells.items)]
            for group in range(cells.groups)
        ]
    assert isinstance(cells, Reduce)
    return _reduce(cells, sources[0])


def numbers(param: Param, groups: int, items: int) -> Table:
    """A parameter's numbers."""
    wide = np.broadcast_to(param.grid.dense(), (groups, items)).tolist()
    return [[value * param.unit for value in row] for row in wide]


def _tally(problem: Problem, tally: Tally, assignment: np.ndarray) -> Table:
    out = [[Fraction(0)] * tally.items for _ in range(tally.groups)]
    for row, (group, member) in enumerate(zip(tally.group.tolist(), tally.member.tolist(), strict=True)):
        container = int(assignment[member])
        item = int(tally.item_of[container])
        if item < 0 or (tally.family is Family.STAYED and item != tally.home[member]):
            continue
        if tally.dynamic is None:
            weight = int(tally.weight[row])
        else:
            place = int(tally.dynamic_item[container])
            listed = dict(zip(tally.dynamic.key.tolist(), tally.dynamic.value.tolist(), strict=True))
            weight = (
                listed.get(place * len(problem.objects) + member, tally.dynamic.default)
                if place >= 0
                else tally.dynamic.default
            )
        out[group][item] += weight * tally.unit
    return out


def _map(problem: Problem, cells: Map, sources: list[Table], assignment: np.ndarray) -> Table:
    decided = integers(problem, cells, assignment)
    coefs = [numbers(term.exact, cells.groups, cells.items) for term in cells.terms]
    const = numbers(cells.exact_const, cells.groups, cells.items)
    out = []
    for group in range(cells.groups):
        row = []
        for item in range(cells.items):
            x = const[group][item]
            for coef, source in zip(coefs, sources, strict=True):
                x += coef[group][item] * _at(source, group, item)
            if cells.function is Function.HINGE:
                x = max(Fraction(0), x)
            elif cells.function is Function.SQUARE:
                x = x * x
            elif cells.function in (Function.STEP, Function.CEIL, Function.MOD):
                x = int(decided[group, item]) * cells.unit
            row.append(x)
        out.append(row)
    return out


def _reduce(cells: Reduce, source: Table) -> Table:
    found: list[list[list[Fraction]]] = [[[] for _ in range(cells.items)] for _ in range(cells.groups)]
    coef = numbers(cells.exact_coef, cells.source.groups, cells.source.items)
    for group, row in enumerate(source):
        for item, value in enumerate(row):
            to = (
                0 if cells.group_map is None else cells.group_map[group],
                0 if cells.item_map is None else cells.item_map[item],
            )
            if min(to) >= 0:
                found[to[0]][to[1]].append(value * coef[group][item])
    return [[_combined(cells, values) for values in row] for row in found]


def _combined(cells: Reduce, values: list[Fraction]) -> Fraction:
    ordered = sorted(values, reverse=True)
    if cells.how is Gathering.SUM:
        return sum(values, Fraction(0))
    if not values:
        return Fraction(0)
    if cells.how is Gathering.NTH_LARGEST:
        return ordered[min(cells.rank, len(ordered) - 1)]
    if cells.how is Gathering.ALL_BUT_LARGEST:
        return sum(ordered[cells.rank :], Fraction(0))
    return ordered[0] if cells.how is Gathering.MAX else ordered[-1]


def _at(table: Table, group: int, item: int) -> Fraction:
    """A value, with an axis of length 1 repeated."""
    return table[group if len(table) > 1 else 0][item if len(table[0]) > 1 else 0]
