"""Cells that are neither linear nor a map of one form: products, ratios, remainders, order statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.rows import Rows, single_rows, with_values
from rebalancer.model import Cells, Gathering, Grid, Map, Product, Ratio, Reduce
from rebalancer.model.order import order_statistic, reduced, targets
from rebalancer.problem.numbers import IntArray

if TYPE_CHECKING:
    from rebalancer.engines.cpsat.encode import Encoder

_NONE = np.empty(0, np.int64)
#: With at most this many possible denominators, each of them has a linear quotient of its own.
_DENOMINATORS = 64
#: With at most this many possible quotients, their variables have no other values.
_QUOTIENTS = 2048


class Factors:
    """Cells repeated to a shape, each as one variable or a constant."""

    def __init__(self, encoder: Encoder, cells: Cells, groups: int, items: int) -> None:
        rows = encoder.rows[cells.index] = encoder.as_variables(cells, encoder.rows[cells.index])
        wide = encoder.algebra.combine(groups, items, [(rows, Grid.constant(1, 1, 1))], Grid.constant(groups, items, 0))
        self.const = wide.const.dense().ravel()
        self.row = {key: position for position, key in enumerate(wide.key.tolist())}
        self.rows = wide

    def form(self, key: int) -> tuple[IntArray, IntArray, int, int, int]:
        """Return variables, coefficients, constant, low and high of a cell."""
        position = self.row.get(key)
        const = int(self.const[key])
        if position is None:
            return _NONE, _NONE, const, const, const
        first, last = int(self.rows.start[position]), int(self.rows.start[position + 1])
        return (
            self.rows.var[first:last],
            self.rows.coef[first:last],
            const,
            int(self.rows.low[position]),
            int(self.rows.high[position]),
        )


def encode_product(encoder: Encoder, cells: Product) -> Rows:
    """Return a product.

    With a 0/1 factor it is that factor's choice between the other and nothing; any other is CP-SAT's own product.
    """
    left, right = (Factors(encoder, side, cells.groups, cells.items) for side in (cells.left, cells.right))
    const = np.zeros(cells.groups * cells.items, np.int64)
    pairs = []
    for key in range(len(const)):
        one, other = left.form(key), right.form(key)
        if not len(one[0]) and not len(other[0]):
            const[key] = (one[2] * other[2] + cells.divisor // 2) // cells.divisor
        else:
            pairs.append((key, one, other))
    ends = [[a * b for a in one[3:] for b in other[3:]] for _, one, other in pairs]
    low, high = (
        np.array([(pick(corner) + cells.divisor // 2) // cells.divisor for corner in ends], np.int64)
        for pick in (min, max)
    )
    keys = np.array([key for key, _, _ in pairs], np.int64)
    variables = encoder.new(cells, keys, low, high)
    for (_, one, other), variable, corner in zip(pairs, variables.tolist(), ends, strict=True):
        target = variable
        if cells.divisor > 1:
            target = int(encoder.plain(np.array([min(corner)]), np.array([max(corner)]))[0])
            encoder.bulk.linear_of(
                np.array([variable, target]),
                np.array([cells.divisor, -1]),
                cells.divisor // 2 - cells.divisor + 1,
                cells.divisor // 2,
            )
        encoder.bulk.product(target, [one[:3], other[:3]])
    grid = Grid(cells.groups, cells.items, const.reshape(cells.groups, cells.items))
    return single_rows((cells.groups, cells.items), keys, variables, grid, low, high)


def encode_ratio(encoder: Encoder, cells: Ratio) -> Rows:
    """Return a quotient: ``y = round(factor · over / under)``.

    That is ``2 · under · y <= 2 · factor · over + under < 2 · under · y + 2 · under``.
    """
    over, under = (Factors(encoder, side, cells.groups, cells.items) for side in (cells.over, cells.under))
    const = np.zeros(cells.groups * cells.items, np.int64)
    varying = []
    for key in range(len(const)):
        top, bottom = over.form(key), under.form(key)
        if not len(top[0]) and not len(bottom[0]):
            const[key] = (2 * cells.factor * top[2] + bottom[2]) // (2 * bottom[2])
        else:
            varying.append((key, top, bottom))
    quotients = [
        [(2 * cells.factor * a + b) // (2 * b) for a in top[3:] for b in (max(1, bottom[3]), bottom[4])]
        for _, top, bottom in varying
    ]
    low, high = (np.array([pick(corner) for corner in quotients], np.int64) for pick in (min, max))
    keys = np.array([key for key, _, _ in varying], np.int64)
    variables = encoder.new(cells, keys, low, high)
    for (_, top, bottom), variable, corner in zip(varying, variables.tolist(), quotients, strict=True):
        if bottom[4] - bottom[3] < _DENOMINATORS:
            _quotient_by_denominator(encoder, top, bottom, variable, cells.factor)
            continue
        ends = [a * b for a in (min(corner), max(corner)) for b in bottom[3:]]
        target = int(encoder.plain(np.array([min(ends)]), np.array([max(ends)]))[0])
        encoder.bulk.product(target, [(np.array([variable]), np.ones(1, np.int64), 0), bottom[:3]])
        # 2 · under · y <= 2 · factor · over + under < 2 · under · y + 2 · under
        var = np.concatenate([[target], top[0], bottom[0]]).astype(np.int64)
        coef = np.concatenate([[2], -2 * cells.factor * top[1], -bottom[1]]).astype(np.int64)
        encoder.bulk.linear_of(var, coef, -INFINITE, 2 * cells.factor * top[2] + bottom[2])
        coef = np.concatenate([[2], -2 * cells.factor * top[1], bottom[1]]).astype(np.int64)
        encoder.bulk.linear_of(var, coef, 2 * cells.factor * top[2] - bottom[2] + 1, INFINITE)
    grid = Grid(cells.groups, cells.items, const.reshape(cells.groups, cells.items))
    return single_rows((cells.groups, cells.items), keys, variables, grid, low, high)


def _quotient_by_denominator(
    encoder: Encoder,
    top: tuple[IntArray, IntArray, int, int, int],
    bottom: tuple[IntArray, IntArray, int, int, int],
    variable: int,
    factor: int,
) -> None:
    """Choose among the quotients by each value that the denominator can have: linear, so far tighter than a product.

    Each is a variable of its own, and the one whose value the denominator has is the quotient.
    """
    values = np.arange(max(1, bottom[3]), bottom[4] + 1)
    ends = [[(2 * factor * end + value) // (2 * value) for end in top[3:]] for value in values.tolist()]
    quotients = encoder.plain(
        np.array([low for low, _ in ends], np.int64), np.array([high for _, high in ends], np.int64)
    )
    for value, quotient in zip(values.tolist(), quotients.tolist(), strict=True):
        var, coef, const = np.append(top[0], quotient), np.append(-2 * factor * top[1], 2 * value), 2 * factor * top[2]
        encoder.bulk.linear_of(var, coef, const - value + 1, const + value)
    if len(values) * (top[4] - top[3] + 1) <= _QUOTIENTS:  # few enough to name each: CP-SAT then tells them apart
        numbers = np.arange(top[3], top[4] + 1)
        reachable = [np.unique((2 * factor * numbers + value) // (2 * value)) for value in values.tolist()]
        for quotient, possible in zip(quotients.tolist(), reachable, strict=True):
            encoder.bulk.restrict(quotient, possible)
        encoder.bulk.restrict(variable, np.unique(np.concatenate(reachable)))
    chosen = encoder.plain(np.zeros(len(values), np.int64), np.ones(len(values), np.int64))
    encoder.bulk.linear_of(chosen, np.ones(len(values), np.int64), 1, 1)
    var, coef = np.concatenate([bottom[0], chosen]), np.concatenate([bottom[1], -values])
    encoder.bulk.linear_of(var, coef, -bottom[2], -bottom[2])
    for quotient, literal in zip(quotients.tolist(), chosen.tolist(), strict=True):
        encoder.bulk.linear_of(np.array([variable, quotient]), np.array([1, -1]), 0, 0, enforce=literal)


def encode_mod(encoder: Encoder, cells: Map, x: Rows, const: Grid) -> Rows:
    """``x = divisor · quotient + y`` with ``0 <= y < divisor``."""
    divisor = cells.divisor.at(
        x.group if cells.divisor.groups > 1 else 0 * x.group, x.item if cells.divisor.items > 1 else 0 * x.item
    ).astype(np.int64)
    quotient = encoder.plain(x.low // divisor, x.high // divisor)
    variables = encoder.new(cells, x.key, np.zeros(len(x.key), np.int64), divisor - 1)
    for row, (whole, rest, by) in enumerate(zip(quotient.tolist(), variables.tolist(), divisor.tolist(), strict=True)):
        first, last = int(x.start[row]), int(x.start[row + 1])
        offset = int(x.const_at_key[row])
        encoder.bulk.linear_of(
            np.append(x.var[first:last], [whole, rest]), np.append(x.coef[first:last], [-by, -1]), -offset, -offset
        )
    none = np.zeros(len(x.key), np.int64)
    return single_rows(
        (cells.groups, cells.items), x.key, variables, with_values(const, x.key, none), none, divisor - 1
    )


def encode_ordered(encoder: Encoder, cells: Reduce) -> Rows:
    """Order statistics, by choosing which cells are the largest."""
    source = cells.source
    rest = cells.how is Gathering.ALL_BUT_LARGEST
    target = targets(cells)
    factors = Factors(encoder, source, source.groups, source.items)
    known = Grid(source.groups, source.items, factors.const.reshape(source.groups, source.items))
    const = order_statistic(known, reduced(cells), (cells.groups, cells.items), cells.rank, rest).dense()
    members: dict[int, list[tuple[IntArray, IntArray, int, int, int]]] = {}
    for key, to in enumerate(target.tolist()):
        if to >= 0:
            members.setdefault(to, []).append(factors.form(key))
    varying = sorted(to for to, forms in members.items() if any(len(form[0]) for form in forms))
    if rest:
        low = np.array(
            [sum(sorted(form[3] for form in members[to])[: max(0, len(members[to]) - cells.rank)]) for to in varying],
            np.int64,
        )
        high = np.array(
            [sum(sorted(form[4] for form in members[to])[: max(0, len(members[to]) - cells.rank)]) for to in varying],
            np.int64,
        )
    else:
        low, high = (
            np.array(
                [
                    sorted((form[side] for form in members[to]), reverse=True)[min(cells.rank, len(members[to]) - 1)]
                    for to in varying
                ],
                np.int64,
            )
            for side in (3, 4)
        )
    keys = np.array(varying, np.int64)
    variables = encoder.new(cells, keys, low, high)
    for to, variable in zip(varying, variables.tolist(), strict=True):
        below, above = encoder.asked(cells)
        encode = _all_but if rest else _nth
        encode(encoder, members[to], variable, cells.rank, below, above)
    grid = with_values(Grid(cells.groups, cells.items, const), keys, np.zeros(len(keys), np.int64))
    return single_rows((cells.groups, cells.items), keys, variables, grid, low, high)


def _nth(
    encoder: Encoder, forms: list[tuple[IntArray, IntArray, int, int, int]], t: int, rank: int, below: bool, above: bool
) -> None:
    rank = min(rank, len(forms) - 1)
    if below:  # at most ``rank`` cells may be above t
        over = encoder.plain(np.zeros(len(forms), np.int64), np.ones(len(forms), np.int64))
        for (var, coef, const, _, _), literal in zip(forms, over.tolist(), strict=True):
            encoder.bulk.linear_of(np.append(var, t), np.append(coef, -1), -INFINITE, -const, enforce=-literal - 1)
        encoder.bulk.linear_of(over, np.ones(len(over), np.int64), 0, rank)
    if above:  # at least ``rank + 1`` cells must be t or more
        reach = encoder.plain(np.zeros(len(forms), np.int64), np.ones(len(forms), np.int64))
        for (var, coef, const, _, _), literal in zip(forms, reach.tolist(), strict=True):
            encoder.bulk.linear_of(np.append(var, t), np.append(coef, -1), -const, INFINITE, enforce=literal)
        encoder.bulk.linear_of(reach, np.ones(len(reach), np.int64), rank + 1, len(reach))


def _all_but(
    encoder: Encoder, forms: list[tuple[IntArray, IntArray, int, int, int]], y: int, rank: int, below: bool, above: bool
) -> None:
    if below:  # exempt some ``rank`` of them; the rest must be paid for
        exempt = encoder.plain(np.zeros(len(forms), np.int64), np.ones(len(forms), np.int64))
        paid = encoder.plain(
            np.array([min(0, form[3]) for form in forms], np.int64),
            np.array([max(0, form[4]) for form in forms], np.int64),
        )
        for (var, coef, const, _, _), literal, share in zip(forms, exempt.tolist(), paid.tolist(), strict=True):
            encoder.bulk.linear_of(np.append(var, share), np.append(coef, -1), -INFINITE, -const, enforce=-literal - 1)
            encoder.bulk.linear_of(np.array([share]), np.ones(1, np.int64), 0, INFINITE, enforce=literal)
        encoder.bulk.linear_of(exempt, np.ones(len(exempt), np.int64), 0, rank)
        encoder.bulk.linear_of(np.append(paid, y), np.append(-np.ones(len(paid), np.int64), 1), 0, INFINITE)
    if above:  # the sum of the largest is at most rank · λ + Σ max(0, x - λ), for any λ
        least, most = min(form[3] for form in forms), max(form[4] for form in forms)
        level = int(encoder.plain(np.array([least]), np.array([most]))[0])
        over = encoder.plain(np.zeros(len(forms), np.int64), np.array([most - least] * len(forms), np.int64))
        var_sum, coef_sum, const_sum = [np.array([y, level])], [np.array([1, rank])], 0
        for (var, coef, const, _, _), extra in zip(forms, over.tolist(), strict=True):
            encoder.bulk.linear_of(np.append(var, [level, extra]), np.append(coef, [-1, -1]), -INFINITE, -const)
            var_sum += [var, np.array([extra])]
            coef_sum += [-coef, np.ones(1, np.int64)]
            const_sum += const
        encoder.bulk.linear_of(
            np.concatenate(var_sum).astype(np.int64), np.concatenate(coef_sum).astype(np.int64), -INFINITE, const_sum
        )


__all__ = ["Factors", "encode_mod", "encode_ordered", "encode_product", "encode_ratio"]
