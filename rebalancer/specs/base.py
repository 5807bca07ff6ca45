"""What every spec is: a frozen, validated statement of a rule that turns itself into cells of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Union, get_args, get_origin

from pydantic import Field

from rebalancer.problem import Fault, Path, Problem, unknown_name
from rebalancer.specs.fields import Filter, FilterRule, FilterType, Limit, LimitRule, LimitType, Name, Part, Ref

if TYPE_CHECKING:
    from rebalancer.model import Cells, Component, ModelBuilder


class Definition(str, Enum):
    """Which objects count in a scope item."""

    AFTER = "AFTER"
    DURING = "DURING"
    DURING_AND_AFTER = "DURING_AND_AFTER"
    DOUBLE_DURING = "DOUBLE_DURING"
    DOUBLE_DURING_AND_AFTER = "DOUBLE_DURING_AND_AFTER"
    NEW = "NEW"
    OLD = "OLD"
    STAYED = "STAYED"
    MOVED_DATA = "MOVED_DATA"


class Bound(str, Enum):
    """Which side a limit bounds."""

    MAX = "MAX"
    MIN = "MIN"


class Spec(Part):
    """A rule as the user states it. Subclasses give the fields, and compile themselves as goal or constraint.

    Attributes
    ----------
    key : str
        Name in YAML, such as ``group_count``.
    no_effect : tuple of str
        Fields that are accepted for compatibility and do nothing; `check` lists them where they are set.
    in_flight : str or None
        When a constraint must hold during a plan, unless it is stated; None: as the kind of its cells suggests.
    """

    key: ClassVar[str] = ""
    no_effect: ClassVar[tuple[str, ...]] = ()
    in_flight: ClassVar[str | None] = None

    name: Name | None = Field(None, description="Name in results and messages; may stand beside the spec instead.")

    @classmethod
    def is_goal(cls) -> bool:
        """Whether the spec can be minimised."""
        return cls.goal is not Spec.goal

    @classmethod
    def is_constraint(cls) -> bool:
        """Whether the spec can be demanded."""
        return cls.components is not Spec.components

    def effective_policy(self, policy: str) -> str:
        """Return the policy that counts; specs that state facts are always HARD."""
        return policy

    def prepare(self, problem: Problem) -> Problem:
        """Return the problem that all specs see; only specs that state facts, such as moves in progress, change it."""
        return problem

    def goal(self, model: ModelBuilder) -> Cells:
        """Return the one cell to minimise."""
        raise TypeError(f"{self.key} cannot be a goal")

    def components(self, model: ModelBuilder) -> list[Component]:
        """Return the components that must hold: cells that must not be positive, and how they group."""
        raise TypeError(f"{self.key} cannot be a constraint")

    def faults(self, problem: Problem) -> Iterator[Fault]:
        """Yield everything that is wrong with the spec on this problem; paths start at the spec's own fields."""
        yield from reference_faults(self, self, problem, ())

    def goal_faults(self, problem: Problem) -> Iterator[Fault]:
        """Yield what is wrong with the spec only as a goal."""
        yield from ()

    def constraint_faults(self, problem: Problem) -> Iterator[Fault]:
        """Yield what is wrong with the spec only as a constraint."""
        yield from ()

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        """Yield what is legal but surprising."""
        for field in self.no_effect:
            if field in self.model_fields_set:
                yield Fault(
                    "no-effect",
                    f"'{field}' has no effect: it only steers Rebalancer's own search",
                    (field,),
                    getattr(self, field),
                )
        for field, info in type(self).model_fields.items():
            for rule in info.metadata:
                limit = getattr(self, field)
                if (
                    isinstance(rule, LimitRule)
                    and rule.raw
                    and isinstance(limit, Limit)
                    and limit.type is LimitType.RELATIVE
                ):
                    yield Fault(
                        "raw-limit",
                        f"'{field}' is read as the plain number: RELATIVE has no meaning here",
                        (field, "type"),
                        "RELATIVE",
                    )


def reference_faults(part: Part, spec: Spec, problem: Problem, path: Path) -> Iterator[Fault]:
    """Yield the names in ``part`` that do not exist, and the limit and filter fields that the spec does not honour."""
    for field, annotation, rules in _ruled(type(part)):
        value = getattr(part, field)
        if value is None:
            continue
        where = (*path, field)
        for rule in rules:
            if isinstance(rule, Ref):
                yield from _ref_faults(rule, value, part, spec, problem, where)
            elif isinstance(rule, LimitRule):
                yield from _limit_faults(rule, value, part, spec, problem, where)
            elif isinstance(rule, FilterRule):
                yield from _filter_faults(rule, value, part, spec, problem, where)
        if not isinstance(value, _PLAIN):
            yield from _nested_faults(value, annotation, part, spec, problem, where)


#: What has no parts that could be wrong.
_PLAIN = (str, int, float, Fraction, Enum, Limit, Filter)


@cache
def _ruled(kind: type[Part]) -> tuple[tuple[str, Any, tuple[Any, ...]], ...]:
    """Return each field of a part with its annotation and what is marked on it."""
    return tuple(
        (field, info.annotation, (*info.metadata, *_marks(_without_none(info.annotation))))  # those of `X | None` too
        for field, info in kind.model_fields.items()
    )


def _nested_faults(
    value: Any, annotation: Any, part: Part, spec: Spec, problem: Problem, path: Path
) -> Iterator[Fault]:
    """Walk into lists, mappings and parts, following the annotation for references on their entries."""
    if isinstance(value, Spec | Limit | Filter):
        return  # a nested spec is checked by its own `faults`
    if isinstance(value, Part):
        yield from reference_faults(value, spec, problem, path)
        return
    arguments: tuple[Any, ...] = getattr(_without_none(annotation), "__args__", ())
    if isinstance(value, tuple | list):
        marks = _marks(arguments[0]) if arguments else ()
        for position, entry in enumerate(value):
            for rule in marks:
                yield from _ref_faults(rule, entry, part, spec, problem, (*path, position))
            yield from _entry_faults(entry, arguments[:1], part, spec, problem, (*path, position))
            yield from _nested_faults(
                entry, arguments[0] if arguments else None, part, spec, problem, (*path, position)
            )
    elif isinstance(value, Mapping):
        marks = _marks(arguments[0]) if arguments else ()
        for key, entry in value.items():
            for rule in marks:
                yield from _ref_faults(rule, key, part, spec, problem, (*path, key))
            yield from _entry_faults(entry, arguments[1:2], part, spec, problem, (*path, key))
            yield from _nested_faults(
                entry, arguments[1] if len(arguments) > 1 else None, part, spec, problem, (*path, key)
            )


def _entry_faults(
    entry: Any, annotation: tuple[Any, ...], part: Part, spec: Spec, problem: Problem, path: Path
) -> Iterator[Fault]:
    """Check a limit or filter that is an entry of a list or mapping."""
    for rule in getattr(annotation[0], "__metadata__", ()) if annotation else ():
        if isinstance(rule, LimitRule) and isinstance(entry, Limit):
            yield from _limit_faults(rule, entry, part, spec, problem, path)
        elif isinstance(rule, FilterRule) and isinstance(entry, Filter):
            yield from _filter_faults(rule, entry, part, spec, problem, path)


def _without_none(annotation: Any) -> Any:
    """Return the other member of an optional type."""
    if get_origin(annotation) in (Union, UnionType):
        others = [member for member in get_args(annotation) if member is not type(None)]
        return others[0] if len(others) == 1 else annotation
    return annotation


def _marks(annotation: Any) -> tuple[Ref, ...]:
    return tuple(mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Ref))


def resolved(name: str, part: Part, spec: Spec, problem: Problem) -> str:
    """Return the scope or partition that a reference's ``of`` means.

    A field of the part or of the spec, or a literal after ``=``.
    """
    if name.startswith("="):
        return problem.container_name if name == "=container" else name[1:]
    owner = part if name in type(part).model_fields else spec
    return getattr(owner, name) or problem.container_name


def _ref_faults(rule: Ref, value: Any, part: Part, spec: Spec, problem: Problem, path: Path) -> Iterator[Fault]:
    if not isinstance(value, str) or (value == "" and rule.empty):
        return
    known, what = _known(rule, part, spec, problem)
    if known is not None and value not in known:
        yield unknown_name(what, value, known, path)


def _known(rule: Ref, part: Part, spec: Spec, problem: Problem) -> tuple[Any, str]:
    """Return the names that a reference may take (None.

    Its scope or partition is itself unknown) and what to call them.
    """
    if rule.kind == "scope":
        return problem.scopes, "scope"
    if rule.kind == "dimension":
        return problem.dimension_names(), "dimension"
    if rule.kind == "partition":
        return problem.partitions, "partition"
    if rule.kind == "object":
        return problem.objects, problem.object_name
    if rule.kind == "container":
        return problem.containers, problem.container_name
    owner = resolved(rule.of, part, spec, problem)
    if rule.kind == "item":
        return (
            problem.scopes[owner].items if owner in problem.scopes else None
        ), f"{owner} of the scope" if owner == "" else owner
    return (problem.partitions[owner].groups if owner in problem.partitions else None), owner


def _limit_faults(
    rule: LimitRule, limit: Limit, part: Part, spec: Spec, problem: Problem, path: Path
) -> Iterator[Fault]:
    item = Ref("item", rule.scope)
    group = (
        item if rule.partition == rule.scope else Ref("group", rule.partition)
    )  # between items, both sides are items
    for allowed, field, names in ((rule.items, "scope_item_limits", item), (rule.groups, "group_limits", group)):
        values = getattr(limit, field)
        if values and not allowed:
            yield Fault("unsupported-limit", f"{spec.key} does not honour '{field}' here", (*path, field), list(values))
        elif values:
            for key in values:
                yield from _ref_faults(names, key, part, spec, problem, (*path, field, key))
    pairs = limit.scope_item_to_group_limits
    if pairs and not rule.pairs:
        yield Fault(
            "unsupported-limit",
            f"{spec.key} does not honour 'scope_item_to_group_limits' here",
            (*path, "scope_item_to_group_limits"),
            list(pairs),
        )
    elif pairs:
        for key, groups in pairs.items():
            yield from _ref_faults(item, key, part, spec, problem, (*path, "scope_item_to_group_limits", key))
            for name in groups:
                yield from _ref_faults(
                    group, name, part, spec, problem, (*path, "scope_item_to_group_limits", key, name)
                )
    if limit.type.value not in rule.types:
        yield Fault(
            "unsupported-limit",
            f"{spec.key} needs a limit of type {' or '.join(rule.types)} here, got {limit.type.value}",
            (*path, "type"),
            limit.type.value,
            rule.types[0],
        )


def _filter_faults(
    rule: FilterRule, chosen: Filter, part: Part, spec: Spec, problem: Problem, path: Path
) -> Iterator[Fault]:
    if chosen.items_whitelist is not None and chosen.items_blacklist is not None:
        yield Fault(
            "both-filters",
            "a filter has either 'items_whitelist' or 'items_blacklist', not both",
            (*path, "items_blacklist"),
        )
    if chosen.type is not rule.type:
        yield Fault(
            "filter-type",
            f"this filter selects by {rule.type.value}, got {chosen.type.value}",
            (*path, "type"),
            chosen.type.value,
            rule.type.value,
        )
        return
    names = Ref("item" if rule.type is FilterType.SCOPE_ITEM else "group", rule.of)
    for field in ("items_whitelist", "items_blacklist"):
        for position, name in enumerate(getattr(chosen, field) or ()):
            yield from _ref_faults(names, name, part, spec, problem, (*path, field, position))
