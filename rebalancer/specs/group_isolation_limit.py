"""group_isolation_limit: only few groups may exceed a count in a scope item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    ItemFilter,
    Limit,
    PartitionName,
    ScopeName,
    Whole,
    limit_field,
)
from rebalancer.specs.limits import Limits, group_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class GroupIsolationLimitSpec(Spec):
    """Let only few groups exceed a count in each scope item, so that items are not shared by many big groups.

    Notes
    -----
    With ``v(g)`` how many objects of group ``g`` are in the item beyond its limit there (pair, item, group, then global
    limit), an item's excess is ``Σ_g v(g)`` without the ``groups_allowed`` largest. Goal: ``Σ`` of the excesses over
    the filtered items. Constraint: one component per item, excess ≤ 0.

    Under the policy DEFAULT a group that is over its limit at the start, and is not among the ``groups_allowed`` that
    are most so, may stay at the count that it has; no other group may take its place.

    Unplaced objects are in no item; empty groups exceed nothing.
    """

    key: ClassVar[str] = "group_isolation_limit"

    scope: ScopeName = Field(description="Scope whose items are looked at.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 0, items=True, groups=True, pairs=True, raw=True)] = Field(
        Limit(),
        description="How many objects of a group an item may hold without the group counting as one that exceeds.",
    )
    groups_allowed: Whole = Field(1, description="How many groups may exceed the limit in an item.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.total(self._excess(model, self._limits(model.problem)))

    def components(self, model: ModelBuilder) -> list[Component]:
        limits = self._limits(model.problem)
        excess = self._excess(model, limits)
        remembered = self._excess(model, self._remembered(model, limits))
        kept = kept_items(model.problem.scopes[self.scope].items, self.filter)
        return [Component(excess, amount=excess, scope=self.scope, item_index=kept, no_worse=remembered)]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.groups_allowed < 0:
            message = f"'groups_allowed' must be 0 or more, got {self.groups_allowed}"
            yield Fault("out-of-range", message, ("groups_allowed",), self.groups_allowed)

    def _limits(self, problem: Problem) -> Limits:
        items = problem.scopes[self.scope].items
        return group_limits(
            self.limit, problem.partitions[self.partition_name].groups, items, kept_items(items, self.filter)
        )

    def _over(self, model: ModelBuilder, limits: Limits) -> Cells:
        """Return how far each group is beyond its limit in each item."""
        kept = kept_items(model.problem.scopes[self.scope].items, self.filter)
        count = model.amount(self.scope, partition=self.partition_name, items=kept)
        return model.hinge(limits.over(model, count))

    def _excess(self, model: ModelBuilder, limits: Limits) -> Cells:
        return model.all_but_largest(self._over(model, limits), self.groups_allowed)

    def _remembered(self, model: ModelBuilder, limits: Limits) -> Limits:
        """Return the limits raised to the initial count where a group is over and not among the most so of its item."""
        over = self._over(model, limits)
        start = model.initial(over)
        group, item = start.where(lambda v: v > 0)
        order = np.lexsort((-start.at(group, item), item))
        group, item = group[order], item[order]
        first = np.searchsorted(item, item, side="left")
        later = np.flatnonzero(np.arange(len(item)) - first >= self.groups_allowed)
        group, item = group[later], item[later]
        kept = kept_items(model.problem.scopes[self.scope].items, self.filter)
        count = model.amount(self.scope, partition=self.partition_name, items=kept)
        values = [count.unit * value for value in model.initial(count).at(group, item).tolist()]
        return limits.with_exceptions(group * limits.items + item, values)
