"""How large the integers of cells may be, and in which unit a formula is held."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from rebalancer.model.cells import Cells, Term
from rebalancer.model.grid import Grid, reduce_sum
from rebalancer.model.param import Param

#: Integers of a linear form stay below this where they can be exact …
EXACT_LIMIT = 2**52
#: … or below this where amounts by themselves are larger: what is counted in bytes has to hold to the byte.
LARGE_LIMIT = 2**62
#: … of which a cell that is brought to another unit, times the numerator of the ratio of both, takes this at most.
RATIO_LIMIT = 2**58
#: They are scaled to about this where a constant has to be rounded.
ROUNDED_LIMIT = 2**40
#: Where coefficients have to be rounded, they keep at least this many bits.
COEFFICIENT_BITS = 20
#: Single cells of different units are first cut to this …
SCALAR_LIMIT = 2**40
#: … and added up in a unit in which they stay below the first of these; below the second, where the unit is coarser
#: than `SCALED_UNIT`: finer ones than that only make proofs longer.
SCALED_LIMIT, LARGEST_SCALED_LIMIT = 2**44, 2**52
SCALED_UNIT = Fraction(1, 2**26)
#: What is squared stays below the first, its square below the second.
SQUARED_LIMIT = 2**28
SQUARE_LIMIT = 2**46
#: Of two numbers below this the difference can be squared as it is.
DISTANCE_LIMIT = 2**22
#: The factors of a product stay below this.
PRODUCT_LIMIT = 2**30
#: Quotients are held as finely as keeps them below this: CP-SAT 9.15 may call larger ones infeasible.
QUOTIENT_LIMIT = 2**30
#: By how much is off what is exact; most cells are.
NOTHING = Fraction(0)
Amount: TypeAlias = Param | Fraction | int


def as_param(value: Amount) -> Param:
    """Return a number or parameter as a parameter."""
    return value if isinstance(value, Param) else Param.constant(value)


def magnitudes(grid: Grid, groups: int, items: int, positive: bool) -> int:
    """Return at least the sum of the magnitudes (or of the positive numbers) of a grid repeated to a shape."""
    each = grid.astype(np.float64).map(lambda v: np.maximum(v, 0.0) if positive else np.abs(v))
    total = float(reduce_sum(each, 1, 1, None, None)[0, 0]) * (groups * items // max(1, grid.groups * grid.items))
    return math.ceil(total * (1 + 2.0**-30))


def log2(value: Fraction) -> float:
    """Return the binary logarithm of any positive fraction, to float accuracy."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return shift + math.log2(value / Fraction(2) ** shift)


def common_length(lengths: list[int]) -> int:
    """Return the length that all can be repeated to; empty cells stay empty."""
    longest = 0 if 0 in lengths else max(lengths, default=1)
    if any(length not in (1, longest) for length in lengths):
        raise ValueError(f"cells of lengths {sorted(set(lengths))} cannot be combined")
    return longest


def error_of(cells: Cells, coef: Param) -> Fraction:
    """Return how far coefficient · cells may be from what is meant, with the coefficient itself taken as it is held."""
    if not cells.error and not coef.slack:
        return NOTHING
    return coef.largest() * cells.error + coef.slack * cells.unit * cells.largest


def nearest_ratio(value: Fraction, room: int) -> tuple[int, int]:
    """Return the fraction nearest to a positive value whose numerator is at most ``room``."""
    if value.numerator <= room:
        return value.numerator, value.denominator
    inverse = (1 / value).limit_denominator(room)  # the denominator of 1/value is the numerator of value
    if not inverse:
        return math.ceil(value), 1
    return inverse.denominator, inverse.numerator


def size_of(given: list[tuple[Cells, Param]], offset: Param) -> Fraction:
    """Return the largest true value that a linear form can have."""
    return sum((coef.largest() * cells.unit * cells.largest for cells, coef in given), offset.largest())


def form_range(terms: tuple[Term, ...], const: Grid) -> tuple[int, int]:
    """Return bounds on the integers of a linear form."""
    low, high = extremes(const)
    for term in terms:
        below, above = scaled_range(term.cells, term.coef)
        low, high = low + below, high + above
    return low, high


def scaled_range(cells: Cells, coef: Grid) -> tuple[int, int]:
    """Return bounds on cells times a coefficient."""
    least, most = extremes(coef)
    corners = [least * cells.low, least * cells.high, most * cells.low, most * cells.high]
    return min(corners), max(corners)


def extremes(grid: Grid) -> tuple[int, int]:
    """Return the smallest and the largest value of a grid."""
    least, most = grid.extremes
    return int(least), int(most)
