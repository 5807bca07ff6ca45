"""The JSON schema of scenario files, for editors that complete and check YAML while it is typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import models_json_schema

from rebalancer.dialects import registry as dialects
from rebalancer.dialects.base import Dialect
from rebalancer.scenario.model_walk import bare, snake_spellings
from rebalancer.scenario.sections import (
    ConstraintOptions,
    DynamicAmounts,
    GoalOptions,
    LongAmounts,
    RulesOptions,
    ScenarioFile,
)
from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import Limit

_REF = "#/definitions/{model}"
#: A name may look like a number or a truth value; editors read such text as one.
_NAME = ["string", "number", "boolean"]


def json_schema() -> dict[str, Any]:
    """Return the schema (draft 7, which editors understand best), with every spec and language of the catalogue.

    One schema serves scenario files and the files they include: every section is optional.
    """
    specs = {key: registry.get(key) for key in registry.keys()}  # noqa: SIM118 - not a mapping
    languages = {key: dialects.get(key) for key in dialects.BUILT_IN}
    models: list[type[BaseModel]] = [
        ScenarioFile,
        ConstraintOptions,
        RulesOptions,
        GoalOptions,
        LongAmounts,
        DynamicAmounts,
        Limit,
    ]
    definitions, name_of = _definitions([*models, *specs.values(), *languages.values()])
    constraints = {key: name_of[spec] for key, spec in specs.items() if spec.is_constraint()}
    goals = {key: name_of[spec] for key, spec in specs.items() if spec.is_goal()}
    definitions["Constraint"] = _entry(definitions.pop("ConstraintOptions"), constraints, definitions)
    statements = {key: name_of[kind] for key, kind in languages.items()}
    definitions["Rules"] = _entry(definitions.pop("RulesOptions"), statements, definitions)
    definitions["Goal"] = _entry(definitions.pop("GoalOptions"), goals, definitions)
    root = definitions.pop("ScenarioFile")
    root["properties"]["constraints"] = _list_of("Constraint", root["properties"]["constraints"])
    root["properties"]["constraints"]["items"] = {
        "if": {"anyOf": [{"required": [key]} for key in languages]},
        "then": {"$ref": _REF.format(model="Rules")},
        "else": {"$ref": _REF.format(model="Constraint")},
    }
    root["properties"]["goals"] = _list_of("Goal", root["properties"]["goals"])
    root["properties"]["dimensions"] = _dimensions(root["properties"]["dimensions"])
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "rebalancer scenario",
        "description": root.pop("description", ""),
        **{key: value for key, value in root.items() if key != "title"},
        "definitions": definitions,
    }


def spec_schema(spec: type[Spec] | type[Dialect]) -> dict[str, Any]:
    """Return the schema of the fields of one spec or language."""
    return file_schema(spec, spec.key)


def file_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """Return the schema (draft 7) of a YAML file, or part of one, whose fields are those of a model."""
    definitions, name_of = _definitions([model])
    body = definitions.pop(name_of[model])
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        **{key: value for key, value in body.items() if key != "title"},
        **({"definitions": definitions} if definitions else {}),
    }


def _definitions(models: Iterable[type[BaseModel]]) -> tuple[dict[str, Any], dict[type[BaseModel], str]]:
    """Return the schema of each of some models and of all models in them, and under which name each is found.

    Usually the name of the class; classes of the same name are told apart by their modules.
    """
    every = dict.fromkeys(found for model in models for found in _models(model))
    pairs = [(model, "validation") for model in every]
    references, generated = models_json_schema(pairs, by_alias=False, ref_template=_REF)  # type: ignore[arg-type]
    start = len(_REF.format(model=""))
    name_of = {model: references[model, "validation"]["$ref"][start:] for model in every}
    model_of = {name: model for model, name in name_of.items()}
    definitions = {name: _adapted(schema, model_of.get(name)) for name, schema in generated["$defs"].items()}
    return definitions, name_of


def _list_of(definition: str, section: dict[str, Any]) -> dict[str, Any]:
    items = {"$ref": _REF.format(model=definition)}
    return {"description": section.get("description", ""), "type": ["array", "null"], "items": items}


def _dimensions(section: dict[str, Any]) -> dict[str, Any]:
    amounts = {"anyOf": [{"$ref": _REF.format(model="LongAmounts")}, {"type": ["object", "null"]}]}
    place = {
        "type": "object",
        "properties": {"dynamic": {"$ref": _REF.format(model="DynamicAmounts")}},
        "additionalProperties": amounts,
    }
    return {"description": section.get("description", ""), "type": ["object", "null"], "additionalProperties": place}


def _entry(options: dict[str, Any], specs: dict[str, str], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a constraint or goal: one spec, under any of its spellings, and what stands beside it."""
    properties, patterns = dict(options["properties"]), dict(options.get("patternProperties", {}))
    for key, name in specs.items():
        reference = {"$ref": _REF.format(model=name)}
        definition = definitions[name]
        body = (
            reference
            if definition.get("required") or definition.get("allOf")
            else {"anyOf": [reference, {"type": "null"}]}
        )
        properties[key] = {"description": definition.get("description", "").split("\n\n")[0], **body}
        camel = to_camel(key)
        others = {camel, f"{camel}Spec", f"{camel[0].upper()}{camel[1:]}Spec", f"{key}_spec"} - {key}
        patterns[f"^({'|'.join(sorted(others))})$"] = reference
    return {
        "type": "object",
        "description": options.get("description", ""),
        "properties": properties,
        "patternProperties": patterns,
        "additionalProperties": False,
        "minProperties": 1,
    }


def _adapted(schema: dict[str, Any], model: type[BaseModel] | None) -> dict[str, Any]:
    """Return pydantic's schema of a model as files may be written: both spellings of fields, names of any look."""
    adapted: dict[str, Any] = _loosened(schema)
    if "description" in adapted:  # the notes are in the reference pages
        adapted["description"] = " ".join(adapted["description"].split("\n\n")[0].split())
    if "properties" not in adapted:
        return adapted
    patterns: dict[str, Any] = {}
    spellings: dict[str, list[str]] = {}
    for name, field in adapted["properties"].items():
        field.pop("title", None)
        if model is not None and model.model_fields[name].description:
            # pydantic leaves out a description that says the same as the type's
            field.setdefault("description", model.model_fields[name].description)
        others = _other_spellings(model, name)
        spellings[name] = [name, *others]
        if others:
            patterns[f"^({'|'.join(others)})$"] = field
    if patterns:
        adapted["patternProperties"] = patterns
    required = adapted.pop("required", [])
    single = [name for name in required if len(spellings[name]) == 1]
    if single:
        adapted["required"] = single
    several = [name for name in required if len(spellings[name]) > 1]
    if several:
        adapted["allOf"] = [{"anyOf": [{"required": [spelling]} for spelling in spellings[name]]} for name in several]
    return adapted


def _other_spellings(model: type[BaseModel] | None, name: str) -> list[str]:
    """Return what else a field may be called."""
    snake = snake_spellings(model, name)
    camel = [to_camel(spelling) for spelling in snake]
    return [spelling for spelling in dict.fromkeys([*snake, *camel]) if spelling != name]


def _models(annotation: Any, above: tuple[type[BaseModel], ...] = ()) -> Iterator[type[BaseModel]]:
    """Yield every model that stands anywhere in a type; one that stands in itself once."""
    annotation = bare(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in above:
        yield annotation
        for info in annotation.model_fields.values():
            yield from _models(info.annotation, (*above, annotation))
    for argument in get_args(annotation):
        yield from _models(argument, above)


def _loosened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_loosened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("$ref") == _REF.format(model="Limit"):
        rest = {key: value for key, value in schema.items() if key not in ("$ref", "default")}
        return {**rest, "anyOf": [{"type": "number"}, {"$ref": schema["$ref"]}]}
    out = {key: _loosened(value) for key, value in schema.items() if key != "default" or _is_plain(value)}
    if "properties" in schema:
        out["properties"] = {name: _loosened(field) for name, field in schema["properties"].items()}
    if out.get("type") == "string" and "enum" not in out and "const" not in out:
        out["type"] = _NAME
    if out.get("type") == "object" and "properties" not in out:
        out["type"] = ["object", "null"]
    if out.get("type") == "array":
        out["type"] = ["array", "null"]
    return out


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) or value is None
