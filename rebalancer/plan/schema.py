"""What stands in ``plan.json``, as models: its published JSON schema and the check of files come from these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rebalancer.problem import Fault, Path
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.scenario.settle import settle

#: Faults of one file that are reported at most.
_REPORTED = 20


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


#: Waves count from 1; what needs more of them than fit into 32 bits is no plan of ours.
_Wave: TypeAlias = Annotated[int, Field(ge=1, lt=2**31)]
_Count: TypeAlias = Annotated[int, Field(ge=0)]


class StepRow(_Part):
    """One object's move."""

    id: str
    object: str
    source: str | None = Field(description="Where it comes from; null: it was in no container.")
    destination: str | None = Field(description="Where it goes; null: to no container.")
    wave: _Wave = Field(description="Steps of a wave may be in flight together, once the wave before is done.")
    after: list[str] = Field(description="Steps that must be done before it starts, without waiting for whole waves.")
    after_wave: _Wave | None = Field(None, description="All steps up to this wave must be done as well.")
    reason: str | None = Field(None, description="Why it is made, and made now.")


class UndoRow(StepRow):
    """One move of the way back."""

    undoes: str = Field(description="The step that it undoes.")


class StagingRow(_Part):
    """An object that waits in a third container."""

    object: str
    container: str
    step: str = Field(description="The step that takes it there.")
    until: str = Field(description="The step that fetches it.")


class BlockedRow(_Part):
    """A move that this plan does not carry out."""

    object: str
    source: str | None
    destination: str | None
    reasons: list[str]


class ExcessRow(_Part):
    """A cell that is above its limit on the way, and may be."""

    constraint: str
    item: str | None
    group: str | None
    first_wave: _Wave
    last_wave: _Wave
    amount: float = Field(ge=0, description="By how much, at most.")
    in_flight: Literal["always", "between_waves", "at_end"]


class PeakRow(_Part):
    """How much is in flight in a wave."""

    wave: _Wave
    steps: _Count
    amounts: dict[str, float] = Field(description="Dimension: the amount in flight.")
    objective: list[float] = Field(description="By tuple position, once the wave is done.")


class WavesPart(_Part):
    """How many waves, and how few there could be."""

    count: _Count
    lower_bound: _Count
    exact: bool


class TotalsPart(_Part):
    """Sums over the plan."""

    steps: _Count
    objects: _Count
    staged: _Count
    blocked: _Count
    blocked_at_least: _Count = Field(0, description="Every plan leaves so many moves blocked; 0: that is not proven.")


class BeyondCapsRow(_Part):
    """A cap that a wave of the way back exceeds."""

    wave: _Wave
    reason: str = Field(description="Which cap, and by how much.")


class RollbackPart(_Part):
    """The way back; from any wave onwards, those of its steps that undo what was done."""

    waves: _Count
    steps: list[UndoRow]
    beyond_caps: list[BeyondCapsRow] = Field(
        [], description="Waves that no way was found to split within the caps, so that what has to hold does."
    )


class PlanFile(_Part):
    """A plan of moves that is safe at every moment."""

    version: Literal[1]
    status: Literal["COMPLETE", "PARTIAL"]
    created: str = Field(description="ISO 8601.")
    expires: str | None = Field(None, description="ISO 8601: no step is to be started later than this.")
    inputs: dict[str, str] = Field(
        description="File: SHA-256, the scenario or job file first; of a query, by its database and table, of the rows."
    )
    waves: WavesPart
    totals: TotalsPart
    caps: dict[str, Any] = Field(description="The caps on moves in flight; who does not go wave by wave keeps them.")
    steps: list[StepRow]
    staging: list[StagingRow]
    blocked: list[BlockedRow]
    excess: list[ExcessRow]
    peaks: list[PeakRow]
    rollback: RollbackPart


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of ``plan.json``."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **PlanFile.model_json_schema()}


def plan_faults(content: Any) -> Iterator[Fault]:
    """Yield what is wrong with the content of a ``plan.json``; nothing: it is one."""
    try:
        PlanFile.model_validate(content)
    except ValidationError as error:
        for one in error.errors()[:_REPORTED]:
            path = tuple(one["loc"])
            place = ".".join(str(step) for step in path) or "the file"
            yield Fault("bad-plan", f"{place}: {one['msg']}", path, one.get("input"))
        return
    yield from _time_faults(content)
    yield from _cap_faults(content["caps"])
    yield from _step_faults(content["steps"], ("steps",))
    yield from _step_faults(content["rollback"]["steps"], ("rollback", "steps"))
    known = {row["id"] for row in content["steps"]}
    for row in content["staging"]:
        for end in ("step", "until"):
            if row[end] not in known:
                message = f"'{row['object']}' waits from '{row['step']}' to '{row['until']}': '{row[end]}' is no step"
                yield Fault("bad-plan", message, ("staging",), row[end])
    for row in content["excess"]:
        if row["last_wave"] < row["first_wave"]:
            message = f"what '{row['constraint']}' exceeds ends in wave {row['last_wave']}, before it begins"
            yield Fault("bad-plan", message, ("excess",), row["last_wave"])
    for row in content["rollback"]["steps"]:
        if row["undoes"] not in known:
            message = f"step '{row['id']}' undoes '{row['undoes']}', which is no step"
            yield Fault("bad-plan", message, ("rollback", "steps"), row["undoes"])


def _time_faults(content: Any) -> Iterator[Fault]:
    for name in ("created", "expires"):
        text = content.get(name)
        try:
            if text is None or datetime.fromisoformat(text).tzinfo is not None:
                continue
        except ValueError:
            pass
        yield Fault("bad-plan", f"{name}: '{text}' is no time in ISO 8601 with its zone", (name,), text)


def _cap_faults(caps: dict[str, Any]) -> Iterator[Fault]:
    for fault in settle(PlanOptions, caps, ("caps",), "caps").faults:
        yield replace(fault, code="bad-plan")


def _step_faults(steps: list[dict[str, Any]], path: Path) -> Iterator[Fault]:
    wave: dict[str, int] = {}
    for row in steps:
        if row["id"] in wave:
            yield Fault("bad-plan", f"the step '{row['id']}' is there twice", path, row["id"])
        wave[row["id"]] = row["wave"]
    for row in steps:
        for other in row["after"]:
            if other not in wave:
                yield Fault("bad-plan", f"step '{row['id']}' waits for '{other}', which is no step", path, other)
            elif wave[other] >= row["wave"]:
                message = f"step '{row['id']}' waits for '{other}', which is in no earlier wave"
                yield Fault("bad-plan", message, path, other)
        whole = row.get("after_wave")
        if whole is not None and whole >= row["wave"]:
            message = f"step '{row['id']}' of wave {row['wave']} waits for wave {whole}, which is no earlier one"
            yield Fault("bad-plan", message, path, whole)
