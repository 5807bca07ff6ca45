"""Walks through the types of pydantic models along the path of a value."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel

from rebalancer.problem import Path
from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import field_key


def model_at(annotation: Any, loc: Path) -> type[BaseModel] | None:
    """Return the model whose fields stand at a place inside a type, if there is one."""
    found = type_at(annotation, loc)
    if get_origin(found) is tuple:  # one entry written without the list around it
        found = bare(get_args(found)[0])
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


def type_at(annotation: Any, loc: Path) -> Any:
    """Return the bare type at a place inside a type."""
    current = bare(annotation)
    for step in loc:
        if current is Spec:  # a spec nested in another stands under its key
            key = registry.canonical_key(str(step))
            if key not in registry.keys():  # noqa: SIM118 - not a mapping
                return None
            current = registry.get(key)
            continue
        if isinstance(current, type) and issubclass(current, BaseModel):
            name = field_named(current, str(step))
            if name is None:
                return None
            current = bare(current.model_fields[name].annotation)
            continue
        origin, arguments = get_origin(current), get_args(current)
        if not arguments:
            return None
        mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        if isinstance(step, str) and not mapping:  # one entry written without the list around it
            current = type_at(arguments[0], (step,))
            continue
        current = bare(arguments[1] if mapping else arguments[0])
    return current


@lru_cache(maxsize=4096)  # a file names the same few fields over and over
def field_named(model: type[BaseModel] | None, typed: str) -> str | None:
    """Return the field that a key in a file means, under any of its spellings."""
    if model is None:
        return None
    fields = model.model_fields
    snake = field_key(typed)
    if snake in fields:
        return snake
    return next((name for name in fields if snake in snake_spellings(model, name)), None)


def snake_spellings(model: type[BaseModel] | None, name: str) -> list[str]:
    """Return what a field may be called, in snake_case; its own name first."""
    info = model.model_fields.get(name) if model is not None else None
    alias = info.validation_alias if info is not None else None
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    others = [field_key(choice) for choice in choices if isinstance(choice, str)]
    return list(dict.fromkeys([name, *others]))


def note_spellings(annotation: Any, data: Any, path: Path, renamed: dict[Path, str]) -> None:
    """Note where fields are typed under a name from which theirs cannot be told."""
    if isinstance(data, Mapping):
        is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
        for typed, value in data.items():
            name = field_named(annotation, typed) if is_model else None
            if name is not None and name != field_key(typed):
                renamed.setdefault((*path, name), typed)
            if isinstance(value, dict | list):
                note_spellings(type_at(annotation, (typed,)), value, (*path, name or typed), renamed)
    elif isinstance(data, list):
        inner = type_at(annotation, (0,))
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            for position, value in enumerate(data):
                note_spellings(inner, value, (*path, position), renamed)


def bare(annotation: Any) -> Any:
    """Return a type without ``Annotated`` and ``| None``."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, types.UnionType):
            options = [option for option in get_args(annotation) if option is not type(None)]
            if len(options) != 1:
                return annotation
            annotation = options[0]
        else:
            return annotation
