"""Marathon: the placement constraints of an app, ``[field, operator, value]``.

Follows Marathon's constraints page and its source up to 1.11. A field is ``hostname`` or ``@hostname``, ``@region``,
``@zone``, or an attribute of the agents. Values are compared as Mesos prints them (`mesos`). A container without the
attribute is refused by every operator except UNLIKE. Only instances of the same app, and of the current version, count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.dialects import base
from rebalancer.dialects.base import Check, Dialect, Rule, State, Translation
from rebalancer.dialects.facts import Facts
from rebalancer.dialects.java_regex import compile_java
from rebalancer.dialects.mesos import printed, printed_scalar
from rebalancer.dialects.permitted import permitted_rule
from rebalancer.problem import Fault, FaultList, Path, Problem, unknown_name
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.anchored_colocation import AnchoredColocationSpec
from rebalancer.specs.base import Spec
from rebalancer.specs.conditional_presence import ConditionalPresenceSpec
from rebalancer.specs.count_cost import Corner, CountCostSpec
from rebalancer.specs.fields import Name, Whole
from rebalancer.specs.selection import Objects
from rebalancer.specs.skew import SkewSpec

OPERATORS = ("CLUSTER", "GROUP_BY", "IS", "LIKE", "MAX_PER", "UNIQUE", "UNLIKE")
_HOST_FIELDS = ("hostname", "@hostname")
_FAULT_DOMAIN = ("@region", "@zone")
_WHOLE = re.compile(r"[+-]?\d+")
_SCALAR = re.compile(r"\d+(\.\d+)?")
#: What IS compares with: a scalar or a text, as Mesos writes them.
_IS_VALUE = re.compile(r"[A-Za-z0-9_/.-]*")


class Marathon(Dialect):
    """The constraints of one app of Marathon.

    Notes
    -----
    Every constraint holds for all instances of the app. Those of other versions of the app do not count, and nothing
    is asked of them. Two generations of GROUP_BY exist: ``documented`` balances over the values in use, and at least
    over as many as it names; ``quota``, since October 2020, never uses more values than it names.
    """

    key: ClassVar[str] = "marathon"
    sources: ClassVar[str] = "Marathon 1.4 to 1.11 (the constraints page, and the source after October 2020 as `quota`)"

    app: Name | None = Field(None, description="The app: its instances are the objects whose attribute 'app' it is.")
    objects: Objects | None = Field(None, description="The instances, where no attribute or partition tells the app.")
    constraints: tuple[tuple[Name, ...], ...] = Field(description="[field, operator] or [field, operator, value].")
    instances: Annotated[Whole, Field(ge=0)] | None = Field(
        None, description="How many instances the app should have (for the quota of GROUP_BY); left out: those there."
    )
    version: Name | None = Field(
        None, description="Only objects whose attribute 'version' is this one are instances; left out: all versions."
    )
    local_region: Name | None = Field(
        None, description="Region of the masters: unless @region or @zone is constrained, others are refused."
    )
    group_by: Literal["documented", "quota"] = Field("documented", description="Which generation of GROUP_BY.")

    def other_faults(self, facts: Facts, faults: FaultList) -> None:
        """Report what is wrong with the constraints."""
        self._parsed(faults)

    def _parsed(self, faults: FaultList) -> list[Constraint]:
        """Return the constraints that are in order."""
        parsed = [
            constraint
            for position, words in enumerate(self.constraints)
            if (constraint := parse_constraint(words, ("constraints", position), faults)) is not None
        ]
        if self.group_by == "quota":
            faults.extend(map(_no_quota, (one for one in parsed if one.operator == "GROUP_BY" and not one.value)))
        return parsed

    def rules(self, facts: Facts, faults: FaultList) -> list[Rule]:
        """Return a rule per constraint, and the one about the local region."""
        parsed = self._parsed(faults)
        instances = self._instances(facts, faults)
        if faults:
            return []
        app = _App(self, facts, instances)
        return app.rules(parsed)

    def _instances(self, facts: Facts, faults: FaultList) -> IntArray:
        """Return the objects that the constraints are about."""
        if self.objects is not None:
            chosen = np.zeros(len(facts.problem.objects), bool)
            chosen[self.objects.members(facts.problem)] = True
        elif self.app is None:
            faults.report("missing-field", "'app' is missing: whose constraints are these?", (), "app")
            return np.empty(0, np.int64)
        else:
            apps = facts.texts("app")
            chosen = np.array([self.app in own for own in apps], bool)
            if not chosen.any():
                known = sorted({name for own in apps for name in own})
                faults.append(unknown_name("app", self.app, known, ("app",)))
        if self.version is not None:
            chosen &= np.array([self.version in own for own in facts.texts("version")], bool)
        return np.flatnonzero(chosen)


def parse(problem: Problem, **statement: Any) -> Translation:
    """Return what the constraints of an app mean on a problem.

    Parameters
    ----------
    problem : Problem
    **statement
        The fields of `Marathon`: ``app="/web", constraints=[["rack_id", "GROUP_BY", "3"]]``.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    return base.parse(Marathon, problem, statement)


# -- syntax -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constraint:
    """One constraint.

    Parameters
    ----------
    field, operator, value : str
        The operator in capitals; an empty value is one that was not given.
    path : tuple
        Where it stands.
    """

    field: str
    operator: str
    value: str
    path: Path

    @property
    def text(self) -> str:
        """The constraint as one line."""
        return " ".join(filter(None, (self.field, self.operator, self.value)))


def parse_constraint(words: tuple[str, ...], path: Path, faults: FaultList) -> Constraint | None:
    """Return a constraint; what is wrong with it goes to ``faults``."""
    before = len(faults)
    if not 2 <= len(words) <= 3:
        message = f"a constraint is [field, operator] or [field, operator, value], got {len(words)} words"
        faults.report("marathon-syntax", message, path)
        return None
    field, operator, value = words[0], words[1].upper(), words[2] if len(words) == 3 else ""
    if not field:
        faults.report("marathon-syntax", "the field of a constraint is empty", (*path, 0), field)
    if operator not in OPERATORS:
        faults.append(unknown_name("operator", words[1], OPERATORS, (*path, 1)))
    elif (wrong := _wrong_value(operator, value, len(words) == 3)) is not None:
        faults.report("marathon-syntax", wrong, (*path, len(words) - 1), words[-1])
    return Constraint(field, operator, value, path) if len(faults) == before else None


def _wrong_value(operator: str, value: str, given: bool) -> str | None:
    """Return what is wrong with the value of an operator."""
    if operator == "UNIQUE" and value:
        return f"UNIQUE takes no value, got '{value}'"
    if operator == "MAX_PER" and not _WHOLE.fullmatch(value):
        return f"MAX_PER needs a whole number, got '{value}'"
    if operator == "GROUP_BY" and value and not _WHOLE.fullmatch(value):
        return f"GROUP_BY takes a whole number or nothing, got '{value}'"
    if operator in ("LIKE", "UNLIKE"):
        if not given:
            return f"{operator} needs a regular expression; '.*' is any value"
        try:
            compile_java(value)
        except ValueError as error:
            return f"{operator} '{value}': {error}"
    if operator == "IS":
        if not given:
            return "IS needs a value"
        if not _IS_VALUE.fullmatch(value):
            return f"IS compares with a scalar or a text of letters, digits and '_/.-', got '{value}'"
    return None


def _no_quota(constraint: Constraint) -> Fault:
    message = "GROUP_BY without a number has no quota: say how many values, or 'group_by: documented'"
    return Fault("marathon-syntax", message, constraint.path)


# -- meaning ----------------------------------------------------------------------------------------------------------


class _App:
    """Turns the constraints of one app into rules."""

    def __init__(self, statement: Marathon, facts: Facts, instances: IntArray) -> None:
        self.statement = statement
        self.facts = facts
        self.instances = instances
        self.total = len(instances) if statement.instances is None else statement.instances
        #: Containers that no constraint on single containers refuses.
        self.eligible = np.ones(len(facts.problem.containers), bool)

    def rules(self, constraints: list[Constraint]) -> list[Rule]:
        """Return the rules; those on single containers first, as GROUP_BY asks which values are left."""
        rules: dict[int, Rule] = {}
        for position, one in enumerate(constraints):
            if one.operator in ("LIKE", "UNLIKE", "IS") or (one.operator == "CLUSTER" and one.value):
                rules[position] = self._permitted(one)
        local = self._local_region(constraints)
        for position, one in enumerate(constraints):
            if position not in rules:
                rules[position] = _TOGETHER[one.operator](self, one)
        return [*(rules[position] for position in range(len(constraints))), *local]

    def values(self, constraint: Constraint) -> list[str | None]:
        """Return the value of the field in each container, as Mesos prints it."""
        field = constraint.field
        if field in _HOST_FIELDS:
            return list(self.facts.problem.containers)
        if field in _FAULT_DOMAIN and not self.facts.knows(field):
            field = field[1:]
        self.facts.note_unknown(field, (*constraint.path, 0))
        attribute = ("container", field) in self.facts.problem.attributes
        values = self.facts.containers(field)
        return [printed(value) if attribute else value for value in values]

    def scope(self, constraint: Constraint) -> str:
        """Return the scope of the values of the field."""
        if constraint.field in _HOST_FIELDS:
            return self.facts.problem.container_name
        return self.facts.scope(constraint.field, self.values(constraint))

    # -- one container at a time --------------------------------------------------------------------------------------

    def _permitted(self, one: Constraint) -> Rule:
        values = self.values(one)
        allowed = np.array(list(map(_predicate(one), values)), bool)
        self.eligible &= allowed
        reasons = [self._reason(one, value) for value in values]
        return permitted_rule(self.facts, one.text, one.path, self.instances, allowed, reasons)

    def _reason(self, one: Constraint, value: str | None) -> str:
        return f"its value is '{value}'" if value is not None else _lacks(one)

    def _local_region(self, constraints: list[Constraint]) -> list[Rule]:
        """Return the rule that nobody states: other regions are for those who ask for a region or a zone."""
        local = self.statement.local_region
        if local is None or any(one.field in _FAULT_DOMAIN for one in constraints):
            return []
        regions = self.values(Constraint("@region", "IS", local, ("local_region",)))
        allowed = np.array([region is None or region == local for region in regions], bool)
        self.eligible &= allowed
        reasons = [f"region '{region}' is not the local region '{local}'" for region in regions]
        return [
            permitted_rule(self.facts, f"local region {local}", ("local_region",), self.instances, allowed, reasons)
        ]

    # -- all instances together ---------------------------------------------------------------------------------------

    def cluster(self, one: Constraint) -> Rule:
        """CLUSTER without a value: all on one value, whichever it is."""
        who = self.facts.selection(self.instances)
        spec = AnchoredColocationSpec(scope=self.scope(one), objects=who, missing="refuse")

        def reason(value: str, here: Counter[str | None]) -> str | None:
            taken = next((other for other in here if other is not None), value)
            return None if value == taken else f"the other instances are on '{taken}', this is '{value}'"

        return self._together(one, (spec,), reason)

    def at_most(self, one: Constraint) -> Rule:
        """Read UNIQUE and MAX_PER n: so many on each value. Even MAX_PER 0 lets the first one in."""
        most = 1 if one.operator == "UNIQUE" else max(1, int(one.value))

        def reason(value: str, here: Counter[str | None]) -> str | None:
            return f"'{value}' has {here[value]} already" if here[value] >= most else None

        return self._together(one, (self._limit(one, most),), reason)

    def group_by(self, one: Constraint) -> Rule:
        """GROUP_BY, in the generation that the statement asks for."""
        return self._quota(one) if self.statement.group_by == "quota" else self._balanced(one)

    def _balanced(self, one: Constraint) -> Rule:
        """Even over the values in use, and over n of them at least.

        Without n all values are known from the start here, while Marathon takes them as they are offered.
        """
        expected = max(0, int(one.value or 0))
        known = {
            value for value, fits in zip(self.values(one), self.eligible, strict=True) if fits and value is not None
        }
        spec = SkewSpec(
            scope=self.scope(one),
            objects=self.facts.selection(self.instances),
            domains="used",
            min_domains=expected or len(known),
            missing="refuse",
        )

        def reason(value: str, here: Counter[str | None]) -> str | None:
            here = Counter({other: count for other, count in here.items() if other is not None})
            if not here[value]:
                return None
            if len(here) < expected:
                return f"'{value}' is in use, and only {len(here)} of {expected} values are"
            least = min(here.values())
            return f"'{value}' has {here[value]}, another value {least}" if here[value] > least else None

        return self._together(one, (spec,), reason)

    def _quota(self, one: Constraint) -> Rule:
        """Exactly n values, with N div n or one more on each."""
        number = max(1, int(one.value))
        quota, rest = divmod(self.total, number)
        who, scope = self.facts.selection(self.instances), self.scope(one)
        over = (Corner(count=quota, cost=0), Corner(count=quota + 1, cost=1))
        specs: tuple[Spec, ...] = (
            AnchoredColocationSpec(scope=scope, objects=who, limit=number, missing="refuse"),
            self._limit(one, quota + bool(rest)),
            CountCostSpec(scope=scope, objects=who, costs=over, budget=rest),
        )

        def reason(value: str, here: Counter[str | None]) -> str | None:
            if not here[value]:
                return f"{len(here)} of {number} values are in use" if len(here) >= number else None
            spent = sum(max(0, count - quota) for count in here.values())
            if here[value] < quota or (here[value] == quota and spent < rest):
                return None
            return f"'{value}' has its {here[value]} of {self.total}"

        return self._together(one, specs, reason)

    def _limit(self, one: Constraint, most: int) -> Spec:
        who = self.facts.selection(self.instances)
        return ConditionalPresenceSpec(
            scope=self.scope(one), source=who, target=who, max=most, count_self=True, missing="refuse"
        )

    def _together(
        self, one: Constraint, specs: tuple[Spec, ...], reason: Callable[[str, Counter[str | None]], str | None]
    ) -> Rule:
        """Return a rule that looks at how many instances each value has."""
        return Rule(one.text, one.path, specs, check=_counting(one, self.values(one), self.instances, reason))


def _counting(
    one: Constraint,
    values: list[str | None],
    instances: IntArray,
    reason: Callable[[str, Counter[str | None]], str | None],
) -> Check:
    among = frozenset(instances.tolist())

    def check(state: State, obj: int, container: int) -> str | None:
        if obj not in among:
            return None
        value = values[container]
        if value is None:
            return _lacks(one)
        here = Counter(values[at] for at in state.where[state.running(instances)].tolist())
        return reason(value, here)

    return check


_TOGETHER: dict[str, Callable[[_App, Constraint], Rule]] = {
    "CLUSTER": _App.cluster,
    "GROUP_BY": _App.group_by,
    "MAX_PER": _App.at_most,
    "UNIQUE": _App.at_most,
}


def _predicate(one: Constraint) -> Callable[[str | None], bool]:
    """Return which values an operator on single containers accepts."""
    if one.operator in ("LIKE", "UNLIKE"):
        pattern, wanted = compile_java(one.value), one.operator == "LIKE"
        if not one.value:  # an empty pattern never matches, not even an empty value; and UNLIKE refuses what is there
            return (lambda value: False) if wanted else (lambda value: value is None)
        if wanted:
            return lambda value: value is not None and pattern.fullmatch(value) is not None
        return lambda value: value is None or pattern.fullmatch(value) is None
    expected = one.value
    if one.operator == "IS" and _SCALAR.fullmatch(expected):
        expected = printed_scalar(float(expected))
    return lambda value: value == expected


def _lacks(one: Constraint) -> str:
    return f"it has no '{one.field}'"


__all__ = ["OPERATORS", "Constraint", "Marathon", "parse", "parse_constraint"]
