"""leftover_ratio: what is left free of two dimensions should fit together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import vector_faults
from rebalancer.specs.fields import DimensionOrCount, ItemFilter, Number, ScopeName, exact
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem

#: Combined weights of all objects together stay below this.
_LIMIT = 2**52


class LeftoverRatioSpec(Spec):
    """Keep what is left free of two dimensions usable together: for each free unit of one, so many of the other.

    Notes
    -----
    ``free(s)`` of a dimension is the item's capacity less the amount in it; it is negative where the item is
    overfull. With the target ``t``,

        ``e(s) = t · free(s, dimension) − free(s, other_dimension)``

    is how much of the other dimension is missing in item ``s``. Goal: ``Σ_s max(0, e(s))`` over the filtered items.
    Constraint: one component per item, ``e(s) ≤ 0``. Nothing is divided by capacities.

    Capacities may be 0. An item without a stated capacity offers 1, as everywhere. Unplaced objects are in no item.

    Source: the balance cost of the ROADEF/EURO challenge 2012 (Google machine reassignment).
    """

    key: ClassVar[str] = "leftover_ratio"

    scope: ScopeName = Field(description="Scope whose items are looked at.")
    dimension: DimensionOrCount = Field(description="What is free; empty: the number of objects; no vectors.")
    other_dimension: DimensionOrCount = Field(
        description="What should be free beside it; empty: the number of objects; no vectors."
    )
    target: Number = Field(1, description="How much of the other dimension each free unit asks for.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells)), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        kept = kept_items(problem.scopes[self.scope].items, self.filter)
        if not len(kept):
            return []
        target = exact(self.target)
        free, other = (problem.capacity(name, self.scope).exact for name in (self.dimension, self.other_dimension))
        start = Param.of([target * free[item] - other[item] for item in kept.tolist()])
        terms: list[tuple[Cells, Fraction | int]]
        weight = self._combined(problem, target)
        if weight is None:
            terms = [
                (model.amount(self.scope, self.dimension, items=kept), -target),
                (model.amount(self.scope, self.other_dimension, items=kept), 1),
            ]
        else:
            count = len(problem.objects)
            use = model.custom_tally(
                np.zeros(count, np.int64),
                np.arange(count),
                1,
                problem.scopes[self.scope].among(kept),
                len(kept),
                weight=weight[0],
                unit=weight[1],
            )
            terms = [(use, 1)]
        return [Component(model.linear(terms, start), scope=self.scope, item_index=kept)]

    def _combined(self, problem: Problem, target: Fraction) -> tuple[NDArray[np.int64], Fraction] | None:
        """Return ``other − target · dimension`` of each object and its unit, or None where that is no plain number.

        As one amount instead of two, its total over all items is known: engines can bound what the best spread of
        it costs.
        """
        one, other = problem.dimension(self.dimension), problem.dimension(self.other_dimension)
        if one.dynamic is not None or other.dynamic is not None:
            return None
        scale = math.lcm(other.scale, one.scale * target.denominator)
        first, second = int(scale // one.scale * target), scale // other.scale
        size = sum(
            abs(factor) * int(np.abs(known.values).sum(dtype=object))
            for factor, known in ((first, one), (second, other))
        )
        if size > _LIMIT:
            return None
        return second * other.values[:, 0] - first * one.values[:, 0], Fraction(1, scale)

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        for field in ("dimension", "other_dimension"):
            yield from vector_faults(problem, self.key, field, getattr(self, field))
