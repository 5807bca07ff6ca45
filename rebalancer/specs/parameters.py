"""The parameters of a spec as a table in Markdown, made from the fields of its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices
from pydantic.alias_generators import to_snake
from pydantic.fields import FieldInfo

from rebalancer.specs.base import Spec
from rebalancer.specs.fields import Filter, FilterRule, FilterType, Limit, LimitRule, Part, Ref

#: The head of every such table.
HEAD = "| parameter | type | default | meaning |\n|---|---|---|---|\n"

_REFERENCES = {"item": "scope item"}
_PLAIN = {bool: "true or false", int: "whole number", str: "name"}
_OVERRIDES = {
    "items": "`scope_item_limits`",
    "groups": "`group_limits`",
    "pairs": "`scope_item_to_group_limits`",
}


@dataclass(frozen=True)
class Parameter:
    """One field, in the user's words.

    Parameters
    ----------
    name : str
        With those of the fields that it is inside, joined by dots.
    type, default, meaning : str
        In Markdown.
    """

    name: str
    type: str
    default: str
    meaning: str


def table(spec: type[Spec]) -> str:
    """Return the table of a spec's parameters; empty where it has none."""
    rows = [f"| `{row.name}` | {row.type} | {row.default} | {row.meaning} |\n" for row in parameters(spec)]
    return HEAD + "".join(rows) if rows else ""


def parameters(spec: type[Spec]) -> Iterator[Parameter]:
    """Yield the parameters of a spec, each followed by those inside it."""
    yield from _parameters(spec, "", ())


def _parameters(part: type[Part], prefix: str, above: tuple[type[Part], ...]) -> Iterator[Parameter]:
    for field, info in part.model_fields.items():
        if field == "name" and issubclass(part, Spec):
            continue  # of every spec, and beside it in files
        name = prefix + field
        yield Parameter(
            name, _cell(_type(info.annotation, info.metadata)), _cell(_default(info)), _cell(_meaning(field, info))
        )
        for inner in _parts(info.annotation):
            if inner not in above:
                yield from _parameters(inner, f"{name}.", (*above, inner))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# -- types ------------------------------------------------------------------------------------------------------------


def _type(annotation: Any, metadata: Any = ()) -> str:
    """Return what a value is: what its name refers to, what it may be, what is in it."""
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
    for mark in metadata:
        if isinstance(mark, Ref):
            return _REFERENCES.get(mark.kind, mark.kind)
        if isinstance(mark, LimitRule):
            return f"`{mark.types[0]}` limit" if len(mark.types) == 1 else "limit"
        if isinstance(mark, FilterRule):
            return "filter of groups" if mark.type is FilterType.GROUP else "filter of scope items"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _choices(arguments)
    if origin in (Union, UnionType):
        options = [option for option in arguments if option is not type(None)]
        if Fraction in options:
            return "number"
        return " or ".join(dict.fromkeys(_type(option) for option in options))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"{_type(arguments[0])} → {_type(arguments[1])}"
    if origin in (tuple, list, frozenset):
        return f"list of {_plural(_type(arguments[0]))}"
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            return _choices(tuple(annotation))
        if issubclass(annotation, Spec):
            return "spec"
        if issubclass(annotation, Limit | Filter):
            return annotation.__name__.lower()
        if issubclass(annotation, Part):
            return "mapping"
    return _PLAIN.get(annotation, "value")


def _choices(values: tuple[Any, ...]) -> str:
    return ", ".join(f"`{value.value if isinstance(value, Enum) else value}`" for value in values)


def _plural(noun: str) -> str:
    if noun.startswith("list of "):
        return f"lists{noun.removeprefix('list')}"
    return noun if "`" in noun or "→" in noun else f"{noun}s"


def _parts(annotation: Any) -> Iterator[type[Part]]:
    """Yield the parts that stand anywhere in a type; not limits and filters, which are the same everywhere."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        if not issubclass(annotation, Limit | Filter | Spec):
            yield annotation
        return
    for argument in get_args(annotation):
        yield from _parts(argument)


# -- defaults and meanings --------------------------------------------------------------------------------------------


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if isinstance(value, Limit):
        return _limit(value, info)
    if value is None and any(isinstance(mark, FilterRule) for mark in info.metadata):
        return "all"
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):  # also the member of an enumeration
        return f"`{value.value}`" if isinstance(value, Enum) else f'`"{value}"`' if not value else f"`{value}`"
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    return "see below" if isinstance(value, Part) else str(value)


def _limit(value: Limit, info: FieldInfo) -> str:
    """Return a default limit as the spec completes it."""
    rule = next((mark for mark in info.metadata if isinstance(mark, LimitRule)), None)
    defaults = {} if rule is None else {name: own for name, own in rule.defaults if name not in value.model_fields_set}
    if defaults.get("is_default_limit_unbounded", value.is_default_limit_unbounded):
        return "unbounded"
    kind = defaults.get("type", value.type.value)
    return f"`{kind}` {float(defaults.get('global_limit', value.global_limit)):g}"


def _meaning(field: str, info: FieldInfo) -> str:
    sentences = [(info.description or "").strip()]
    if isinstance(info.validation_alias, AliasChoices):
        spellings = dict.fromkeys(
            to_snake(choice) for choice in info.validation_alias.choices if isinstance(choice, str)
        )
        others = [f"`{spelling}`" for spelling in spellings if spelling != field]
        if others:
            sentences.append(f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} the same.")
    for mark in _limit_rules(info.annotation, info.metadata):
        honoured = [words for name, words in _OVERRIDES.items() if getattr(mark, name)]
        if honoured:
            sentences.append(f"Honours {', '.join(honoured)}.")
        if mark.raw:
            sentences.append("RELATIVE is read as the plain number, and `check` warns.")
    return " ".join(sentence if sentence.endswith((".", "?")) else f"{sentence}." for sentence in sentences if sentence)


def _limit_rules(annotation: Any, metadata: Any) -> Iterator[LimitRule]:
    yield from (mark for mark in metadata if isinstance(mark, LimitRule))
    for argument in get_args(annotation):
        yield from _limit_rules(argument, getattr(argument, "__metadata__", ()))
