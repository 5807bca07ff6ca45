"""Arguments of the solver object, checked: what is wrong is one clear fault with the argument's name."""

from __future__ import annotations

import os
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal

from rebalancer.inputs import check_name
from rebalancer.problem import Fault, InputError, Path, to_fraction, unknown_name
from rebalancer.problem.numbers import WrongValue
from rebalancer.specs.base import Spec
from rebalancer.specs.entries import InFlight, Policy


def kind(spec: Any, wanted: Literal["goal", "constraint"], path: Path) -> None:
    """Check that a spec can be a goal, or a constraint.

    Raises
    ------
    InputError
        It is no spec, or one of the other kind.
    """
    if not isinstance(spec, Spec):
        hint = f"; write {spec.__name__}(…)" if isinstance(spec, type) else ""
        raise InputError([Fault("wrong-type", f"expected a spec, got {spec!r}{hint}", path, spec)])
    if not (spec.is_goal() if wanted == "goal" else spec.is_constraint()):
        raise InputError([Fault("wrong-kind", f"{spec.key} cannot be a {wanted}", path, spec.key)])


def number(value: Any, field: str, path: Path) -> Fraction:
    """Return a number exactly.

    Raises
    ------
    InputError
        It is none.
    """
    try:
        return to_fraction(value)
    except WrongValue as error:
        raise InputError([Fault(error.code, f"{field}: {error}", (*path, field), value)]) from None


def position(value: Any, field: str, path: Path) -> int:
    """Return a tuple position.

    Raises
    ------
    InputError
        It is none.
    """
    from rebalancer.scenario.sections import MOST_POSITIONS

    found = number(value, field, path)
    if found.denominator != 1 or not 0 <= found <= MOST_POSITIONS:
        message = f"{field} must be a whole number from 0 to {MOST_POSITIONS}, got {value}"
        raise InputError([Fault("out-of-range", message, (*path, field), value)])
    return int(found)


def policy(value: str | Policy, path: Path) -> Policy:
    """Return a policy by its name.

    Raises
    ------
    InputError
        There is no such policy.
    """
    text = value.value if isinstance(value, Policy) else value
    if not isinstance(text, str) or text not in Policy.__members__:
        raise InputError([unknown_name("policy", str(text), list(Policy.__members__), (*path, "policy"))])
    return Policy(text)


def in_flight(value: str | InFlight | None, path: Path) -> InFlight | None:
    """Return when a constraint must hold during a plan.

    Raises
    ------
    InputError
        There is no such moment.
    """
    text = value.value if isinstance(value, InFlight) else value
    known = [moment.value for moment in InFlight]
    if text is not None and (not isinstance(text, str) or text not in known):
        raise InputError([unknown_name("moment", str(text), known, (*path, "in_flight"))])
    return None if text is None else InFlight(text)


def name(value: Any, path: Path) -> str | None:
    """Return the name of an entry as a plain text; None where it has none of its own.

    Raises
    ------
    InputError
        It is no text, or an empty one.
    """
    return None if value is None else check_name(value, "name", (*path, "name"))


def file_path(value: Any, field: str) -> str:
    """Return the path of a file or folder as text.

    Raises
    ------
    InputError
        It is none.
    """
    if not isinstance(value, str | bytes | os.PathLike):
        raise InputError([Fault("wrong-type", f"{field}: expected a path, got {value!r}", (field,), value)])
    text = os.fsdecode(value)
    try:
        usable = bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise InputError([Fault("wrong-type", f"{field}: no file can be called {text!r}", (field,), text)])
    return text


def moment(value: Any, field: str) -> datetime | None:
    """Return a time with its zone; None where it is left out.

    Raises
    ------
    InputError
        It is no time, or has no zone.
    """
    if not isinstance(value, datetime | None):
        raise InputError([Fault("wrong-type", f"{field}: expected a datetime, got {value!r}", (field,), value)])
    if value is not None and value.tzinfo is None:
        message = f"{field}: {value} needs its time zone"
        raise InputError([Fault("no-time-zone", message, (field,), str(value))])
    return value


def event(value: Any, field: str) -> None:
    """Check that an argument is an event, or has the form of one.

    Raises
    ------
    InputError
        It has not.
    """
    if not all(callable(getattr(value, method, None)) for method in ("is_set", "set", "wait")):
        raise InputError([Fault("wrong-type", f"{field} must be a threading.Event, got {value!r}", (field,), value)])


def function(value: Any, field: str) -> None:
    """Check that an argument can be called.

    Raises
    ------
    InputError
        It cannot.
    """
    if not callable(value):
        raise InputError([Fault("wrong-type", f"{field} must be callable, got {value!r}", (field,), value)])
