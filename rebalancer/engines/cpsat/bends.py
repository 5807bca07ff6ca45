"""Functions of one form that bend: hinges, steps, squares, and rounding to coarser units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rebalancer.engines.cpsat.proto import INFINITE
from rebalancer.engines.cpsat.rows import (
    Rows,
    broadcast_index,
    merge_rows,
    single_rows,
    steps_of,
    take_rows,
    with_values,
)
from rebalancer.engines.cpsat.secants import Squares, first_secants
from rebalancer.engines.cpsat.sides import ABOVE, BELOW
from rebalancer.model import Function, Grid, Map
from rebalancer.model.evaluate import linear_form
from rebalancer.problem.numbers import IntArray

if TYPE_CHECKING:
    from rebalancer.engines.cpsat.encode import Encoder

#: Functions of rows with at most this many values are variables with no other values than theirs.
_FEW_VALUES = 64
#: Of what bends and is to be large, CP-SAT 9.15 is not believed at once where coefficients are above this: it has lost
#: answers of such models, the more of them the larger these were.
_DOUBTED = 10**11


def encode_bend(encoder: Encoder, cells: Map, x: Rows, const: Grid) -> Rows:
    """Return the rows of a function of rows ``x``; ``const`` is what it is where these do not vary."""
    return _BENDS[cells.function](encoder, cells, x, const)


def _hinge(encoder: Encoder, cells: Map, x: Rows, const: Grid) -> Rows:
    """Hinges in the steps of their rows: with the finest of units CP-SAT finds no cuts.

    x takes only the values ``step · y + offset``. With its smallest positive one ``first``, and n = max(0, the
    number of such values up to x), it is ``max(0, x) = step · n - (step - first) · [n > 0]``.
    """
    never, always = x.high <= 0, x.low >= 0
    const = with_values(const, x.key[never], np.zeros(int(never.sum()), np.int64))
    const = with_values(const, x.key[always & ~never], x.const_at_key[always & ~never])
    part = take_rows(x, np.flatnonzero(~never & ~always))
    key, offset, step = part.key, part.const_at_key, steps_of(part)
    first = (offset - 1) % step + 1
    part = replace(part, coef=part.coef // np.repeat(step, part.lengths))
    none = (first - offset) // step - 1  # what the terms of the row, in steps, come to where n = 0
    zeros, ones, infinite = np.zeros(len(key), np.int64), np.ones(len(key), np.int64), np.full(len(key), INFINITE)
    count = encoder.new(cells, key, zeros, np.maximum(0, (part.high - first) // step + 1), unit=step)
    asked_below, asked_above = encoder.asked(cells)
    short = np.arange(len(key)) if asked_above else np.flatnonzero(first < step)
    above = encoder.new(cells, key[short], zeros[short], ones[short], "positive")
    counts = single_rows((x.groups, x.items), key[short], count[short], x.const, zeros[short], infinite[short])
    encoder.bulk.linear(counts, zeros[short], infinite[short], extra=above, factor=-ones[short])
    if asked_below:
        encoder.bulk.linear(part, -infinite, none, extra=count, factor=-ones)
    if asked_above:
        _doubt(encoder, part)
        encoder.bulk.linear(part, none, infinite, above, count, -ones)
        encoder.bulk.linear(part, -infinite, none, -above - 1)
        encoder.bulk.linear(counts, -infinite, zeros, -above - 1)
    hinges = encoder.algebra.collect(
        cells.groups,
        cells.items,
        np.concatenate([key, key[short]]),
        np.concatenate([count, above]),
        np.concatenate([step, (first - step)[short]]),
        with_values(const, key, zeros),
    )
    low = np.maximum(hinges.low, 0)
    return merge_rows(replace(hinges, low=low), take_rows(x, np.flatnonzero(always & ~never)))


def _doubt(encoder: Encoder, rows: Rows) -> None:
    """Note that something of these rows is to be large, and whether CP-SAT is to be believed at once."""
    encoder.out.doubted |= bool(np.abs(rows.coef).max(initial=0) > _DOUBTED)


def _step(encoder: Encoder, cells: Map, x: Rows, const: Grid) -> Rows:
    decided = (x.high <= 0) | (x.low > 0)
    const = with_values(const, x.key[decided], (x.low[decided] > 0).astype(np.int64))
    part = take_rows(x, np.flatnonzero(~decided))
    key, offset = part.key, part.const_at_key
    ones = np.ones(len(key), np.int64)
    variables = encoder.new(cells, key, 0 * ones, ones)
    if encoder.sides[cells.index] & BELOW:
        encoder.bulk.linear(part, np.full(len(key), -INFINITE), -offset, -variables - 1)
    if encoder.sides[cells.index] & ABOVE:
        _doubt(encoder, part)
        encoder.bulk.linear(part, 1 - offset, np.full(len(key), INFINITE), variables)
    return _variable_rows(cells, key, variables, const, 0 * ones, ones)


def _divided(encoder: Encoder, cells: Map, x: Rows, const: Grid) -> Rows:
    """CEIL, RAISE and ROUND: an integer between two lines."""
    divisor = cells.divisor.at(*broadcast_index(x, cells.divisor)).astype(np.int64)
    shift = divisor // 2 - divisor + 1 if cells.function is Function.ROUND else np.zeros(len(x.key), np.int64)
    low, high = (-((-(bound + shift)) // divisor) for bound in (x.low, x.high))
    variables = encoder.new(cells, x.key, low, high)
    offset = x.const_at_key
    _name_few(encoder, x, variables, high - low, lambda row, value: -((-(value + shift[row])) // divisor[row]))
    infinite = np.full(len(x.key), INFINITE)
    if encoder.sides[cells.index] & BELOW:  # divisor · y >= x + shift
        encoder.bulk.linear(x, -infinite, -offset - shift, extra=variables, factor=-divisor)
    if encoder.sides[cells.index] & ABOVE:  # divisor · y <= x + shift + divisor - 1
        _doubt(encoder, x)
        encoder.bulk.linear(x, 1 - divisor - offset - shift, infinite, extra=variables, factor=-divisor)
    return _variable_rows(cells, x.key, variables, const, low, high)


def _name_few(
    encoder: Encoder, x: Rows, variables: IntArray, width: IntArray, value: Callable[[int, IntArray], IntArray]
) -> None:
    """Leave variables that are functions of rows with few values only what these become: CP-SAT cannot tell.

    ``width`` is how far apart the bounds of each variable are, ``value`` the function of a row.
    """
    if not len(x.key):
        return
    step = steps_of(x)
    first = x.low + (x.const_at_key - x.low) % step  # a row is its constant and multiples of its step
    further = (x.high - first) // step
    for row in np.flatnonzero(further < np.minimum(_FEW_VALUES, width)).tolist():
        reachable = first[row] + step[row] * np.arange(further[row] + 1)
        encoder.bulk.restrict(int(variables[row]), np.unique(value(row, reachable)))


def _square(encoder: Encoder, cells: Map, x: Rows, const: Grid) -> Rows:
    x = encoder.as_variables(cells, x, "x")
    divisor = cells.divisor.at(*broadcast_index(x, cells.divisor)).astype(np.int64)
    ends = np.maximum(x.low * x.low, x.high * x.high)
    high = (ends + divisor // 2) // divisor
    low = np.where(
        (x.low <= 0) & (x.high >= 0), 0, (np.minimum(x.low * x.low, x.high * x.high) + divisor // 2) // divisor
    )
    variables = encoder.new(cells, x.key, low, high)
    side = encoder.sides[cells.index]
    if side & ABOVE:
        _exact_square(encoder, cells, x, variables, divisor)
    elif side & BELOW:
        squares = Squares(cells, x.key, x, variables, divisor)
        if not first_secants(encoder.bulk, squares, _at_start(encoder, cells, x)):
            encoder.out.squares.append(squares)
    return _variable_rows(cells, x.key, variables, const, low, high)


def _at_start(encoder: Encoder, cells: Map, x: Rows) -> IntArray:
    return np.clip(linear_form(encoder.start, cells).at(x.group, x.item).astype(np.int64), x.low, x.high)


def _exact_square(encoder: Encoder, cells: Map, x: Rows, variables: IntArray, divisor: IntArray) -> None:
    """Squares that something wants large: only a product says how large they are."""
    bases = encoder.new(cells, x.key, x.low, x.high, "x")
    offset = x.const_at_key
    encoder.bulk.linear(x, -offset, -offset, extra=bases, factor=np.full(len(bases), -1))
    ends = np.maximum(x.low * x.low, x.high * x.high)
    products = encoder.new(cells, x.key, np.zeros(len(bases), np.int64), ends, "square")
    for base, target, variable, by in zip(
        bases.tolist(), products.tolist(), variables.tolist(), divisor.tolist(), strict=True
    ):
        factor = (np.array([base]), np.ones(1, np.int64), 0)
        encoder.bulk.product(target, [factor, factor])
        encoder.bulk.linear_of(np.array([variable, target]), np.array([by, -1]), by // 2 - by + 1, by // 2)


def _variable_rows(cells: Map, key: IntArray, variables: IntArray, const: Grid, low: IntArray, high: IntArray) -> Rows:
    """Return cells that are one variable each at some keys, and constant elsewhere."""
    bare = with_values(const, key, np.zeros(len(key), np.int64))
    return single_rows((cells.groups, cells.items), key, variables, bare, low, high)


_BENDS = {
    Function.HINGE: _hinge,
    Function.STEP: _step,
    Function.SQUARE: _square,
    Function.CEIL: _divided,
    Function.RAISE: _divided,
    Function.ROUND: _divided,
}

__all__ = ["encode_bend"]
