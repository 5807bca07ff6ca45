"""non_accepting: nothing may arrive in given scope items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemName, ScopeName

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder


class NonAcceptingSpec(Spec):
    """Nothing may arrive in given scope items; what is there may stay or leave.

    Notes
    -----
    Constraint: one component per listed item, the number of objects that are in the item and did not begin there. A
    move between two containers of one item is no arrival. Placing an unplaced object is one, and so is a move in
    progress, which may break the constraint from the start. An item listed twice counts once.
    """

    key: ClassVar[str] = "non_accepting"

    scope: ScopeName = Field(description="Scope of the items.")
    items: tuple[ItemName, ...] = Field(description="The scope items that accept nothing.")

    def components(self, model: ModelBuilder) -> list[Component]:
        listed = np.unique(model.problem.scopes[self.scope].items.lookup(list(self.items)))
        arrived = model.amount(self.scope, "", "NEW", items=listed)
        return [Component(arrived, amount=arrived, scope=self.scope, item_index=listed)]
