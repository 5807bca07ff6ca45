"""transition_cost: a move costs what a table says about where it starts and where it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import UNPLACED, Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import vector_faults
from rebalancer.specs.fields import DimensionOrCount, ItemName, Number, ScopeOrContainer, exact

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class TransitionCostSpec(Spec):
    """Make each move cost what a table says about its source and its destination.

    Notes
    -----
    An object that changes its container, from one in scope item ``a`` to one in item ``b``, costs ``cost(a, b) ·
    amount``: what ``costs`` says of the pair, else ``default``. A move within an item costs what ``costs`` says of
    ``a`` and ``a``, else nothing. So a table between racks, or between any classes of containers with the same
    distances, says what one between single containers would.

    Goal: ``Σ cost``; with an allowance ``max(0, Σ cost − allowance)``. Constraint: one component, ``Σ cost ≤
    allowance``.

    An object that stays costs nothing, nor does one that begins or ends unplaced or outside the scope. Of a dynamic
    dimension, the amount at the destination counts.

    Source: the machine move cost of the ROADEF/EURO challenge 2012 (Google machine reassignment).
    """

    key: ClassVar[str] = "transition_cost"

    scope: ScopeOrContainer = Field("", description="Scope between whose items costs are given; empty: the containers.")
    costs: Mapping[ItemName, Mapping[ItemName, Number]] = Field(
        description="What a move costs, by source and destination item; of an item and itself: between its containers."
    )
    default: Number = Field(0, description="What a move between two other items costs.")
    dimension: DimensionOrCount = Field(
        "", description="What the cost is multiplied by; empty: 1 per object; no vectors."
    )
    allowance: Number = Field(0, description="How much cost is free.")

    def goal(self, model: ModelBuilder) -> Cells:
        value = self._value(model)
        return model.hinge(model.linear([(value, 1)], -exact(self.allowance))) if self.allowance else value

    def components(self, model: ModelBuilder) -> list[Component]:
        return [Component(model.linear([(self._value(model), 1)], -exact(self.allowance)), "all")]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        if exact(self.allowance) < 0:
            message = f"'allowance' must not be negative, got {float(self.allowance):g}"
            yield Fault("out-of-range", message, ("allowance",), self.allowance)

    def _value(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        scope = problem.scopes[self.scope or problem.container_name]
        count = len(scope.items)
        home = np.where(problem.origin == UNPLACED, -1, scope.item_of[problem.origin]).astype(np.int64)
        member = np.flatnonzero(home >= 0)
        if not len(member):
            return model.linear([])
        between = model.custom_tally(home[member], member, count, scope.item_of, count, self.dimension)
        within = dict.fromkeys(range(count), Fraction(0))
        listed = {}
        for source, row in self.costs.items():
            for destination, amount in row.items():
                listed[scope.items.index[source], scope.items.index[destination]] = exact(amount)
        within |= {source: own for (source, destination), own in listed.items() if source == destination}
        listed |= {(item, item): own for item, own in within.items()}
        pairs = sorted(listed)
        keys = np.array([source * count + destination for source, destination in pairs], np.int64)
        default = np.array([[exact(self.default)]], object)
        table = Param.of(default, count, count, keys=keys, values=[listed[pair] for pair in pairs])
        cost = model.total(between, table)
        pays = np.array([within[item] != 0 for item in range(count)])
        inside = member[pays[home[member]]]
        if not len(inside):
            return cost
        known = problem.dimension(self.dimension)
        origin = problem.origin[inside].astype(np.int64)
        weight = known.values[inside, 0]
        if known.dynamic is not None:
            at = problem.scopes[known.dynamic.scope].item_of[origin]
            weight = known.dynamic.at(at, inside, len(problem.objects))
        stays = [
            within[item] * Fraction(value, known.scale)
            for item, value in zip(home[inside].tolist(), weight.tolist(), strict=True)
        ]
        containers = problem.scopes[problem.container_name].item_of
        return model.linear([(cost, 1), (model.located(containers, origin, inside, stays), -1)])
