"""exclusive_groups: scope items that are dedicated to one group each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import negative_faults, vector_faults
from rebalancer.specs.fields import PARTITION_ALIASES, DimensionName, PartitionName, ScopeName
from rebalancer.specs.limits import mean

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ExclusiveGroupsSpec(Spec):
    """Dedicate each scope item to one group: nothing else is in it.

    Notes
    -----
    Which group an item is dedicated to is part of the decision: the one that has most in it. What is in the wrong
    place is the rest,

        ``e(s) = (U(s) − max_g n(g, s)) / A``,

    with ``U`` the amount of everything in the item, ``n`` that of a group, and ``A`` the mean capacity of all items
    (1 if that is 0). A group may have several items to itself, and an empty item is nobody's.

    Goal: ``Σ e``. Constraint: one component per item, ``e ≤ 0``. Objects in no group are in the wrong place
    everywhere; so is an object that is only in another group, but one that is in two groups fits the items of both.
    Objects that weigh nothing fit everywhere. Unplaced objects are in no item.

    (Rebalancer chooses the groups beforehand, with a search of its own, and keeps to that choice.)
    """

    key: ClassVar[str] = "exclusive_groups"

    scope: ScopeName = Field(description="Scope of the items.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionName = Field(description="What is summed; no vectors, no negative values.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(part.cells, part.weight), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        count = len(problem.scopes[self.scope].items)
        if not count:
            return []
        everything = model.amount(self.scope, self.dimension)
        by_group = model.amount(self.scope, self.dimension, partition=self.partition_name)
        largest = model.largest(by_group, None, np.arange(count), 1, count)
        weight = Param.constant(1 / mean(problem.capacity(self.dimension, self.scope).exact))
        wrong = model.hinge(model.linear([(everything, 1), (largest, -1)]))
        return [Component(wrong, weight=weight, amount=wrong, scope=self.scope)]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        yield from negative_faults(problem, self.key, "dimension", self.dimension)
