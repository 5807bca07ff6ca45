"""What CP-SAT minimises of a tuple position: its integers, or the exact formula that these are rounded from.

A rounded sum is an integer variable under a row of large coefficients. CP-SAT proves little of it: its reduced costs
do not reach the placements. So where there are such sums, the placements and what bends stand in the objective
themselves, with coefficients that are cut to finer integers than the position's. What that proves is true of the exact
formula, without the error that the position's integers may have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rebalancer.engines.cpsat.rows import RowAlgebra, Rows
from rebalancer.engines.opened import Floats, Opened
from rebalancer.model import Cells, Function, Model
from rebalancer.problem.numbers import IntArray

#: How much finer than the position's integers CP-SAT's numbers may be, and what all terms may add up to.
_FINEST, _ROOM = 2.0**14, 2.0**58
#: Share of a float that a few sums and products may have lost.
_LOST = 2.0**-40
#: Cells of more entries are not opened.
_MOST_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class Objective:
    """A linear form that CP-SAT minimises: a position's integers themselves.

    Parameters
    ----------
    var, coef : int64 arrays
        The form's terms.
    constant : int
        What is added to the form. The sum is called the number of an answer.
    error : float
        How far a position's integer may be from the exact formula, in integers.
    scale : float
        How much finer numbers are than the position's integers.
    """

    var: IntArray
    coef: IntArray
    constant: int
    error: float
    scale: float

    def number(self, values: IntArray) -> int:
        """Return the number of a solution, given the values of all variables."""
        return int(np.dot(self.coef, values[self.var])) + self.constant

    def proven(self, number: int) -> int:
        """Return the position's bound if no answer has a lower number."""
        return number

    def at_most(self, number: int) -> int:
        """Return what the position's integer is at most for an answer of this number."""
        return number

    def at_least(self, bound: int, most: int) -> int:
        """Return the least number that an answer can have, given a bound, and the highest that is of interest."""
        return min(bound, most)

    def slack(self, number: int) -> int:
        """Return how far above its bound an answer's number may be for what is reported to call it proven."""
        return int(self.error)


@dataclass(frozen=True, eq=False)
class ExactObjective(Objective):
    """The exact formula, in numbers that are a little less than what they stand for.

    Parameters
    ----------
    var, coef, constant, error, scale
        As of `Objective`.
    off : float
        How far the form itself may be from the exact formula, in the position's integers.
    lost, share : float
        How much of an answer's number is lost at most, as coefficients are cut: so much, and this share of what is
        above ``least``.
    least : int
    """

    off: float
    lost: float
    share: float
    least: int

    def proven(self, number: int) -> int:
        """Return the bound that promises what is proven, and no more, of the exact formula."""
        return math.floor(number / self.scale - abs(number / self.scale) * _LOST + self.error - self.off)

    def at_most(self, number: int) -> int:
        """Return what the position's integer is at most for an answer of this number."""
        return math.ceil((number + self._lost(number)) / self.scale + self.error + self.off)

    def at_least(self, bound: int, most: int) -> int:
        """Return the least number that an answer can have, given a bound, and the highest that is of interest."""
        return min(math.floor((bound - self.error - self.off) * self.scale - self._lost(most)), most)

    def slack(self, number: int) -> int:
        """Return how far above its bound an answer's number may be for what is reported to call it proven."""
        return max(0, math.floor((2 * self.error - self.off - 1) * self.scale - self._lost(number)))

    def _lost(self, number: int) -> float:
        return self.lost + self.share * max(0, number - self.least) + 2 * abs(number) * _LOST


class Unrounded(Opened):
    """An objective down to what is not a sum, a linear form, or rounded to the nearest unit.

    Parameters
    ----------
    model : Model
    objective : Cells
        Of one cell.
    rows : dict
        The rows of all cells, by index.
    algebra : RowAlgebra
    """

    def __init__(self, model: Model, objective: Cells, rows: dict[int, Rows], algebra: RowAlgebra) -> None:
        self._objective, self._rows, self._algebra = objective, rows, algebra
        self._coef, self._size = np.zeros(algebra.variables), np.zeros(algebra.variables)
        self._off = 0.0
        super().__init__(model, objective, (Function.ROUND,), exact=True)

    def opens(self, cells: Cells) -> bool:
        """Whether there is room for a weight of every cell."""
        return cells.groups * cells.items <= _MOST_CELLS

    def leaf(self, cells: Cells, weight: Floats) -> None:
        """Take the variables of cells."""
        rows, unit = self._rows[cells.index], float(cells.unit)
        self._off += float(np.abs(weight).sum()) * float(cells.error)
        self.add(weight * unit * rows.const.dense())
        terms = (weight.ravel()[rows.key] * unit)[rows.row_of_entry] * rows.coef
        self._coef += np.bincount(rows.var, terms, len(self._coef))
        self._size += np.bincount(rows.var, np.abs(terms), len(self._coef))

    def objective(self) -> ExactObjective | None:
        """Return what CP-SAT can minimise; None where nothing is rounded, or this loses more than rounding does."""
        literals, first = self._algebra.literals, self._algebra.literals.count
        low, high = (bounds.astype(np.float64) for bounds in self._algebra.auxiliary_bounds())
        sizes = self._size[first:] * np.maximum(np.abs(low), np.abs(high))
        unit = float(self._objective.unit)
        total = float(self._size[:first].sum() + sizes.sum()) / unit
        error, off = float(self._objective.error) / unit, self._off / unit * (1 + _LOST)
        if not (error and total) or (literals.per_object == 0).any() or (low < 0)[sizes > 0].any():
            return None
        scale = min(_FINEST, 2.0 ** math.floor(math.log2(_ROOM / total)))
        meant, slip = self._coef * (scale / unit), self._size * (scale / unit * _LOST)
        slip[:first] *= -1  # an object takes one literal: what is not sure of these goes into the constant
        coef = np.floor(meant - slip)
        cut = meant - coef
        unsure = -2 * _of_each(np.minimum, slip, literals.start) + self.size * (scale / unit * _LOST)
        constant = math.floor(self.constant * (scale / unit) - unsure)
        rest, bends = cut[first:], coef[first:]
        lost = 2 + 2 * unsure + _of_each(np.maximum, cut, literals.start) + float((rest * high)[bends <= 0].sum())
        share = float((rest[bends > 0] / bends[bends > 0]).max(initial=0.0))
        least = constant + _of_each(np.minimum, coef, literals.start) + float((np.minimum(bends, 0) * high).sum())
        if scale < 1 or off + lost / scale > error / 2:
            return None
        var = np.flatnonzero(coef)
        return ExactObjective(
            var, coef[var].astype(np.int64), constant, error, scale, off, lost, share, math.floor(least)
        )


def direct(model: Model, number: int, rows: Rows) -> Objective:
    """Return a position's integers, given as a row, as what to minimise."""
    cells = model.tuple_positions[number].objective
    return Objective(rows.var, rows.coef, int(rows.const.dense()[0, 0]), float(cells.error / cells.unit), 1.0)


def _of_each(pick: np.ufunc, numbers: Floats, start: IntArray) -> float:
    """Return the sum over objects of the smallest (largest) number of their literals."""
    return float(pick.reduceat(numbers[: start[-1]], start[:-1]).sum()) if len(start) > 1 else 0.0


__all__ = ["ExactObjective", "Objective", "Unrounded", "direct"]
