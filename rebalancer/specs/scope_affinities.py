"""scope_affinities: scope items that would rather be full than others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, Filter, ItemName, Number, ScopeName, exact
from rebalancer.specs.limits import offering

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ScopeAffinitiesSpec(Spec):
    """Fill some scope items rather than others.

    Notes
    -----
    Goal: ``−Σ affinity(s) · u(s)`` over the items with an affinity, with ``u(s)`` the amount in item ``s`` relative to
    its capacity. Items with a capacity of 0 are left out; without affinities the goal is 0.
    """

    key: ClassVar[str] = "scope_affinities"

    scope: ScopeName = Field(description="Scope of the items.")
    dimension: DimensionName = Field(description="What is summed, relative to what the items offer of it.")
    affinities: Mapping[ItemName, Number] = Field(
        description="What an item full to its capacity is worth; negative: what it costs."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        items, offered = offering(problem, self.dimension, self.scope, self._named())
        if not offered:
            return model.linear([])
        names = problem.scopes[self.scope].items
        worth = [exact(self.affinities[names[item]]) for item in items.tolist()]
        factor = Param.of([-value / capacity for value, capacity in zip(worth, offered, strict=True)])
        return model.total(model.amount(self.scope, self.dimension, items=items), factor)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        yield from zero_capacity_warnings(
            problem, self.scope, self.dimension, self._named(), f"{self.key} leaves it out"
        )

    def _named(self) -> Filter:
        """Return the filter that keeps the items with an affinity."""
        return Filter(items_whitelist=tuple(self.affinities))
