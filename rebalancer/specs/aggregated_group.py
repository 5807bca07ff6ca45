"""aggregated_group: bound what the groups of a scope item need, aggregated in three steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid, Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import vector_faults
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionOrCount,
    ItemFilter,
    ItemName,
    Limit,
    PartitionName,
    ScopeName,
    exact,
    limit_field,
)
from rebalancer.specs.limits import item_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class Aggregation(str, Enum):
    """How amounts are put together."""

    MAX = "MAX"
    SUM = "SUM"


class AggregatedGroupSpec(Spec):
    """Bound what the groups of a scope item need: by default, what the largest group of each of its containers needs.

    Notes
    -----
    For every filtered item ``s``, ``e(s) = C_{c in s} G_g W_{o in g, in c} (amount(o) · coefficient(s)) −
    limit(s)``, where each of ``W`` (within a group), ``G`` (over groups) and ``C`` (over the containers of the
    item) is SUM or MAX. The MAX of nothing is 0, and within a group what is not in the container counts as 0. The
    coefficient is the item's limit in ``contributions[s]``, 1 where there is none; both it and the limit are plain
    numbers.

    Goal: ``Σ_s max(0, e(s))``. Constraint: one component per item, ``e(s) ≤ 0``. Objects in no group, and unplaced
    ones, do not count; one in two groups counts in both.
    """

    key: ClassVar[str] = "aggregated_group"

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionOrCount = Field("", description="What is aggregated; empty: 1 per object; no vectors.")
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 1, items=True, raw=True)] = Field(
        Limit(), description="The bound of each item, a plain amount."
    )
    within_group_aggregation_type: Aggregation = Field(Aggregation.SUM, description="Over the objects of a group.")
    group_aggregation_type: Aggregation = Field(Aggregation.MAX, description="Over the groups in a container.")
    container_aggregation_type: Aggregation = Field(Aggregation.SUM, description="Over the containers of a scope item.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    contributions: Mapping[ItemName, Annotated[Limit, *limit_field("RELATIVE", 1, items=True, raw=True)]] = Field(
        {}, description="By scope item: what amounts in it are multiplied by; 1 where left out."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells)), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        items = model.problem.scopes[self.scope].items
        every = kept_items(items, self.filter).tolist()
        stated = zip(every, item_limits(self.limit, items, every, None), strict=True)
        limits = {item: limit for item, limit in stated if limit is not None}
        if not limits:
            return []
        kept, own = list(limits), list(limits.values())
        needed = self._needed(model, np.array(kept, np.int64))
        return [
            Component(
                model.linear([(needed, 1)], Param.of([-limit for limit in own])),
                amount=needed,
                limit=Grid(1, len(own), np.array([[float(limit) for limit in own]])),
                scope=self.scope,
                item_index=np.array(kept, np.int64),
            )
        ]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)

    def _needed(self, model: ModelBuilder, kept: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Cells:
        """Return what each of the kept items needs: shape (1, items)."""
        problem = model.problem
        scope, partition = problem.scopes[self.scope], problem.partitions[self.partition_name]
        containers, groups = problem.scopes[problem.container_name], len(partition.groups)
        item = scope.among(kept)[:-1].astype(np.int64)  # of each container
        used = np.flatnonzero(item >= 0)
        if not groups or not len(used):
            return model.linear([], Param.constant(0, 1, len(kept)))
        group, member = partition.group.astype(np.int64), partition.member.astype(np.int64)
        by_object = self.within_group_aggregation_type is Aggregation.MAX
        rows, row = (len(member), np.arange(len(member))) if by_object else (groups, group)
        cells: Cells = model.custom_tally(row, member, rows, containers.among(used), len(used), self.dimension)
        factors = [self._coefficient(scope.items[int(kept[where])]) for where in item[used].tolist()]
        if set(factors) != {Fraction(1)}:
            cells = model.linear([(cells, Param.of(factors))])
        columns = np.arange(len(used))
        if by_object:
            cells = model.largest(cells, group, columns, groups, len(used))
        if self.group_aggregation_type is Aggregation.MAX:
            cells = model.largest(cells, None, columns, 1, len(used))
        else:
            cells = model.sum_groups(cells)
        if self.container_aggregation_type is Aggregation.MAX:
            return model.largest(cells, None, item[used], 1, len(kept))
        return model.regroup(cells, None, item[used], 1, len(kept))

    def _coefficient(self, name: str) -> Fraction:
        given = self.contributions.get(name)
        return Fraction(1) if given is None else exact(given.scope_item_limits.get(name, given.global_limit))
