"""coverage: copies of a group in every scope item, but for items where others are in the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Component, Grid
from rebalancer.problem import Fault
from rebalancer.specs.fields import ItemFilter, ScopeName, Whole
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import GroupwiseSpec, Objects, excess, one_group, reachable

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class CoverageSpec(GroupwiseSpec):
    """Demand copies of each group in every scope item, but where others are in the way.

    Notes
    -----
    The excess of a group in a filtered item is ``copies − n``, with ``n`` objects of the group there; 0 where any of
    the objects that excuse it is. Items that no object can be in, for want of containers, are left out.

    Goal: ``Σ max(0, excess)`` over groups and items. Constraint: one component per group and item, excess ≤ 0.
    Unplaced objects are in no item.
    """

    key: ClassVar[str] = "coverage"

    scope: ScopeName = Field(description="Scope whose items are to be covered.")
    copies: Whole = Field(1, description="How many objects of the group each item needs.")
    unless: Objects | None = Field(None, description="Objects beside which no copy is needed.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        return excess(model, self.components(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        groups = self.grouped(problem)
        scope = problem.scopes[self.scope]
        kept = reachable(scope, kept_items(scope.items, self.filter))
        if not len(groups) or not len(kept):
            return []
        place = scope.among(kept)
        there = groups.tally(model, place, len(kept))
        terms = [(there, -1)]
        if self.unless is not None:
            excused = one_group(self.unless.members(problem)).tally(model, place, len(kept))
            terms.append((model.step(excused), -self.copies))
        return [
            Component(
                model.linear(terms, self.copies),
                amount=there,
                limit=Grid.constant(len(groups), len(kept), float(self.copies)),
                scope=self.scope,
                item_index=kept,
                **groups.labels(problem, len(kept)),
            )
        ]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.copies < 1:
            yield Fault("out-of-range", f"'copies' must be 1 or more, got {self.copies}", ("copies",), self.copies)
