"""capacity: bound the amount of a dimension in each scope item."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import AliasChoices, Field

from rebalancer.model import Component, Param
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Bound, Definition, Spec
from rebalancer.specs.fields import PARTITION_ALIASES, DimensionOrCount, Flag, ItemFilter, Limit, Part, PartitionName, ScopeName, limit_field
from rebalancer.specs.limits import capacities, group_limits, item_limits, kept_items, mean

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
    bound_type: UtilizationBoundType = Field(UtilizationBoundType.UPPER, description="UPPER: min(amount, value); LOWER: max(amount, value) where the group is present.")
    per_group_values: Annotated[Limit, *limit_field("ABSOLUTE", unbounded=True, items=True, groups=True, pairs=True)] = Field(
        Limit(), description="The values, plain amounts. Without is_default_limit_unbounded: false only named groups and items are bounded.")
    aggregation_scope: Annotated[str | None, Field(description="Finer scope, nested in the spec's: a group's amount is first taken there, then summed.")] = None


class UtilizationBound(Part):
    """How the amounts of groups are bounded before they are summed."""

    group_utilization_bound: GroupUtilizationBound = Field(description="Bounds by group.")


class CapacitySpec(Spec):
    """Bound the amount of a dimension in each scope item."""

    key: ClassVar[str] = "capacity"

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    dimension: DimensionOrCount = Field("", description="What is summed; empty: the number of objects.")
    definition: Definition = Field(Definition.AFTER, description="Which objects count.")
    bound: Bound = Field(Bound.MAX, description="MAX: at most the limit; MIN: at least.")
    limit: Annotated[Limit, *limit_field("RELATIVE", 1, items=True)] = Field(Limit(), description="RELATIVE: times the item's capacity in the same dimension.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    zero_allowed: Flag = Field(False, description="With MIN: an empty item is fine.")
    use_legacy_formula: Flag = Field(False, description="Measure violations in each item's own capacity instead of the mean.")
    utilization_bound: UtilizationBound | None = Field(None, description="Bounds on the amounts of groups before they are summed.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells), part.weight), 1) for part in self._conditions(model).values()])

    def components(self, model: ModelBuilder) -> list[Component]:
        parts = self._conditions(model)
        if "DURING" in parts and "AFTER" in parts:
            # AFTER is demanded only of items whose DURING is broken at the start: elsewhere DURING is the stricter one
            _, broken = model.initial(parts["DURING"].cells).where(lambda v: v > 0)
            after = parts.pop("AFTER")
            if len(broken):
                parts["AFTER"] = _chosen(model, after, broken)
        return list(parts.values())

    def _conditions(self, model: ModelBuilder) -> dict[str, Component]:
        """Return amount against limit by metric, over the filtered items: one component per item."""
        problem = model.problem
        items = problem.scopes[self.scope].items
        kept = kept_items(items, self.filter)
        _, offered = capacities(problem, self.dimension, self.scope)
        average = mean([offered[index] for index in kept.tolist()])
        weight = Param.constant(1 / average)
        if self.use_legacy_formula:
            weight = Param.of([1 / (offered[index] or Fraction(1)) for index in kept.tolist()] or [Fraction(1)])
        out = {}
        for metric in CONDITIONS.get(self.definition, (self.definition.value,)):
            amount = self._amount(model, metric)
            limits = item_limits(self.limit, items, offered)
            chosen = [index for index in kept.tolist() if limits[index] is not None and (self.bound is Bound.MAX or limits[index] != 0)]
            if not chosen:
                continue
            own = Param.of([limits[index] for index in chosen])
            here = model.gather(amount, np.zeros(len(chosen), np.int64), np.array(chosen)) if len(chosen) < len(items) else amount
            factors = weight if weight.grid.size == 1 else Param.of([1 / (offered[index] or Fraction(1)) for index in chosen])
            out[metric] = Component(self._excess(model, here, own), "cell", factors, here, own, self.scope, None, None, np.array(chosen))
        return out

    def _excess(self, model: ModelBuilder, amount: Cells, limit: Param) -> Cells:
        if self.bound is Bound.MAX:
            return model.linear([(amount, 1)], limit.scaled(Fraction(-1)))
        shortfall = model.linear([(amount, -1)], limit)
        if not self.zero_allowed:
            return shortfall
        # (limit − amount) where 0 < amount ≤ limit, else 0, for amounts of either sign
        below_zero = model.hinge(model.linear([(amount, -1)]))
        used = model.step(amount)
        return model.linear([(model.hinge(shortfall), 1), (below_zero, -1), (used, limit)], limit.scaled(Fraction(-1)))

    def _amount(self, model: ModelBuilder, metric: str) -> Cells:
        """Return the amount per item under a metric, groups bounded first where that is asked for."""
        if self.utilization_bound is None:
            return model.amount(self.scope, self.dimension, metric)
        bound = self.utilization_bound.group_utilization_bound
        problem = model.problem
        groups = problem.partitions[bound.partition_name].groups
        items = problem.scopes[self.scope].items
        by_group = self._group_amount(model, metric, bound)
        upper = bound.bound_type is UtilizationBoundType.UPPER
        unbounded = Fraction(by_group.high + 1) * by_group.unit if upper else Fraction(0)
        values = group_limits(bound.per_group_values, groups, items, None, unbounded)
        if upper:
            change = model.hinge(model.linear([(by_group, 1)], values.scaled(Fraction(-1))))
            factor = -1
        else:
            change = model.hinge(model.linear([(model.step(by_group), values), (by_group, -1)]))
            factor = 1
        plain = model.amount(self.scope, self.dimension, metric) if bound.per_group_values.is_default_limit_unbounded else model.sum_groups(by_group)
        return model.linear([(plain, 1), (model.sum_groups(change), factor)])

    def _group_amount(self, model: ModelBuilder, metric: str, bound: GroupUtilizationBound) -> Cells:
        if bound.aggregation_scope is None:
            return model.amount(self.scope, self.dimension, metric, partition=bound.partition_name)
        finer = model.amount(bound.aggregation_scope, self.dimension, metric, partition=bound.partition_name)
        outer = outer_items(model.problem, bound.aggregation_scope, self.scope)
        return model.regroup(finer, np.arange(finer.groups), outer, finer.groups, len(model.problem.scopes[self.scope].items))


def _chosen(model: ModelBuilder, part: Component, cells: IntArray) -> Component:
    """Return the component over some of its cells."""
    zeros = np.zeros(len(cells), np.int64)
    weight, limit = (None if param is None else param if param.grid.size == 1 else Param(type(param.grid)(1, len(cells), param.grid.dense()[:, cells]), param.unit)
                     for param in (part.weight, part.limit))
    assert weight is not None and part.item_index is not None and part.amount is not None
    return Component(model.gather(part.cells, zeros, cells), "cell", weight, model.gather(part.amount, zeros, cells), limit, part.scope, None, None,
                     part.item_index[cells])


def outer_items(problem: Problem, inner: str, outer: str) -> IntArray:
    """Return the item of ``outer`` that contains each item of ``inner``, -1 where none does."""
    inside, around = problem.scopes[inner].item_of[:-1], problem.scopes[outer].item_of[:-1]
    out = np.full(len(problem.scopes[inner].items), -1, np.int64)
    known = inside >= 0
    out[inside[known]] = around[known]
    return out
