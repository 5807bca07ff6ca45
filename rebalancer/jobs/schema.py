"""The JSON schema of job files, and the table of their fields in the reference."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from pydantic import BaseModel

from rebalancer.jobs.fields import Guards, JobFile, KubernetesFiles, Output, SnapshotOptions, Taken
from rebalancer.scenario.model_walk import bare
from rebalancer.scenario.schema import file_schema

#: The head of the table of fields.
HEAD = "| field | default | meaning |\n|---|---|---|\n"
#: Sections whose fields are listed; what `solve` and `plan` may hold is said where scenarios are.
_LISTED = (Guards, KubernetesFiles, Output, SnapshotOptions, Taken)


def json_schema() -> dict[str, Any]:
    """Return the schema (draft 7, which editors understand best) of job files."""
    return file_schema(JobFile, "rebalancer job")


def reference_table() -> str:
    """Return the fields of a job file as a table in Markdown."""
    return HEAD + "".join(f"| `{name}` | {default} | {meaning} |\n" for name, default, meaning in _rows(JobFile, ""))


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str]]:
    for field, info in model.model_fields.items():
        inner = bare(info.annotation)
        listed = isinstance(inner, type) and issubclass(inner, _LISTED)
        default = "required" if info.is_required() else _shown(info.get_default())
        yield prefix + field, default, (info.description or "").replace("|", "\\|")
        if listed:
            yield from _rows(inner, f"{prefix}{field}.")


def _shown(value: Any) -> str:
    if value is None or value == {} or isinstance(value, BaseModel):
        return ""
    if isinstance(value, Fraction):
        return f"`{float(100 * value):g}%`"
    return f"`{value}`"
