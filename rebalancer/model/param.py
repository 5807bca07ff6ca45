"""Exact parameters of formulas: limits, capacities, coefficients. A grid of integers times one rational unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.grid import Grid
from rebalancer.problem.numbers import IntArray

#: Common denominators are exact up to this many bits; beyond, numbers are rounded to far finer than any float.
DENOMINATOR_BITS = 512
#: Significant bits of what is rounded.
ROUNDED_BITS = 128


def rational_gcd(values: Iterable[Fraction]) -> Fraction:
    """Return the largest rational of which every value is a whole multiple; 1 if all are zero."""
    present = [value for value in values if value]
    if not present:
        return Fraction(1)
    common = math.lcm(*(value.denominator for value in present))
    return Fraction(math.gcd(*(value.numerator * (common // value.denominator) for value in present)), common)


def common_unit(values: Iterable[Fraction]) -> tuple[Fraction, Fraction]:
    """Return a unit to write values in, and how far a value may be from a multiple of it.

    0 unless the exact unit would be unwieldy.
    """
    present = {abs(value) for value in values if value}
    common = 1
    for denominator in {value.denominator for value in present}:
        common = math.lcm(common, denominator)
        if common.bit_length() > DENOMINATOR_BITS:
            smallest = min(present)
            unit = Fraction(2) ** (smallest.numerator.bit_length() - smallest.denominator.bit_length() - ROUNDED_BITS)
            return unit, unit / 2
    return rational_gcd(present), Fraction(0)


def _integers(values: NDArray[Any], unit: Fraction) -> NDArray[Any]:
    """Divide an object array of Fractions by a unit; to the nearest where they are no multiples of it."""
    known: dict[Fraction, int] = {}
    flat = []
    for value in values.ravel().tolist():
        number = known.get(value)
        if number is None:
            number = known[value] = round(Fraction(value) / unit)
        flat.append(number)
    fits = all(-(2**62) < number < 2**62 for number in flat)
    out = np.empty(len(flat), np.int64 if fits else object)
    out[:] = flat
    return out.reshape(values.shape)


@dataclass(frozen=True, eq=False)
class Param:
    """A number for every cell of a grid: ``grid * unit``.

    Parameters
    ----------
    grid : Grid
        Of int64, or of Python integers where they are larger.
    unit : Fraction
    slack : Fraction
        The numbers meant differ by at most this: 0 unless they have no common denominator of a bearable size.
    """

    grid: Grid
    unit: Fraction
    slack: Fraction = Fraction(0)

    @staticmethod
    @lru_cache(maxsize=1024)  # the same few numbers over and over
    def constant(value: Fraction | int, groups: int = 1, items: int = 1) -> Param:
        """Return one number for all cells."""
        exact = Fraction(value)
        if not exact:
            return Param(Grid.constant(groups, items, 0), Fraction(1))
        return Param(Grid.constant(groups, items, 1 if exact > 0 else -1), abs(exact))

    @staticmethod
    def of(
        table: NDArray[Any] | Sequence[Any],
        groups: int | None = None,
        items: int | None = None,
        *,
        column: NDArray[np.int64] | None = None,
        keys: IntArray | None = None,
        values: Sequence[Fraction] = (),
    ) -> Param:
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
        unit, slack = common_unit(known)
        shape = groups if groups is not None else array.shape[0], items if items is not None else array.shape[1]
        if len(known) == 1 and array.size:  # the same everywhere
            array, column, keys, values = array[:1, :1], None, None, ()
        exceptions = np.empty(len(values), object)
        exceptions[:] = [Fraction(value) for value in values]
        grid = Grid(
            *shape,
            _integers(array, unit),
            column,
            np.empty(0, np.int64) if keys is None else keys,
            _integers(exceptions, unit),
        )
        return Param(grid, unit, slack)

    @staticmethod
    def of_integers(grid: Grid, unit: Fraction) -> Param:
        """Return a parameter from integers: in the coarsest unit that divides all, and one number where all are alike.

        Without a Fraction for each, of which there may be millions.
        """
        common = int(np.gcd.reduce(np.concatenate([grid.table.ravel(), grid.values.ravel()])))
        if not common:
            return Param.constant(0, grid.groups, grid.items)
        if not len(grid.keys) and (grid.table == grid.table[0, 0]).all():
            return Param.constant(unit * int(grid.table[0, 0]), grid.groups, grid.items)
        return Param(grid.map(lambda v: v // common), unit * common)

    @property
    def is_zero(self) -> bool:
        """Whether every value is 0."""
        return self.grid.largest_magnitude() == 0

    def largest(self) -> Fraction:
        """Return the largest absolute value."""
        return abs(self.unit) * int(self.grid.largest_magnitude())

    def at_least(self, least: Fraction) -> Param:
        """Return the parameter with ``least`` where it is lower."""
        grid = self.grid
        if all(int(number) * self.unit >= least for number in grid.extremes):
            return self

        def raised(values: NDArray[Any]) -> NDArray[Any]:
            return _each(values, lambda number: max(number * self.unit, least), object)

        values = raised(grid.values).tolist()
        return Param.of(raised(grid.table), grid.groups, grid.items, column=grid.column, keys=grid.keys, values=values)

    def in_units(self, unit: Fraction, rounding: str, most: int | None = None) -> Grid:
        """Return the parameter as int64 multiples of ``unit``.

        Exact where the unit divides it, else rounded "up" or to the "nearest". What is larger than ``most`` becomes
        that.
        """
        if self.is_zero:
            return self.grid.astype(np.int64)
        ratio = self.unit / unit
        up, down = ratio.numerator, ratio.denominator
        if down == 1 and int(self.grid.largest_magnitude()) * abs(up) < 2**62:
            return self.grid.astype(np.int64).map(lambda v: v * up)

        def rounded(number: int) -> int:
            value = -((-number * up) // down) if rounding == "up" else (2 * number * up + down) // (2 * down)
            return value if most is None else min(value, most)

        return self.grid.map(lambda v: _each(v, rounded))

    def floats(self) -> Grid:
        """Return the parameter as float64."""
        if self.grid.table.dtype == object or self.grid.values.dtype == object:
            return self._wide_floats
        scale = float(self.unit)
        return self.grid.astype(np.float64).map(lambda v: v * scale)

    @cached_property
    def _wide_floats(self) -> Grid:
        """The parameter as float64, from integers of any size: a Fraction for each, which evaluating cannot afford."""
        unit = self.unit
        return self.grid.map(lambda v: _each(v, lambda number: float(number * unit), np.float64))

    def scaled(self, factor: Fraction) -> Param:
        """Return the parameter times a number."""
        if factor < 0:
            return Param(self.grid.map(np.negative), -self.unit * factor, -self.slack * factor)
        if factor == 0:
            return Param.constant(0, self.grid.groups, self.grid.items)
        return Param(self.grid, self.unit * factor, self.slack * factor)


def _each(values: NDArray[Any], function: Any, dtype: Any = np.int64) -> NDArray[Any]:
    out = np.empty(values.size, dtype)
    out[:] = [function(number) for number in values.ravel().tolist()]
    return out.reshape(values.shape)


def fraction_sum(values: Iterable[Fraction]) -> Fraction:
    """Return the sum of many fractions, exactly unless their common denominator would be unwieldy."""
    parts = list(values)
    unit, _ = common_unit(parts)
    return sum((round(part / unit) for part in parts), 0) * unit
