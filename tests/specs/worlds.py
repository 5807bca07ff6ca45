"""One small world for hand arithmetic, and the shortest way from a spec to its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rebalancer.model import Model
from rebalancer.problem import Fault, Problem, ProblemBuilder
from rebalancer.specs.base import Spec
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint, Goal, Policy, check_entries, check_warnings

#: h3 is in no rack; d starts unplaced; f weighs nothing.
ASSIGNMENT = {"h0": ["a", "b"], "h1": ["c"], "h2": ["e", "f"], "h3": []}
CPU = {"a": 1, "b": 2, "c": 4, "d": 8, "e": 3}


def builder(unplaced: bool = True) -> ProblemBuilder:
    """The world, for adding more to it; with d in h3 if nothing is to be unplaced."""
    out = ProblemBuilder("task", "host")
    out.set_assignment(ASSIGNMENT if unplaced else {**ASSIGNMENT, "h3": ["d"]}, ["d"] if unplaced else [])
    out.add_object_dimension("cpu", CPU)
    out.add_scope_dimension("cpu", "host", {"h0": 4, "h1": 2, "h2": 10, "h3": 4})
    out.add_scope_dimension("cpu", "rack", {"r0": 10, "r1": 5})
    out.add_object_dimension("vec", {"a": [1, 5], "b": [2, 0], "c": [4, 1], "d": [0, 7]})
    out.add_object_dimension("net", {"a": -2, "b": 1})
    out.add_dynamic_object_dimension("io", "host", {"h0": {"a": 3, "b": 1}, "h1": {"a": 5}, "h2": {"c": 7}}, default=1)
    out.add_scope("rack", {"r0": ["h0", "h1"], "r1": ["h2"]})
    out.add_partition("job", {"web": ["a", "b", "c"], "db": ["d", "e"], "none": []})
    out.add_partition("shared", {"x": ["a", "b"], "y": ["b", "c"]})
    return out


def world() -> Problem:
    """The world as it is."""
    return builder().build()


def settled() -> Problem:
    """The world with d in h3: everything is placed."""
    return builder(unplaced=False).build()


def placed(problem: Problem, moves: Mapping[str, str | None] | None = None) -> np.ndarray:
    """The initial assignment with some objects elsewhere (None: nowhere)."""
    out = problem.initial.copy()
    for name, container in (moves or {}).items():
        out[problem.objects.index[name]] = -1 if container is None else problem.containers.index[container]
    return out


def compiled(problem: Problem, spec: Spec, kind: str = "goal", policy: str = "DEFAULT") -> Model:
    """The model of one spec."""
    goals = [Goal(spec)] if kind == "goal" else []
    constraints = [Constraint(spec, policy=Policy(policy))] if kind == "constraint" else []
    found = check_entries(problem, goals, constraints)
    assert not found, found
    return compile_model(problem, goals, constraints)


def goal(problem: Problem, spec: Spec, moves: Mapping[str, str | None] | None = None) -> float:
    """The value of a goal."""
    model = compiled(problem, spec)
    return float(model.evaluate(placed(model.problem, moves)).goals[0])


def broken(problem: Problem, spec: Spec, moves: Mapping[str, str | None] | None = None) -> tuple[float, int]:
    """Violation and number of broken components."""
    model = compiled(problem, spec, "constraint")
    score = model.evaluate(placed(model.problem, moves))
    return float(score.violations[0]), int(score.broken_components[0])


def feasible(problem: Problem, spec: Spec, moves: Mapping[str, str | None], policy: str = "DEFAULT") -> bool:
    """Whether a constraint allows an assignment."""
    model = compiled(problem, spec, "constraint", policy)
    return spec.key not in {name.split("#")[0] for name in model.evaluate(placed(model.problem, moves)).worsened}


def faults(problem: Problem, spec: Spec, kind: str = "goal") -> list[Fault]:
    """What is wrong with a spec in this use."""
    goals = [Goal(spec)] if kind == "goal" else []
    constraints = [Constraint(spec)] if kind == "constraint" else []
    return list(check_entries(problem, goals, constraints))


def codes(found: list[Fault]) -> list[tuple[str, str]]:
    """Code and last step of the path."""
    return [(fault.code, str(fault.path[-1]) if fault.path else "") for fault in found]


def warnings(problem: Problem, spec: Spec) -> list[str]:
    """The codes of what is surprising."""
    return [fault.code for fault in check_warnings([Goal(spec)], [], problem)]


def table(problem: Problem, spec: Spec, moves: Mapping[str, str | None] | None = None) -> list[tuple[Any, ...]]:
    """The cells of a constraint: item, group, amount, limit, violation."""
    model = compiled(problem, spec, "constraint")
    cells = model.cells(model.constraints[0].name, placed(model.problem, moves))
    return list(
        zip(*(cells[column].tolist() for column in ("item", "group", "amount", "limit", "violation")), strict=True)
    )
