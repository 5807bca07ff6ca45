"""Formulas over cells: linear forms and what maps them, each in a unit in which it is exact, or nearly so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from rebalancer.model.cells import Cells, Extremum, Function, Gather, Map, Product, Reduce, Term
from rebalancer.model.grid import Grid, most_often
from rebalancer.model.param import Param, rational_gcd
from rebalancer.model.sign import is_never_negative
from rebalancer.model.units import (
    COEFFICIENT_BITS,
    EXACT_LIMIT,
    LARGE_LIMIT,
    LARGEST_SCALED_LIMIT,
    RATIO_LIMIT,
    ROUNDED_LIMIT,
    SCALAR_LIMIT,
    SCALED_LIMIT,
    SCALED_UNIT,
    SQUARE_LIMIT,
    SQUARED_LIMIT,
    Amount,
    as_param,
    common_length,
    error_of,
    extremes,
    form_range,
    log2,
    magnitudes,
    nearest_ratio,
    size_of,
)


class Formulas:
    """Makes maps of linear forms.

    Attributes
    ----------
    cells : list of Cells
        Everything made so far, in topological order.
    """

    def __init__(self) -> None:
        self.cells: list[Cells] = []
        #: By index: the magnitudes of all cells together never exceed this. Far less than each at its largest, as an
        #: object is in one place only.
        self._sums: dict[int, int] = {}

    def _add(self, cells: Cells) -> Cells:
        self.cells.append(cells)
        self._sums[cells.index] = min(cells.groups * cells.items * cells.largest, *self._sum_bounds(cells))
        return cells

    def _sum_bounds(self, cells: Cells) -> list[int]:
        """Return bounds on the sum of the magnitudes of all cells, from what they are made of."""
        if isinstance(cells, Product):
            often = (cells.groups * cells.items) // max(1, cells.left.groups * cells.left.items)
            return [2 * often * self._sums[cells.left.index] * cells.right.largest // cells.divisor]
        if isinstance(cells, Reduce):
            factor = int(cells.coef.largest_magnitude())
            return [factor * self._sums[cells.source.index]]
        if isinstance(cells, Gather):
            often = most_often(cells.group * cells.source.items + cells.item)
            return [often * self._sums[cells.source.index]]
        if isinstance(cells, Extremum):
            return [sum(self._sums[source.index] for source in cells.inputs)]
        if not isinstance(cells, Map):
            return [cells.groups * cells.items * cells.largest]
        positive = cells.function in (Function.HINGE, Function.STEP)
        x = magnitudes(cells.const, cells.groups, cells.items, positive)
        for term in cells.terms:
            least, most = extremes(term.coef)
            if positive and ((most <= 0 and term.cells.low >= 0) or (least >= 0 and term.cells.high <= 0)):
                continue
            repeats = (cells.groups * cells.items) // max(1, term.cells.groups * term.cells.items)
            x += max(abs(least), abs(most)) * self._sums[term.cells.index] * repeats
        divisor = max(1, extremes(cells.divisor)[0])
        if cells.function is Function.SQUARE:
            x *= max(abs(cells.x_low), abs(cells.x_high))
        if cells.function in (Function.CEIL, Function.RAISE):
            return [x // divisor + cells.groups * cells.items]
        if cells.function is Function.MOD:
            return [x if cells.x_low >= 0 else cells.groups * cells.items * cells.largest]
        if divisor == 1:
            return [x]
        # rounding to the nearest at most doubles, and adds at most a half to every cell
        return [2 * x // divisor, x // divisor + (cells.groups * cells.items + 1) // 2 + 1]

    def linear(self, terms: Sequence[tuple[Cells, Amount]], const: Amount = 0, *, limit: int = EXACT_LIMIT) -> Cells:
        """Return ``Σ coefficient · cells + const``; shapes of length 1 are repeated. ``limit`` bounds the integers."""
        return self._map(Function.IDENTITY, terms, const, limit)

    def beside(self, x: Cells, other: Cells, factor: Fraction) -> Cells:
        """Return x + factor · other, of single cells, where ``other`` is 0 wherever the hard cells hold.

        So the integers need no room for it; only what is reported of an assignment that breaks them counts it.
        """
        one, none = Param.constant(1), Param.constant(0)
        terms, more = (Term(x, one.grid, one),), _beside([(other, Param.constant(factor))])
        low, high, error = x.low, x.high, max(x.error, x.unit)  # what has no error has no exact value
        return self._finish(
            Function.IDENTITY, 1, 1, terms, none.grid, none, x.unit, low, high, error, None, beside=more
        )

    def hinge(self, x: Cells) -> Cells:
        """Return max(0, x)."""
        if x.low >= 0 and (not x.error or is_never_negative(x)):  # rounded up to 0 it may be below
            return x
        return self._map_of(Function.HINGE, x)

    def excess(self, terms: Sequence[tuple[Cells, Amount]], const: Amount) -> Cells:
        """Return ``max(0, Σ coefficient · cells + const)``.

        A constant below all that the cells can add up to is raised to that, where the result is 0 as well: it may be so
        much lower that the integers would have no digits left for the others.
        """
        given = [(cells, as_param(coef)) for cells, coef in terms]
        return self.hinge(self.linear(terms, as_param(const).at_least(-size_of(given, Param.constant(0)))))

    def step(self, x: Cells) -> Cells:
        """Return 1 where x > 0, else 0."""
        return self._map_of(Function.STEP, x)

    def square(self, x: Cells) -> Cells:
        """Return x²."""
        if isinstance(x, Map) and x.function is Function.IDENTITY and not x.beside:
            terms = [(term.cells, term.exact) for term in x.terms]
            if self._unit_of(terms, x.exact_const, SQUARED_LIMIT, [])[0] is not None:
                return self._map(Function.SQUARE, terms, x.exact_const, SQUARED_LIMIT)
        return self._map(Function.SQUARE, [(self.rounded(x, SQUARED_LIMIT), 1)], 0, SQUARED_LIMIT)

    def rounded(self, x: Cells, limit: int, up: bool = False) -> Cells:
        """Return x in units so coarse that its integers stay below ``limit``; rounded to the nearest, or ``up``."""
        if x.largest <= limit:
            return x
        divisor = 2 ** math.ceil(math.log2(x.largest / limit))
        return self.rounded_to(x, divisor * x.unit, up)

    def rounded_to(self, x: Cells, unit: Fraction, up: bool = False) -> Cells:
        """Return x in another unit; rounded to the nearest, or ``up``."""
        function = Function.RAISE if up else Function.ROUND
        return self._map(function, [(x, 1)], 0, LARGE_LIMIT, Param.constant(unit))

    def ceil(self, x: Cells, divisor: Param) -> Cells:
        """Return ⌈x / divisor⌉ with a positive divisor for every cell."""
        return self._map(Function.CEIL, [(x, 1)], 0, EXACT_LIMIT, divisor)

    def _map_of(self, function: Function, x: Cells) -> Cells:
        """Apply a function to x, taking over the linear form if x is one."""
        if isinstance(x, Map) and x.function is Function.IDENTITY and not x.beside:
            return self._finish(
                function, x.groups, x.items, x.terms, x.const, x.exact_const, x.x_unit, x.x_low, x.x_high, x.error, None
            )
        return self._map(function, [(x, 1)], 0, EXACT_LIMIT)

    def _map(
        self,
        function: Function,
        terms: Sequence[tuple[Cells, Amount]],
        const: Amount,
        limit: int,
        divisor: Param | None = None,
        finest: Fraction | None = None,
    ) -> Cells:
        asked = [(cells, as_param(coef)) for cells, coef in terms]
        given = [(cells, coef) for cells, coef in asked if not coef.is_zero and cells.largest]
        lost = [(cells, coef) for cells, coef in asked if cells.error and not cells.largest]
        offset = as_param(const)
        shapes = [(cells.groups, cells.items) for cells, _ in terms] + [
            (p.grid.groups, p.grid.items) for p in (offset, *(coef for _, coef in given))
        ]
        if divisor is not None:
            shapes.append((divisor.grid.groups, divisor.grid.items))
        groups, items = (common_length([shape[axis] for shape in shapes]) for axis in (0, 1))
        others = [known for known in (divisor.unit if divisor is not None else None, finest) if known is not None]
        unit, error = self._unit_of(given, offset, limit, others)
        # not of objectives, whose limit is another: nothing has to hold in them, and small integers are proven sooner
        if unit is None and limit == EXACT_LIMIT:
            unit, error = self._unit_of_large(given, offset)
        if unit is None and function is Function.IDENTITY and groups * items == 1:
            return self._scalar(given, offset, lost)
        if unit is None:  # coarser inputs, so that coefficients and constant, which cannot be exact, keep enough digits
            room = limit >> (COEFFICIENT_BITS + max(1, len(given)).bit_length())
            given = [(self.rounded(cells, room), coef) for cells, coef in given]
            size = size_of(given, offset)
            unit = Fraction(2) ** math.ceil(log2(size) - math.log2(limit) + 1)
            error = sum(
                (error_of(cells, coef) + unit * cells.largest / 2 for cells, coef in given), unit + offset.slack
            )
        scaled = [Term(cells, coef.scaled(cells.unit).in_units(unit, "nearest"), coef) for cells, coef in given]
        # what is rounded to nothing is within the error, and is no input: no engine needs to know what it is
        integer_terms = tuple(term for term in scaled if extremes(term.coef) != (0, 0))
        faint = _beside([*lost, *((term.cells, term.exact) for term in scaled if extremes(term.coef) == (0, 0))])
        integer_const = offset.in_units(unit, "up")
        low, high = form_range(integer_terms, integer_const)
        error += sum(error_of(cells, coef) for cells, coef in lost)
        return self._finish(
            function, groups, items, integer_terms, integer_const, offset, unit, low, high, error, divisor, faint
        )

    def raised(self, x: Cells, unit: Fraction) -> Cells:
        """Return x as multiples of ``unit``, rounded up, so that what is above 0 stays above 0."""
        if x.largest > SCALAR_LIMIT:
            coarse = 2 ** math.ceil(math.log2(x.largest / SCALAR_LIMIT))
            x = self._map(Function.RAISE, [(x, 1)], 0, EXACT_LIMIT, Param.constant(coarse * x.unit))
        ratio = x.unit / unit
        up, down = nearest_ratio(ratio, max(1, math.floor(RATIO_LIMIT / max(1, x.largest))))
        y = self._map(Function.RAISE, [(x, up)], 0, LARGE_LIMIT, Param.constant(down * x.unit))
        error = x.error + unit + abs(ratio - Fraction(up, down)) * x.largest * unit
        terms = (Term(y, Grid.constant(1, 1, 1), Param.constant(Fraction(1, up))),)
        none = Param.constant(0)
        return self._finish(
            Function.IDENTITY, x.groups, x.items, terms, none.grid, none, unit, y.low, y.high, error, None
        )

    def _scalar(
        self, given: list[tuple[Cells, Param]], offset: Param, lost: Sequence[tuple[Cells, Param]] = ()
    ) -> Cells:
        """Return one linear form of single cells that have no common unit.

        Each is rounded to it as a whole, ``round(x · p/q)``, so the error is a share of the unit and not of each
        coefficient, however different the cells' ranges are.
        """
        given = [(self.rounded(cells, SCALAR_LIMIT), coef) for cells, coef in given]
        size = Fraction(2) ** math.ceil(log2(size_of(given, offset)))
        unit = min(size / SCALED_LIMIT, max(size / LARGEST_SCALED_LIMIT, SCALED_UNIT))
        error, terms = sum((error_of(cells, coef) for cells, coef in lost), unit + offset.slack), []
        for cells, coef in given:
            factor = coef.unit * int(coef.grid.dense()[0, 0])
            ratio = abs(factor) * cells.unit / unit
            room = max(1, math.floor(RATIO_LIMIT / max(1, cells.largest)))
            up, down = nearest_ratio(ratio, room)
            y = self._map(Function.ROUND, [(cells, up)], 0, LARGE_LIMIT, Param.constant(down * cells.unit))
            error += error_of(cells, coef) + unit / 2 + abs(ratio - Fraction(up, down)) * cells.largest * unit
            terms.append(Term(y, Grid.constant(1, 1, 1 if factor > 0 else -1), Param.constant(factor / up)))
        const = offset.in_units(unit, "up")
        low, high = form_range(tuple(terms), const)
        return self._finish(
            Function.IDENTITY, 1, 1, tuple(terms), const, offset, unit, low, high, error, None, _beside(lost)
        )

    @staticmethod
    def _unit_of(
        given: list[tuple[Cells, Param]], offset: Param, limit: int, others: Sequence[Fraction] = ()
    ) -> tuple[Fraction | None, Fraction]:
        """Return the unit in which the form is exact, or exact but for its constant, and its error.

        None where there is no such unit.
        """
        factors = [abs(coef.unit) * cells.unit for cells, coef in given]
        size = size_of(given, offset)
        error = sum((error_of(cells, coef) for cells, coef in given), offset.slack)
        unit = rational_gcd(factors + ([] if offset.is_zero else [offset.unit]) + list(others))
        if size / unit <= limit:
            return unit, error
        fine = rational_gcd(factors)
        if size / fine > limit:
            return None, error
        halvings = max(0, math.floor(math.log2(max(1.0, min(limit, ROUNDED_LIMIT) / float(size / fine)))))
        return fine / 2**halvings, error + fine / 2**halvings

    @staticmethod
    def _unit_of_large(given: list[tuple[Cells, Param]], offset: Param) -> tuple[Fraction | None, Fraction]:
        """Return the unit in which a form of large amounts is exact, or exact but for its constant, and its error.

        None where they are too large, or where what makes it large is its coefficients.
        """
        fine = rational_gcd([abs(coef.unit) * cells.unit for cells, coef in given])
        most = max((coef.largest() * cells.unit for cells, coef in given), default=fine)
        if size_of(given, offset) / fine > LARGE_LIMIT or most / fine > 2**COEFFICIENT_BITS:
            return None, Fraction(0)
        rounded = Fraction(0) if offset.is_zero or (offset.unit / fine).denominator == 1 else fine
        return fine, sum((error_of(cells, coef) for cells, coef in given), offset.slack) + rounded

    def _finish(
        self,
        function: Function,
        groups: int,
        items: int,
        terms: tuple[Term, ...],
        const: Grid,
        exact_const: Param,
        unit: Fraction,
        low: int,
        high: int,
        error: Fraction,
        divisor: Param | None,
        beside: tuple[Term, ...] = (),
    ) -> Cells:
        x_low, x_high, x_unit = low, high, unit
        by = Grid.constant(1, 1, 1)
        if function is Function.HINGE:
            low, high = max(0, low), max(0, high)
        elif function is Function.STEP:
            low, high, unit, error = int(low > 0), int(high > 0), Fraction(1), Fraction(0)
        elif function is Function.SQUARE:
            top = max(abs(low), abs(high))
            shift = 1 if top * top <= SQUARE_LIMIT else 2 ** math.ceil(math.log2(top * top / SQUARE_LIMIT))
            by = Grid.constant(1, 1, shift)
            bottom = 0 if low <= 0 <= high else min(abs(low), abs(high)) ** 2
            error = 2 * top * unit * error + error * error + (unit * unit * shift / 2 if shift > 1 else 0)
            low, high, unit = (bottom + shift // 2) // shift, (top * top + shift // 2) // shift, unit * unit * shift
        elif function is Function.MOD:
            assert divisor is not None
            by = divisor.in_units(unit, "nearest", high + 1 if low >= 0 else None).map(lambda v: np.maximum(v, 1))
            low, high = 0, extremes(by)[1] - 1
        elif function in (Function.CEIL, Function.RAISE, Function.ROUND):
            assert divisor is not None
            # every larger divisor gives the same
            beyond = (2 if function is Function.ROUND else 1) * max(abs(low), abs(high)) + 1
            by = divisor.in_units(unit, "nearest", beyond).map(lambda v: np.clip(v, 1, beyond))
            least = extremes(by)[0]
            low, high = min(0, low // least), max(0, -(-high // least))
            if function is Function.CEIL:
                unit, error = Fraction(1), Fraction(0)
            else:
                share = 1 if function is Function.RAISE else Fraction(1, 2)
                unit, error = unit * least, error + unit * least * share
        return self._add(
            Map(
                len(self.cells),
                groups,
                items,
                unit,
                low,
                high,
                error,
                terms,
                const,
                exact_const,
                function,
                by,
                x_unit,
                x_low,
                x_high,
                beside,
            )
        )

    def mod(self, x: Cells, divisor: Param) -> Cells:
        """Return the remainder of x / divisor (positive), 0 or more.

        Where x may be below 0, divisors have to be int64 in the unit that is common to both.
        """
        return self._map(Function.MOD, [(x, 1)], 0, EXACT_LIMIT, divisor)


def _beside(addends: Sequence[tuple[Cells, Param]]) -> tuple[Term, ...]:
    """Return addends that are nothing in integers."""
    return tuple(Term(cells, Grid.constant(1, 1, 0), coef) for cells, coef in addends)
