"""The JSON schema accepts what the reader accepts, knows every spec, and finds the usual typos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rebalancer.scenario.schema import json_schema
from rebalancer.specs import registry
from tests.scenario.good import SCENARIO

ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def errors(text: str) -> list[Any]:
    return list(VALIDATOR.iter_errors(yaml.safe_load(text)))


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_it_accepts_a_scenario() -> None:
    assert not errors(SCENARIO)


@pytest.mark.parametrize(
    "path", [*sorted(ROOT.glob("scenarios/*/scenario.yaml")), *sorted(ROOT.glob("specs/*.yaml"))], ids=str
)
def test_it_accepts_our_files(path: Path) -> None:
    assert not errors(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("key", registry.keys())
def test_it_knows_every_spec_and_describes_its_fields(key: str) -> None:
    spec = registry.get(key)
    definition = SCHEMA["definitions"][spec.__name__]
    assert set(definition["properties"]) == set(spec.model_fields)
    assert all(field.get("description") for field in definition["properties"].values())
    places = [name for name, known in (("Constraint", spec.is_constraint()), ("Goal", spec.is_goal())) if known]
    for place in places:
        assert key in SCHEMA["definitions"][place]["properties"]


@pytest.mark.parametrize(
    "entry",
    [
        "capacity: {scope: host, limit: 0.5}",
        "capacitySpec: {scope: host, limit: {globalLimit: 2, scope_item_limits: {host0: 1}}}",
        "GroupCountSpec: {scope: host, partition: job}",
        "group_count: {scope: host, partitionName: job, zeroAllowed: true}",
        "avoidAssignments: {scope: host, assignments: [{objectName: task0, scopeItems: [host0]}]}",
        "placed:",
        "capacity: {scope: 1e3, dimension: no}",
    ],
)
def test_it_accepts_every_spelling(entry: str) -> None:
    assert not errors(f"constraints:\n  - {entry}\n    policy: HARD\n    invalidCost: 3\n")


@pytest.mark.parametrize(
    "text",
    [
        "constrains: []",
        "constraints:\n  - capacty: {scope: host}",
        "constraints:\n  - capacity: {scop: host}",
        "constraints:\n  - capacity: {scope: host, bound: MAXX}",
        "constraints:\n  - capacity: {scope: host}\n    weight: 2",
        "goals:\n  - avoid_moving: {objects: [a]}",
        "solve: {engine: fast}",
        "tables: {task: {file: a.csv}}",
    ],
)
def test_it_finds_typos(text: str) -> None:
    assert errors(text)
