"""transition_cost: a move costs what a table says about where it starts and where it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid, Param
from rebalancer.problem import UNPLACED, Fault, FixedPoint
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import vector_faults
from rebalancer.specs.fields import DimensionOrCount, ItemName, Number, ScopeOrContainer, exact

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem
    from rebalancer.problem.numbers import IntArray


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
        return [Component(model.linear([(self._value(model, large=True), 1)], -exact(self.allowance)), "all")]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        if exact(self.allowance) < 0:
            message = f"'allowance' must not be negative, got {float(self.allowance):g}"
            yield Fault("out-of-range", message, ("allowance",), self.allowance)

    def _value(self, model: ModelBuilder, large: bool = False) -> Cells:
        """Return what all moves cost; ``large`` as in `total`."""
        problem = model.problem
        scope = problem.scopes[self.scope or problem.container_name]
        count = len(scope.items)
        home = np.where(problem.origin == UNPLACED, -1, scope.item_of[problem.origin]).astype(np.int64)
        member = np.flatnonzero(home >= 0)
        if not len(member):
            return model.linear([])
        between = model.custom_tally(home[member], member, count, scope.item_of, count, self.dimension)
        default = exact(self.default)
        listed = {(item, item): Fraction(0) for item in range(count)} if default else {}
        within = {}
        for source, row in self.costs.items():
            for destination, amount in row.items():
                start, end = scope.items.index[source], scope.items.index[destination]
                if start != end:
                    listed[start, end] = exact(amount)
                elif amount:
                    within[start] = exact(amount)
        pairs = sorted(listed)
        keys = np.array([start * count + end for start, end in pairs], np.int64)
        table = Param.of([[default]], count, count, keys=keys, values=[listed[pair] for pair in pairs])
        cost = model.total(between, table, large=large)
        paying = sorted(within)
        inside = self._inside(model, between, home, np.array(paying, np.int64))
        if inside is None:
            return cost
        own = Param.of([[within[item]] for item in paying])
        return model.linear([(cost, 1), (model.total(inside, own, large=large), 1)])

    def _inside(self, model: ModelBuilder, between: Cells, home: IntArray, paying: IntArray) -> Cells | None:
        """Return how much moves within each of some items: shape (items, 1); None where nothing is.

        What is in the item that it comes from, less what stays where it is. Both are amounts, so little that moves is
        not lost in the difference of two large costs.
        """
        row = np.full(between.items, -1)
        row[paying] = np.arange(len(paying))
        member = np.flatnonzero((home >= 0) & (row[home] >= 0))
        if not len(member):
            return None
        count = between.items
        own = Grid(count, count, np.zeros((1, 1), np.int64), None, paying * (count + 1), np.ones_like(paying))
        there = model.regroup(between, row, None, len(paying), 1, Param(own, Fraction(1)))
        problem = model.problem
        known = problem.dimension(self.dimension)
        origin = problem.origin[member].astype(np.int64)
        weight = known.values[member, 0]
        if known.dynamic is not None:
            at = problem.scopes[known.dynamic.scope].item_of[origin]
            weight = known.dynamic.at(at, member, len(problem.objects))
        stays = model.located(
            problem.scopes[problem.container_name].item_of,
            origin,
            member,
            FixedPoint(weight, known.scale),
            memberships=(row[home[member]], member, len(paying)),
        )
        return model.linear([(there, 1), (stays, -1)])
