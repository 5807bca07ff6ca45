"""Durations as people write them."""

from __future__ import annotations

import re
from typing import Any

from rebalancer.problem import PlainText, to_fraction
from rebalancer.problem.numbers import WrongValue

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")


def parse_duration(value: Any) -> float:
    """Return a duration in seconds.

    Parameters
    ----------
    value : str or number
        ``60s``, ``5m``, ``1h30m``, ``250ms``, ``1d``, or a number of seconds.

    Raises
    ------
    ValueError
        It is no duration, or not above zero.
    """
    if isinstance(value, str):
        parts = _PART.findall(value)
        if parts and "".join(number + unit for number, unit in parts) == value:
            order = [list(_SECONDS).index(unit) for _, unit in parts]
            if order != sorted(set(order)):
                raise ValueError(f"expected a duration with each unit once, largest first, got '{value}'")
            seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        else:
            seconds = _plain_seconds(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(to_fraction(value))
    else:
        raise ValueError(f"expected a duration such as 60s, 5m or 1h30m, got {'nothing' if value is None else value!r}")
    if seconds <= 0:
        raise ValueError(f"expected a duration above zero, got '{value}'")
    return seconds


def _plain_seconds(text: str) -> float:
    try:
        return float(to_fraction(PlainText(text)))
    except ValueError:
        raise WrongValue(f"expected a duration such as 60s, 5m or 1h30m, got '{text}'") from None
