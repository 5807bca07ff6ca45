"""What stands in ``plan.json``, as models: its published JSON schema and the check of files come from these."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rebalancer.problem import Fault, Path

#: Faults of one file that are reported at most.
_REPORTED = 20


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class StepRow(_Part):
    """One object's move."""

    id: str
    object: str
    source: str | None = Field(description="Where it comes from; null: it was in no container.")
    destination: str | None = Field(description="Where it goes; null: to no container.")
    wave: int = Field(ge=1, description="Steps of a wave may be in flight together, once the wave before is done.")
    after: list[str] = Field(description="Steps that must be done before it starts, without waiting for whole waves.")
    after_wave: int | None = Field(None, description="All steps up to this wave must be done as well.")
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
    first_wave: int
    last_wave: int
    amount: float = Field(description="By how much, at most.")
    in_flight: Literal["always", "between_waves", "at_end"]


class PeakRow(_Part):
    """How much is in flight in a wave."""

    wave: int
    steps: int
    amounts: dict[str, float] = Field(description="Dimension: the amount in flight.")
    objective: list[float] = Field(description="By tuple position, once the wave is done.")


class WavesPart(_Part):
    """How many waves, and how few there could be."""

    count: int
    lower_bound: int
    exact: bool


class TotalsPart(_Part):
    """Sums over the plan."""

    steps: int
    objects: int
    staged: int
    blocked: int
    blocked_at_least: int = Field(0, description="Every plan leaves so many moves blocked; 0: that is not proven.")


class BeyondCapsRow(_Part):
    """A cap that a wave of the way back exceeds."""

    wave: int = Field(ge=1)
    reason: str = Field(description="Which cap, and by how much.")


class RollbackPart(_Part):
    """The way back; from any wave onwards, those of its steps that undo what was done."""

    waves: int
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
    yield from _step_faults(content["steps"], ("steps",))
    yield from _step_faults(content["rollback"]["steps"], ("rollback", "steps"))
    known = {row["id"] for row in content["steps"]}
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
