"""Reading the scenario that a verb works on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rebalancer.cli import faults
from rebalancer.problem.errors import Fault, InputError

if TYPE_CHECKING:
    from rebalancer.scenario.reader import Scenario


def read_scenario(path: str, warn: bool = True) -> Scenario:
    """Return a scenario; what is legal but surprising goes to stderr.

    Raises
    ------
    InputError
        With every fault.
    """
    from rebalancer.scenario.reader import load

    scenario = load(path)
    if warn:
        for warning in scenario.warnings:
            print(faults.line(warning, "warning"), file=sys.stderr)
    return scenario


@contextmanager
def of_file(path: str) -> Iterator[None]:
    """Name the file in faults that know none: those that are found only when the specs are compiled."""
    try:
        yield
    except InputError as error:
        raise InputError(fault if fault.file else _in_file(fault, path) for fault in error.faults) from None


def _in_file(fault: Fault, path: str) -> Fault:
    return fault.at(path, 1, 1)
