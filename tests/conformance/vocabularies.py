"""Placement cases of other schedulers: ``python -m tests.conformance.vocabularies PATH...``.

A case says what the system itself answers (``expect``), one object at a time or for a finished assignment; a candidate
also what the reading of the whole assignment says (``batch``). Everything goes through `Rebalancer`; each system has an
adapter that turns the nodes, tasks and constraint of a case into facts and statements.
"""

import sys
from importlib import import_module
from typing import Any

from rebalancer import InputError, Rebalancer
from tests.conformance.cases import Case, Unchecked, run

ALLOWED, REFUSED = "allowed", "refused"


def check(case: Case) -> tuple[Any, Any]:
    """Return what comes out and what should."""
    if case.get("checked") is False:
        raise Unchecked("the case is not to be checked")
    adapter = import_module(f"tests.conformance.systems.{case['system']}")
    return KINDS[case["kind"]](case, adapter)


def candidate(case: Case, adapter: Any) -> tuple[Any, Any]:
    """May this object go there now? And does the finished state hold?"""
    solver, new = with_the_new(case, adapter), case["candidate"]
    got = {"expect": adapter.answer(solver.check_placement(new["id"], new["node"]))}
    if "batch" in case:
        got["batch"] = verdict(solver, {**places(case), new["id"]: new["node"]})
    return got, {name: case[name] for name in got}


def assignment(case: Case, adapter: Any) -> tuple[Any, Any]:
    """Does the finished state hold?"""
    solver = problem_of(case, adapter)
    return verdict(solver, {**places(case), **case["assignment"]}), case["expect"]


def solve(case: Case, adapter: Any) -> tuple[Any, Any]:
    """Return facts about an optimum."""
    solver = problem_of(case, adapter)
    solution = solver.solve(engine="cpsat", time_limit=30)
    assert solution.status.value == "OPTIMAL", solution.status
    where = {name: None if container != container else container for name, container in solution.assignment.items()}
    where = {name: container if isinstance(container, str) else None for name, container in where.items()}
    got = {fact: FACTS[fact](case, where, wanted) for fact, wanted in case["expect"].items() if fact in FACTS}
    if "min_cost" in case["expect"]:
        got["min_cost"] = float(solution.objective["final"].iloc[0])
    return got, case["expect"]


def validate(case: Case, adapter: Any) -> tuple[Any, Any]:
    """Is the syntax right?"""
    try:
        adapter.validate(case["constraint"])
    except InputError:
        return REFUSED, case["expect"]
    return ALLOWED, case["expect"]


def score(case: Case, adapter: Any) -> tuple[Any, Any]:
    """What does a place score for the new one? Or what does each object where it is?"""
    if "candidate" in case:
        placement = with_the_new(case, adapter).check_placement(case["candidate"]["id"], case["candidate"]["node"])
        return close_enough(adapter.score(placement, case), case), case["expect"]
    solver = problem_of(
        {**case, "tasks": [{**task, "node": case["assignment"][task["id"]]} for task in case["tasks"]]}, adapter
    )
    return [adapter.score(solver.check_placement(*pair), case) for pair in case["assignment"].items()], case["expect"]


def parse(case: Case, adapter: Any) -> tuple[Any, Any]:
    """What does the text say?"""
    return adapter.parsed(case["constraint"]), case["expect"]


KINDS = {
    "candidate": candidate,
    "assignment": assignment,
    "solve": solve,
    "score": score,
    "parse": parse,
    "validate": validate,
}


def together(where: dict[str, str | None], names: list[str]) -> bool:
    """Return whether objects are in one container."""
    return len({where[name] for name in names}) == 1 and where[names[0]] is not None


FACTS = {
    "max_placed": lambda case, where, _: sum(place is not None for place in where.values()),
    "distinct_nodes": lambda case, where, _: len(set(where.values()) - {None}),
    "nodes": lambda case, where, wanted: {name: where[name] for name in wanted},
    "same_node": lambda case, where, wanted: [names for names in wanted if together(where, names)],
    "different_nodes": lambda case, where, wanted: [names for names in wanted if not together(where, names)],
    "one_per_node": lambda case, where, wanted: (
        wanted
        if sorted(filter(None, (place for name, place in where.items() if name.partition("#")[0] == wanted)))
        == sorted(node["name"] for node in case["nodes"])
        else None
    ),
}


def with_the_new(case: Case, adapter: Any) -> Rebalancer:
    """Return a solver in which the candidate of a case waits."""
    return problem_of({**case, "tasks": [*case["tasks"], {**case["candidate"], "node": None}]}, adapter)


def problem_of(case: Case, adapter: Any) -> Rebalancer:
    """Return a solver with the nodes, tasks and statements of a case."""
    solver = Rebalancer("task", "node")
    homes: dict[str, list[str]] = {node["name"]: [] for node in case["nodes"]}
    for task in case["tasks"]:
        if task.get("node") is not None:
            homes[task["node"]].append(task["id"])
    solver.set_assignment(homes, [task["id"] for task in case["tasks"] if task.get("node") is None])
    state_facts(solver.add_container_attribute, {node["name"]: adapter.node_facts(node) for node in case["nodes"]})
    state_facts(solver.add_object_attribute, {task["id"]: adapter.task_facts(task, case) for task in case["tasks"]})
    adapter.state(solver, case)
    return solver


def state_facts(add: Any, facts: dict[str, dict[str, Any]]) -> None:
    """State facts, given by owner, one by one."""
    for name in dict.fromkeys(name for own in facts.values() for name in own):
        add(name, {owner: own[name] for owner, own in facts.items() if name in own})


def places(case: Case) -> dict[str, str | None]:
    """Return where the tasks of a case are."""
    return {task["id"]: task.get("node") for task in case["tasks"]}


def verdict(solver: Rebalancer, where: dict[str, str | None]) -> str:
    """Return whether an assignment breaks no constraint, but that something is unplaced."""
    violations = solver.evaluate(where).constraints
    violations = violations[violations["name"] != "placed"]
    return REFUSED if (violations["final_violation"] > 0).any() else ALLOWED


def close_enough(got: Any, case: Case) -> Any:
    """Return the expected number instead of one that is within the tolerance that the case states."""
    tolerance = case.get("tolerance", 0)
    numbers = isinstance(got, int | float) and isinstance(case["expect"], int | float)
    near = numbers and abs(got - case["expect"]) <= tolerance
    return case["expect"] if near else got


if __name__ == "__main__":
    sys.exit(run(check, sys.argv[1:]))
