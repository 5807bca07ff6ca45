"""move_group: groups that stay together in one container."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import PARTITION_ALIASES, PartitionName

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder


class MoveGroupSpec(Spec):
    """Keep each group together in one container, so that it moves as a whole.

    Notes
    -----
    Constraint: one component per container and group of two or more objects, broken by 1 where the container holds
    some of the group's placed objects but not all of them. A group that is apart at the start may stay where it is,
    or be brought together in one of its containers.

    Unplaced objects do not count: the others have to be together. Groups of fewer than two objects are always
    together.
    """

    key: ClassVar[str] = "move_group"

    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        scope = problem.scopes[problem.container_name]
        partition = problem.partitions[self.partition_name]
        kept = np.flatnonzero(partition.sizes > 1)
        if not len(kept) or not len(scope.items):
            return []
        row = np.full(len(partition.groups), -1, np.int64)
        row[kept] = np.arange(len(kept))
        counted = row[partition.group] >= 0
        group, member = row[partition.group[counted]], partition.member[counted].astype(np.int64)
        here = model.custom_tally(group, member, len(kept), scope.item_of, len(scope.items))
        elsewhere = model.linear([(model.sum_items(here), 1), (here, -1)])
        apart = model.linear([(model.step(here), 1), (model.step(elsewhere), 1)], -1)
        return [
            Component(apart, scope=scope.name, partition=self.partition_name, group_index=kept, amount=here),
        ]
