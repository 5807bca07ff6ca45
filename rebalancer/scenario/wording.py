"""How messages speak of values that are wrong, and what may have been meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebalancer.problem import PlainText, to_fraction
from rebalancer.problem.numbers import WrongValue


def own_error(error: ValueError, value: Any, name: str) -> tuple[str, str, str | None]:
    """Return code, message and suggestion for what a validator of ours says about a value.

    Parameters
    ----------
    error : ValueError
        It says, such as ``expected a number, got 'x'``.
    value : object
        The value seen.
    name : str
        The field.
    """
    suggestion = None
    said = str(error)
    code = error.code if isinstance(error, WrongValue) else "wrong-type"
    if isinstance(value, Mapping | list | tuple) and ", got " in said:
        said = f"{said.partition(', got ')[0]}, got {shown(value)}"
    if said.startswith("expected true or false"):
        suggestion = flag_for(value)
    elif said.startswith(("expected a number", "expected a whole number")) and isinstance(value, str):
        suggestion = _number_for(value, said.startswith("expected a whole"))
        if suggestion is not None and not isinstance(value, PlainText):
            return code, f"{name}: {said}; remove the quotes", suggestion
    hint = f"; did you mean '{suggestion}'?" if suggestion else ""
    return code, f"{name}: {said}{hint}", suggestion


def shown(value: Any) -> str:
    """Return a value as a message shows it."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= 60 else f"'{value[:57]}…'"
    if isinstance(value, Mapping):
        return f"a mapping with {', '.join(map(repr, list(value)[:3]))}" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return repr(value)


def flag_for(value: Any) -> str | None:
    """Return the truth value that was probably meant."""
    text = str(value).casefold()
    if text in ("yes", "on", "y", "1", "true", "t"):
        return "true"
    return "false" if text in ("no", "off", "n", "0", "false", "f") else None


def _number_for(text: str, whole: bool) -> str | None:
    """Return the number that a text was probably meant to be: ``1_000``, ``1,5`` and ``"3"`` have one."""
    for candidate in (text.strip(), text.replace("_", ""), text.replace("'", ""), _hexadecimal(text)):
        try:
            number = to_fraction(PlainText(candidate))
        except ValueError:
            continue
        return candidate if number.denominator == 1 or not whole else None
    return None


def _hexadecimal(text: str) -> str:
    try:
        return str(int(text, 0)) if text[:2].lower() in ("0x", "0o", "0b") else ""
    except ValueError:
        return ""
