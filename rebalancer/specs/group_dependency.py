"""group_dependency: a group only goes where the groups that it needs are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionOrCount,
    GroupName,
    ItemFilter,
    PartitionName,
    ScopeName,
)
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder

#: Up to so many dependencies times items each group is counted once, however many need it: a move then changes fewer
#: cells. Above it each dependency counts for itself, so that only what is somewhere is kept.
_LISTED = 1_000_000


class GroupDependencySpec(Spec):
    """Demand that where a group is, the groups that it needs are too.

    Notes
    -----
    A group is in a scope item if its amount of the dimension there is above 0. For every group ``a`` that needs a
    group ``b``, and every filtered item ``s``, ``e(a, b, s)`` is 1 if ``a`` is in ``s`` and ``b`` is not, else 0.

    Goal: ``Σ e``. Constraint: one component per dependency and item, ``e ≤ 0``.

    An empty group is nowhere: it needs nothing, and what needs it can be nowhere either. A dependency that is
    stated twice counts once, one of a group on itself always holds. Unplaced objects are in no item. Without
    dependencies the goal is 0 and the constraint holds.

    Source: the dependency constraint of the ROADEF/EURO challenge 2012 (Google machine reassignment), with services
    and neighborhoods.
    """

    key: ClassVar[str] = "group_dependency"

    scope: ScopeName = Field(description="Scope in whose items the groups meet.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dependencies: Mapping[GroupName, tuple[GroupName, ...]] = Field(
        description="The groups that a group needs beside it, by group."
    )
    dimension: DimensionOrCount = Field(
        "", description="Objects that weigh nothing in it do not count; empty: all count."
    )
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells)), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        partition, scope = problem.partitions[self.partition_name], problem.scopes[self.scope]
        groups, kept = partition.groups, kept_items(scope.items, self.filter)
        pairs = sorted(
            {
                (groups.index[name], groups.index[other])
                for name, others in self.dependencies.items()
                for other in others
            }
        )
        if not pairs or not len(kept):
            return []
        needs, needed = np.array(pairs, np.int64).T
        item_of = scope.among(kept)

        def present(chosen: IntArray) -> Cells:
            """Return whether each of some groups is in each item."""
            row, member = partition.members_of(chosen)
            amount = model.custom_tally(row, member.astype(np.int64), len(chosen), item_of, len(kept), self.dimension)
            return model.step(amount)

        if len(pairs) * len(kept) > _LISTED:
            group, item = needs, np.asarray(kept)
            here, there = present(needs), present(needed)
        else:
            involved, which = np.unique(pairs), np.tile(np.arange(len(kept)), len(pairs))
            group, item = np.repeat(needs, len(kept)), np.asarray(kept)[which]
            known = present(involved)
            here, there = (
                model.gather(known, np.repeat(np.searchsorted(involved, side), len(kept)), which)
                for side in (needs, needed)
            )
        return [
            Component(
                model.linear([(here, 1), (there, -1)]),
                scope=self.scope,
                partition=self.partition_name,
                group_index=group,
                item_index=item,
            )
        ]
