"""pair_affinities: pairs of objects that would rather be together, or apart."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault, Names
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import Number, ObjectName, Part, ScopeOrContainer, exact

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ObjectPair(Part):
    """Two objects."""

    object1: ObjectName = Field(description="One.")
    object2: ObjectName = Field(description="The other.")


class PairAffinity(Part):
    """How much two objects would like to be together."""

    pair: ObjectPair = Field(description="The two objects.")
    affinity: Number = Field(description="What being apart costs; negative: what it is worth.")


class PairAffinitiesSpec(Spec):
    """Keep pairs of objects together, or apart.

    Notes
    -----
    The spread of a pair is the number of scope items that its objects are in: 1 together, 2 apart. With ``e = spread −
    limit``:

    - goal: ``Σ affinity · max(0, e)``;
    - constraint: one component per pair, ``affinity · e ≤ 0``. A pair of affinity 0 is not constrained.

    With a limit of 1, being apart costs the affinity (negative: is worth it). Unplaced objects, and objects outside the
    scope, are in no item. A pair that is stated twice counts twice.
    """

    key: ClassVar[str] = "pair_affinities"

    scope: ScopeOrContainer = Field("", description="Where a pair is together; empty: the containers.")
    affinities: tuple[PairAffinity, ...] = Field(description="Which pairs, and how much.")
    limit: Number = Field(1, description="The spread that costs nothing.")

    def goal(self, model: ModelBuilder) -> Cells:
        chosen = np.flatnonzero([bool(entry.affinity) for entry in self.affinities])
        if not len(chosen):
            return model.linear([])
        weights = [[exact(self.affinities[pair].affinity)] for pair in chosen.tolist()]
        return model.total(model.hinge(self._excess(model, chosen)), Param.of(weights))

    def components(self, model: ModelBuilder) -> list[Component]:
        out = []
        for sign in (1, -1):
            chosen = np.flatnonzero([exact(entry.affinity) * sign > 0 for entry in self.affinities])
            if not len(chosen):
                continue
            weights = [[abs(exact(self.affinities[pair].affinity))] for pair in chosen.tolist()]
            excess = model.linear([(self._excess(model, chosen), sign)])
            names = Names(f"{entry.pair.object1} and {entry.pair.object2}" for entry in self.affinities)
            out.append(Component(excess, weight=Param.of(weights), group_index=chosen, group_names=names))
        return out

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        for position, entry in enumerate(self.affinities):
            if entry.pair.object1 == entry.pair.object2:
                message = f"a pair is two different objects, got '{entry.pair.object1}' twice"
                yield Fault("one-object", message, ("affinities", position, "pair", "object2"), entry.pair.object2)

    def _excess(self, model: ModelBuilder, chosen: IntArray) -> Cells:
        """Return spread less limit of some pairs: shape (pairs, 1)."""
        problem = model.problem
        scope = problem.scopes[self.scope or problem.container_name]
        pairs = [self.affinities[position].pair for position in chosen.tolist()]
        member = problem.objects.lookup([name for pair in pairs for name in (pair.object1, pair.object2)])
        group = np.repeat(np.arange(len(pairs)), 2)
        there = model.step(model.custom_tally(group, member, len(pairs), scope.item_of, len(scope.items)))
        return model.linear([(model.sum_items(there), 1)], -exact(self.limit) * Fraction(1))
