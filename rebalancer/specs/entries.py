"""A spec in use: as a constraint with its policy, or as a goal with its weight and place in the lexicographic order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction

from rebalancer.problem import Fault, FaultList, Path, Problem
from rebalancer.specs.base import Spec

#: The constraint that is there without being stated; only a spec of that key may have its name.
IMPLICIT = "placed"


class Policy(str, Enum):
    """What to do with a constraint that the initial assignment already breaks."""

    DEFAULT = "DEFAULT"
    HARD = "HARD"
    SOFT = "SOFT"


class InFlight(str, Enum):
    """When a constraint must hold while a plan is carried out."""

    ALWAYS = "always"  # with the objects in flight counted where that is worse
    BETWEEN_WAVES = "between_waves"
    AT_END = "at_end"


@dataclass(frozen=True)
class Goal:
    """A spec to minimise."""

    spec: Spec
    name: str | None = None
    weight: Fraction = Fraction(1)
    tuple_pos: int = 0
    path: Path = field(default=(), compare=False)


@dataclass(frozen=True)
class Constraint:
    """A spec to hold. Without ``in_flight``, the kind of its cells says when it must hold during a plan."""

    spec: Spec
    name: str | None = None
    policy: Policy = Policy.DEFAULT
    invalid_cost: Fraction = Fraction(100)
    invalid_state: Fraction = Fraction(10000)
    tuple_pos_if_broken: int = 0
    path: Path = field(default=(), compare=False)
    in_flight: InFlight | None = None


def named(goals: list[Goal], constraints: list[Constraint]) -> tuple[list[Goal], list[Constraint]]:
    """Give every entry its name: its own, or ``<key>#<n>`` by position among the unnamed of that key, starting at 1."""
    entries: list[Goal | Constraint] = [*goals, *constraints]
    taken = {entry.name or entry.spec.name for entry in entries}
    counts: dict[str, int] = {}

    def name_of(entry: Goal | Constraint) -> str:
        own = entry.name or entry.spec.name
        if own:
            return own
        key = entry.spec.key
        while True:
            counts[key] = counts.get(key, 0) + 1
            candidate = f"{key}#{counts[key]}"
            if candidate not in taken:
                return candidate

    constraints = [replace(entry, name=name_of(entry)) for entry in constraints]
    goals = [replace(entry, name=name_of(entry)) for entry in goals]
    return goals, constraints


def check_entries(problem: Problem, goals: list[Goal], constraints: list[Constraint]) -> FaultList:
    """Return everything that is wrong with the entries on this problem; paths start with each entry's own path."""
    faults = FaultList()
    seen: dict[str, Path] = {}
    entries: list[Goal | Constraint] = [*constraints, *goals]
    for entry in entries:
        own = entry.name or entry.spec.name
        if entry.name and entry.spec.name and entry.name != entry.spec.name:
            faults.report(
                "two-names", f"the name is given twice: '{entry.name}' and '{entry.spec.name}'", entry.path, entry.name
            )
        if own:
            if own in seen:
                faults.report("duplicate-name", f"the name '{own}' is used twice", (*entry.path, "name"), own)
            seen[own] = entry.path
            if own == IMPLICIT and entry.spec.key != IMPLICIT:
                message = (
                    f"'{own}' is what the implicit constraint that nothing is unplaced is called; choose another name"
                )
                faults.report("reserved-name", message, (*entry.path, "name"), own)
        wanted = "goal" if isinstance(entry, Goal) else "constraint"
        if not (entry.spec.is_goal() if wanted == "goal" else entry.spec.is_constraint()):
            faults.report("wrong-kind", f"{entry.spec.key} cannot be a {wanted}", entry.path, entry.spec.key)
        as_used = entry.spec.goal_faults if wanted == "goal" else entry.spec.constraint_faults
        found = [*entry.spec.faults(problem), *as_used(problem)]
        faults.extend(fault.below((*entry.path, entry.spec.key)) for fault in found)
        if not found and isinstance(entry, Constraint):
            problem = entry.spec.prepare(problem)  # so that two specs that state contradicting facts are noticed
        position = entry.tuple_pos if isinstance(entry, Goal) else entry.tuple_pos_if_broken
        if position < 0:
            field_name = "tuple_pos" if isinstance(entry, Goal) else "tuple_pos_if_broken"
            faults.report(
                "out-of-range", f"{field_name} must be 0 or more, got {position}", (*entry.path, field_name), position
            )
        if isinstance(entry, Constraint):
            for field_name in ("invalid_cost", "invalid_state"):
                if getattr(entry, field_name) < 0:
                    faults.report(
                        "out-of-range",
                        f"{field_name} must not be negative, got {float(getattr(entry, field_name)):g}",
                        (*entry.path, field_name),
                    )
    return faults


def check_warnings(goals: list[Goal], constraints: list[Constraint], problem: Problem) -> list[Fault]:
    """Return what is legal but surprising about the entries."""
    entries: list[Goal | Constraint] = [*constraints, *goals]
    return [fault.below((*entry.path, entry.spec.key)) for entry in entries for fault in entry.spec.warnings(problem)]
