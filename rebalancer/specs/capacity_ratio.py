"""capacity_ratio: bound what one scope item holds by what another holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import DimensionOrCount, ItemName, Number, ScopeName, exact

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class CapacityRatioSpec(Spec):
    """Bound what a scope item holds by a multiple of what another one holds.

    Notes
    -----
    For every pair of items that ``ratios`` lists, ``e = U(first) − ratio · U(second)``, with ``U`` the amount of
    the dimension in the item. Nothing is divided by capacities.

    Goal: ``Σ max(0, e)``. Constraint: one component per pair, ``e ≤ 0``. Without pairs the goal is 0 and the
    constraint holds. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "capacity_ratio"

    scope: ScopeName = Field(description="Scope of the items.")
    dimension: DimensionOrCount = Field("", description="What is summed; empty: the number of objects.")
    ratios: Mapping[ItemName, Mapping[ItemName, Number]] = Field(
        description="By item and other item: how many times as much as the other one it may hold."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells)), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        index = model.problem.scopes[self.scope].items.index
        pairs = [
            (index[one], index[other], exact(ratio)) for one, row in self.ratios.items() for other, ratio in row.items()
        ]
        if not pairs:
            return []
        amount = model.amount(self.scope, self.dimension)
        zeros = np.zeros(len(pairs), np.int64)
        items = np.array([one for one, _, _ in pairs])
        held = model.gather(amount, zeros, items)
        other = model.gather(amount, zeros, np.array([other for _, other, _ in pairs]))
        excess = model.linear([(held, 1), (other, Param.of([-ratio for _, _, ratio in pairs]))])
        return [Component(excess, amount=held, scope=self.scope, item_index=items)]
