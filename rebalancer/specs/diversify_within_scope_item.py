"""diversify_within_scope_item: groups that have much of a scope item spread over its containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import negative_faults, vector_faults, zero_capacity_warnings
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionName,
    ItemFilter,
    Limit,
    LimitType,
    PartitionName,
    ScopeName,
    limit_field,
)
from rebalancer.specs.limits import group_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class DiversifyWithinScopeItemSpec(Spec):
    """Spread each group that has much of a scope item over the containers of that item.

    Notes
    -----
    Goal: ``Σ_g Σ_s [n(g, s) > limit(g, s)] · Σ_{c in s} (n(g, c) / capacity(c))²`` over the filtered items, with
    ``n`` the amount of a group in an item or container. A RELATIVE limit is multiplied by the item's capacity.
    (Rebalancer raises to the power 1.1 instead of 2.)

    Items and containers whose capacity is 0 are left out. Without groups or items the goal is 0. Where there is no
    limit (is_default_limit_unbounded) a group never pays. Objects in no group, and unplaced ones, do not count.
    """

    key: ClassVar[str] = "diversify_within_scope_item"

    scope: ScopeName = Field(description="Scope of the items.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionName = Field(description="What is summed; no vectors, no negative values.")
    group_to_limit: Annotated[Limit, *limit_field("RELATIVE", 1, items=True, groups=True, pairs=True)] = Field(
        Limit(), description="Up to this much of an item a group pays nothing; RELATIVE: times the item's capacity."
    )
    scope_item_filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        scope, groups = problem.scopes[self.scope], problem.partitions[self.partition_name].groups
        offered = problem.capacity(self.dimension, self.scope).exact
        room = problem.capacity(self.dimension, problem.container_name).exact
        kept = kept_items(scope.items, self.scope_item_filter)
        kept = kept[[offered[item] > 0 for item in kept.tolist()]]
        item = scope.among(kept)[:-1].astype(np.int64)  # of each container
        used = np.flatnonzero((item >= 0) & np.array([capacity > 0 for capacity in room], bool))
        if not len(groups) or not len(used):
            return model.linear([])
        limits = group_limits(self.group_to_limit, groups, scope.items, kept)
        amount = model.amount(self.scope, self.dimension, partition=self.partition_name, items=kept)
        if self.group_to_limit.type is LimitType.RELATIVE:
            # per item: amount / capacity against the plain limit
            amount = model.linear([(amount, Param.of([1 / offered[index] for index in kept.tolist()]))])
        much = model.step(limits.over(model, amount))
        here = model.amount(problem.container_name, self.dimension, partition=self.partition_name, items=used)
        relative = model.linear([(here, Param.of([1 / room[container] for container in used.tolist()]))])
        squares = model.square(relative)
        packed = model.regroup(squares, np.arange(len(groups)), item[used], len(groups), len(kept))
        return model.total(model.product(much, packed))

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        yield from negative_faults(problem, self.key, "dimension", self.dimension)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        for scope, chosen in ((self.scope, self.scope_item_filter), (problem.container_name, None)):
            yield from zero_capacity_warnings(problem, scope, self.dimension, chosen, "it is left out")
