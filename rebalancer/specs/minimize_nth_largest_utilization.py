"""minimize_nth_largest_utilization: bring down the utilization that only few scope items exceed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, ItemFilter, Number, ScopeName, Whole, exact
from rebalancer.specs.limits import offering

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class MinimizeNthLargestUtilizationSpec(Spec):
    """Bring down the utilization that only ``n`` scope items exceed; with ``n`` 0 the largest.

    Notes
    -----
    Goal: the utilization with ``n`` others above it, of too few items the smallest; with a target_utilization above 0
    only what it is beyond that, ``max(0, v − target)``. Utilization is the amount in an item relative to its capacity.
    Items with a capacity of 0 are left out; without items the goal is 0.
    """

    key: ClassVar[str] = "minimize_nth_largest_utilization"

    scope: ScopeName = Field(description="Scope whose items are looked at.")
    dimension: DimensionName = Field(description="What is summed, relative to what the items offer of it.")
    n: Whole = Field(description="How many items may be above.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    target_utilization: Number = Field(0, description="Utilization that is fine; 0: as low as possible.")

    def goal(self, model: ModelBuilder) -> Cells:
        items, offered = offering(model.problem, self.dimension, self.scope, self.filter)
        if not offered:
            return model.linear([])
        amount = model.amount(self.scope, self.dimension, items=items)
        relative = model.linear([(amount, Param.of([Fraction(1) / capacity for capacity in offered]))])
        value = model.nth_largest(relative, self.n)
        target = exact(self.target_utilization)
        return model.hinge(model.linear([(value, 1)], -target)) if target else value

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.n < 0:
            yield Fault("out-of-range", f"'n' must be 0 or more, got {self.n}", ("n",), self.n)
        if exact(self.target_utilization) < 0:
            message = f"'target_utilization' must not be negative, got {float(self.target_utilization):g}"
            yield Fault("out-of-range", message, ("target_utilization",), self.target_utilization)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, f"{self.key} leaves it out")
