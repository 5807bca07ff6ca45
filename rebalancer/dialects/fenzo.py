"""Netflix Fenzo: the hard and soft constraints of tasks.

Follows Fenzo 1.0 (its constraints page and the source). Hosts are compared by an attribute of type text, or by their
name: ``HOSTNAME``, or no attribute at all. Co-tasks are named one by one; ones that do not exist yet do no harm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isclose
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from rebalancer.dialects import base
from rebalancer.dialects.base import Check, Dialect, Preference, Rule, Score, State, Translation
from rebalancer.dialects.facts import Facts
from rebalancer.dialects.permitted import permitted, permitted_check
from rebalancer.dialects.together import at_most
from rebalancer.problem import FaultList, Path, PlainText, Problem
from rebalancer.problem.numbers import IntArray, WrongValue
from rebalancer.specs.base import Spec
from rebalancer.specs.count_cost import Corner, CountCostSpec
from rebalancer.specs.fields import Name, Number, Part, Whole, exact, together
from rebalancer.specs.group_conflict import GroupConflictSpec
from rebalancer.specs.selection import Objects
from rebalancer.specs.skew import SkewSpec

_HOST = "HOSTNAME"


def _share(value: Fraction) -> Fraction:
    if value < 0:
        raise WrongValue(f"out of range: expected 0 or more, got {float(value):g}", "out-of-range")
    return value


Share: TypeAlias = Annotated[Number, AfterValidator(_share)]
Kind: TypeAlias = Literal[
    "ExclusiveHostConstraint", "HostAttrValueConstraint", "UniqueHostAttrConstraint", "BalancedHostAttrConstraint"
]
#: Which fields each kind takes, and which it needs.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "ExclusiveHostConstraint": (set(), set()),
    "HostAttrValueConstraint": ({"attribute", "value", "values"}, set()),
    "UniqueHostAttrConstraint": ({"attribute", "co_tasks"}, set()),
    "BalancedHostAttrConstraint": ({"attribute", "co_tasks", "expected_values"}, {"expected_values"}),
}


class HardConstraint(Part):
    """One of Fenzo's constraints."""

    type: Kind = Field(description="Which one.")
    attribute: Name | None = Field(None, description="The host attribute; left out or HOSTNAME: the name of the host.")
    value: Name | None = Field(None, description="Of HostAttrValue: what it has to be.")
    values: Mapping[Name, Name] = Field({}, description="Of HostAttrValue: task: what it has to be for that task.")
    co_tasks: tuple[Name, ...] | None = Field(
        None, description="Of Unique and Balanced: the co-tasks; left out: the tasks of the statement."
    )
    expected_values: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="Of Balanced: how many values there should be."
    )

    @together
    def _fields_fit(self) -> None:
        allowed, needed = _FIELDS[self.type]
        stated = {
            name
            for name in self.model_fields_set & {"attribute", "value", "values", "co_tasks", "expected_values"}
            if getattr(self, name) is not None
        }
        for name in sorted(stated - allowed):
            raise ValueError(f"{self.type} has no '{name}'")
        for name in sorted(needed - stated):
            raise ValueError(f"{self.type} needs '{name}'")
        if self.type == "HostAttrValueConstraint" and ("value" in stated) == ("values" in stated):
            raise ValueError("HostAttrValueConstraint needs either 'value' or 'values'")


def _unwrapped(value: Any) -> Any:
    """Read ``{type: AsSoftConstraint, of: …}`` as the constraint in it."""
    if isinstance(value, Mapping) and value.get("type") == "AsSoftConstraint" and isinstance(value.get("of"), Mapping):
        rest = {key: own for key, own in value.items() if key not in ("type", "of")}
        return {**rest, **value["of"], "as_soft": True}
    return value


class SoftConstraint(HardConstraint):
    """One of Fenzo's constraints as a wish."""

    weight: Share = Field(1, description="Its share beside the other soft constraints.")
    as_soft: Literal[True, False] = Field(
        False, description="Score 1 or 0, as AsSoftConstraint does; only Balanced has a score of its own otherwise."
    )


class AsSoftConstraint(Part):
    """A constraint in the wrapping that makes it a wish: another way to write ``as_soft: true``."""

    type: Literal["AsSoftConstraint"] = Field(description="The wrapping.")
    of: HardConstraint = Field(description="The constraint in it.")
    weight: Share = Field(1, description="Its share beside the other soft constraints.")


class Fenzo(Dialect):
    """The constraints of some tasks of Fenzo.

    Notes
    -----
    An exclusive host keeps everybody else away, whether or not they have constraints. Balanced is judged over the
    values in use; a distribution that starts uneven may not become more uneven. Soft constraints share a weight of 1.
    """

    key: ClassVar[str] = "fenzo"
    sources: ClassVar[str] = "Fenzo 1.0 (the constraints page of 2015, and the source)"
    ruling: ClassVar[tuple[str, ...]] = ("hard", "soft")

    tasks: Objects | None = Field(None, description="Whose constraints they are; left out: all objects.")
    hard: tuple[HardConstraint, ...] = Field((), description="Constraints that must hold.")
    soft: tuple[
        Annotated[
            SoftConstraint, BeforeValidator(_unwrapped, json_schema_input_type=SoftConstraint | AsSoftConstraint)
        ],
        ...,
    ] = Field((), description="Constraints that should hold.")
    soft_balance: Literal["documented", "implemented"] = Field(
        "documented", description="Score of a soft Balanced: by the average, or by what the code computes."
    )

    def rules(self, facts: Facts, faults: FaultList) -> list[Rule]:
        """Return a rule per constraint."""
        tasks = np.arange(len(facts.problem.objects)) if self.tasks is None else self.tasks.members(facts.problem)
        rules = []
        for position, one in enumerate(self.hard):
            reader = _Reader(self, facts, tasks, one, ("hard", position))
            rules.append(Rule(reader.text, reader.path, tuple(reader.specs()), check=reader.check()))
        total = sum((exact(one.weight) for one in self.soft), Fraction(0)) or Fraction(1)
        for position, one in enumerate(self.soft):
            reader = _Reader(self, facts, tasks, one, ("soft", position))
            rules.append(reader.wish(exact(one.weight) / total))
        return rules


def parse(problem: Problem, **statement: Any) -> Translation:
    """Return what the constraints of some tasks mean on a problem.

    Parameters
    ----------
    problem : Problem
    **statement
        The fields of `Fenzo`: ``tasks=["t1"], hard=[{"type": "ExclusiveHostConstraint"}]``.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    return base.parse(Fenzo, problem, statement)


def host_fitness(
    soft: list[float],
    calculator: float,
    mix: Literal["documented", "implemented"] = "documented",
    resource_sets: float = 0.0,
) -> float | None:
    """Return how well a host suits a task.

    Parameters
    ----------
    soft : list of float
        Scores of the soft constraints, 0 to 1.
    calculator : float
        Score of the fitness calculator, 0 to 1.
    mix : str
        ``documented``: the plain average of all; ``implemented``: half the average of the soft ones (1 without any),
        0.35 of the calculator and 0.15 of the resource sets, where a calculator of 0 refuses the host.
    resource_sets : float
        Score of the resource sets, 0 to 1.

    Returns
    -------
    float or None
        None: refused.
    """
    if mix == "documented":
        return sum([*soft, calculator]) / (len(soft) + 1)
    if calculator == 0:
        return None
    return 0.5 * (sum(soft) / len(soft) if soft else 1.0) + 0.35 * calculator + 0.15 * resource_sets


def weighted_average(parts: list[tuple[float, float]]) -> float:
    """Return the score of a calculator made of several ones.

    Parameters
    ----------
    parts : list of (float, float)
        Weight and score of each; the weights add up to 1.

    Returns
    -------
    float
        0 where any part scores 0.

    Raises
    ------
    ValueError
        The weights do not add up to 1.
    """
    total = sum(weight for weight, _ in parts)
    if not isclose(total, 1.0):
        raise ValueError(f"the weights of a weighted average add up to 1, not to {total:g}")
    return 0.0 if any(score == 0 for _, score in parts) else sum(weight * score for weight, score in parts)


class _Reader:
    """Reads one constraint of some tasks."""

    def __init__(self, statement: Fenzo, facts: Facts, tasks: IntArray, one: HardConstraint, path: Path) -> None:
        self.statement = statement
        self.facts = facts
        self.tasks = tasks
        self.one = one
        self.path = path
        self.values = self._values()
        index = facts.problem.objects.index
        for name in one.values:
            facts.note_absent("task", "name", name, index, (*path, "values", name))
        names = one.co_tasks
        self.co_tasks = tasks if names is None else np.array([index[name] for name in names if name in index], np.int64)
        #: The tasks and co-tasks: in the end all of them have to be told apart, whoever asked for it.
        self.group = np.union1d(tasks, self.co_tasks).astype(np.int64)

    @property
    def text(self) -> str:
        """The constraint as one line."""
        return " ".join(filter(None, (self.one.type.removesuffix("Constraint"), self.one.attribute, self.one.value)))

    def _values(self) -> list[str | None]:
        """Return the value of each host: text only, as Fenzo reads anything else as empty."""
        attribute = self.one.attribute
        if attribute is None or attribute == _HOST:
            return list(self.facts.problem.containers)
        self.facts.note_unknown(attribute, (*self.path, "attribute"))
        return [_text(value) for value in self.facts.containers(attribute)]

    def _scope(self) -> str:
        attribute = self.one.attribute
        if attribute is None or attribute == _HOST:
            return self.facts.problem.container_name
        return self.facts.scope(attribute, [value or None for value in self.values])

    # -- the finished assignment --------------------------------------------------------------------------------------

    def specs(self) -> Iterator[Spec]:
        """Yield what has to hold in the end."""
        kind, scope = self.one.type, self._scope()
        if kind == "ExclusiveHostConstraint":
            yield GroupConflictSpec(scope=scope, objects=self.facts.selection(self.tasks))
        elif kind == "HostAttrValueConstraint":
            for value, tasks in self._wanted().items():
                allowed = np.array([own == value and bool(own) for own in self.values], bool)
                yield from permitted(self.facts, np.array(tasks, np.int64), allowed)
        elif kind == "UniqueHostAttrConstraint":
            yield at_most(self.facts, scope, self.group, 1, "refuse")
        else:
            yield SkewSpec(
                scope=scope,
                objects=self.facts.selection(self.group),
                domains="used",
                min_domains=self.one.expected_values or 1,
                missing="refuse",
            )

    def _wanted(self) -> dict[str | None, list[int]]:
        """Return the wanted value -> the tasks that want it."""
        out: dict[str | None, list[int]] = {}
        for task in self.tasks.tolist():
            out.setdefault(self.one.value or self.one.values.get(self.facts.problem.objects[task]), []).append(task)
        return out

    def wish(self, weight: Fraction) -> Rule:
        """Return the constraint as something to wish for."""
        one, check = self.one, self.check()
        nuanced = one.type == "BalancedHostAttrConstraint" and not getattr(one, "as_soft", False)
        specs = [self._unevenness()] if nuanced else list(self.specs())
        among = frozenset(self.tasks.tolist())

        def all_or_nothing(state: State, obj: int, container: int) -> float | None:
            return None if obj not in among else float(check(state, obj, container) is None)

        score: Score = self._fitness if nuanced else all_or_nothing
        return Rule(
            f"soft {self.text}", self.path, wishes=tuple(Preference(spec, weight) for spec in specs), score=score
        )

    def _unevenness(self) -> Spec:
        """Return what the k-th task of a value costs: (k − 1) of the average, at most 1."""
        number = len(self.group)
        known = len({value for value in self.values if value})
        average = -(-number // max(1, self.one.expected_values or 1, known))
        whole = number if self.statement.soft_balance == "implemented" else average
        corners, cost = [Corner(count=0, cost=0)], Fraction(0)
        for count in range(1, number + 1):
            cost += min(Fraction(1), Fraction(count - 1, max(1, whole)))
            corners.append(Corner(count=count, cost=cost))
        scope, who = self._scope(), self.facts.selection(self.group)
        return CountCostSpec(scope=scope, objects=who, costs=tuple(corners))

    # -- one at a time ------------------------------------------------------------------------------------------------

    def check(self) -> Check:
        """Return Fenzo's own test of a host."""
        kind = self.one.type
        if kind == "ExclusiveHostConstraint":
            return self._alone
        if kind == "HostAttrValueConstraint":
            checks = [
                permitted_check(
                    np.array(tasks, np.int64),
                    np.array([own == value and bool(own) for own in self.values], bool),
                    [f"its value is '{own or ''}', not '{value}'" for own in self.values],
                )
                for value, tasks in self._wanted().items()
            ]
            return lambda state, obj, container: next(
                (reason for test in checks if (reason := test(state, obj, container)) is not None), None
            )
        return self._unique if kind == "UniqueHostAttrConstraint" else self._balanced

    def _alone(self, state: State, obj: int, container: int) -> str | None:
        there = np.flatnonzero(state.where == container)
        if obj in self.tasks and len(there):
            return f"'{self.facts.problem.objects[int(there[0])]}' is there"
        owners = np.intersect1d(there, self.tasks)
        return f"'{self.facts.problem.objects[int(owners[0])]}' has it for itself" if len(owners) else None

    def _seen(self, state: State) -> list[str | None]:
        """Return the values of the hosts of the co-tasks."""
        running = state.running(self.co_tasks)
        return [self.values[at] or None for at in state.where[running].tolist()]

    def _unusable(self, seen: list[str | None], container: int) -> str | None:
        if not self.values[container]:
            return f"it has no '{self.one.attribute}'"
        return f"a co-task is on a host without '{self.one.attribute}'" if None in seen else None

    def _unique(self, state: State, obj: int, container: int) -> str | None:
        if obj not in self.tasks:
            return None
        seen = self._seen(state)
        wrong = self._unusable(seen, container)
        value = self.values[container]
        return wrong or (f"a co-task is on '{value}' already" if value in seen else None)

    def _balanced(self, state: State, obj: int, container: int) -> str | None:
        if obj not in self.tasks:
            return None
        seen = self._seen(state)
        wrong, value = self._unusable(seen, container), self.values[container]
        used = Counter(seen)
        if wrong or not used[value]:
            return wrong
        most = max(used.values())
        least = min(filter(None, used.values())) if len(+used) >= (self.one.expected_values or 1) else 0
        return None if most == least or used[value] < most else f"'{value}' has {used[value]} already, another {least}"

    def _fitness(self, state: State, obj: int, container: int) -> float | None:
        """Return how far a value is below the average: 0 to 1."""
        if obj not in self.tasks:
            return None
        seen, value = self._seen(state), self.values[container]
        if self._unusable(seen, container):
            return 0.0
        used = Counter(seen)
        if self.statement.soft_balance == "implemented":
            if not used[value]:
                return 1.0
            average = len(seen) + int(len(used) == 1 and self.one.expected_values == 1)
        else:
            average = -(-(len(seen) + 1) // max(self.one.expected_values or 1, len(+used)))
        return max(0.0, (average - used[value]) / average)


def _text(value: Any) -> str | None:
    """Return an attribute as Fenzo reads it: what is no text is empty."""
    if value is None or isinstance(value, PlainText):
        return None if value is None else str(value)
    return value if isinstance(value, str) else "" if isinstance(value, Real | Mapping | list | tuple) else str(value)


__all__ = ["Fenzo", "HardConstraint", "SoftConstraint", "host_fitness", "parse", "weighted_average"]
