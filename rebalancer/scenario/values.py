"""How values are read in the sections of every file: what may be left out or abbreviated, and the range of numbers."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from rebalancer.problem.numbers import WrongValue
from rebalancer.scenario.durations import parse_duration
from rebalancer.specs.fields import exact

#: A duration in seconds.
Seconds: TypeAlias = Annotated[float, BeforeValidator(parse_duration, json_schema_input_type=str | float)]
#: Text as plain text, which a choice of literals takes.
PLAIN = BeforeValidator(lambda value: str(value) if isinstance(value, str) else value)


def or_empty(empty: Any) -> BeforeValidator:
    """Read a key without a value (``goals:``) as an empty collection."""
    return BeforeValidator(lambda value: empty if value is None else value)


def one_or_many(kind: Any, needed: str | None = None) -> BeforeValidator:
    """Read one thing of a kind as a list of it, and nothing as an empty one; refuse that if one is ``needed``."""

    def listed(value: Any) -> Any:
        several = [] if value is None else value if isinstance(value, list | tuple) else [value]
        if needed and not several:
            got = "nothing" if value is None else "an empty list"
            raise ValueError(f"expected {needed}, or a list of them, got {got}")
        return several

    many: Any = Annotated[list[kind], Field(min_length=1)] if needed else list[kind]
    return BeforeValidator(listed, json_schema_input_type=kind | many)


def at_least(least: int, most: float = float("inf")) -> AfterValidator:
    """Refuse numbers out of a range."""

    def check(value: Any) -> Any:
        number = exact(value)
        if number < least:
            raise WrongValue(f"out of range: expected {least} or more, got {float(number):g}", "out-of-range")
        if number > most:
            raise WrongValue(f"out of range: expected at most {most:.0f}, got {float(number):g}", "out-of-range")
        return value

    return AfterValidator(check)
