"""What every constraint language is: a validated statement in a system's own syntax that reads as rules.

A rule has two readings. Its specs say what a finished assignment has to look like, and any engine solves them beside
all others. Its check answers what the system itself would: may this one object go there now? The two differ where a
system places one at a time and never looks back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rebalancer.problem import UNPLACED, Fault, FaultList, InputError, Path, Problem, nearest
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec, reference_faults
from rebalancer.specs.fields import Part, together

if TYPE_CHECKING:
    from rebalancer.dialects.facts import Facts


@dataclass(frozen=True, eq=False)
class State:
    """Who is where at some moment, as a scheduler sees it that places one object after the other.

    Parameters
    ----------
    problem : Problem
    where : int array, one per object
        Container of each; -1: nowhere.
    """

    problem: Problem
    where: NDArray[np.integer[Any]]

    def running(self, objects: IntArray) -> IntArray:
        """Return those of some objects that are somewhere."""
        placed: IntArray = objects[self.where[objects] != UNPLACED]
        return placed

    def without(self, obj: int) -> State:
        """Return the state before an object was placed."""
        where = self.where.copy()
        where[obj] = UNPLACED
        return State(self.problem, where)


#: Whether an object may go to a container now: None, or the reason why not.
Check: TypeAlias = Callable[[State, int, int], str | None]


#: What a container scores for an object now, in the system's own units; None: the rule has nothing to say.
Score: TypeAlias = Callable[[State, int, int], float | None]


def _nothing(state: State, obj: int, container: int) -> None:
    return None


@dataclass(frozen=True, eq=False)
class Preference:
    """A spec to minimise, and what a unit of it weighs beside the other preferences of its statement."""

    spec: Spec
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule of a statement.

    Parameters
    ----------
    text : str
        The rule as its users know it, such as ``rack_id GROUP_BY 3``.
    path : tuple
        Where it stands in the statement.
    demands : tuple of Spec
        What has to hold in a finished assignment.
    wishes : tuple of Preference
        What is minimised.
    check : callable
        What the system itself asks before it places one object: see `Check`. It gets a state without that object.
    displaces : callable
        Asked like ``check``: why somebody has to be placed anew once the object is there; nothing is refused for that.
    score : callable
        By what the system itself prefers one place for that object to another: see `Score`.
    may_leave_out : bool
        Leaving an object out has a price here, so that being unplaced breaks nothing.
    leaving : tuple of str
        Objects that have to be in no container: that they are unplaced breaks nothing.
    """

    text: str
    path: Path
    demands: tuple[Spec, ...] = ()
    wishes: tuple[Preference, ...] = ()
    check: Check = _nothing
    displaces: Check = _nothing
    score: Score = _nothing
    may_leave_out: bool = False
    leaving: tuple[str, ...] = ()


class Dialect(Part):
    """A statement in the language of one system. Subclasses give its fields and read them.

    Attributes
    ----------
    key : str
        Name in YAML, such as ``marathon``.
    sources : str
        Which versions of the system it follows.
    ruling : tuple of str
        Fields that make rules, where none of them is needed by itself: one at least has to be stated.
    """

    key: ClassVar[str] = ""
    sources: ClassVar[str] = ""
    ruling: ClassVar[tuple[str, ...]] = ()

    @together
    def _says_something(self) -> None:
        if self.ruling and not self.model_fields_set.intersection(self.ruling):
            fields = ", ".join(f"'{name}'" for name in self.ruling)
            raise ValueError(f"no rules are stated; they stand in {fields}")

    def other_faults(self, facts: Facts, faults: FaultList) -> None:
        """Report what is wrong beside names that do not exist, which keep the rules from being read."""

    @abstractmethod
    def rules(self, facts: Facts, faults: FaultList) -> list[Rule]:
        """Return what the statement means on a problem.

        Parameters
        ----------
        facts : Facts
            What is known about objects and containers; takes the scopes that the rules need.
        faults : FaultList
            Gets everything that is wrong; paths start at the fields of the statement.
        """


@dataclass(frozen=True, eq=False)
class Translation:
    """What a statement means on a problem.

    Parameters
    ----------
    problem : Problem
        The problem with the scopes that the specs need.
    rules : tuple of Rule
    warnings : tuple of Fault
        What is legal but surprising; paths start at the fields of the statement.
    """

    problem: Problem
    rules: tuple[Rule, ...]
    warnings: tuple[Fault, ...] = ()

    @property
    def constraints(self) -> list[Spec]:
        """The specs that have to hold, rule by rule."""
        return [spec for rule in self.rules for spec in rule.demands]

    @property
    def goals(self) -> list[Preference]:
        """The specs to minimise, rule by rule."""
        return [wish for rule in self.rules for wish in rule.wishes]


def translate(statement: Dialect, facts: Facts) -> Translation:
    """Return what a statement means on a problem.

    Parameters
    ----------
    statement : Dialect
    facts : Facts
        About the problem; what they learned for one statement serves the next.

    Raises
    ------
    InputError
        With everything that is wrong with the statement; paths start at its fields.
    """
    faults = FaultList(reference_faults(statement, cast("Spec", statement), facts.problem, ()))
    if faults:
        statement.other_faults(facts, faults)
    faults.raise_if_any()
    facts.warnings = []
    rules = statement.rules(facts, faults)
    faults.raise_if_any()
    return Translation(facts.problem, tuple(rules), tuple(facts.warnings))


def parse(dialect: type[Dialect], problem: Problem, fields: Mapping[str, Any]) -> Translation:
    """Return what a statement, given by its fields, means on a problem.

    Raises
    ------
    InputError
        With every field that is wrong, or everything that is wrong with their content.
    """
    from rebalancer.dialects.facts import Facts

    if not isinstance(problem, Problem):
        message = f"problem: expected that of a solver, got {problem!r}; write solver.problem"
        raise InputError([Fault("wrong-type", message, ("problem",), problem)])
    try:
        statement = dialect.model_validate(dict(fields))
    except ValidationError as error:
        raise InputError(_field_fault(dialect, part) for part in error.errors(include_url=False)) from None
    return translate(statement, Facts(problem, (statement,)))


def _field_fault(dialect: type[Dialect], error: Any) -> Fault:
    """Return what is wrong with a field; of a field that does not exist, the nearest one that does."""
    path, value = error["loc"], error.get("input")
    where = ".".join(map(str, (dialect.key, *path[:-1])))
    if error["type"] == "extra_forbidden":
        name = str(path[-1])
        close = nearest(name, dialect.model_fields) if len(path) == 1 else None
        hint = f"; did you mean '{close}'?" if close else ""
        return Fault("unknown-field", f"unknown field '{name}' of {where}{hint}", path, name, close)
    if error["type"] == "missing":
        return Fault("missing-field", f"missing field '{path[-1]}' of {where}", path[:-1], path[-1])
    return Fault("wrong-value", f"{'.'.join(map(str, (dialect.key, *path)))}: {error['msg']}", path, value)
