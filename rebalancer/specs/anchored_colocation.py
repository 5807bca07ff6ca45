"""anchored_colocation: objects that stay together, where some of them are anchored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemFilter, ScopeName, Whole
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import MISSING, Missing, Objects, excess, label, one_group, outside

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class AnchoredColocationSpec(Spec):
    """Keep objects in the scope items that hold an anchor; without any anchor, in few items.

    Notes
    -----
    Anchors are objects that the others gather round, usually ones that cannot move. ``w`` is how many filtered items
    hold some of the objects and no anchor. The excess is ``w`` where an anchor is in some filtered item, else ``w −
    limit``: without anchors the objects spread over at most ``limit`` items.

    Goal: ``max(0, excess)``. Constraint: one component, excess ≤ 0. With ``missing: refuse``, one component more per
    object: 1 while it is in a container that is in no item of the scope. Unplaced objects and anchors are in no item.
    """

    key: ClassVar[str] = "anchored_colocation"

    scope: ScopeName = Field(description="Scope whose items hold them together.")
    objects: Objects = Field(description="The objects that stay together.")
    anchors: Objects | None = Field(None, description="Whom they gather round; left out: nobody.")
    limit: Whole = Field(1, description="Over how many items they may spread while there is no anchor.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    missing: Missing = Field("unconstrained", description=MISSING)

    def goal(self, model: ModelBuilder) -> Cells:
        return excess(model, self.components(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        scope = problem.scopes[self.scope]
        kept = kept_items(scope.items, self.filter)
        members = self.objects.members(problem)
        if not len(members):
            return []
        place = scope.among(kept)
        there = one_group(members).tally(model, place, len(kept))
        anchors = np.empty(0, np.int64) if self.anchors is None else self.anchors.members(problem)
        anchored = model.step(one_group(anchors).tally(model, place, len(kept)))
        lonely = model.step(model.linear([(there, 1), (anchored, -there.high)]))
        wrong = model.total(lonely)
        anywhere = model.step(model.total(anchored))
        cells = model.linear([(wrong, 1), (anywhere, self.limit)], -self.limit)
        together = Component(cells, amount=wrong, **label(problem, members))
        return [together, *outside(model, scope, self.missing, members)]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.limit < 0:
            yield Fault("out-of-range", f"'limit' must be 0 or more, got {self.limit}", ("limit",), self.limit)
