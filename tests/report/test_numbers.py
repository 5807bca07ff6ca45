"""Numbers, shares and times as people read them."""

import math

import pytest

from rebalancer.report.numbers import count, listed, number, percent, seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (10050.0, "10050"),
        (-3.0, "-3"),
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.333333"),
        (1234.5678, "1234.57"),
        (1234567.891, "1234567.89"),
        (0.00012345678, "0.000123457"),
        (1e-9, "1e-09"),
        (2.5e18, "2.5e+18"),
        (math.nan, "-"),
        (None, "-"),
        (math.inf, "∞"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_numbers_for_people_have_commas() -> None:
    assert number(1234567.5, thousands=True) == "1,234,567.5"
    assert number(10050.0, thousands=True) == "10,050"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (1e-12, "<0.01 %"), (0.0042, "0.42 %"), (0.123, "12.3 %"), (1.0, "100 %"), (math.nan, "-")],
)
def test_shares(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.04, "0.0 s"), (59.2, "59.2 s"), (61, "1 min 01 s"), (7320, "2 h 02 min")]
)
def test_times(value: float, text: str) -> None:
    assert seconds(value) == text


def test_counts() -> None:
    assert (count(1, "move"), count(2000, "move")) == ("1 move", "2,000 moves")


def test_lists() -> None:
    assert (listed([]), listed(["a", "b"])) == ("", "a, b")
    assert listed([str(number) for number in range(20)]).endswith("18, 19")
    assert listed([str(number) for number in range(2_020)]).endswith("18, 19, … and 2,000 more")
