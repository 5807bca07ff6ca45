"""group_diversity: bound how many different groups are in a scope item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault, Names
from rebalancer.specs.base import Bound, Spec
from rebalancer.specs.checks import vector_faults
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionName,
    ItemFilter,
    Limit,
    PartitionName,
    ScopeName,
    limit_field,
)
from rebalancer.specs.limits import group_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder
    from rebalancer.model.cells import Cells
    from rebalancer.problem import Problem


class GroupDiversitySpec(Spec):
    """Bound how many different groups are in each scope item: at least some (MIN), or at most (MAX).

    Notes
    -----
    The diversity ``d(s)`` of item ``s`` is the number of groups whose amount of the dimension in it is above 0. The
    excess is ``limit − d`` under MIN and ``d − limit`` under MAX.

    Goal: ``Σ max(0, excess)`` over the filtered items. Constraint: one component per item, excess ≤ 0.

    MIN demands its diversity of an empty item, too. Empty groups, and groups of objects that weigh nothing, are
    nowhere. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "group_diversity"

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionName = Field(
        description="A group is in an item where its amount of this is above 0; no vectors."
    )
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 1, items=True, raw=True)] = Field(
        Limit(), description="How many groups, by scope item."
    )
    bound: Bound = Field(Bound.MIN, description="MIN: at least the limit; MAX: at most.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.total(model.hinge(self._component(model).cells))

    def components(self, model: ModelBuilder) -> list[Component]:
        return [self._component(model)]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)

    def _component(self, model: ModelBuilder) -> Component:
        """Return the excess of each filtered item."""
        items = model.problem.scopes[self.scope].items
        kept = kept_items(items, self.filter)
        there = model.step(model.amount(self.scope, self.dimension, partition=self.partition_name, items=kept))
        diversity = model.sum_groups(there)
        limits = group_limits(self.limit, Names(["diversity"]), items, kept)
        at_most = self.bound is Bound.MAX
        excess = limits.over(model, diversity) if at_most else limits.under(model, diversity)
        shown = limits.shown(float("inf") if at_most else -float("inf"))
        return Component(excess, amount=diversity, limit=shown, scope=self.scope, item_index=kept)
