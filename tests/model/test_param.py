"""Parameters are the fractions that were stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.model import Grid, Param
from rebalancer.model.param import common_unit, fraction_sum, rational_gcd

FRACTIONS = st.fractions(max_denominator=10**6) | st.sampled_from(
    [Fraction(0), Fraction(1, 3), Fraction(10**20), Fraction(-1, 10**15)]
)


def values(param: Param) -> list[list[Fraction]]:
    return [[number * param.unit for number in row] for row in param.grid.dense().tolist()]


@given(st.lists(FRACTIONS, min_size=1, max_size=6))
def test_the_common_unit_divides_all(numbers: list[Fraction]) -> None:
    unit = rational_gcd(numbers)
    assert all((number / unit).denominator == 1 for number in numbers)
    assert common_unit(numbers) == (unit, 0)
    assert fraction_sum(numbers) == sum(numbers)


@given(st.lists(FRACTIONS, min_size=1, max_size=6), FRACTIONS)
def test_values_survive(numbers: list[Fraction], factor: Fraction) -> None:
    param = Param.of(numbers)
    assert values(param) == [numbers]
    assert values(param.scaled(factor)) == [[number * factor for number in numbers]]
    assert param.largest() == max(map(abs, numbers))
    assert np.allclose(param.floats().dense()[0], [float(number) for number in numbers], rtol=1e-12)


@given(
    st.lists(st.fractions(min_value=-1000, max_value=1000, max_denominator=1000), min_size=1, max_size=6),
    st.integers(1, 1000),
)
def test_rounding_to_units(numbers: list[Fraction], steps: int) -> None:
    unit = Fraction(1, steps)
    param = Param.of(numbers)
    nearest, up = (param.in_units(unit, rounding).dense()[0] for rounding in ("nearest", "up"))
    for number, near, above in zip(numbers, nearest.tolist(), up.tolist(), strict=True):
        assert abs(near * unit - number) <= unit / 2
        assert 0 <= above * unit - number < unit


def test_exceptions_and_columns() -> None:
    param = Param.of(
        [[Fraction(1, 2), Fraction(3)]], 2, 3, column=np.array([0, 1, 0]), keys=np.array([4]), values=[Fraction(7, 3)]
    )
    assert values(param) == [[Fraction(1, 2), 3, Fraction(1, 2)], [Fraction(1, 2), Fraction(7, 3), Fraction(1, 2)]]


def test_the_same_everywhere_is_one_number() -> None:
    param = Param.of([[Fraction(2, 3)] * 1000] * 3)
    assert param.grid.table.shape == (1, 1)
    assert (param.grid.groups, param.grid.items) == (3, 1000)


def test_constants() -> None:
    assert values(Param.constant(Fraction(-5, 7))) == [[Fraction(-5, 7)]]
    assert Param.constant(0).is_zero
    assert values(Param.constant(0).scaled(Fraction(-3))) == [[0]]


def test_an_unwieldy_denominator_is_rounded_and_says_so() -> None:
    primes = [n for n in range(10_000, 12_000) if all(n % k for k in range(2, 110))]
    numbers = [Fraction(1, prime) for prime in primes]
    param = Param.of(numbers)
    assert 0 < param.slack < Fraction(1, 2**120)
    for got, number in zip(values(param)[0], numbers, strict=True):
        assert abs(got - number) <= param.slack
    assert float(fraction_sum(numbers)) == pytest.approx(sum(map(float, numbers)), rel=1e-14)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6), st.sampled_from([1, 10, 7]))
def test_integers_in_a_unit_are_the_same_as_their_fractions(numbers: list[int], scale: int) -> None:
    known = Param.of_integers(Grid(1, len(numbers), np.array([numbers])), Fraction(1, scale))
    same = Param.of([Fraction(number, scale) for number in numbers])
    assert values(known) == values(same)
    assert known.unit == same.unit or not any(numbers)


def test_what_is_too_low_is_raised() -> None:
    given = Param.of([[Fraction(-7, 3), Fraction(1, 2)]], 2, 2, keys=np.array([2]), values=[Fraction(-9)])
    raised = given.at_least(Fraction(-5, 2))
    assert [[number * raised.unit for number in row] for row in raised.grid.dense().tolist()] == [
        [Fraction(-7, 3), Fraction(1, 2)],
        [Fraction(-5, 2), Fraction(1, 2)],
    ]
    assert given.at_least(Fraction(-9)) is given
