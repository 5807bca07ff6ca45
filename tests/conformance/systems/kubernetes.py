"""Cases of Kubernetes: fragments of pod specs, in which the names of affinities are shortened."""

from typing import Any

from rebalancer import Rebalancer
from rebalancer.dialects.kubernetes import Kubernetes
from rebalancer.placement import Placement
from tests.conformance.cases import Case

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_facts(node: dict[str, Any]) -> dict[str, Any]:
    """Return labels and taints."""
    return {"labels": node["attributes"], "taints": node.get("taints", [])}


def task_facts(task: dict[str, Any], case: Case) -> dict[str, Any]:
    """Return what is known about a pod, besides its spec: the constraint says it of the candidate and of apps."""
    constraint = case["constraint"]
    said = constraint["apps"][task["app"]] if "apps" in constraint else task
    said = constraint if task["id"] == case.get("candidate", {}).get("id") else said
    known = {name: said[name] for name in ("namespace", "labels") if name in said}
    return {"labels": {}, **known, "terminating": str(task.get("terminating", False)).lower()}


def state(solver: Rebalancer, case: Case) -> None:
    """State a spec for every pod that has one: its own, or that of its app."""
    constraint = case["constraint"]
    apps = constraint.get("apps", {})
    for name, app in apps.items():
        state_spec(solver, [task["id"] for task in case["tasks"] if task["app"] == name], app["spec"], [])
    new = case.get("candidate", {}).get("id")
    running = [task["id"] for task in case["tasks"] if task["id"] != new] if not apps else []
    for task in case["tasks"]:
        if task.get("spec"):
            state_spec(solver, [task["id"]], task["spec"], running)
    if new is not None:
        state_spec(solver, [new], constraint["spec"], running)


def state_spec(solver: Rebalancer, pods: list[str], spec: dict[str, Any], fixed: list[str]) -> None:
    """State the spec of some pods; of those that run already only others take notice."""
    solver.add_rules(Kubernetes.model_validate({"pods": pods, "spec": written_out(spec), "fixed": fixed}))


def written_out(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a spec with the full names."""
    affinity: dict[str, Any] = {}
    for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        short = spec.get(kind, {})
        required, preferred = short.get("required"), short.get("preferred", [])
        affinity[kind] = {PREFERRED: [_renamed(term, "term", "podAffinityTerm") for term in preferred]}
        if required is not None:
            affinity[kind][REQUIRED] = {"nodeSelectorTerms": required} if kind == "nodeAffinity" else required
    rest = {name: value for name, value in spec.items() if name not in affinity}
    return {**rest, "affinity": affinity}


def _renamed(entry: dict[str, Any], short: str, full: str) -> dict[str, Any]:
    return {full if name == short else name: value for name, value in entry.items()}


def answer(placement: Placement) -> str:
    """Return what the scheduler answers."""
    return "allowed" if placement.allowed else "refused"


def score(placement: Placement, case: Case) -> float:
    """Return the score of a node: the sum over the rules that prefer something."""
    return sum(placement.scores.values())
