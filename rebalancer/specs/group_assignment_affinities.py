"""group_assignment_affinities: how much of a group would rather be in some scope items."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import vector_faults
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionName,
    GroupName,
    ItemName,
    Number,
    Part,
    PartitionName,
    ScopeName,
    also_called,
    exact,
)
from rebalancer.specs.limits import group_sizes

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class GroupAssignmentAffinity(Part):
    """How much of one group should be in one scope item."""

    group: GroupName = Field(description="The group.", validation_alias=also_called("group", "group_name"))
    scope_item: ItemName = Field(
        description="The scope item.", validation_alias=also_called("scope_item", "scope_item_name")
    )
    target_dimension_value: Number = Field(description="How much of the group should be there.")
    affinity: Number = Field(description="What each missing share of the group costs; negative: what too much costs.")


class GroupAssignmentAffinitiesSpec(Spec):
    """Have a given amount of a group in given scope items.

    Notes
    -----
    Goal: ``Σ max(0, affinity · (target − n) / size)`` over the listed entries, with ``n`` the amount of the group in
    the item and ``size`` what the group totals (in a dynamic dimension: what it would weigh in that item). So a
    positive affinity asks for at least the target, a negative one for at most.

    A group that totals 0 is left out. Unplaced objects are in no item, but count in the size of their group. Without
    entries the goal is 0.
    """

    key: ClassVar[str] = "group_assignment_affinities"

    scope: ScopeName = Field(description="Scope of the items.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionName = Field(description="What is summed; no vectors.")
    affinities: tuple[GroupAssignmentAffinity, ...] = Field(description="Which groups belong where, and how much.")

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        sizes = self._sizes(problem)
        entries = [(entry, size) for entry, size in zip(self.affinities, sizes, strict=True) if size and entry.affinity]
        if not entries:
            return model.linear([])
        group = problem.partitions[self.partition_name].groups.lookup([entry.group for entry, _ in entries])
        item = problem.scopes[self.scope].items.lookup([entry.scope_item for entry, _ in entries])
        amount = model.gather(model.amount(self.scope, self.dimension, partition=self.partition_name), group, item)
        target = Param.of([exact(entry.target_dimension_value) * self._sign(entry, size) for entry, size in entries])
        sign = Param.of([-self._sign(entry, size) for entry, size in entries])
        missing = model.hinge(model.linear([(amount, sign)], target))
        return model.total(missing, Param.of([abs(exact(entry.affinity) / size) for entry, size in entries]))

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        for position, (entry, size) in enumerate(zip(self.affinities, self._sizes(problem), strict=True)):
            if not size:
                message = f"{self.partition_name} '{entry.group}' totals 0 of '{self.dimension}': it is left out"
                yield Fault("empty-group", message, ("affinities", position, "group"), entry.group)

    @staticmethod
    def _sign(entry: GroupAssignmentAffinity, size: Fraction) -> int:
        """Return 1 where too little costs, -1 where too much does."""
        return 1 if exact(entry.affinity) * size > 0 else -1

    def _sizes(self, problem: Problem) -> list[Fraction]:
        """Return what the group of each entry totals."""
        groups, items = problem.partitions[self.partition_name].groups, problem.scopes[self.scope].items
        sizes, keys, values = group_sizes(
            problem, self.partition_name, self.dimension, self.scope, np.arange(len(items))
        )
        special = dict(zip(keys.tolist(), values, strict=True))
        out = []
        for entry in self.affinities:
            group = groups.index[entry.group]
            out.append(special.get(group * len(items) + items.index[entry.scope_item], sizes[group]))
        return out
