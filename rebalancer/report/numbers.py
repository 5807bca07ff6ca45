"""Numbers, times and lists as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: What stands for an unknown number.
UNKNOWN = "-"
#: Names of a list that are told; thousands would hide all else.
_LISTED = 20


def number(value: float | None, thousands: bool = False) -> str:
    """Return a number with six significant digits, without trailing zeros; whole numbers whole.

    Parameters
    ----------
    thousands : bool
        Group digits by commas; for people, not for programs.
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    comma = "," if thousands else ""
    if value == round(value) and abs(value) < 1e15:
        return f"{int(value):{comma}d}"
    size = abs(value)
    if size >= 1e15 or size < 1e-4:
        return f"{value:.6g}"
    decimals = max(0, 5 - math.floor(math.log10(size)))
    text = f"{value:{comma}.{max(2, decimals)}f}"
    return text.rstrip("0").rstrip(".")


def percent(value: float | None) -> str:
    """Return a share as a percentage: two digits that count, never rounded down to zero."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if value == 0:
        return "0 %"
    size = abs(value) * 100
    if size < 0.01:
        return "<0.01 %"
    return f"{value * 100:.{2 if size < 1 else 1 if size < 100 else 0}f} %"


def seconds(value: float) -> str:
    """Return a time span."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """Return an amount with its noun in the right number."""
    return f"{amount:,d} {noun if amount == 1 else plural or noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    more = len(names) - _LISTED
    return ", ".join([*names[:_LISTED], *([f"… and {more:,d} more"] if more > 0 else [])])
