"""largest_group_movement: no group should move much more than the others."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Param
from rebalancer.model.evaluate import add_up
from rebalancer.problem import UNPLACED, Fault, FixedPoint
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import dynamic_faults, vector_faults
from rebalancer.specs.fields import PARTITION_ALIASES, DimensionOrCount, PartitionName, ScopeOrContainer

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class LargestGroupMovementSpec(Spec):
    """Keep the group that moves most from moving much: spread the disturbance over all groups.

    Notes
    -----
    An object has moved if it is not in the scope item where it began. Goal: ``max_g Σ amount of the moved objects
    of g``, 0 where nothing moved. To bound the movement of each group instead, use group_move_limit.

    Placing an object that began unplaced, or outside the scope, is no movement; taking one out is. An object in two
    groups counts in both, one in none does not count. Without groups the value is 0.

    Source: the service move cost of the ROADEF/EURO challenge 2012 (Google machine reassignment).
    """

    key: ClassVar[str] = "largest_group_movement"

    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    scope: ScopeOrContainer = Field("", description="Where a move is a change of scope item; empty: the containers.")
    dimension: DimensionOrCount = Field(
        "", description="What a move counts; empty: 1 per object; no vectors, nothing dynamic."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        partition = problem.partitions[self.partition_name]
        item_of = problem.scopes[self.scope or problem.container_name].item_of
        known = problem.dimension(self.dimension)
        home = np.where(problem.origin == UNPLACED, -1, item_of[problem.origin])
        counted = home[partition.member] >= 0
        group, member = partition.group[counted].astype(np.int64), partition.member[counted].astype(np.int64)
        count = len(partition.groups)
        if not len(member):
            return model.linear([])
        objects = np.unique(member)
        unit = Fraction(1, known.scale)
        weight = known.values[:, 0]
        at_home = model.located(
            item_of,
            home[objects],
            objects,
            FixedPoint(weight[objects], known.scale),
            memberships=(group, member, count),
        )
        whole = add_up(group, weight[member], count).tolist()
        moved = model.linear([(at_home, -1)], Param.of([[unit * value] for value in whole]))
        return model.largest(model.hinge(moved))

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        yield from dynamic_faults(problem, self.key, "dimension", self.dimension)
