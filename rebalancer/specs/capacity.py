"""capacity: bound the amount of a dimension in each scope item."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid, Param
from rebalancer.problem import Fault
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Bound, Definition, Spec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionOrCount,
    Flag,
    ItemFilter,
    Limit,
    LimitType,
    Name,
    Part,
    PartitionName,
    Ref,
    ScopeName,
    limit_field,
)
from rebalancer.specs.limits import group_limits, item_limits, kept_items, mean, nested, outer_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem

#: The separate conditions that a definition stands for.
CONDITIONS: dict[Definition, tuple[str, ...]] = {
    Definition.DURING_AND_AFTER: ("DURING", "AFTER"),
    Definition.DOUBLE_DURING: ("DURING", "OLD"),
    Definition.DOUBLE_DURING_AND_AFTER: ("DURING", "AFTER", "OLD"),
}


class UtilizationBoundType(str, Enum):
    """Which way a group's amount is bounded."""

    UPPER = "UPPER"
    LOWER = "LOWER"


class GroupUtilizationBound(Part):
    """Replaces each group's amount by one that is capped from above (UPPER) or, where present, from below (LOWER)."""

    partition_name: PartitionName = Field(description="Disjoint groups of objects.", validation_alias=PARTITION_ALIASES)
    bound_type: UtilizationBoundType = Field(
        UtilizationBoundType.UPPER,
        description="UPPER: min(amount, value); LOWER: max(amount, value) where the group is present.",
    )
    per_group_values: Annotated[
        Limit, *limit_field("ABSOLUTE", unbounded=True, items=True, groups=True, pairs=True, raw=True)
    ] = Field(
        Limit(),
        description="Plain amounts; only of named groups and items unless is_default_limit_unbounded is false.",
    )
    aggregation_scope: Annotated[Name | None, Ref("scope")] = Field(
        None, description="Finer scope, nested in the spec's: a group's amount is first taken there, then summed."
    )


class UtilizationBound(Part):
    """How the amounts of groups are bounded before they are summed."""

    group_utilization_bound: GroupUtilizationBound = Field(description="Bounds by group.")


class CapacitySpec(Spec):
    """Bound the amount of a dimension in each scope item.

    Notes
    -----
    ``U(s)`` is the amount that counts in item ``s``, of a vector dimension its largest component, and ``T(s)`` its
    limit: the item's own or the global one, RELATIVE times the item's capacity. ``A`` is the mean capacity of the
    filtered items, or 1 if that is 0. The excess is

    - MAX ``(U − T) / A``;
    - MIN ``(T − U) / A``, of items whose limit is not 0; with zero_allowed only where ``0 < U``.

    DURING_AND_AFTER, DOUBLE_DURING (DURING, OLD) and DOUBLE_DURING_AND_AFTER (all three) are separate conditions
    against the same limit. With use_legacy_formula each excess is divided by the item's own capacity; an item without
    capacity then has to stay empty under MAX, counts plain amounts in the constraint, and is left out of the goal.

    Goal: ``Σ max(0, excess)`` over conditions and items. Constraint: one component per condition and item, excess ≤
    0. Where DURING is demanded, AFTER is so only of the items whose DURING is broken at the start.

    With utilization_bound, ``U(s)`` is a sum over the groups of a disjoint partition, each amount first replaced by
    ``min(amount, value)`` (UPPER), or by ``max(amount, value)`` where it is positive (LOWER). If
    is_default_limit_unbounded is set to false every group is replaced, and objects in no group stop counting;
    otherwise only groups with a value are, and everything else counts as usual.

    Without items the goal is 0 and the constraint holds. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "capacity"

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    dimension: DimensionOrCount = Field("", description="What is summed; empty: the number of objects.")
    definition: Literal[
        Definition.AFTER,
        Definition.DURING,
        Definition.DURING_AND_AFTER,
        Definition.DOUBLE_DURING,
        Definition.DOUBLE_DURING_AND_AFTER,
        Definition.NEW,
        Definition.OLD,
        Definition.MOVED_DATA,
    ] = Field(Definition.AFTER, description="Which objects count.")
    bound: Bound = Field(Bound.MAX, description="MAX: at most the limit; MIN: at least.")
    limit: Annotated[Limit, *limit_field("RELATIVE", 1, items=True)] = Field(
        Limit(), description="RELATIVE: times the item's capacity in the same dimension."
    )
    filter: ItemFilter = Field(None, description="Which scope items.")
    zero_allowed: Flag = Field(False, description="With MIN: an empty item is fine.")
    use_legacy_formula: Flag = Field(
        False, description="Measure violations in each item's own capacity instead of the mean."
    )
    utilization_bound: UtilizationBound | None = Field(
        None, description="Bounds on the amounts of groups before they are summed."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        parts = self._conditions(model, demanded=False)
        return model.linear([(model.total(model.hinge(part.cells), part.weight), 1) for part in parts.values()])

    def components(self, model: ModelBuilder) -> list[Component]:
        parts = self._conditions(model, demanded=True)
        if "DURING" in parts and "AFTER" in parts:
            _, broken = model.initial(parts["DURING"].cells).where(lambda v: v > 0)
            after = parts.pop("AFTER")
            if len(broken):
                parts["AFTER"] = _chosen(model, after, broken)
        return list(parts.values())

    def faults(self, problem: Problem) -> Iterator[Fault]:
        found = list(super().faults(problem))
        yield from found
        if self.utilization_bound is None or found:
            return
        bound = self.utilization_bound.group_utilization_bound
        path = ("utilization_bound", "group_utilization_bound")
        if problem.partitions[bound.partition_name].overlapping:
            message = f"utilization_bound needs disjoint groups; '{bound.partition_name}' has overlapping ones"
            yield Fault("overlapping-groups", message, (*path, "partition_name"), bound.partition_name)
        finer = bound.aggregation_scope
        if finer is not None and not nested(problem, finer, self.scope):
            message = f"every item of the aggregation scope '{finer}' must lie in one item of '{self.scope}'"
            yield Fault("not-nested", message, (*path, "aggregation_scope"), finer)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        if self.utilization_bound is not None:
            path = ("utilization_bound", "group_utilization_bound", "per_group_values", "type")
            if self.utilization_bound.group_utilization_bound.per_group_values.type is LimitType.RELATIVE:
                yield Fault(
                    "raw-limit",
                    "'per_group_values' are read as plain numbers: RELATIVE has no meaning here",
                    path,
                    "RELATIVE",
                )
        if self.zero_allowed and self.bound is Bound.MAX:
            yield Fault(
                "no-effect",
                "'zero_allowed' has no effect with MAX: an empty item is fine there",
                ("zero_allowed",),
                True,
            )
        if self.use_legacy_formula:
            consequence = "it has to stay empty under MAX, and use_legacy_formula leaves it out of the goal"
            yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, consequence)
        elif self.limit.type.value == "RELATIVE" and self.bound is Bound.MAX:
            yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, "it has to stay empty")

    # -- cells --------------------------------------------------------------------------------------------------------

    def _conditions(self, model: ModelBuilder, demanded: bool) -> dict[str, Component]:
        """Return amount against limit by metric, over the filtered items: one component per item."""
        items = model.problem.scopes[self.scope].items
        kept = kept_items(items, self.filter).tolist()
        offered = model.problem.capacity(self.dimension, self.scope).exact
        average = mean([offered[index] for index in kept])
        if self.use_legacy_formula:
            kept = [index for index in kept if offered[index] or (demanded and self.bound is Bound.MAX)]
        own = item_limits(self.limit, items, kept, offered)
        if self.use_legacy_formula:
            own = [limit if offered[index] else Fraction(0) for index, limit in zip(kept, own, strict=True)]
        if self.bound is Bound.MIN:
            kept, own = (
                [index for index, limit in zip(kept, own, strict=True) if limit],
                [limit for limit in own if limit],
            )
        if not kept:
            return {}
        weight = (
            Param.of([1 / (offered[index] or Fraction(1)) for index in kept])
            if self.use_legacy_formula
            else Param.constant(1 / average)
        )
        shown = np.array([[np.inf if limit is None else float(limit) for limit in own]])
        chosen = np.array(kept, np.int64)
        out = {}
        for metric in CONDITIONS.get(self.definition, (self.definition.value,)):
            amount = self._amount(model, metric)
            here = model.gather(amount, np.zeros(len(kept), np.int64), chosen) if len(kept) < len(items) else amount
            cells = self._excess(model, here, own)
            out[metric] = Component(
                cells, "cell", weight, here, Grid(1, len(kept), shown), self.scope, None, None, chosen
            )
        return out

    def _excess(self, model: ModelBuilder, amount: Cells, limits: list[Fraction | None]) -> Cells:
        if self.bound is Bound.MAX:
            most = (amount.high + 1) * amount.unit
            return model.linear(
                [(amount, 1)], Param.of([-(most if limit is None else min(limit, most)) for limit in limits])
            )
        if not self.zero_allowed:
            least = (amount.low - 1) * amount.unit
            return model.linear([(amount, -1)], Param.of([max(limit or Fraction(0), least) for limit in limits]))
        # limit − amount where 0 < amount ≤ limit, else 0, for amounts of either sign
        limit = Param.of([max(limit or Fraction(0), Fraction(0)) for limit in limits])
        shortfall = model.hinge(model.linear([(amount, -1)], limit))
        below_zero = model.hinge(model.linear([(amount, -1)]))
        return model.linear([(shortfall, 1), (below_zero, -1), (model.step(amount), limit)], limit.scaled(Fraction(-1)))

    def _amount(self, model: ModelBuilder, metric: str) -> Cells:
        """Return the amount per item under a metric, groups bounded first where that is asked for."""
        if self.utilization_bound is None:
            return model.amount(self.scope, self.dimension, metric)
        bound = self.utilization_bound.group_utilization_bound
        problem = model.problem
        stated = group_limits(
            bound.per_group_values, problem.partitions[bound.partition_name].groups, problem.scopes[self.scope].items
        )
        by_group = self._group_amount(model, metric, bound)
        plain = (
            model.amount(self.scope, self.dimension, metric)
            if bound.per_group_values.is_default_limit_unbounded
            else model.sum_groups(by_group)
        )
        if bound.bound_type is UtilizationBoundType.UPPER:
            over = model.hinge(stated.over(model, by_group))
            return model.linear([(plain, 1), (model.sum_groups(over), -1)])
        value = stated.param(lambda limit: Fraction(0) if limit is None else limit)
        counts = stated.param(lambda limit: Fraction(0 if limit is None else -1))
        missing = model.hinge(model.linear([(model.step(by_group), value), (by_group, counts)]))
        return model.linear([(plain, 1), (model.sum_groups(missing), 1)])

    def _group_amount(self, model: ModelBuilder, metric: str, bound: GroupUtilizationBound) -> Cells:
        if bound.aggregation_scope is None:
            return model.amount(self.scope, self.dimension, metric, partition=bound.partition_name)
        finer = model.amount(bound.aggregation_scope, self.dimension, metric, partition=bound.partition_name)
        outer = outer_items(model.problem, bound.aggregation_scope, self.scope)
        return model.regroup(
            finer, np.arange(finer.groups), outer, finer.groups, len(model.problem.scopes[self.scope].items)
        )


def _chosen(model: ModelBuilder, part: Component, cells: IntArray) -> Component:
    """Return the component over some of its cells."""
    zeros = np.zeros(len(cells), np.int64)
    assert part.item_index is not None
    assert part.amount is not None
    assert part.limit is not None
    return Component(
        model.gather(part.cells, zeros, cells),
        "cell",
        part.weight_at(zeros, cells),
        model.gather(part.amount, zeros, cells),
        part.limit.take(zeros, cells),
        part.scope,
        None,
        None,
        part.item_index[cells],
    )
