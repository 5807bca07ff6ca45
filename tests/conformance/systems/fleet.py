"""Cases of Fleet: units with their option lines."""

from typing import Any

from rebalancer import Rebalancer
from rebalancer.dialects.fleet import Fleet, parse_options
from rebalancer.placement import Placement
from rebalancer.problem import FaultList
from tests.conformance.cases import Case


def node_facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a machine."""
    return dict(node["attributes"])


def task_facts(task: dict[str, Any], case: Case) -> dict[str, Any]:
    """Return nothing: the name of a unit says all."""
    return {}


def state(solver: Rebalancer, case: Case) -> None:
    """State the options of the units."""
    solver.add_rules(Fleet(units=case["constraint"]))


def answer(placement: Placement) -> str:
    """Return what Fleet answers."""
    if not placement.allowed:
        return "refused"
    return "reschedule" if placement.displacements else "allowed"


def validate(constraint: list[str]) -> None:
    """Raise what is wrong with the options of a unit."""
    faults = FaultList()
    parse_options("unit.service", constraint, (), faults)
    faults.raise_if_any()
