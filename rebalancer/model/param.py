"""Exact parameters of formulas: limits, capacities, coefficients. A grid of integers times one rational unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.grid import Grid
from rebalancer.problem.numbers import IntArray


def rational_gcd(values: Iterable[Fraction]) -> Fraction:
    """Return the largest rational of which every value is a whole multiple; 1 if all are zero."""
    numerator, denominator = 0, 1
    for value in values:
        if value:
            common = math.lcm(denominator, value.denominator)
            numerator = math.gcd(numerator * (common // denominator), value.numerator * (common // value.denominator))
            denominator = common
    return Fraction(numerator, denominator) if numerator else Fraction(1)


def _integers(values: NDArray[Any], unit: Fraction) -> NDArray[Any]:
    """Divide an object array of Fractions by the unit of which they are multiples."""
    flat = [int(value / unit) for value in values.ravel().tolist()]
    fits = all(-(2**62) < number < 2**62 for number in flat)
    out = np.empty(len(flat), np.int64 if fits else object)
    out[:] = flat
    return out.reshape(values.shape)


@dataclass(frozen=True, eq=False)
class Param:
    """An exact number for every cell of a grid: ``grid * unit``.

    Parameters
    ----------
    grid : Grid
        Of int64, or of Python integers where they are larger.
    unit : Fraction
    """

    grid: Grid
    unit: Fraction

    @staticmethod
    def constant(value: Fraction | int, groups: int = 1, items: int = 1) -> Param:
        """Return one number for all cells."""
        exact = Fraction(value)
        if not exact:
            return Param(Grid.constant(groups, items, 0), Fraction(1))
        return Param(Grid.constant(groups, items, 1 if exact > 0 else -1), abs(exact))

    @staticmethod
    def of(table: NDArray[Any] | Sequence[Any], groups: int | None = None, items: int | None = None, *,
           column: NDArray[np.int64] | None = None, keys: IntArray | None = None, values: Sequence[Fraction] = ()) -> Param:
        """Return a parameter from Fractions.

        Parameters
        ----------
        table : object array of Fraction (or int), shape (1 or groups, columns); one dimension means one per item
        groups, items : int
            Shape of the grid; taken from the table where left out.
        column, keys, values
            As in `Grid`; ``values`` are Fractions.
        """
        array = np.atleast_2d(np.asarray(table, object))
        known = {Fraction(value) for value in array.ravel().tolist()} | {Fraction(value) for value in values}
        unit = rational_gcd(known)
        exceptions = np.empty(len(values), object)
        exceptions[:] = [Fraction(value) for value in values]
        grid = Grid(groups if groups is not None else array.shape[0], items if items is not None else array.shape[1], _integers(array, unit), column,
                    np.empty(0, np.int64) if keys is None else keys, _integers(exceptions, unit))
        return Param(grid, unit)

    @property
    def is_zero(self) -> bool:
        return self.grid.largest_magnitude() == 0

    def largest(self) -> Fraction:
        """Return the largest absolute value."""
        return abs(self.unit) * int(self.grid.largest_magnitude())

    def in_units(self, unit: Fraction, rounding: str) -> Grid:
        """Return the parameter as int64 multiples of ``unit``: exact where it divides, else rounded "up" or to the "nearest"."""
        ratio = self.unit / unit
        up, down = ratio.numerator, ratio.denominator
        if down == 1 and int(self.grid.largest_magnitude()) * abs(up) < 2**62:
            return self.grid.astype(np.int64).map(lambda v: v * up)
        if rounding == "up":
            return self.grid.map(lambda v: _each(v, lambda number: -((-number * up) // down)))
        return self.grid.map(lambda v: _each(v, lambda number: (2 * number * up + down) // (2 * down)))

    def floats(self) -> Grid:
        """Return the parameter as float64."""
        if self.grid.table.dtype == object or self.grid.values.dtype == object:
            unit = self.unit
            return self.grid.map(lambda v: _each(v, lambda number: float(number * unit), np.float64))
        scale = float(self.unit)
        return self.grid.astype(np.float64).map(lambda v: v * scale)

    def scaled(self, factor: Fraction) -> Param:
        """Return the parameter times a number."""
        if factor < 0:
            return Param(self.grid.map(np.negative), -self.unit * factor)
        if factor == 0:
            return Param.constant(0, self.grid.groups, self.grid.items)
        return Param(self.grid, self.unit * factor)


def _each(values: NDArray[Any], function: Any, dtype: Any = np.int64) -> NDArray[Any]:
    out = np.empty(values.size, dtype)
    out[:] = [function(number) for number in values.ravel().tolist()]
    return out.reshape(values.shape)


def fraction_sum(values: Iterable[Fraction]) -> Fraction:
    """Return the sum of many fractions (by halves, so that denominators stay small for long)."""
    parts = list(values)
    while len(parts) > 1:
        parts = [parts[i] + parts[i + 1] if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0] if parts else Fraction(0)


def product(values: Iterable[Fraction]) -> Fraction:
    """Return the product of fractions."""
    return reduce(lambda a, b: a * b, values, Fraction(1))
