"""The cells of a model: a graph of vectorised integer formulas, in topological order.

Every kind of cell is an array over groups × items (either may be 1) of 64-bit integers; the true value is ``integer *
unit``. Engines read these
classes and nothing else of a spec. `ModelBuilder` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rebalancer.model.grid import Grid
from rebalancer.model.param import Param
from rebalancer.problem import DynamicValues
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Cells:
    """Base of all cells.

    Parameters
    ----------
    index : int
        Position in the model's topological order.
    groups, items : int
        Shape.
    unit : Fraction
        True value of the integer 1.
    low, high : int
        No cell's integer is ever outside these.
    error : Fraction
        The true value by the exact formula differs from ``integer * unit`` by at most this; 0 where integers are exact.
    """

    index: int
    groups: int
    items: int
    unit: Fraction
    low: int
    high: int
    error: Fraction

    @property
    def inputs(self) -> tuple[Cells, ...]:
        """The cells that this one reads."""
        return ()

    @property
    def largest(self) -> int:
        """Largest magnitude that an integer of these cells can have."""
        return max(abs(self.low), abs(self.high))


class Family(str, Enum):
    """Which placements a tally counts: where objects end, or where they end and also began."""

    AFTER = "AFTER"
    STAYED = "STAYED"


@dataclass(frozen=True, eq=False)
class Tally(Cells):
    """Leaf: the sum of weights of the members of each group that count in each item.

    Parameters
    ----------
    group, member : int arrays of equal length
        The memberships.
    weight : int64 array of the same length
        Fixed-point weight of each membership; unused where ``dynamic`` is given.
    dynamic : DynamicValues or None
        Weight by where the object is; ``dynamic_item`` is the item of each container in its scope (last entry:
        unplaced).
    item_of : int32 array, containers + 1
        Item of each container, -1 for none; last entry: unplaced.
    family : Family
    home : int32 array, one per object
        Item where each object began (-1: none).
    """

    group: NDArray[np.int64]
    member: NDArray[np.int64]
    weight: IntArray
    dynamic: DynamicValues | None
    dynamic_item: NDArray[np.int32] | None
    item_of: NDArray[np.int32]
    family: Family
    home: NDArray[np.int32]

    def weight_at(self, rows: NDArray[np.int64], container: NDArray[np.int64], objects: int) -> IntArray:
        """Return the weight of memberships ``rows`` if their objects are in ``container``."""
        if self.dynamic is None or self.dynamic_item is None:
            return self.weight[rows]
        return self.dynamic.at(self.dynamic_item[container], self.member[rows], objects)


class Function(str, Enum):
    """What a `Map` does to its linear form x."""

    IDENTITY = "identity"
    HINGE = "hinge"  # max(0, x)
    STEP = "step"  # 1 if x > 0 else 0
    SQUARE = "square"  # round(x² / divisor)
    CEIL = "ceil"  # ⌈x / divisor⌉
    MOD = "mod"  # the remainder of x / divisor, 0 or more
    RAISE = "raise"  # ⌈x / divisor⌉, the same quantity in coarser units: what is above 0 stays above 0
    ROUND = "round"  # ⌊x / divisor + 1/2⌋, the same quantity in coarser units


@dataclass(frozen=True, eq=False)
class Term:
    """One addend of a linear form: coefficient × cells, repeated along the axis where the cells have length 1.

    Parameters
    ----------
    cells : Cells
    coef : Grid
        Integers.
    exact : Param
        The true coefficient, by true value.
    """

    cells: Cells
    coef: Grid
    exact: Param


@dataclass(frozen=True, eq=False)
class Map(Cells):
    """``f(x)`` cell by cell, with ``x = Σ coef · input + const``.

    Parameters
    ----------
    terms : tuple of Term
    const : Grid
        Integers; ``exact_const`` is the true value.
    function : Function
    divisor : Grid
        Of SQUARE, CEIL, MOD, RAISE and ROUND; 1 otherwise.
    x_unit : Fraction
        True value of x = 1; x_low and x_high bound x.
    beside : tuple of Term
        Addends that exact values count and integers do not: they are 0 wherever the hard cells hold, or so small that
        they are within the error.
    """

    terms: tuple[Term, ...]
    const: Grid
    exact_const: Param
    function: Function
    divisor: Grid
    x_unit: Fraction
    x_low: int
    x_high: int
    beside: tuple[Term, ...] = ()

    @property
    def inputs(self) -> tuple[Cells, ...]:
        """The cells that this one reads."""
        return tuple(term.cells for term in self.terms)


class Gathering(str, Enum):
    """How a `Reduce` combines cells."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    NTH_LARGEST = "nth_largest"  # the one with ``rank`` others above it; of too few, the smallest
    ALL_BUT_LARGEST = "all_but_largest"  # the sum without the ``rank`` largest


@dataclass(frozen=True, eq=False)
class Reduce(Cells):
    """Combines the cells that map to each output cell.

    Parameters
    ----------
    source : Cells
    how : Gathering
    group_map, item_map : int64 array or None
        Output group of each input group, and output item of each input item; -1 leaves out; None sends all to 0.
    coef : Grid
        Integer coefficients of the addends (SUM only); ``exact_coef`` is the true value.
    rank : int
        Of NTH_LARGEST and ALL_BUT_LARGEST.
    """

    source: Cells
    how: Gathering
    group_map: NDArray[np.int64] | None
    item_map: NDArray[np.int64] | None
    coef: Grid
    exact_coef: Param
    rank: int = 0

    @property
    def inputs(self) -> tuple[Cells, ...]:
        """The cells that this one reads."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class Gather(Cells):
    """Chosen cells of another, in a row: shape (1, n).

    Parameters
    ----------
    source : Cells
    group, item : int64 arrays of length n
    """

    source: Cells
    group: IntArray
    item: IntArray

    @property
    def inputs(self) -> tuple[Cells, ...]:
        """The cells that this one reads."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class Extremum(Cells):
    """The largest (or smallest) of several cells of one shape, cell by cell.

    Parameters
    ----------
    sources : tuple of Cells
        All with this one's unit.
    largest_of : bool
    """

    sources: tuple[Cells, ...]
    largest_of: bool

    @property
    def inputs(self) -> tuple[Cells, ...]:
        """The cells that this one reads."""
        return self.sources


@dataclass(frozen=True, eq=False)
class Product(Cells):
    """``round(left · right / divisor)``, cell by cell; an axis of length 1 is repeated.

    Parameters
    ----------
    left, right : Cells
    divisor : int
        Power of two that keeps the integers small.
    """

    left: Cells
    right: Cells
    divisor: int

    @property
    def inputs(self) -> tuple[Cells, ...]:
        """The cells that this one reads."""
        return (self.left, self.right)


@dataclass(frozen=True, eq=False)
class Ratio(Cells):
    """``round(factor · over / under)``, cell by cell, with ``under`` at least 1 everywhere.

    Parameters
    ----------
    over, under : Cells
        Of one shape.
    factor : int
        How much finer the quotient is held.
    """

    over: Cells
    under: Cells
    factor: int

    @property
    def inputs(self) -> tuple[Cells, ...]:
        """The cells that this one reads."""
        return (self.over, self.under)
