"""exclusive_objects: pairs of objects that keep apart, or of which one is everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import Flag, ItemFilter, ObjectName, Part, ScopeName
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class ObjectPair(Part):
    """Two objects."""

    object1: ObjectName = Field(description="The one object.")
    object2: ObjectName = Field(description="The other object.")


class ExclusiveObjectsSpec(Spec):
    """Keep the two objects of each pair out of the same scope item, or demand one of them in every item.

    Notes
    -----
    For every pair and filtered item, ``n`` is how many of the two objects are in the item (2 for an object paired
    with itself). The excess is ``n − 1`` with separate, else ``1 − n``, which demands one of the two in every
    filtered item.

    Goal: ``Σ max(0, excess)``. Constraint: one component per pair and item, excess ≤ 0. A pair that is stated twice
    counts twice. Unplaced objects are in no item. Without pairs or items the goal is 0 and the constraint holds.
    """

    key: ClassVar[str] = "exclusive_objects"

    scope: ScopeName = Field(description="Scope of the items.")
    pairs: tuple[ObjectPair, ...] = Field(description="The pairs.")
    separate: Flag = Field(True, description="true: never both in one item; false: at least one in every item.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells)), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        scope = problem.scopes[self.scope]
        kept = kept_items(scope.items, self.filter)
        count = len(self.pairs)
        if not count or not len(kept):
            return []
        member = problem.objects.lookup([name for pair in self.pairs for name in (pair.object1, pair.object2)])
        there = model.custom_tally(np.repeat(np.arange(count), 2), member, count, scope.among(kept), len(kept))
        sign = 1 if self.separate else -1
        return [
            Component(
                model.linear([(there, sign)], -sign),
                amount=there,
                scope=self.scope,
                group_index=member[::2],
                item_index=kept,
                group_names=problem.objects,
            )
        ]
