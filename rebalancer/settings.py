"""How to search, as callers and scenario files state it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from rebalancer.problem import FaultList, to_fraction
from rebalancer.problem.numbers import WrongValue

#: The most that makes sense: CP-SAT refuses ten times as many workers, and rounds are counted in 64 bits.
MOST_WORKERS, MOST_ITERATIONS = 1024, 2**63 - 1
#: CP-SAT's seeds have 31 bits.
MOST_SEED = 2**31 - 1
_MOST = {"workers": MOST_WORKERS, "iterations": MOST_ITERATIONS, "seed": MOST_SEED}
#: Numbers that need not be whole.
_REAL = int | float | np.integer | np.floating | Decimal | Fraction
#: What each number has to be: its least value, whether that itself is allowed, and whether it must be whole.
_NUMBERS: dict[str, tuple[int, bool, bool]] = {
    "time_limit": (0, False, False),
    "gap": (0, True, False),
    "seed": (0, True, True),
    "workers": (1, True, True),
    "iterations": (1, True, True),
    "deterministic_time": (0, False, False),
    "patience": (0, False, False),
}


@dataclass(frozen=True)
class Settings:
    """How to search; see `Rebalancer.solve`. None: no such limit."""

    engine: str = "auto"
    time_limit: float = 60.0
    gap: float = 0.0
    seed: int = 0
    workers: int = 2
    deterministic: bool = False
    iterations: int | None = None
    deterministic_time: float | None = None
    target: tuple[Fraction, ...] = ()
    patience: float | None = None

    @classmethod
    def of(cls, stated: Any) -> Settings:
        """Return the settings of a scenario's ``solve`` section; what it leaves out (None) as here."""
        known = {field.name: getattr(stated, field.name, None) for field in fields(cls)}
        return cls().updated(**known)

    def updated(self, **changes: Any) -> Settings:
        """Return the settings with those changes that are not None.

        Raises
        ------
        InputError
            Values are out of range, or not of the right kind.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        faults = FaultList()
        if not isinstance(given.get("engine", ""), str):
            said = f"engine: expected a name as text, got {given['engine']!r}"
            faults.report("wrong-type", said, ("engine",), given["engine"])
        for name, (least, included, whole) in _NUMBERS.items():
            if name in given:
                given[name] = _checked(name, given[name], least, included, whole, faults)
        flag = given.get("deterministic", False)
        if not isinstance(flag, bool | np.bool_):
            message = f"deterministic must be True or False, got {flag!r}"
            faults.report("wrong-type", message, ("deterministic",), flag)
        if "target" in given:
            given["target"] = _target(given["target"], faults)
        faults.raise_if_any()
        return replace(self, **given)

    @property
    def counts_work(self) -> bool:
        """Whether time is counted as work, so that every run gives the same answer."""
        return self.deterministic or self.deterministic_time is not None

    @property
    def seconds(self) -> float | None:
        """Seconds that the search may take, of the kind that counts; None: as many as it takes."""
        limit = self.time_limit if self.deterministic_time is None else self.deterministic_time
        return None if limit == math.inf else limit

    def check_target(self, positions: int) -> None:
        """Raise where there are more targets than tuple positions.

        Raises
        ------
        InputError
        """
        if len(self.target) > positions:
            faults = FaultList()
            stated = f"{len(self.target)} numbers" if len(self.target) > 1 else "1 number"
            has = f"{positions} tuple positions" if positions > 1 else "1 tuple position"
            message = f"target has {stated}, but the objective has {has}"
            faults.report("out-of-range", message, ("target",), [float(value) for value in self.target])
            faults.raise_if_any()


def _checked(name: str, value: Any, least: int, included: bool, whole: bool, faults: FaultList) -> Any:
    """Return a number as an int or a float; report what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer if whole else _REAL):
        kind = "a whole number" if whole else "a number"
        faults.report("wrong-type", f"{name} must be {kind}, got {value!r}", (name,), value)
        return value
    number = int(value) if whole else _float(value)
    if not (number >= least if included else number > least) or (name == "gap" and number == math.inf):
        wanted = f"{least} or more" if included else f"more than {least}"
        faults.report("out-of-range", f"{name} must be {wanted}, got {value}", (name,), value)
    elif number > _MOST.get(name, math.inf):
        faults.report("out-of-range", f"{name} must be {_MOST[name]:,} or less, got {value}", (name,), value)
    return number


def _float(value: Any) -> float:
    """Return a number as a float: one that is larger than all of these is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _target(value: Any, faults: FaultList) -> tuple[Fraction, ...]:
    """Return the target as a number for each of the first tuple positions."""
    several = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    out = []
    for slot, number in enumerate(value if several else [value]):
        try:
            out.append(to_fraction(number))
        except WrongValue as error:
            path = ("target", slot) if several else ("target",)
            faults.report(error.code, f"target: {error}", path, number)
    if several and not len(value):
        faults.report("wrong-type", "target: expected a number or a list of numbers, got an empty list", ("target",))
    return tuple(out)


__all__ = ["MOST_ITERATIONS", "MOST_SEED", "MOST_WORKERS", "Settings"]
