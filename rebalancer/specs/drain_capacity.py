"""drain_capacity: when a scope item is drained, the items that take its load over have room for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid, Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, Filter, ItemName, Number, ScopeName, exact
from rebalancer.specs.limits import mean

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class DrainCapacitySpec(Spec):
    """Keep room for the load that other scope items take over when one is drained.

    Notes
    -----
    For every source item and destination item that ``spill_distribution`` lists with a share ``p``, with ``U`` the
    amount in an item and ``A`` the mean capacity of all items of the scope (1 if that is 0),

        ``e = (U(destination) + p · U(source) − capacity(destination)) / A``.

    Goal: ``Σ max(0, e)``. Constraint: one component per source and destination, ``e ≤ 0``. The shares of a source
    need not add up to 1. Each drain is looked at on its own: two sources are never drained at once.

    A destination whose capacity is 0 has no room: it and its sources have to stay empty. Unplaced objects are in no
    item.
    """

    key: ClassVar[str] = "drain_capacity"

    scope: ScopeName = Field(description="Scope of the items.")
    dimension: DimensionName = Field(description="What is summed.")
    spill_distribution: Mapping[ItemName, Mapping[ItemName, Number]] = Field(
        description="By drained item and destination: the share of the load that goes there."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells), part.weight), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        index = model.problem.scopes[self.scope].items.index
        spills = [
            (index[source], index[destination], exact(share))
            for source, row in self.spill_distribution.items()
            for destination, share in row.items()
        ]
        if not spills:
            return []
        amount = model.amount(self.scope, self.dimension)
        offered = model.problem.capacity(self.dimension, self.scope).exact
        zeros = np.zeros(len(spills), np.int64)
        items = np.array([destination for _, destination, _ in spills])
        drained = model.gather(amount, zeros, np.array([source for source, _, _ in spills]))
        held = model.linear(
            [(model.gather(amount, zeros, items), 1), (drained, Param.of([share for _, _, share in spills]))]
        )
        room = [offered[item] for item in items.tolist()]
        return [
            Component(
                model.linear([(held, 1)], Param.of([-capacity for capacity in room])),
                weight=Param.constant(1 / mean(offered)),
                amount=held,
                limit=Grid(1, len(room), np.array([[float(capacity) for capacity in room]])),
                scope=self.scope,
                item_index=items,
            )
        ]

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        names = {name for row in self.spill_distribution.values() for name in row}
        chosen = Filter(items_whitelist=tuple(sorted(names)))
        consequence = "it has to stay empty, and so do the items that spill to it"
        yield from zero_capacity_warnings(problem, self.scope, self.dimension, chosen, consequence)
