"""maximize_allocation: use as much of what scope items offer as possible."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, ItemFilter, ScopeName
from rebalancer.specs.limits import offering

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class MaximizeAllocationSpec(Spec):
    """Use as much of what scope items offer as possible.

    Notes
    -----
    Goal: ``−Σ u(s) / (number of objects)`` over the filtered items, with ``u(s)`` the amount in item ``s`` relative to
    its capacity. All objects of the problem count in the denominator, unplaced ones too. Items with a capacity of 0 are
    left out; without items or objects the goal is 0.
    """

    key: ClassVar[str] = "maximize_allocation"

    scope: ScopeName = Field(description="Scope whose items are used.")
    dimension: DimensionName = Field(description="What is summed, relative to what the items offer of it.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        items, offered = offering(model.problem, self.dimension, self.scope, self.filter)
        if not offered:
            return model.linear([])
        objects = max(1, len(model.problem.objects))
        share = Param.of([Fraction(-1, objects) / capacity for capacity in offered])
        return model.total(model.amount(self.scope, self.dimension, items=items), share)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, f"{self.key} leaves it out")
