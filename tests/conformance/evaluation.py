"""Values of single specs before and after given moves: ``python -m tests.conformance.evaluation PATH...``."""

import sys
from typing import Any

from rebalancer import Evaluation
from tests.conformance.cases import Case, Unchecked, add_constraint, add_goal, problem_of, run


def check(case: Case) -> tuple[Any, Any]:
    """Return what comes out and what should, ``{value: {initial, final}}``."""
    if "final_assignment" not in case:
        raise Unchecked("this is no case of an evaluation")
    got: dict[str, Any] = {}
    if case.get("goals"):
        got |= values_of_goal(case)
    if case.get("constraints"):
        got |= values_of_constraint(case)
    return {name: got.get(name) for name in case["expected"]}, case["expected"]


def values_of_goal(case: Case) -> dict[str, Any]:
    """Return the value of the spec as a goal of its own."""
    (entry,) = case["goals"]
    solver = problem_of(case)
    add_goal(solver, entry)
    goals = with_the_others(solver, case).goals
    return {"goal": {"initial": float(goals["initial"].iloc[0]), "final": float(goals["final"].iloc[0])}}


def values_of_constraint(case: Case) -> dict[str, Any]:
    """Return the violation of the spec as a constraint, its broken components, and its fix-it goal."""
    (entry,) = case["constraints"]
    solver = problem_of(case)
    add_constraint(solver, entry)
    evaluation = with_the_others(solver, case)
    row, broken = evaluation.constraints.iloc[0], evaluation.broken_components.iloc[0]
    objective = evaluation.objective.set_index("tuple_pos").loc[0]
    return {
        "violation": {"initial": float(row["initial_violation"]), "final": float(row["final_violation"])},
        "broken_components": {"initial": int(broken["initial"]), "final": int(broken["final"])},
        "default_policy_objective": {"initial": float(objective["initial"]), "final": float(objective["final"])},
    }


def with_the_others(solver: Any, case: Case) -> Evaluation:
    """Add the other constraints, at another tuple position than the spec's own fix-it goal, and evaluate."""
    for entry in case.get("other_constraints", ()):
        add_constraint(solver, entry, tuple_pos_if_broken=1)
    evaluation: Evaluation = solver.evaluate(case["final_assignment"])
    return evaluation


if __name__ == "__main__":
    sys.exit(run(check, sys.argv[1:]))
