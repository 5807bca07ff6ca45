"""Attribute values of Mesos agents, as Mesos prints them: Marathon compares values by that text.

Formats: scalars with at most three decimals, ``[1-2,5-7]`` for ranges, ``{a,b}`` for sets, texts as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from numbers import Real
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_RANGE = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*")
#: Wide enough that no double loses a digit before it is rounded.
_EXACT = Context(prec=1100, rounding=ROUND_HALF_EVEN)
_THOUSANDTH = Decimal("0.001")


def printed(value: Any) -> str | None:
    """Return an attribute as Mesos prints it; None where there is none.

    Parameters
    ----------
    value : object
        A text in the syntax of agents' attributes (a number is a scalar, ``[…]`` ranges, ``{…}`` a set); a number; a
        list, which is a set; or ``{text: …}``, ``{scalar: …}``, which says what it is.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        kind, inner = next(iter(value.items()), ("text", ""))
        return printed_scalar(float(inner)) if kind == "scalar" else str(inner)
    if isinstance(value, list | tuple | set | frozenset):
        return _set(map(str, value))
    if isinstance(value, Real):
        return printed_scalar(float(value))
    return _parsed(str(value).strip())


def _parsed(text: str) -> str:
    if text.startswith("[") and text.endswith("]"):
        ranges = [_RANGE.fullmatch(part) for part in text[1:-1].split(",")]
        if all(ranges):
            bounds = sorted((int(found[1]), int(found[2])) for found in ranges if found)
            return "[" + ",".join(f"{low}-{high}" for low, high in bounds) + "]"
    if text.startswith("{") and text.endswith("}"):
        return _set(part.strip() for part in text[1:-1].split(","))
    return printed_scalar(float(text)) if _NUMBER.fullmatch(text) else text


def _set(members: Any) -> str:
    return "{" + ",".join(sorted(dict.fromkeys(members))) + "}"


def printed_scalar(number: float) -> str:
    """Return a scalar rounded to the nearest thousandth, ties of the exact binary value to even, without idle zeros."""
    if not math.isfinite(number):
        return str(number)
    if abs(number) == 0.0005:  # an oddity of Java's formatter: its double is just above the tie, and prints 0
        return "0"
    text = str(_EXACT.quantize(Decimal(number), _THOUSANDTH))
    plain = text.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "") else plain
