"""Cases of Fenzo: constraints like their constructors, of single tasks, of all tasks, or of the candidate."""

from typing import Any

from rebalancer import Rebalancer
from rebalancer.dialects.fenzo import Fenzo, host_fitness
from rebalancer.placement import Placement
from tests.conformance.cases import Case


def node_facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a host."""
    return dict(node["attributes"])


def task_facts(task: dict[str, Any], case: Case) -> dict[str, Any]:
    """Return nothing: tasks are known by name."""
    return {}


def state(solver: Rebalancer, case: Case) -> None:
    """State the constraints of every task that has some."""
    constraint = case["constraint"]
    for task in case["tasks"]:
        if task.get("hard"):
            add(solver, [task["id"]], hard=task["hard"])
    everybody = [task["id"] for task in case["tasks"]]
    if constraint.get("all_tasks"):
        add(solver, everybody, hard=constraint["all_tasks"])
    if "candidate" in case:
        soft = constraint.get("score")
        add(solver, [case["candidate"]["id"]], hard=constraint.get("hard", []), soft=[] if soft is None else [soft])


def add(solver: Rebalancer, tasks: list[str], **constraints: list[dict[str, Any]]) -> None:
    """State the constraints of some tasks."""
    formula = next((one["formula"] for listed in constraints.values() for one in listed if "formula" in one), None)
    said = {
        name: [{key: value for key, value in one.items() if key not in NOTES} for one in listed]
        for name, listed in constraints.items()
    }
    solver.add_rules(Fenzo.model_validate({"tasks": tasks, **said, "soft_balance": formula or "documented"}))


#: What a case says about a score beside the constraint.
NOTES = ("soft", "formula", "groups")


def answer(placement: Placement) -> str:
    """Return what Fenzo answers."""
    return "allowed" if placement.allowed else "refused"


def score(placement: Placement, case: Case) -> float | str:
    """Return the score of the one soft constraint, or of a mix of scores as the code mixes them."""
    mixed = case["constraint"].get("combine")
    if mixed is not None:
        fitness = host_fitness(mixed["soft"], mixed["fitnessCalculator"], "implemented")
        return "refused" if fitness is None else fitness
    return sum(placement.scores.values())
