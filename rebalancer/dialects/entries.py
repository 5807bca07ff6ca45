"""A statement in use: as constraints with their policy and goals with their weight, and as checks of single moves."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from rebalancer.dialects.base import Dialect, Rule, State, translate
from rebalancer.dialects.facts import Facts
from rebalancer.problem import Fault, FaultList, InputError, Path, Problem
from rebalancer.specs.entries import IMPLICIT, Constraint, Goal, InFlight, Policy
from rebalancer.specs.placed import PlacedSpec


@dataclass(frozen=True)
class Rules:
    """A statement to hold.

    Parameters
    ----------
    statement : Dialect
    name : str, optional
        Its rules are called ``<name>: <rule>``; ``<key>#<n>`` stands in for a name.
    policy, invalid_cost, invalid_state, tuple_pos_if_broken, in_flight
        Of the constraints that it makes, as for any constraint.
    weight, tuple_pos
        Of the goals that it makes, as for any goal.
    path : tuple
        Where the entry stands.
    """

    statement: Dialect
    name: str | None = None
    policy: Policy = Policy.DEFAULT
    invalid_cost: Fraction = Fraction(100)
    invalid_state: Fraction = Fraction(10000)
    tuple_pos_if_broken: int = 0
    weight: Fraction = Fraction(1)
    tuple_pos: int = 0
    path: Path = field(default=(), compare=False)
    in_flight: InFlight | None = None


@dataclass(frozen=True)
class Refusal:
    """Why an object may not go to a container.

    Parameters
    ----------
    rule : str
        Name of the rule, as in tables of constraints.
    reason : str
    """

    rule: str
    reason: str


@dataclass(frozen=True, eq=False)
class NamedRule:
    """A rule, what tables call it, and whether it has to hold or is only wished for."""

    name: str
    rule: Rule
    policy: Policy


@dataclass(frozen=True, eq=False)
class Expansion:
    """What a list of entries becomes when its statements are translated.

    Parameters
    ----------
    problem : Problem
        With the scopes that the rules need.
    constraints : list of Constraint
    goals : list of Goal
    rules : list of NamedRule
        The rules of all statements.
    made : frozenset of str
        Names of the constraints and goals that come from statements.
    faults, warnings : list of Fault
    """

    problem: Problem
    constraints: list[Constraint]
    goals: list[Goal]
    rules: list[NamedRule]
    made: frozenset[str]
    faults: FaultList
    warnings: list[Fault]


def expand(problem: Problem, entries: Iterable[Constraint | Goal | Rules], taken: Collection[str] = ()) -> Expansion:
    """Return the entries with every statement replaced by what it means, in the order in which they stand.

    Where a rule prices what is left out, and nobody states ``placed``, that constraint is there without a cost; where
    one takes objects out, it is about the others.

    Parameters
    ----------
    problem : Problem
    entries : iterable of Constraint, Goal or Rules
    taken : collection of str
        Names that rules have which were translated before.
    """
    constraints: list[Constraint] = []
    goals: list[Goal] = []
    rules: list[NamedRule] = []
    made: set[str] = set(taken)
    faults = FaultList()
    warnings: list[Fault] = []
    counts: dict[str, int] = {}
    every = list(entries)
    facts = Facts(problem, [entry.statement for entry in every if isinstance(entry, Rules)])
    for entry in every:
        if isinstance(entry, Constraint):
            constraints.append(entry)
        elif isinstance(entry, Goal):
            goals.append(entry)
        else:
            key = entry.statement.key
            counts[key] = counts.get(key, 0) + (entry.name is None)
            prefix = (*entry.path, key)
            try:
                translation = translate(entry.statement, facts)
            except InputError as error:
                faults.extend(fault.below(prefix) for fault in error.faults)
                continue
            warnings.extend(fault.below(prefix) for fault in translation.warnings)
            base = entry.name or f"{key}#{counts[key]}"
            for rule in translation.rules:
                name = _free(f"{base}: {rule.text}", made)
                demands, wishes = _entries(rule, entry, name)
                constraints += demands
                goals += wishes
                made.update((name, *(str(one.name) for one in demands), *(str(one.name) for one in wishes)))
                rules.append(NamedRule(name, rule, entry.policy))
    if not any(isinstance(entry.spec, PlacedSpec) for entry in constraints):
        constraints += _placed(facts.problem, [named.rule for named in rules])
    return Expansion(facts.problem, constraints, goals, rules, frozenset(made), faults, warnings)


def _placed(problem: Problem, rules: list[Rule]) -> list[Constraint]:
    """Return the constraint ``placed`` where rules let objects be unplaced; the implicit one does otherwise."""
    if any(rule.may_leave_out for rule in rules):
        free = Fraction(0)
        return [Constraint(PlacedSpec(), IMPLICIT, Policy.SOFT, free, free)]
    leaving = {name for rule in rules for name in rule.leaving}
    if not leaving:
        return []
    return [Constraint(PlacedSpec(objects=tuple(name for name in problem.objects if name not in leaving)), IMPLICIT)]


def _free(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name} ({number})"
    return candidate


def _entries(rule: Rule, entry: Rules, name: str) -> tuple[list[Constraint], list[Goal]]:
    """Return the constraints and goals of a rule. The specs of one rule are told apart by their keys."""
    count = len(rule.demands) + len(rule.wishes)
    titles: dict[str, None] = {}  # an ordered set
    for spec in (*rule.demands, *(wish.spec for wish in rule.wishes)):
        titles[name if count == 1 else _free(f"{name} [{spec.key}]", set(titles))] = None
    made = iter(titles)
    constraints = [
        Constraint(
            spec,
            next(made),
            entry.policy,
            entry.invalid_cost,
            entry.invalid_state,
            entry.tuple_pos_if_broken,
            entry.path,
            entry.in_flight,
        )
        for spec in rule.demands
    ]
    goals = [
        Goal(wish.spec, next(made), entry.weight * wish.weight, entry.tuple_pos, entry.path) for wish in rule.wishes
    ]
    return constraints, goals


def refusals(rules: Iterable[NamedRule], state: State, obj: int, container: int) -> list[Refusal]:
    """Return which rules refuse that one object goes to a container now, each by its system's own way of asking.

    Rules of statements under the policy SOFT refuse nothing.

    Parameters
    ----------
    rules : iterable of NamedRule
    state : State
        Who is where; the object itself is taken out first.
    obj, container : int
        Indices.
    """
    before = state.without(obj)
    found = []
    for named in rules:
        if named.policy is not Policy.SOFT:
            reason = named.rule.check(before, obj, container)
            if reason is not None:
                found.append(Refusal(named.name, reason))
    return found


def displacements(rules: Iterable[NamedRule], state: State, obj: int, container: int) -> list[Refusal]:
    """Return which rules have somebody placed anew once an object is in a container, and why."""
    before = state.without(obj)
    found = ((named.name, named.rule.displaces(before, obj, container)) for named in rules)
    return [Refusal(name, reason) for name, reason in found if reason is not None]


def scores(rules: Iterable[NamedRule], state: State, obj: int, container: int) -> dict[str, float]:
    """Return what the rules that prefer something score a container for an object now, by name of the rule."""
    before = state.without(obj)
    found = {named.name: named.rule.score(before, obj, container) for named in rules}
    return {name: score for name, score in found.items() if score is not None}
