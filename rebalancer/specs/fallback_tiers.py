"""fallback_tiers: wishes in order, of which each object gets the first that can be had."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.expression import Census, Expression, expression_faults
from rebalancer.specs.fields import Number, Part, exact
from rebalancer.specs.object_expression import failing_component
from rebalancer.specs.selection import Objects, selected

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.model.units import Amount
    from rebalancer.problem import Problem


class Tier(Part):
    """One wish, and what it costs to fall back to it."""

    holds: Expression = Field(description="What holds of an object of this tier.")
    cost: Number = Field(description="What an object of this tier costs.")


class FallbackTiersSpec(Spec):
    """Give each object the first of several wishes that can be had, at the cost of that wish.

    Notes
    -----
    The tier of a placed object is the first whose expression holds where it is. Unplaced objects have none.

    Goal: the costs of the tiers of all objects; an object that no tier fits costs ``otherwise``, or as much as the last
    tier where that is left out. Constraint: every placed object has a tier; the number of those that have none, by
    kind of object and place as in object_expression, each a component.

    Costs usually ascend, but need not.
    """

    key: ClassVar[str] = "fallback_tiers"

    objects: Objects | None = Field(None, description="Whose wishes they are; left out: those of all objects.")
    tiers: tuple[Tier, ...] = Field(description="The wishes, the best first.")
    otherwise: Number | None = Field(
        None, description="As a goal: what an object costs that no tier fits; left out: as much as the last tier."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        members = selected(model.problem, self.objects)
        if not len(members) or not self.tiers:
            return model.linear([])
        census = Census(model, members, [tier.holds for tier in self.tiers])
        costs = [exact(tier.cost) for tier in self.tiers]
        costs.append(costs[-1] if self.otherwise is None else exact(self.otherwise))
        # everybody pays for the best tier, and who falls through one pays the difference to the next
        terms: list[tuple[Cells, Amount]] = [(model.total(census.number), costs[0])]
        for rank, (cost, next_cost) in enumerate(pairwise(costs), 1):
            if next_cost != cost:
                terms.append((model.total(self._fallen(census, rank)), next_cost - cost))
        return model.linear(terms)

    def components(self, model: ModelBuilder) -> list[Component]:
        members = selected(model.problem, self.objects)
        if not len(members):
            return []
        census = Census(model, members, [tier.holds for tier in self.tiers])
        return [failing_component(census, self._fallen(census, len(self.tiers)))]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if not self.tiers:
            yield Fault("out-of-range", "'tiers' is empty: at least one is needed", ("tiers",))
        for position, tier in enumerate(self.tiers):
            yield from expression_faults(tier.holds, ("tiers", position, "holds"))

    def _fallen(self, census: Census, rank: int) -> Cells:
        """Return how many objects the first ``rank`` tiers do not fit, by kind and place."""
        return census.failing(census.any_of([census.truth(tier.holds) for tier in self.tiers[:rank]]))
