"""avoid_assignments: objects that may not be in some scope items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemName, ObjectName, Part, ScopeName, also_called

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder


class ForbiddenAssignment(Part):
    """The scope items that one object may not be in."""

    object: ObjectName = Field(description="The object.", validation_alias=also_called("object", "object_name"))
    scope_items: tuple[ItemName, ...] = Field(description="The scope items that it may not be in.")


class AvoidAssignmentsSpec(Spec):
    """Keep objects out of given scope items.

    Notes
    -----
    Constraint: one component per scope item that is named somewhere, the number of objects in it that are forbidden
    there. The violation is the number of forbidden placements, and a flat penalty is paid once per item that has
    some.

    Under the policy DEFAULT every single forbidden placement that does not exist at the start stays forbidden: two
    objects that are both forbidden in an item cannot take each other's place there. Unplaced objects are in no item.
    A pair that is stated twice counts once.
    """

    key: ClassVar[str] = "avoid_assignments"

    scope: ScopeName = Field(description="Scope of the items.")
    assignments: tuple[ForbiddenAssignment, ...] = Field(description="Which object may not be in which items.")

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        scope = problem.scopes[self.scope]
        names = sorted(
            {
                (problem.objects.index[entry.object], scope.items.index[item])
                for entry in self.assignments
                for item in entry.scope_items
            }
        )
        if not names:
            return []
        pairs = np.array(names, np.int64)
        objects, row = np.unique(pairs[:, 0], return_inverse=True)
        item, owner = np.unique(pairs[:, 1], return_inverse=True)
        there = model.custom_tally(np.arange(len(objects)), objects, len(objects), scope.among(item), len(item))
        forbidden = model.gather(there, row, owner)
        return [
            Component(
                forbidden,
                amount=forbidden,
                scope=self.scope,
                group_index=pairs[:, 0],
                item_index=pairs[:, 1],
                owner=owner.astype(np.int64),
                group_names=problem.objects,
            )
        ]
