"""Reading the scenario that a verb works on."""

from __future__ import annotations

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
        _tell(scenario)
    return scenario


def read_scenario_or_job(path: str, warn: bool = True) -> Scenario:
    """Return a scenario, or that of a nightly job with the state of now.

    Raises
    ------
    InputError
        With every fault.
    """
    from rebalancer.jobs.job import is_job, read_job

    if not is_job(path):
        return read_scenario(path, warn)
    from rebalancer.jobs.snapshot import take_snapshot

    scenario = take_snapshot(read_job(path)).scenario
    if warn:
        _tell(scenario)
    return scenario


def _tell(scenario: Scenario) -> None:
    faults.tell(scenario.warnings, "warning")
