"""Reading the scenario that a verb works on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rebalancer.cli import faults

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
