"""The section ``plan`` of a scenario: how many moves may be in flight together, and what else a plan may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

from rebalancer.problem import Fault, InputError, Names, Path, Problem, unknown_name
from rebalancer.scenario.values import Seconds, at_least, or_empty
from rebalancer.specs.fields import Flag, Name, Number, Part, Whole

_Count: TypeAlias = Annotated[Whole, at_least(0)]
_Amount: TypeAlias = Annotated[Number, at_least(0)]


class Cap(Part):
    """How many moves at once: for all, and for some by name."""

    default: _Count | None = Field(None, description="For all that are not listed; left out: as many as there are.")
    values: Annotated[Mapping[Name, _Count], or_empty({})] = Field({}, description="Name: how many.")


def _cap(value: Any) -> Any:
    return value if value is None or isinstance(value, Mapping | Cap) else {"default": value}


CapField: TypeAlias = Annotated[Cap, BeforeValidator(_cap, json_schema_input_type=int | Cap)]


class PlanOptions(Part):
    """How moves are ordered and carried out."""

    max_in_flight: _Count | None = Field(None, description="Moves in flight together.")
    max_in_per_container: CapField | None = Field(None, description="Moves in flight into a container.")
    max_out_per_container: CapField | None = Field(None, description="Moves in flight out of a container.")
    max_per_scope_item: Annotated[Mapping[Name, CapField], or_empty({})] = Field(
        {}, description="Scope: moves in flight into or out of an item, those within it once."
    )
    max_per_group: Annotated[Mapping[Name, CapField], or_empty({})] = Field(
        {}, description="Partition: objects of a group in flight together (a disruption budget)."
    )
    max_amount: Annotated[Mapping[Name, _Amount], or_empty({})] = Field(
        {}, description="Dimension: the amount in flight together; of a vector, in each component."
    )
    staging: Flag = Field(True, description="Whether an object may wait on a third container where no order works.")
    exact_time: Seconds = Field(
        5.0, description="Time for proving the fewest waves, counted as work, so that every run gives the same plan."
    )
    expires: Seconds | None = Field(
        None, description="How long after it was made a plan may be started or gone on with; left out: for ever."
    )


#: Fields of `PlanOptions` that limit what is in flight together.
CAPS = (
    "max_in_flight", "max_in_per_container", "max_out_per_container", "max_per_scope_item", "max_per_group",
    "max_amount",
)  # fmt: skip


def with_fields(options: PlanOptions, fields: Mapping[str, Any]) -> PlanOptions:
    """Return options with some fields stated anew, in any form that a file may have them.

    Raises
    ------
    InputError
        With everything that is wrong with the fields.
    """
    from rebalancer.scenario.settle import settle

    settled = settle(PlanOptions, dict(fields), ("plan",), "the plan")
    if settled.faults or settled.value is None:
        raise InputError(settled.faults)
    stated: PlanOptions = settled.value
    return options.model_copy(update={name: getattr(stated, name) for name in stated.model_fields_set})


def plan_faults(options: PlanOptions, problem: Problem) -> Iterator[Fault]:
    """Yield the names in a plan section that do not exist; paths start at its fields."""
    containers = problem.containers
    for field in ("max_in_per_container", "max_out_per_container"):
        cap: Cap | None = getattr(options, field)
        if cap is not None:
            yield from _unknown(cap, problem.container_name, containers, (field,))
    for name, cap in options.max_per_scope_item.items():
        path: Path = ("max_per_scope_item", name)
        if name not in problem.scopes:
            yield unknown_name("scope", name, list(problem.scopes), path)
        else:
            yield from _unknown(cap, name, problem.scopes[name].items, path)
    for name, cap in options.max_per_group.items():
        path = ("max_per_group", name)
        if name not in problem.partitions:
            yield unknown_name("partition", name, list(problem.partitions), path)
        else:
            yield from _unknown(cap, name, problem.partitions[name].groups, path)
    for name in options.max_amount:
        path = ("max_amount", name)
        if name not in problem.object_dimensions:
            yield unknown_name("dimension", name, list(problem.object_dimensions), path)
        elif problem.dimension(name).smallest < 0:
            message = f"dimension '{name}' has negative amounts, so what is in flight of it has no cap"
            yield Fault("negative-amount", message, path, name)


def _unknown(cap: Cap, what: str, known: Names, path: Path) -> Iterator[Fault]:
    for name in cap.values:
        if name not in known:
            yield unknown_name(what, name, known, (*path, name))
