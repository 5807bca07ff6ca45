"""Moments and time spans, as runs record and name them. All moments are in UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


def seconds_between(earlier: datetime, later: datetime) -> float:
    """Return the seconds from one moment to another; 0 where a clock that was set back says that it was before."""
    return max(0.0, (later - earlier).total_seconds())


def spoken(seconds: float) -> str:
    """Return a time span as its two largest units, such as ``2 h 5 min``."""
    left = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        amount, left = divmod(left, size)
        if amount or (unit == "s" and not parts):
            parts.append(f"{amount} {unit}")
        elif parts:
            break  # "1 h" and not "1 h 7 s"
        if len(parts) == 2:
            break
    return " ".join(parts)
