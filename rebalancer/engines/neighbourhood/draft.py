"""A graph of cells in the making, all of them rows, read in integers only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rebalancer.engines.neighbourhood.keys import as_row
from rebalancer.model import Cells, Function, Gather, Grid, Map, Param, Term
from rebalancer.problem.numbers import IntArray

#: Exact parameters are for reports; these cells are only ever read in integers.
UNUSED = Param.constant(0)
EXACT = Fraction(0)
_ONE = Grid.constant(1, 1, 1)


class Draft:
    """Makes cells one after the other."""

    def __init__(self) -> None:
        self.graph: list[Cells] = []

    def _add(self, cells: Cells) -> Cells:
        self.graph.append(cells)
        return cells

    def _frame(
        self, like: Cells, items: int, low: int | None = None, high: int | None = None
    ) -> tuple[int, int, int, Fraction, int, int, Fraction]:
        """Return the fields that all cells have: a row with the unit and (if not given) the bounds of the original."""
        return (
            len(self.graph),
            1,
            items,
            like.unit,
            like.low if low is None else low,
            like.high if high is None else high,
            EXACT,
        )

    def _form(
        self,
        frame: tuple[int, int, int, Fraction, int, int, Fraction],
        terms: list[tuple[Cells, IntArray]],
        const: IntArray,
        like: Map | None = None,
        divisor: IntArray | None = None,
    ) -> Cells:
        """Return ``f(Σ coef · cells + const)`` of rows of one length; f and its unit are those of ``like``."""
        function = Function.IDENTITY if like is None else like.function
        x_low, x_high = int(const.min(initial=0)), int(const.max(initial=0))
        for cells, coef in terms:
            most = int(np.abs(coef).max(initial=0)) * cells.largest
            x_low, x_high = x_low - most, x_high + most
        bounds = frame[4:6] if like is None else (like.x_low, like.x_high)
        x_low, x_high = max(x_low, bounds[0]), min(x_high, bounds[1])
        return self._add(
            Map(
                len(self.graph),
                *frame[1:],
                tuple(Term(cells, as_row(coef), UNUSED) for cells, coef in terms),
                as_row(const),
                UNUSED,
                function,
                _ONE if divisor is None else as_row(divisor),
                frame[3] if like is None else like.x_unit,
                x_low,
                x_high,
            )
        )

    def _picked(self, cells: Cells, at: IntArray) -> Cells:
        """Return chosen cells of a row of the slice."""
        if len(at) == cells.items and (at == np.arange(len(at))).all():
            return cells
        frame = self._frame(cells, len(at))
        return self._add(Gather(*frame, cells, np.zeros(len(at), np.int64), at))
