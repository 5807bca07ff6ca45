"""Specs inside specs: read like an entry of a file, and measured as one number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, ValidationError
from pydantic_core import InitErrorDetails, core_schema

from rebalancer.problem import Fault, nearest
from rebalancer.problem.numbers import WrongValue
from rebalancer.specs import registry
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import also_called

if TYPE_CHECKING:
    from rebalancer.model import Cells, Component, ModelBuilder
    from rebalancer.problem import Problem


class _Unread(Spec):
    """Stands for a spec that could not be read, so that the others can be checked."""

    def components(self, model: ModelBuilder) -> list[Component]:
        return []


def read_nested(value: Any) -> Spec:
    """Return a spec given as such, or as a mapping of its key to its fields.

    Raises
    ------
    ValueError
        It is neither. Errors in the fields are a `ValidationError` whose locations start with the key.
    """
    if isinstance(value, Spec):
        return value
    if isinstance(value, str) and value.startswith("\0"):  # what files are repaired with
        return _Unread()
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError("expected one spec with its fields, such as 'capacity: {…}'")
    ((typed, body),) = value.items()
    key = registry.canonical_key(str(typed))
    known = registry.keys()
    if key not in known:
        close = nearest(key, known)
        hint = f"; did you mean '{close}'?" if close else ""
        raise WrongValue(f"unknown spec '{typed}'{hint}")
    try:
        return registry.get(key).model_validate({} if body is None else body)
    except ValidationError as error:
        raise ValidationError.from_exception_data(
            error.title, [_below(str(typed), each) for each in error.errors()]
        ) from None


def _below(key: str, error: Any) -> InitErrorDetails:
    """Return an error with the key of the nested spec before its location."""
    details = InitErrorDetails(type=error["type"], loc=(key, *error["loc"]), input=error["input"])
    if "ctx" in error:
        details["ctx"] = error["ctx"]
    return details


class _ReadsNested:
    """Reads a nested spec; in the schema it is an object with one key."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(read_nested)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "object", "minProperties": 1, "maxProperties": 1, "description": "One spec with its fields."}


#: A spec in a field of another.
NestedSpec: TypeAlias = Annotated[Spec, _ReadsNested]


def _some(specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    if not specs:
        raise ValueError("expected at least one spec")
    return specs


def _violation(model: ModelBuilder, parts: list[Component]) -> Cells:
    sums = [model.total(model.hinge(part.cells), part.weight, up=True) for part in parts]
    return model.linear([(each, 1) for each in model.in_one_unit(sums)])


class LogicalSpec(Spec):
    """Base of the specs that combine the violations of others."""

    generic_specs: Annotated[tuple[NestedSpec, ...], AfterValidator(_some)] = Field(
        description="The constraints, each a spec with its fields, without policy and costs; `specs` is the same.",
        validation_alias=also_called("generic_specs", "specs"),
    )

    def violations(self, model: ModelBuilder) -> list[Cells]:
        """Return the violation of each nested constraint: the sum over its components, one cell each.

        None is rounded to 0, however little is violated.
        """
        return [_violation(model, spec.components(model)) for spec in self.generic_specs]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        for position, spec in enumerate(self.generic_specs):
            path = ("generic_specs", position, spec.key)
            if not spec.is_constraint():
                yield Fault("wrong-kind", f"{spec.key} cannot be a constraint", path, spec.key)
            elif type(spec).prepare is not Spec.prepare:
                message = f"{spec.key} states a fact and cannot be part of {self.key}"
                yield Fault("wrong-kind", message, path, spec.key)
            else:
                for fault in (*spec.faults(problem), *spec.constraint_faults(problem)):
                    yield fault.below(path)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        for position, spec in enumerate(self.generic_specs):
            for fault in spec.warnings(problem):
                yield fault.below(("generic_specs", position, spec.key))
