"""conditional_presence: where some objects sit, so and so many of others sit too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import Flag, ItemFilter, ScopeName, Whole
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import MISSING, Missing, Objects, excess, one_group, outside

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ConditionalPresenceSpec(Spec):
    """Demand that where some objects sit, so and so many of others sit too.

    Notes
    -----
    For every filtered item that holds an object of the source, ``n`` is how many objects of the target it holds. An
    object that is in both does not count for itself unless count_self says so: it sees ``n − 1``. The excess is

    - under: ``min − n``, how many are missing (for the object that sees the fewest);
    - over: ``n − max``, how many are too many (for the object that sees the most).

    Goal: ``Σ max(0, excess)``. Constraint: one component per item and side, excess ≤ 0. An item without an object of
    the source holds. With ``missing: refuse``, one component more per source object: 1 while it is in a container that
    is in no item of the scope.

    Unplaced objects are in no item. Objects that are not to be judged, such as ones that cannot move, are left out of
    the source, and may still be in the target.
    """

    key: ClassVar[str] = "conditional_presence"

    scope: ScopeName = Field(description="Scope in whose items the objects meet.")
    source: Objects = Field(description="Objects that ask for company, or for none.")
    target: Objects = Field(description="The objects that are counted beside them.")
    min: Whole = Field(0, description="At least so many of the target are there.")
    max: Whole | None = Field(None, description="At most so many of the target are there; left out: any number.")
    count_self: Flag = Field(False, description="Whether an object of source and target counts for itself.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    missing: Missing = Field("unconstrained", description=MISSING)

    def goal(self, model: ModelBuilder) -> Cells:
        return excess(model, self.components(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        scope = problem.scopes[self.scope]
        kept = kept_items(scope.items, self.filter)
        source, target = self.source.members(problem), self.target.members(problem)
        place = scope.among(kept)
        seen = one_group(target).tally(model, place, len(kept))
        both = np.empty(0, np.int64) if self.count_self else np.intersect1d(source, target)
        under, over = [], []
        for members, itself in ((np.setdiff1d(source, both), 0), (both, 1)):
            if not len(members):
                continue
            there = model.step(one_group(members).tally(model, place, len(kept)))
            if self.min > 0:
                under.append(model.linear([(there, self.min + itself), (seen, -1)]))
            if self.max is not None and self.max + itself < seen.high:
                # n ≤ max where somebody is, and n ≤ what there is at all elsewhere
                over.append(model.linear([(seen, 1), (there, seen.high - self.max - itself)], -seen.high))
        sides = [
            Component(
                cells[0] if len(cells) == 1 else model.largest_of(cells),
                amount=seen,
                limit=Grid.constant(1, len(kept), float(limit)),
                scope=self.scope,
                item_index=kept,
            )
            for cells, limit in ((under, self.min), (over, self.max or 0))
            if cells and len(kept)
        ]
        return [*sides, *outside(model, scope, self.missing, source)]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from bound_faults(self.min, self.max)


def bound_faults(least: int, most: int | None) -> Iterator[Fault]:
    """Yield what is wrong with a least and a most number."""
    if least < 0:
        yield Fault("out-of-range", f"'min' must be 0 or more, got {least}", ("min",), least)
    if most is not None and most < max(0, least):
        yield Fault("out-of-range", f"'max' must be {max(0, least)} (min) or more, got {most}", ("max",), most)
    if most is None and not least:
        yield Fault("missing-field", "neither 'min' nor 'max' is given: nothing is asked for", ())
