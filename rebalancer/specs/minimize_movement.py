"""minimize_movement: move as little as possible."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import UNPLACED, Fault, FixedPoint
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import negative_faults, zero_capacity_warnings
from rebalancer.specs.fields import DimensionOrCount, Flag, Number, ScopeOrContainer, exact

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem

#: What magic_scaling multiplies by.
MAGIC = Fraction(1, 1000)


class MinimizeMovementSpec(Spec):
    """Move as little as possible.

    Notes
    -----
    An object has moved if it is not in the scope item where it began. What arrives in item ``s`` is ``NEW(s)``, in
    the given dimension; what leaves the scope altogether (to a container that is in no item, or to no container) is
    ``NEW(out)``. The value is

    - do_not_normalize: ``Σ_s NEW(s) + NEW(out)``; with an allowance ``a``, ``max(0, value − a)``;
    - otherwise: ``(Σ_s NEW(s) / capacity(s) + NEW(out)) / number of items``, times 0.001 with magic_scaling.

    Goal: the value. Constraint: one component, value ≤ 0 (that is, ≤ the allowance).

    Placing an object that began unplaced is no movement; taking a placed one out is. A move in progress counts: it
    arrives where it goes. Items with a capacity of 0 are left out of a normalised goal; in the constraint, what
    arrives there counts as it is. Where capacities differ, or are not 1 in a scope that leaves containers out, the
    constraint takes no negative amounts unless do_not_normalize is set.
    """

    key: ClassVar[str] = "minimize_movement"

    scope: ScopeOrContainer = Field("", description="Where a move is a change of scope item; empty: the containers.")
    dimension: DimensionOrCount = Field("", description="What a move costs; empty: 1 per object.")
    magic_scaling: Flag = Field(
        True, description="Multiply a normalised value by 0.001, so that movement only breaks ties."
    )
    do_not_normalize: Flag = Field(
        False, description="Count plain amounts: no capacities, no number of items, no scaling."
    )
    allowance: Number = Field(0, description="With do_not_normalize: how much may move for free.")

    def goal(self, model: ModelBuilder) -> Cells:
        value = self._value(model, Fraction(0))
        return model.hinge(model.linear([(value, 1)], -exact(self.allowance))) if self.allowance else value

    def components(self, model: ModelBuilder) -> list[Component]:
        scale, factors = self._factors(model.problem, Fraction(1))
        if self._differs(model.problem):
            placed = np.flatnonzero(model.problem.origin != UNPLACED)
            item_of = self._item_of(model.problem)
            arriving = model.custom_amount(placed, item_of, len(factors) + 1, self.dimension, "NEW")
            # item by item: of their sum, little in a large item would be rounded to nothing
            return [Component(arriving, "all", Param.of([*factors, scale]))]
        return [Component(model.linear([(self._value(model, Fraction(1)), 1)], -exact(self.allowance)), "all")]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if exact(self.allowance) < 0:
            message = f"'allowance' must not be negative, got {float(self.allowance):g}"
            yield Fault("out-of-range", message, ("allowance",), self.allowance)
        elif self.allowance and not self.do_not_normalize:
            yield Fault(
                "unsupported-field", "'allowance' needs 'do_not_normalize: true'", ("allowance",), self.allowance
            )

    def constraint_faults(self, problem: Problem) -> Iterator[Fault]:
        # their sum over items, which would be what counts, has no integers in which it can be told from 0
        if (self.scope or problem.container_name) in problem.scopes and self._differs(problem):
            what = f"{self.key} as a constraint, where items count differently,"
            yield from negative_faults(problem, what, "dimension", self.dimension)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        if not self.do_not_normalize:
            scope = self.scope or problem.container_name
            consequence = "moves to it cost nothing as a goal"
            yield from zero_capacity_warnings(problem, scope, self.dimension, None, consequence)

    def _factors(self, problem: Problem, zero: Fraction) -> tuple[Fraction, list[Fraction]]:
        """Return the factors of what goes out and of each item; ``zero`` is that of items without capacity."""
        scope = problem.scopes[self.scope or problem.container_name]
        count = len(scope.items)
        if self.do_not_normalize:
            return Fraction(1), [Fraction(1)] * count
        scale = (MAGIC if self.magic_scaling else Fraction(1)) / max(1, count)
        offered = problem.capacity(self.dimension, scope.name).exact
        return scale, [scale * (1 / capacity if capacity else zero) for capacity in offered]

    def _differs(self, problem: Problem) -> bool:
        """Whether the same amount counts differently, by where it goes."""
        scale, factors = self._factors(problem, Fraction(1))
        return bool(set(factors) - {scale})

    def _item_of(self, problem: Problem) -> NDArray[np.int32]:
        """Return the item of each container; the last item is "out"."""
        scope = problem.scopes[self.scope or problem.container_name]
        return np.where(scope.item_of < 0, np.int32(len(scope.items)), scope.item_of).astype(np.int32)

    def _value(self, model: ModelBuilder, zero: Fraction) -> Cells:
        """Return what moved; ``zero`` is the factor of items without capacity."""
        problem = model.problem
        scope = problem.scopes[self.scope or problem.container_name]
        count = len(scope.items)
        scale, factors = self._factors(problem, zero)
        item_of = self._item_of(problem)
        placed = np.flatnonzero(problem.origin != UNPLACED)
        known = problem.dimension(self.dimension)
        if set(factors) <= {scale} and known.dynamic is None and not known.is_vector:
            return self._away(model, item_of, placed, FixedPoint(known.values[placed, 0], known.scale), scale)
        # two sums: what goes out costs millions of times as much as in an item, whose factor would be rounded away
        inside = model.total(
            model.custom_amount(placed, scope.item_of, count, self.dimension, "NEW"), Param.of(factors)
        )
        out = np.where(scope.item_of < 0, 0, -1).astype(np.int32)
        outside = model.custom_amount(placed, out, 1, self.dimension, "NEW")
        if model.stays[placed].all() and (out[:-1] < 0).all():
            return model.beside(inside, outside, scale)
        return model.linear([(inside, 1), (outside, scale)])

    @staticmethod
    def _away(
        model: ModelBuilder,
        item_of: NDArray[np.int32],
        placed: NDArray[np.intp],
        weight: FixedPoint,
        factor: Fraction,
    ) -> Cells:
        """Return the same where every item counts alike: all there is less what is at home, without a cell per item."""
        at_home = model.located(item_of, item_of[model.problem.origin[placed]], placed, weight)
        return model.linear([(at_home, -factor)], Fraction(int(weight.integers.sum()), weight.scale) * factor)
