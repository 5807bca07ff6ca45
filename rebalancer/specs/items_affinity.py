"""items_affinity: groups balanced between two sets of scope items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.specs.base import Spec
from rebalancer.specs.fields import PARTITION_ALIASES, DimensionOrCount, ItemName, PartitionName, ScopeName

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class ItemsAffinitySpec(Spec):
    """Make the larger of the two parts small that each group has in two sets of scope items.

    Notes
    -----
    Goal: ``Σ_g max(n(g, type 1), n(g, type 2))``, with ``n`` the amount of group ``g`` in the items of a type
    together. If either list is empty, or there is no group, it is 0. An item listed twice counts once; one in both
    lists counts in both. Objects in no group, and unplaced ones, do not count. Of a vector dimension the largest
    component counts, item by item.
    """

    key: ClassVar[str] = "items_affinity"

    scope: ScopeName = Field(description="Scope of the items.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionOrCount = Field("", description="What is summed; empty: the number of objects.")
    scope_items_of_type1: tuple[ItemName, ...] = Field(description="The one set of items.")
    scope_items_of_type2: tuple[ItemName, ...] = Field(description="The other set of items.")

    def goal(self, model: ModelBuilder) -> Cells:
        index = model.problem.scopes[self.scope].items.index
        both = [
            sorted({index[name] for name in names}) for names in (self.scope_items_of_type1, self.scope_items_of_type2)
        ]
        if not all(both):
            return model.linear([])
        sums = [
            model.sum_items(
                model.amount(self.scope, self.dimension, partition=self.partition_name, items=np.array(items))
            )
            for items in both
        ]
        return model.total(model.largest_of(sums))
