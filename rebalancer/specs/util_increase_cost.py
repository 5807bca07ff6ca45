"""util_increase_cost: do not raise utilizations above what they were."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, Flag, ItemFilter, Number, ScopeName, exact
from rebalancer.specs.limits import offering

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class UtilIncreaseCostSpec(Spec):
    """Do not raise the utilization of scope items above what it was.

    Notes
    -----
    With ``u(s)`` the amount in item ``s`` relative to its capacity, and ``T(s) = max(lower_bound, u(s) at the start)``:
    ``Σ max(0, u − T) / n`` over the ``n`` filtered items, with squares ``Σ max(0, u² − T²) / n``, where negative
    numbers count as 0.

    At the start means: where objects counted as being initially; of a move in progress, where it came from. Placing an
    unplaced object raises utilization. Items with a capacity of 0 are left out, also of ``n``; without items the goal
    is 0.
    """

    key: ClassVar[str] = "util_increase_cost"

    scope: ScopeName = Field(description="Scope whose items are looked at.")
    dimension: DimensionName = Field(description="What is summed, relative to what the items offer of it.")
    lower_bound: Number = Field(0, description="Utilization that costs nothing in any case.")
    squares: Flag = Field(False, description="Compare the squares of the utilizations.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        items, offered = offering(model.problem, self.dimension, self.scope, self.filter)
        if not offered:
            return model.linear([])
        amount = model.amount(self.scope, self.dimension, items=items)
        start = model.amount(self.scope, self.dimension, "INITIAL", items=items)
        initial = [start.unit * value for value in model.initial(start).dense()[0].tolist()]
        bound = exact(self.lower_bound)
        level = [max(bound * capacity, amount) for capacity, amount in zip(offered, initial, strict=True)]
        if not self.squares:
            excess = model.excess([(amount, 1)], Param.of([-most for most in level]))
            return model.total(excess, Param.of([1 / (len(offered) * capacity) for capacity in offered]))
        # u² − T² = h² + 2·T·h with h = u − T, in amounts; exact where it is 0, and convex
        level = [max(Fraction(0), most) for most in level]
        excess = model.excess([(amount, 1)], Param.of([-most for most in level]))
        weight = [1 / (len(offered) * capacity**2) for capacity in offered]
        slope = [2 * most * factor for most, factor in zip(level, weight, strict=True)]
        return model.linear(
            [(model.total(model.square(excess), Param.of(weight)), 1), (model.total(excess, Param.of(slope)), 1)]
        )

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, f"{self.key} leaves it out")
