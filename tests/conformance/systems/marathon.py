"""Cases of Marathon: attributes in Mesos' text syntax, constraints as lists."""

from typing import Any

from rebalancer import Rebalancer
from rebalancer.dialects.marathon import Marathon, parse_constraint
from rebalancer.placement import Placement
from rebalancer.problem import FaultList
from tests.conformance.cases import Case


def node_facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an agent, and its fault domain."""
    domain = {f"@{name}": {"text": node[name]} for name in ("region", "zone") if name in node}
    return {**node.get("attributes", {}), **domain}


def task_facts(task: dict[str, Any], case: Case) -> dict[str, Any]:
    """Return the app of an instance and the version of its configuration."""
    return {"app": task["app"], "version": "old" if task.get("old_version") else "current"}


def state(solver: Rebalancer, case: Case) -> None:
    """State the constraints of the app."""
    constraint = case["constraint"]
    solver.add_rules(
        Marathon(
            app=constraint["app"],
            constraints=constraint["constraints"],
            instances=constraint.get("instances"),
            local_region=constraint.get("local_region"),
            version="current",
            group_by="documented" if case.get("variant") == "legacy" else "quota",
        )
    )


def answer(placement: Placement) -> str:
    """Return what Marathon answers."""
    return "allowed" if placement.allowed else "refused"


def validate(constraint: list[str]) -> None:
    """Raise what is wrong with a constraint."""
    faults = FaultList()
    parse_constraint(tuple(constraint), (), faults)
    faults.raise_if_any()
