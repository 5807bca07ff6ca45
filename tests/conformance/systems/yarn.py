"""Cases of YARN: constraint maps and texts of the shell language."""

from typing import Any

from rebalancer import Rebalancer
from rebalancer.dialects.yarn import Yarn
from rebalancer.dialects.yarn_syntax import Tags, parse_spec
from rebalancer.placement import Placement
from rebalancer.problem import FaultList
from tests.conformance.cases import Case


def node_facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a node and its rack."""
    return {**node["attributes"], **({"rack": node["rack"]} if "rack" in node else {})}


def task_facts(task: dict[str, Any], case: Case) -> dict[str, Any]:
    """Return the tags and the application of an allocation."""
    return {
        "tags": task["tags"],
        "app": task["app"],
        "app_tags": case["constraint"].get("appTags", {}).get(task["app"], []),
    }


def state(solver: Rebalancer, case: Case) -> None:
    """State the constraint map."""
    constraint, variant = case["constraint"], case.get("variant")
    solver.add_rules(
        Yarn.model_validate(
            {
                "map": constraint["map"],
                "count": constraint.get("count"),
                "several_tags": "any" if variant == "legacy" else "each",
                "attribute_values": "first" if variant == "code" else "any",
            }
        )
    )


def answer(placement: Placement) -> str:
    """Return what YARN answers."""
    return "allowed" if placement.allowed else "refused"


def score(placement: Placement, case: Case) -> float | None:
    """Return the tier of an allocation."""
    return next(iter(placement.scores.values()), None)


def validate(constraint: str) -> None:
    """Raise what is wrong with a text of the shell language."""
    parsed(constraint)


def parsed(constraint: str) -> list[list[Any]]:
    """Return the requests of a text."""
    faults = FaultList()
    clauses = parse_spec(constraint, (), faults)
    faults.raise_if_any()
    return [[clause.tag, clause.count, form(clause.constraint)] for clause in clauses]


def form(node: Any) -> Any:
    """Return a constraint as the cases write it."""
    if not isinstance(node, Tags):
        return str(node)
    targets = [[str(tag) for tag in target] for target in node.targets]
    return {"scope": node.scope, "min": node.least, "max": node.most, "targets": targets}
