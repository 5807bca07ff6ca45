"""Whole problems with their proven optimum: ``python -m tests.conformance.optimum PATH...``."""

import sys
from typing import Any

from rebalancer import Evaluation, Rebalancer
from tests.conformance.cases import Case, Unchecked, add_constraint, add_goal, problem_of, run

#: Seconds for one case; they take far less.
TIME_LIMIT = 60


def check(case: Case) -> tuple[Any, Any]:
    """Return what comes out and what should.

    Besides status and objective: what the own assignment scores when it is evaluated by itself, and what the recorded
    optimum scores.
    """
    if "objective_tuple" not in case["expected"] and case["expected"].get("status") != "infeasible":
        raise Unchecked("this is no case of an optimum")
    solver = solver_of(case)
    solution = solver.solve(time_limit=TIME_LIMIT)
    expected = case["expected"]
    got: dict[str, Any] = {"status": solution.status.value.lower()}
    wanted: dict[str, Any] = {"status": "optimal" if expected["status"] == "optimal" else expected["status"]}
    if wanted["status"] != "optimal" or not solution.found:
        return got, wanted
    length = len(expected["objective_tuple"])
    recorded = solver.evaluate(expected["assignment"])
    again = solver.evaluate(solution.assignment)
    for name, value, target in (
        ("objective_tuple", objective(solution, "final", length), expected["objective_tuple"]),
        ("rescored_objective_tuple", objective(again, "final", length), expected["objective_tuple"]),
        ("initial_objective_tuple", objective(solution, "initial", length), expected["initial_objective_tuple"]),
        ("recorded_objective_tuple", objective(recorded, "final", length), expected["objective_tuple"]),
    ):
        got[name], wanted[name] = value, target
    weighted = recorded.goals["weight"] * recorded.goals["final"]  # as the cases record them
    goals = dict(zip(recorded.goals["name"], weighted, strict=True))
    violations = dict(zip(recorded.constraints["name"], recorded.constraints["final_violation"], strict=True))
    wanted["goals"] = {name: value for name, value in expected.get("objective_values", {}).items() if name in goals}
    wanted["violations"] = expected.get("constraint_violations", {})
    got["goals"] = {name: goals[name] for name in wanted["goals"]}
    got["violations"] = {name: violations.get(name) for name in wanted["violations"]}
    return got, wanted


def solver_of(case: Case) -> Rebalancer:
    """Return the problem of a case with its goals and constraints."""
    solver = problem_of(case)
    for entry in case["goals"]:
        add_goal(solver, entry)
    for entry in case["constraints"]:
        add_constraint(solver, entry)
    return solver


def objective(evaluation: Evaluation, column: str, length: int) -> list[float]:
    """Return the objective by tuple position; positions that nothing is at are 0."""
    values = [float(value) for value in evaluation.objective[column]]
    values += [0.0] * (length - len(values))
    return values[:length] + [value for value in values[length:] if value]


if __name__ == "__main__":
    sys.exit(run(check, sys.argv[1:]))
