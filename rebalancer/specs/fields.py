"""Field types of specs: exact numbers, references to names, limits and filters.

A reference is a type annotated with what it refers to. `Spec.faults` walks the fields and checks every reference
against the
problem, so no spec checks a name by hand, and the reference pages and the JSON schema come from the same annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import core_schema

from rebalancer.problem import PlainText, to_fraction
from rebalancer.problem.numbers import WrongValue


class _ExactNumber:
    """Reads any finite number as a Fraction; in the schema it is a number."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            to_fraction, serialization=core_schema.plain_serializer_function_ser_schema(float, when_used="json")
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "number"}


#: A number given as int, float, Decimal, Fraction or plain YAML text; held as a Fraction. Read it back with `exact`.
Number: TypeAlias = Annotated[int | float | Decimal | Fraction, _ExactNumber]


def exact(number: int | float | Decimal | Fraction) -> Fraction:
    """Return a validated number as the Fraction that it is."""
    return number if isinstance(number, Fraction) else to_fraction(number)


def _flag(value: Any) -> Any:
    if isinstance(value, PlainText):
        if value in ("true", "True", "TRUE"):
            return True
        if value in ("false", "False", "FALSE"):
            return False
        raise ValueError(f"expected true or false, got '{value}'")
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {value!r}")
    return value


#: A truth value; in YAML only ``true`` and ``false`` are.
Flag: TypeAlias = Annotated[bool, BeforeValidator(_flag, json_schema_input_type=bool)]


def _whole(value: Any) -> Any:
    number = to_fraction(value)
    if number.denominator != 1:
        raise ValueError(f"expected a whole number, got {value}")
    return int(number)


#: A whole number.
Whole: TypeAlias = Annotated[int, BeforeValidator(_whole, json_schema_input_type=int)]


def _name(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError(f"expected a name, got {'nothing' if value is None else repr(value)}")
    return str(value)


@dataclass(frozen=True)
class Ref:
    """Marks a name that must exist in the problem.

    Parameters
    ----------
    kind : str
        "scope", "dimension", "partition", "object", "container", "item" or "group".
    of : str
        For "item" and "group": the field of the spec that names the scope or partition (or a literal after ``=``).
    empty : bool
        Whether the empty name is allowed and means the count dimension, or the container scope.
    """

    kind: str
    of: str = ""
    empty: bool = False


Name: TypeAlias = Annotated[str, BeforeValidator(_name, json_schema_input_type=str)]
ScopeName: TypeAlias = Annotated[Name, Ref("scope")]
ScopeOrContainer: TypeAlias = Annotated[Name, Ref("scope", empty=True)]
DimensionName: TypeAlias = Annotated[Name, Ref("dimension")]
DimensionOrCount: TypeAlias = Annotated[Name, Ref("dimension", empty=True)]
PartitionName: TypeAlias = Annotated[Name, Ref("partition")]
ObjectName: TypeAlias = Annotated[Name, Ref("object")]
ContainerName: TypeAlias = Annotated[Name, Ref("container")]
ItemName: TypeAlias = Annotated[Name, Ref("item", of="scope")]
GroupName: TypeAlias = Annotated[Name, Ref("group", of="partition_name")]


def also_called(*names: str) -> AliasChoices:
    """Return the names that a field has, its own among them, each in camelCase and snake_case."""
    return AliasChoices(*dict.fromkeys(spelling for name in names for spelling in (to_camel(name), name)))


@lru_cache(maxsize=4096)  # every key of every entry of a file, several times
def field_key(text: str) -> str:
    """Return the field or spec that a spelling means: that of ``groupCount`` and ``GroupCountSpec`` is group_count."""
    for tail in ("Spec", "_spec"):
        if text.endswith(tail) and len(text) > len(tail):
            text = text[: -len(tail)]
    return to_snake(text)


#: ``partition`` and ``partition_name`` are the same field everywhere.
PARTITION_ALIASES = also_called("partition_name", "partition")


class Part(BaseModel):
    """Base of everything inside a spec: frozen, no unknown keys, snake_case or camelCase."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=AliasGenerator(validation_alias=to_camel),
        populate_by_name=True,
        arbitrary_types_allowed=True,
        validate_default=True,
    )


class NotTogether(WrongValue):
    """Fields that are in order, each alone, and do not go together."""


#: Context of a validation that reads parts by their fields, whether these go together or not.
ONE_BY_ONE = object()


def together(check: Callable[[Any], None]) -> Any:
    """Make a method of a part the one that raises ValueError where its fields do not go together."""

    def checked(part: Any, info: ValidationInfo) -> Any:
        if info.context is not ONE_BY_ONE:
            try:
                check(part)
            except ValueError as error:
                raise NotTogether(str(error)) from None
        return part

    return model_validator(mode="after")(checked)


class LimitType(str, Enum):
    """What a limit is relative to."""

    RELATIVE = "RELATIVE"
    ABSOLUTE = "ABSOLUTE"


class Limit(Part):
    """How much is allowed. The most specific entry counts: pair, then scope item, then group, then ``global_limit``."""

    type: LimitType = Field(
        LimitType.RELATIVE,
        description="RELATIVE: a multiple of the capacity or size that the spec names; ABSOLUTE: a plain amount.",
    )
    global_limit: Number = Field(1, description="The limit where nothing more specific is given.")
    scope_item_limits: Mapping[Name, Number] = Field({}, description="Limit by scope item.")
    group_limits: Mapping[Name, Number] = Field({}, description="Limit by group.")
    scope_item_to_group_limits: Mapping[Name, Mapping[Name, Number]] = Field(
        {}, description="Limit by scope item and group."
    )
    is_default_limit_unbounded: Flag = Field(False, description="Without a more specific entry there is no limit.")


@dataclass(frozen=True)
class LimitRule:
    """What a spec does with a limit: which fields it honours, which names they refer to, and its own defaults."""

    defaults: tuple[tuple[str, Any], ...]
    items: bool
    groups: bool
    pairs: bool
    scope: str
    partition: str
    types: tuple[str, ...]
    raw: bool  # RELATIVE is read as the raw number, and `check` warns


def limit_field(
    type: Literal["RELATIVE", "ABSOLUTE"] = "RELATIVE",
    value: int = 1,
    *,
    unbounded: bool = False,
    items: bool = False,
    groups: bool = False,
    pairs: bool = False,
    scope: str = "scope",
    partition: str = "partition_name",
    types: tuple[str, ...] = ("RELATIVE", "ABSOLUTE"),
    raw: bool = False,
) -> tuple[Any, ...]:
    """Return the annotations of a limit field: a bare number is its global limit.

    Missing fields take the spec's own defaults.
    """
    defaults = {"type": type, "global_limit": value, "is_default_limit_unbounded": unbounded}

    def complete(given: Any) -> Any:
        if given is None:
            return None  # an optional limit that is not there; any other says that it is missing
        if isinstance(given, Limit):
            return given.model_copy(
                update={
                    key: (LimitType(val) if key == "type" else Fraction(val) if key == "global_limit" else val)
                    for key, val in defaults.items()
                    if key not in given.model_fields_set
                }
            )
        if isinstance(given, Mapping):
            present = set(given)
            return {
                **{key: val for key, val in defaults.items() if key not in present and to_camel(key) not in present},
                **given,
            }
        return {**defaults, "global_limit": given}

    rule = LimitRule(tuple(defaults.items()), items, groups, pairs, scope, partition, types, raw)
    return BeforeValidator(complete), rule


class FilterType(str, Enum):
    """What a filter selects."""

    SCOPE_ITEM = "SCOPE_ITEM"
    GROUP = "GROUP"


class Filter(Part):
    """Which scope items (or groups) a spec applies to: all but the blacklist, or only the whitelist."""

    items_whitelist: tuple[Name, ...] | None = Field(None, description="Only these. An empty list selects nothing.")
    items_blacklist: tuple[Name, ...] | None = Field(None, description="All but these.")
    type: FilterType = Field(FilterType.SCOPE_ITEM, description="Whether the names are scope items or groups.")


@dataclass(frozen=True)
class FilterRule:
    """What the names of a filter refer to."""

    type: FilterType
    of: str


#: A filter over the items of the spec's scope.
ItemFilter: TypeAlias = Annotated[Filter | None, FilterRule(FilterType.SCOPE_ITEM, "scope")]
