"""What may stand in a job file: its sections and their fields."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from rebalancer.problem import PlainText, to_fraction
from rebalancer.problem.numbers import WrongValue
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.scenario.sections import SolveOptions, TableSource
from rebalancer.scenario.values import PLAIN, Seconds, at_least, one_or_many, or_empty
from rebalancer.specs.fields import Name, Part, Whole

#: A snapshot that lost more than this since the last accepted run is refused, unless the job says otherwise.
MAX_SHRINK = Fraction(1, 10)
#: Characters of the name of a job: many databases have indices on short texts only.
LONGEST_NAME = 255


def _share(value: Any) -> Fraction:
    """Read ``10%`` or 0.1."""
    percent = isinstance(value, str) and value.endswith("%")
    try:
        number = to_fraction(PlainText(value[:-1].rstrip()) if percent else value)
    except ValueError:
        shown = "nothing" if value is None else f"'{value}'" if isinstance(value, str) else repr(value)
        raise ValueError(f"expected a number or a percentage such as 10%, got {shown}") from None
    return number / 100 if percent else number


def _from_zero_to_one(value: Fraction) -> Fraction:
    if not 0 <= value <= 1:
        raise WrongValue(
            f"out of range: expected a share between 0 and 1 (or 0% and 100%), got {float(value):g}", "out-of-range"
        )
    return value


def _one_or_more(value: int) -> int:
    if value < 1:
        raise WrongValue(f"out of range: expected 1 or more, got {value}", "out-of-range")
    return value


def _printable(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError(f"expected a name that can be printed on one line, got {value!r}")
    if len(value) > LONGEST_NAME:
        raise ValueError(f"expected a name of at most {LONGEST_NAME} characters, got one of {len(value)}")
    return value


#: A share of a whole: ``10%`` or 0.1.
Share: TypeAlias = Annotated[
    Fraction, BeforeValidator(_share, json_schema_input_type=str | float), AfterValidator(_from_zero_to_one)
]
#: How much better, relative to what it was: ``1%`` or 0.01.
Gain: TypeAlias = Annotated[Fraction, BeforeValidator(_share, json_schema_input_type=str | float), at_least(0)]


class KubernetesFiles(Part):
    """What `kubectl get … -o json` prints."""

    nodes: Name = Field(description="The nodes, relative to the job file.")
    pods: Name = Field(description="The pods of all namespaces.")
    pdbs: Name | None = Field(None, description="The PodDisruptionBudgets of all namespaces.")


class Taken(Part):
    """When the snapshot was taken."""

    file: Name | None = Field(None, description="A text file with the time in ISO 8601, relative to the job file.")
    query: Name | None = Field(None, description="SQL that returns the time: one row, one column.")
    url: Name | None = Field(None, description="The database; left out: that of the snapshot.")


class SnapshotOptions(Part):
    """Where tonight's state comes from, and when it is not to be trusted."""

    tables: Annotated[
        Mapping[
            Name,
            Annotated[
                tuple[TableSource, ...],
                one_or_many(TableSource, "a table"),
            ],
        ],
        or_empty({}),
    ] = Field({}, description="Table of the scenario: where its rows come from instead.")
    url: Name | None = Field(None, description="The database of all queries that name none.")
    kubernetes: KubernetesFiles | None = Field(None, description="A snapshot of a cluster, instead of tables.")
    taken: Taken | None = Field(
        None,
        description="When it was taken; left out: when the oldest of its files was written, or now for a database.",
    )
    max_age: Seconds | None = Field(None, description="A snapshot older than this is refused.")
    max_shrink: Share = Field(
        MAX_SHRINK,
        description="A snapshot is refused if objects, containers or the rows of some table became fewer by more than "
        "this share since the last accepted run; 100% accepts anything.",
    )


class Guards(Part):
    """What no night may do by itself."""

    max_moves: Annotated[Whole, at_least(0)] | None = Field(
        None, description="Most steps of a plan; steps that only make room count."
    )
    max_moved_fraction: Share | None = Field(None, description="Most objects that move, as a share of all.")
    when_exceeded: Annotated[Literal["refuse", "trim"], PLAIN] = Field(
        "refuse", description="refuse: no plan, exit code 8; trim: as many whole waves of the plan as are allowed."
    )
    min_gain: Gain | None = Field(
        None, description="Least gain, relative to the objective before, for which it is worth moving anything."
    )
    cool_down: Seconds | None = Field(
        None, description="What a plan of the history moved less than this ago stays, unless it is unplaced."
    )
    deadline: Seconds | None = Field(None, description="Time for the whole run; who passes it writes no plan.")


class Output(Part):
    """Where plans go."""

    folder: Name = Field("plans", description="Gets a folder per run, and `latest`; relative to the job file.")
    keep: Annotated[Whole, AfterValidator(_one_or_more)] | None = Field(
        None, description="How many folders stay; left out: all."
    )
    format: Name | None = Field(
        None, description="Also write plan.sh, one command per step, such as 'mv-task {object} {source} {destination}'."
    )


class JobFile(Part):
    """A job: which state to read, by which rules to place, what a plan must not exceed, and where it goes."""

    name: Annotated[Name, AfterValidator(_printable)] | None = Field(
        None, description="Name in lock, history and metrics; left out: that of the file, without its ending."
    )
    scenario: Name | None = Field(
        None,
        description="The rules, and whatever of the state does not come from the snapshot; relative to the job file. "
        "With a snapshot of Kubernetes it is optional, and holds what an included file may hold.",
    )
    snapshot: Annotated[SnapshotOptions, or_empty({})] = Field(
        SnapshotOptions(), description="Tonight's state; left out: the scenario's own."
    )
    solve: Annotated[SolveOptions, or_empty({})] = Field(SolveOptions(), description="Over the scenario's own `solve`.")
    plan: Annotated[PlanOptions, or_empty({})] = Field(PlanOptions(), description="Over the scenario's own `plan`.")
    guards: Annotated[Guards, or_empty({})] = Field(Guards(), description="What no night may do by itself.")
    output: Annotated[Output, or_empty({})] = Field(Output(), description="Where plans go.")
    history: Name | None = Field(
        None, description="SQLAlchemy URL of the history; left out: history.db beside the job file."
    )
    metrics: Name | None = Field(None, description="Prometheus text file to write, relative to the job file.")
    lock: Name | None = Field(None, description="Lock file; left out: NAME.lock beside the job file.")
