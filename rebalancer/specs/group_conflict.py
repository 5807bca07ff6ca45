"""group_conflict: objects that share no scope item with others, or with anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemFilter, ScopeName
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import MISSING, Missing, Objects, excess, one_group, outside, selected

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class GroupConflictSpec(Spec):
    """Keep some objects out of the scope items of others, or of everybody.

    Notes
    -----
    Two different objects, one of the first set and one of the others, are never in one item. An object of both sets
    does not conflict with itself; so a set in conflict with itself has at most one object in each item, and objects in
    conflict with everybody are exclusive owners of their items.

    With ``a`` objects of the first set in an item, ``b`` of the others and ``u`` of the two sets together, the excess
    is ``min(a, b, u − 1)``: how many objects must leave, as the first set goes, or the others, or all but one object.

    Goal: ``Σ max(0, excess)`` over the filtered items. Constraint: one component per item, excess ≤ 0. With
    ``missing: refuse``, one component more per object of the first set: 1 while it is in a container that is in no
    item of the scope. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "group_conflict"

    scope: ScopeName = Field(description="Scope whose items they do not share.")
    objects: Objects = Field(description="The one set of objects.")
    others: Objects | None = Field(None, description="Whom they conflict with; left out: every other object.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    missing: Missing = Field("unconstrained", description=MISSING)

    def goal(self, model: ModelBuilder) -> Cells:
        return excess(model, self.components(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        scope = problem.scopes[self.scope]
        kept = kept_items(scope.items, self.filter)
        place = scope.among(kept)
        first, others = self.objects.members(problem), selected(problem, self.others)
        together = np.union1d(first, others)
        # the ways out: the one set leaves, or the other, or all but one object, where that one may stay
        ways = [
            one_group(members).tally(model, place, len(kept))
            for members in (first, others)
            if len(members) < len(together)
        ]
        if len(first) + len(others) > len(together):
            ways.append(model.linear([(one_group(together).tally(model, place, len(kept)), 1)], -1))
        sides = []
        if len(kept) and len(together):
            leaving = ways[0] if len(ways) == 1 else model.largest_of(ways, smallest=True)
            sides.append(Component(leaving, scope=self.scope, item_index=kept))
        return [*sides, *outside(model, scope, self.missing, first)]
