"""minimize_squares: keep the squares of utilizations low."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, ItemFilter, Number, ScopeName, Whole
from rebalancer.specs.limits import offering

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class MinimizeSquaresSpec(Spec):
    """Keep the squares of utilizations low: the fuller a scope item is, the more the next object in it costs.

    Notes
    -----
    Goal: ``Σ max(0, u)² / (number of items)``, with ``u`` the amount in an item relative to its capacity: summed over
    the filtered items, divided by the number of all items of the scope. Items with a capacity of 0 are left out of the
    sum; without items the goal is 0.
    """

    key: ClassVar[str] = "minimize_squares"
    no_effect: ClassVar[tuple[str, ...]] = ("upper_bound", "lower_bound", "piece_count")

    scope: ScopeName = Field(description="Scope whose items are looked at.")
    dimension: DimensionName = Field(description="What is summed, relative to what the items offer of it.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    upper_bound: Number | None = Field(None, description="No effect: only shapes Rebalancer's approximation.")
    lower_bound: Number = Field(0, description="No effect: only shapes Rebalancer's approximation.")
    piece_count: Whole = Field(100, description="No effect: only shapes Rebalancer's approximation.")

    def goal(self, model: ModelBuilder) -> Cells:
        items, offered = offering(model.problem, self.dimension, self.scope, self.filter)
        if not offered:
            return model.linear([])
        amount = model.hinge(model.amount(self.scope, self.dimension, items=items))
        count = len(model.problem.scopes[self.scope].items)
        return model.total(model.square(amount), Param.of([1 / (count * capacity**2) for capacity in offered]))

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, f"{self.key} leaves it out")
