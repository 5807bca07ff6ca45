"""Numbers without rounding: decimals as fractions, columns as 64-bit fixed point."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]

#: Sums of a column stay below this, so that no engine can overflow 64 bits.
LARGEST_SUM = 2**61
#: Numbers stay below this, so that all can be reported.
LARGEST_NUMBER = 2**1023
#: Decimal places tried before a float column is rounded.
MOST_DECIMALS = 9
#: Bits kept of the largest value where a float column has to be rounded.
ROUNDED_BITS = 40

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\Z")


class PlainText(str):
    """A scalar as it was typed in a file without quotes: not yet a name, a number or a truth value."""

    __slots__ = ()


class WrongValue(ValueError):
    """A value that cannot be what it should be.

    Parameters
    ----------
    message : str
    code : str
        Of the fault that it makes.
    """

    def __init__(self, message: str, code: str = "wrong-type") -> None:
        # half a character, which Python's texts may hold, would be an error of whoever hands the message on
        super().__init__(message.encode("utf-8", "backslashreplace").decode())
        self.code = code


def to_fraction(value: Any) -> Fraction:
    """Return ``value`` exactly: text and floats mean the decimal that they print as.

    Raises
    ------
    WrongValue
        Not a number, not finite, or so long that it cannot be meant.
    """
    if isinstance(value, bool):
        raise WrongValue(f"expected a number, got {str(value).lower()}")
    if isinstance(value, Fraction | numbers.Integral):
        exact = Fraction(value) if isinstance(value, Fraction) else Fraction(int(value))
        if abs(exact) >= LARGEST_NUMBER:
            raise WrongValue("the number is out of range: it has more than 308 digits", "out-of-range")
        return exact
    if isinstance(value, numbers.Real):
        if not math.isfinite(float(value)):
            raise WrongValue(f"expected a finite number, got {value}", "not-finite")
        return Fraction(str(value) if isinstance(value, np.floating) else repr(float(value)))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise WrongValue(f"expected a finite number, got {value}", "not-finite")
        return _bounded(value)
    if isinstance(value, PlainText):
        if not _NUMBER.match(value):
            lowered = value.lower().lstrip("+-.")
            if lowered in ("nan", "inf", "infinity"):
                raise WrongValue(f"expected a finite number, got '{value}'", "not-finite")
            raise WrongValue(f"expected a number, got '{value}'")
        return _bounded(Decimal(value))
    if isinstance(value, str):
        raise WrongValue(f"expected a number, got the text '{value}'")
    raise WrongValue(f"expected a number, got {'nothing' if value is None else repr(value)}")


def _bounded(value: Decimal) -> Fraction:
    if value and not -40 <= value.adjusted() <= 40:
        raise WrongValue(f"the number {value} is out of range", "out-of-range")
    return Fraction(value)


def widened(array: NDArray[Any]) -> NDArray[np.float64]:
    """Return narrow floats as the doubles that print like them: the float32 0.1 is meant to be 0.1."""
    if array.dtype == np.float64:
        return array
    return np.array([float(str(value)) for value in array], np.float64)


def widened_values(values: Iterable[Any], kind: type[np.floating[Any]]) -> list[Any]:
    """Return narrow floats of a kind that were handed over as doubles as `widened` does, and all else as it is."""
    return [float(str(kind(value))) if isinstance(value, float | np.floating) else value for value in values]


@dataclass(frozen=True)
class FixedPoint:
    """Values held as integers: the true value is ``integers / scale``.

    Parameters
    ----------
    integers : int64 array
    scale : int
    rounded : bool
        Whether some value lost digits (a float column without a common decimal step).
    """

    integers: IntArray
    scale: int
    rounded: bool = False

    def fractions(self) -> NDArray[np.object_]:
        """Return the exact values as an object array of ``Fraction``."""
        scale = self.scale
        out = np.empty(self.integers.shape, object)
        out.ravel()[:] = [Fraction(number, scale) for number in self.integers.ravel().tolist()]
        return out


class Overflow(ValueError):
    """Values that cannot share one 64-bit fixed-point scale."""


def fix(values: NDArray[Any] | Iterable[Any], resolution: Fraction | None = None) -> FixedPoint:
    """Hold values as fixed point, exactly where possible.

    Parameters
    ----------
    values : array of numbers, or iterable of anything that ``to_fraction`` reads
        Integer arrays are kept; float arrays get the smallest ``k <= 9`` for which every value is the double nearest to
        a multiple of ``10**-k``, and are otherwise rounded to ``2**-40`` of the largest value.
    resolution : Fraction, optional
        Round to multiples of this instead.

    Raises
    ------
    Overflow
        The values cannot be held.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        if values.dtype.kind == "u" and values.size and int(values.max()) >= LARGEST_SUM:
            raise Overflow(f"the value {values.max()} is too large")
        return (
            _checked(FixedPoint(values.astype(np.int64), 1))
            if resolution is None
            else _round_exact([Fraction(v) for v in values.tolist()], resolution, values.shape)
        )
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        if resolution is not None:
            return _round_exact([to_fraction(v) for v in values.ravel().tolist()], resolution, values.shape)
        return _checked(_fix_floats(values.astype(np.float64)))
    shape = values.shape if isinstance(values, np.ndarray) else None
    exact = [to_fraction(v) for v in (values.ravel().tolist() if isinstance(values, np.ndarray) else values)]
    if resolution is not None:
        return _round_exact(exact, resolution, shape)
    scale = 1
    for value in exact:
        scale = math.lcm(scale, value.denominator)
        if scale > LARGEST_SUM:
            raise Overflow(f"the values need more digits than fit: {_example(exact)}")
    integers = [value.numerator * (scale // value.denominator) for value in exact]
    if sum(map(abs, integers)) >= LARGEST_SUM:
        raise Overflow(f"the values need more digits than fit: {_example(exact)}")
    array = np.array(integers, np.int64)
    return FixedPoint(array if shape is None else array.reshape(shape), scale)


def _example(values: list[Fraction]) -> str:
    largest = max(values, key=abs)
    finest = max(values, key=lambda value: value.denominator)
    return f"the largest is {float(largest):g}, the finest {float(finest)!r}"


def _round_exact(exact: list[Fraction], resolution: Fraction, shape: tuple[int, ...] | None) -> FixedPoint:
    step = 1 / resolution
    if step.denominator != 1:
        raise Overflow(f"the resolution {resolution} must be 1 divided by a whole number")
    integers = [round(value * step) for value in exact]
    if sum(map(abs, integers)) >= LARGEST_SUM:
        raise Overflow(f"the values do not fit at the resolution {resolution}: {_example(exact)}")
    array = np.array(integers, np.int64)
    rounded = any(integer != value * step for integer, value in zip(integers, exact, strict=True))
    return FixedPoint(array if shape is None else array.reshape(shape), int(step), rounded)


def _fix_floats(values: NDArray[np.float64]) -> FixedPoint:
    if not np.isfinite(values).all():
        raise ValueError("expected finite numbers")
    largest = float(np.abs(values).max(initial=0.0))
    for places in range(MOST_DECIMALS + 1):
        scaled = np.rint(values * 10.0**places)
        if largest * 10.0**places < 2.0**53 and np.array_equal(scaled / 10.0**places, values):
            return FixedPoint(scaled.astype(np.int64), 10**places)
    exponent = math.frexp(largest)[1]
    scale = 2 ** max(0, ROUNDED_BITS - exponent)
    if largest * scale >= 2.0**61:
        raise Overflow(f"the value {largest:g} is too large")
    rounded = np.rint(values * float(scale))
    return FixedPoint(rounded.astype(np.int64), scale, bool((rounded / float(scale) != values).any()))


def _checked(fixed: FixedPoint) -> FixedPoint:
    if float(np.abs(fixed.integers.astype(np.float64)).sum()) >= LARGEST_SUM:
        largest = int(np.abs(fixed.integers).max())
        shown = f"{largest / fixed.scale:g}"
        raise Overflow(
            f"the sum of the values does not fit in 61 bits at scale 1/{fixed.scale}; the largest is {shown}"
        )
    return fixed
