"""Conformance cases as solvers, through the public API alone, and the report of a runner."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rebalancer import Rebalancer
from rebalancer.specs import registry
from rebalancer.specs.base import Spec

Case = dict[str, Any]
Outcome = dict[str, Any]

#: Keys of an entry that are not fields of its spec, and how `add_goal` and `add_constraint` call them.
GOAL_KEYS = ("weight", "tuple_pos")
CONSTRAINT_KEYS = ("policy", "invalid_cost", "invalid_state", "tuple_pos_if_broken")


class Unchecked(Exception):
    """A case cannot be checked, because it uses a spec that is not in the catalogue or is of another kind."""


def read_cases(paths: list[str]) -> Iterator[Case]:
    """Yield the cases of files, and of all ``.jsonl`` files in folders."""
    for path in map(Path, paths):
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        for file in files:
            with file.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines if line.strip())


def spec_of(entry: dict[str, Any]) -> Spec:
    """Return the spec of an entry."""
    key = registry.canonical_key(entry["spec"])
    if key not in set(registry.keys()):
        raise Unchecked(f"{entry['spec']} is not in the catalogue")
    fields = {name: value for name, value in entry.items() if name not in ("spec", *GOAL_KEYS, *CONSTRAINT_KEYS)}
    return registry.get(key).model_validate(fields)


def problem_of(case: Case) -> Rebalancer:
    """Return a solver with the problem of a case, and no specs."""
    solver = Rebalancer(case["objects"], case["containers"])
    solver.set_assignment(case["assignment"])
    for name, items in case.get("scopes", {}).items():
        solver.add_scope(name, items)
    for name, groups in case.get("partitions", {}).items():
        solver.add_partition(name, groups)
    for name, dimension in (
        *case.get("object_dimensions", {}).items(),
        *case.get("object_dimension_vectors", {}).items(),
    ):
        solver.add_object_dimension(name, dimension["values"], dimension.get("default", 0))
    for name, dimension in case.get("container_dimensions", {}).items():
        solver.add_container_dimension(name, dimension["values"], dimension.get("default", 1))
    for name, scopes in case.get("scope_dimensions", {}).items():
        for scope, values in scopes.items():
            solver.add_scope_dimension(name, scope, values)
    for name, dimension in case.get("dynamic_object_dimensions", {}).items():
        solver.add_dynamic_object_dimension(name, dimension["scope"], dimension["values"], dimension.get("default", 0))
    return solver


def add_goal(solver: Rebalancer, entry: dict[str, Any]) -> None:
    """Add a goal of a case."""
    solver.add_goal(spec_of(entry), **{key: entry[key] for key in GOAL_KEYS if key in entry})


def add_constraint(solver: Rebalancer, entry: dict[str, Any], **changes: Any) -> None:
    """Add a constraint of a case."""
    given = {key: entry[key] for key in CONSTRAINT_KEYS if key in entry}
    solver.add_constraint(spec_of(entry), **(given | changes))


def close(got: Any, expected: Any, tolerance: float = 1e-6) -> bool:
    """Return whether two values agree: numbers within absolute plus relative tolerance, the rest exactly."""
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(name in got and close(got[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return isinstance(got, list) and len(got) == len(expected) and all(map(close, got, expected))
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return abs(got - expected) <= tolerance + tolerance * abs(expected)
    return bool(got == expected)


def outcome_of(check: Callable[[Case], tuple[Any, Any]], case: Case) -> Outcome:
    """Return the outcome of a case; an exception is a failure."""
    try:
        got, expected = check(case)
    except Unchecked as reason:
        return {"id": case.get("id"), "ok": None, "got": None, "expected": case.get("expected"), "reason": str(reason)}
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return {"id": case.get("id"), "ok": False, "got": message, "expected": case.get("expected")}
    return {"id": case.get("id"), "ok": close(got, expected), "got": got, "expected": expected}


def run(check: Callable[[Case], tuple[Any, Any]], arguments: list[str]) -> int:
    """Print one line per case and how many passed; return the exit code."""
    if not arguments:
        print("usage: python -m tests.conformance.<runner> PATH...", file=sys.stderr)
        return 2
    counts = {True: 0, False: 0, None: 0}
    for case in read_cases(arguments):
        outcome = outcome_of(check, case)
        counts[outcome["ok"]] += 1
        print(json.dumps(outcome), flush=True)
    print(f"{counts[True]} passed, {counts[False]} failed, {counts[None]} unchecked")
    return 1 if counts[False] else 0
