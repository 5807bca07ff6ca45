"""count_cost: what it costs that a scope item holds so and so many objects, by a table."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from rebalancer.model import Component, Grid, Param
from rebalancer.problem import Fault
from rebalancer.specs.fields import ItemFilter, Number, Part, ScopeName, Whole, exact
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import GroupwiseSpec

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.model.units import Amount
    from rebalancer.problem import Problem


class Corner(Part):
    """What one number of objects costs."""

    count: Whole = Field(description="A number of objects.")
    cost: Number = Field(description="What it costs; 3 in the place of a mapping is the cost of its place in the list.")


def _corners(value: Any) -> Any:
    """Return a list in which the plain costs are those of 0, 1, 2 … objects."""
    if not isinstance(value, list | tuple):
        return value
    return [
        entry if isinstance(entry, dict | Corner) else {"count": position, "cost": entry}
        for position, entry in enumerate(value)
    ]


class CountCostSpec(GroupwiseSpec):
    """Charge for how many objects of each group a scope item holds, by a table.

    Notes
    -----
    The cost ``f(n)`` of ``n`` objects is linear between the listed numbers; below the first it is the first one's,
    and beyond the last it goes on as between the last two. Any shape will do; convex ones are the easiest to minimise.

    Goal: ``Σ f(n)`` over groups and filtered items, empty ones included: they cost ``f(0)``. Constraint: one component
    per group, ``Σ f(n) − budget ≤ 0``. With the costs 0 up to a quota and one more per object from there, the budget
    is how many objects may be above the quota in all. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "count_cost"

    scope: ScopeName = Field(description="Scope whose items are charged for.")
    costs: Annotated[tuple[Corner, ...], BeforeValidator(_corners, json_schema_input_type=list[Corner | float])] = (
        Field(description="The table, by ascending number; or the costs of 0, 1, 2 … objects as a plain list.")
    )
    budget: Number = Field(0, description="As a constraint: what each group may cost.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.total(self._cost(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        groups = self.grouped(problem)
        if not len(groups):
            return []
        cost = self._cost(model)
        return [
            Component(
                model.linear([(cost, 1)], -exact(self.budget)),
                amount=cost,
                limit=Grid.constant(len(groups), 1, float(exact(self.budget))),
                **groups.labels(problem),
            )
        ]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if not self.costs:
            yield Fault("out-of-range", "'costs' is empty: at least one number of objects needs a cost", ("costs",))
        last = -1
        for position, corner in enumerate(self.costs):
            if corner.count <= last:
                message = f"the numbers in 'costs' must ascend from 0, got {corner.count} after {last}"
                message = f"'count' must be 0 or more, got {corner.count}" if last < 0 else message
                yield Fault("out-of-range", message, ("costs", position, "count"), corner.count)
            last = corner.count

    def _cost(self, model: ModelBuilder) -> Cells:
        """Return what each group costs: shape (groups, 1)."""
        problem = model.problem
        scope = problem.scopes[self.scope]
        kept = kept_items(scope.items, self.filter)
        there = self.grouped(problem).tally(model, scope.among(kept), len(kept))
        terms: list[tuple[Cells, Amount]] = []
        slope = Fraction(0)
        for low, high in pairwise(self.costs):
            rise = (exact(high.cost) - exact(low.cost)) / (high.count - low.count)
            terms.append((model.hinge(model.linear([(there, 1)], -low.count)), rise - slope))
            slope = rise
        nothing = Param.constant(exact(self.costs[0].cost), there.groups, there.items)
        return model.sum_items(model.linear(terms, nothing))
