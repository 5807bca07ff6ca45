"""Cases of Firmament: constructs of the flow network, arc costs, label selectors."""

from typing import Any

from rebalancer import CapacitySpec, Rebalancer
from rebalancer.dialects.firmament import Firmament
from rebalancer.placement import Placement
from tests.conformance.cases import Case


def node_facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return the labels of a machine."""
    return dict(node["attributes"])


def task_facts(task: dict[str, Any], case: Case) -> dict[str, Any]:
    """Return nothing: tasks are known by name."""
    return {}


def state(solver: Rebalancer, case: Case) -> None:
    """State the flow network; capacities are specs of ours."""
    constraint = case["constraint"]
    for one in constraint.get("flow", []):
        if one["construct"] == "capacity":
            solver.add_object_dimension("demand", one["demand"])
            solver.add_container_dimension("demand", one["supply"])
            solver.add_constraint(CapacitySpec(scope="node", dimension="demand"))
    solver.add_rules(
        Firmament.model_validate(
            {
                "flow": [one for one in constraint.get("flow", []) if one["construct"] != "capacity"],
                "label_selectors": [{"selectors": constraint.get("label_selectors", [])}],
                "arc_costs": constraint.get("arc_cost", {}),
                "unscheduled": constraint.get("unscheduled_default"),
            }
        )
    )


def answer(placement: Placement) -> str:
    """Return what Firmament answers."""
    return "allowed" if placement.allowed else "refused"
