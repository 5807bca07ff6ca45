"""Faults and warnings as lines on stderr, or as JSON on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rebalancer.indented import indented
from rebalancer.problem.errors import Fault, condensed


def line(fault: Fault, severity: str = "error") -> str:
    """Return ``FILE:LINE:COL: severity[CODE]: message``; without a file, the path of names that leads to the value."""
    place = ":".join(str(part) for part in (fault.file, fault.line, fault.column) if part is not None)
    if fault.file is None:
        place = ".".join(str(step) for step in fault.path)
    text = f"{severity}[{fault.code}]: {_one_line(fault.message)}"
    return f"{_one_line(place)}: {text}" if place else text


def record(fault: Fault) -> dict[str, Any]:
    """Return a fault as plain values, ready for JSON."""
    return {
        "file": fault.file,
        "line": fault.line,
        "column": fault.column,
        "code": fault.code,
        "message": fault.message,
        "value": _plain(fault.value),
        "suggestion": fault.suggestion,
    }


def internal(error: Exception, hint: str = "") -> Fault:
    """Return what is said of an internal error, and what to do about it."""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Fault("internal", f"internal error: {what}{hint}")


def report(faults: Iterable[Fault], as_json: bool) -> None:
    """Print faults: all in one JSON object on stdout, or one line each, as far as people can read, on stderr."""
    if as_json:
        print_json({"errors": [record(fault) for fault in faults]})
        return
    tell(faults)


def tell(faults: Iterable[Fault], severity: str = "error") -> None:
    """Print a line for each fault on stderr, as far as people can read them."""
    for fault in condensed(faults):
        print(line(fault, severity), file=sys.stderr)


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    print(indented(data))


def _plain(value: Any) -> Any:
    """Return a value as seen, as JSON can hold it."""
    if value is None or isinstance(value, bool | int | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return str(value)


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")
