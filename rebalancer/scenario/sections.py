"""What may stand in a scenario file: its sections and their fields."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from rebalancer.problem import to_fraction
from rebalancer.problem.numbers import WrongValue
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.scenario.values import PLAIN, Seconds, at_least, one_or_many, or_empty
from rebalancer.settings import MOST_ITERATIONS, MOST_SEED, MOST_WORKERS
from rebalancer.specs.entries import InFlight, Policy
from rebalancer.specs.fields import Flag, Name, Number, Part, Whole, exact

#: Most objects that one entry of ``unassigned`` may make.
MOST_COPIES = 10_000_000
#: Positions up to this one are reported, the empty ones too.
MOST_POSITIONS = 9_999


def _real(value: Any) -> float:
    return float(to_fraction(value))


def _above_zero(value: Any) -> Any:
    step = exact(value)
    if step <= 0:
        raise WrongValue(f"out of range: expected a step above zero, got {float(step):g}", "out-of-range")
    if (1 / step).denominator != 1:
        raise WrongValue(
            f"out of range: a step must be 1 divided by a whole number, such as 0.01, got {float(step):g}",
            "out-of-range",
        )
    return value


def _columns(value: Any) -> Any:
    """Read a list of columns that are named like what they hold as a mapping."""
    if value is None:
        return {}
    if isinstance(value, str):
        raise ValueError(f"expected a list of columns, or a mapping to columns, got '{value}'; write [{value}]")
    if isinstance(value, list | tuple):
        for position, name in enumerate(value):
            if not isinstance(name, str):
                raise ValueError(f"expected names of columns, got {name!r}")
            if name in value[:position]:
                raise ValueError(f"the column '{name}' is listed twice")
        return {name: name for name in value}
    return value


_NAME_OR_NAMES = one_or_many(str)
Names: TypeAlias = Annotated[tuple[Name, ...], or_empty(())]
#: What the table holds -> column.
Columns: TypeAlias = Annotated[
    Mapping[Name, Name], BeforeValidator(_columns, json_schema_input_type=Mapping[str, str] | list[str])
]
Groups: TypeAlias = Annotated[Mapping[Name, Annotated[Mapping[Name, Names], or_empty({})]], or_empty({})]
#: One number, or a list of numbers.
Targets: TypeAlias = Annotated[tuple[Number, ...], one_or_many(float, "a number")]
Engine: TypeAlias = Literal["auto", "cpsat", "local_search", "neighbourhood"]


class SolveOptions(Part):
    """How to solve, unless the caller says otherwise."""

    engine: Annotated[Engine, PLAIN] = Field("auto", description="What searches.")
    time_limit: Seconds = Field(60.0, description="Seconds, or a duration such as 60s, 5m, 1h30m.")
    gap: Annotated[float, BeforeValidator(_real), at_least(0)] = Field(
        0.0, description="Stop when every position is proven this close, relative to its value."
    )
    seed: Annotated[Whole, at_least(0, MOST_SEED)] = Field(0, description="The same seed gives the same choices.")
    workers: Annotated[Whole, at_least(1, MOST_WORKERS)] = Field(2, description="How many searchers.")
    deterministic: Flag = Field(False, description="The same answer on every run, whatever the threads.")
    iterations: Annotated[Whole, at_least(1, MOST_ITERATIONS)] | None = Field(
        None, description="Rounds of search after which to stop."
    )
    deterministic_time: Seconds | None = Field(
        None, description="Seconds of counted work instead of time_limit; implies deterministic."
    )
    target: Targets | None = Field(
        None,
        description="Values of the first tuple positions that are good enough; a number is that of the first.",
    )
    patience: Seconds | None = Field(None, description="Time without a better answer after which to stop.")


class TableSource(Part):
    """Where the rows of a table come from: a file, or a query."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["file", "query"]}})

    file: Name | None = Field(None, description="CSV or Parquet, relative to the file that names it.")
    query: Name | None = Field(None, description="Instead of a file: an SQL query, one SELECT.")
    url: Name | None = Field(
        None,
        description="The database of the query, as SQLAlchemy writes it, such as sqlite:///inventory.db; ${NAME} is "
        "read from the environment.",
    )


class TableFile(TableSource):
    """A table of objects, of containers, or of the items of a scope."""

    key: Name = Field(description="The column with the names.")
    container: Name | None = Field(
        None, description="Of objects: the column with the container of each; an empty field means unplaced."
    )
    dimensions: Columns = Field({}, description="Dimension: column. A list where both have the same names.")
    partitions: Columns = Field(
        {}, description="Of objects: partition: column with the group of each; an empty field means none."
    )
    scopes: Columns = Field(
        {}, description="Of containers: scope: column with the item of each; an empty field means none."
    )
    attributes: Columns = Field({}, description="Attribute: column.")


class Unassigned(Part):
    """Objects that are in no container."""

    name: Name = Field(description="The object; with a count, web makes web-0, web-1, …")
    count: Annotated[Whole, at_least(1, MOST_COPIES)] | None = Field(None, description="How many objects of this kind.")
    dimensions: Annotated[Mapping[Name, Any], or_empty({})] = Field(
        {}, description="Dimension: what each of them uses."
    )
    partitions: Annotated[Mapping[Name, Annotated[tuple[Name, ...], _NAME_OR_NAMES]], or_empty({})] = Field(
        {}, description="Partition: the group, or list of groups, that each of them is in."
    )
    attributes: Annotated[Mapping[Name, Any], or_empty({})] = Field({}, description="Attribute: value.")


class DynamicAmounts(Part):
    """What objects use depending on the scope item they are in."""

    scope: Name = Field(description="Scope whose items decide.")
    default: Any = Field(0, description="For all pairs that are not listed, and outside the scope.")
    values: Annotated[Mapping[Name, Annotated[Mapping[Name, Any], or_empty({})]], or_empty({})] = Field(
        {}, description="Item: object: value."
    )


class LongAmounts(Part):
    """The long form of what objects use or scope items offer."""

    default: Any = Field(None, description="For all that are not listed.")
    values: Annotated[Mapping[Name, Any], or_empty({})] = Field({}, description="Name: value.")


def _unassigned(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return {"name": value}
    if "count" in value and value["count"] is None:
        return {**value, "count": "nothing"}  # left empty is not left out
    return value


class IncludedFile(Part):
    """What an included file may add."""

    include: Annotated[tuple[Name, ...], _NAME_OR_NAMES] = Field(
        (), description="Files to read before this one, relative to it."
    )
    scopes: Groups = Field({}, description="Scope: item: containers. A container may be in no item.")
    partitions: Groups = Field({}, description="Partition: group: objects. Groups may overlap.")
    constraints: Annotated[tuple[Any, ...], or_empty(())] = Field((), description="What must hold.")
    goals: Annotated[tuple[Any, ...], or_empty(())] = Field((), description="What to minimise.")
    plan: Annotated[PlanOptions, or_empty({})] = Field(
        PlanOptions(), description="How moves are ordered and carried out."
    )


class ScenarioFile(IncludedFile):
    """A scenario: what is where, and what a good placement is."""

    object: Name = Field("object", description="What is placed.")
    container: Name = Field("container", description="Where it is placed.")
    assignment: Annotated[Mapping[Name, Names], or_empty({})] = Field(
        {}, description="Container: its objects. List every container, empty ones too."
    )
    unassigned: Annotated[
        tuple[Annotated[Unassigned, BeforeValidator(_unassigned, json_schema_input_type=str | Unassigned)], ...],
        or_empty(()),
    ] = Field((), description="Objects in no container.")
    dimensions: Annotated[Mapping[Name, Annotated[Mapping[Name, Any], or_empty({})]], or_empty({})] = Field(
        {}, description="Dimension: where it lives (the objects, the containers, a scope, or 'dynamic'): values."
    )
    attributes: Annotated[
        Mapping[Name, Annotated[Mapping[Name, Annotated[Mapping[Name, Any], or_empty({})]], or_empty({})]], or_empty({})
    ] = Field({}, description="Objects or containers: name: attribute: value.")
    tables: Annotated[
        Mapping[
            Name,
            Annotated[
                tuple[TableFile, ...],
                one_or_many(TableFile, "a table"),
            ],
        ],
        or_empty({}),
    ] = Field({}, description="Objects, containers or a scope: the table, or list of tables, that states them.")
    policy: Policy = Field(Policy.DEFAULT, description="For all constraints that name none.")
    solve: Annotated[SolveOptions, or_empty({})] = Field(
        SolveOptions(), description="How to solve, unless the caller says otherwise."
    )
    resolution: Annotated[Mapping[Name, Annotated[Number, AfterValidator(_above_zero)]], or_empty({})] = Field(
        {}, description="Dimension: the step to which its values are rounded."
    )


class ConstraintOptions(Part):
    """What may stand beside the spec of a constraint."""

    name: Name | None = Field(None, description="Name in results and messages.")
    policy: Policy | None = Field(None, description="What to do if the initial assignment breaks it.")
    invalid_cost: Annotated[Number, at_least(0)] = Field(
        Fraction(100), description="What a violation of 1 costs while it is being fixed."
    )
    invalid_state: Annotated[Number, at_least(0)] = Field(
        Fraction(10000), description="What a broken component costs while it is being fixed."
    )
    tuple_pos_if_broken: Annotated[Whole, at_least(0, MOST_POSITIONS)] = Field(
        0, description="Position of the fix-it goal in the objective."
    )
    in_flight: InFlight | None = Field(
        None, description="When it must hold during a plan; left out, as the kind of the constraint suggests."
    )


class GoalOptions(Part):
    """What may stand beside the spec of a goal."""

    name: Name | None = Field(None, description="Name in results and messages.")
    weight: Number = Field(Fraction(1), description="Factor within its position.")
    tuple_pos: Annotated[Whole, at_least(0, MOST_POSITIONS)] = Field(
        0, description="Position in the objective: lower ones come first."
    )


class RulesOptions(ConstraintOptions):
    """What may stand beside the rules of another scheduler: options of the constraints and goals that they become."""

    weight: Number = Field(Fraction(1), description="Factor of its preferences.")
    tuple_pos: Annotated[Whole, at_least(0, MOST_POSITIONS)] = Field(
        0, description="Position of its preferences in the objective: lower ones come first."
    )


def is_long_form(value: Mapping[str, Any]) -> bool:
    """Return whether what stands below a dimension is the long form: ``values`` holds a mapping, which no amount is."""
    return isinstance(value.get("values"), Mapping) or set(value) == {"default", "values"}
