"""gang: groups of which all are placed, or enough, or none."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import UNPLACED, Fault
from rebalancer.specs.fields import Whole
from rebalancer.specs.selection import GroupwiseSpec, excess

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class GangSpec(GroupwiseSpec):
    """Place a group as a whole, or enough of it, or none of it.

    Notes
    -----
    With ``n`` objects of the group in some container and ``k`` the least number that is of use (all of the group where
    no minimum is given), the excess is ``min(n, k − n)``: how many would have to be taken out, or placed as well.

    Goal: ``Σ max(0, excess)`` over groups. Constraint: one component per group, excess ≤ 0. A group with fewer than
    ``k`` objects is never placed.

    The implicit constraint ``placed`` keeps what is placed; state ``placed`` yourself where gangs may be left out as
    a whole.
    """

    key: ClassVar[str] = "gang"

    minimum: Whole | None = Field(None, description="How many are enough; left out: all of the group.")

    def goal(self, model: ModelBuilder) -> Cells:
        return excess(model, self.components(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        groups = self.grouped(problem)
        if not len(groups):
            return []
        inside = np.zeros(len(problem.containers) + 1, np.int32)
        inside[UNPLACED] = -1
        placed = groups.tally(model, inside, 1)
        enough = [[Fraction(int(size) if self.minimum is None else self.minimum)] for size in groups.sizes.tolist()]
        missing = model.linear([(placed, -1)], Param.of(enough))
        return [
            Component(
                model.largest_of([placed, missing], smallest=True),
                amount=placed,
                limit=Param.of(enough).floats(),
                **groups.labels(problem),
            )
        ]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.minimum is not None and self.minimum < 1:
            yield Fault("out-of-range", f"'minimum' must be 1 or more, got {self.minimum}", ("minimum",), self.minimum)
