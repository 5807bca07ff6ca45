"""sum_of_max: what the largest group of each scope item amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.specs.base import Spec
from rebalancer.specs.fields import PARTITION_ALIASES, DimensionName, ItemFilter, PartitionName, ScopeName
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class SumOfMaxSpec(Spec):
    """Make the largest group of each scope item small: pay for each item only what its largest group needs.

    Notes
    -----
    Goal: ``Σ_s max_g n(g, s)`` over the filtered items, with ``n`` the amount of group ``g`` in item ``s``. An item
    without any of the groups adds 0; without groups or items the goal is 0. Objects in no group, and unplaced ones,
    do not count.
    """

    key: ClassVar[str] = "sum_of_max"

    scope: ScopeName = Field(description="Scope of the items.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionName = Field(description="What is summed.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        kept = kept_items(model.problem.scopes[self.scope].items, self.filter)
        if not len(kept):
            return model.linear([])
        amount = model.amount(self.scope, self.dimension, partition=self.partition_name, items=kept)
        return model.total(model.largest(amount, None, np.arange(len(kept)), 1, len(kept)))
