"""placed: every object is in some container."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import UNPLACED
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ObjectName

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder
    from rebalancer.problem import Problem
    from rebalancer.problem.numbers import IntArray


class PlacedSpec(Spec):
    """Every object is in some container.

    Stated implicitly for all objects with the policy DEFAULT: what is placed stays placed, what is not becomes a
    fix-it goal. State it yourself to change the policy or the costs, or to demand it of some objects only; the others
    may then be left out or taken out.

    Notes
    -----
    One component per object: 1 if it is unplaced, else 0.
    """

    key: ClassVar[str] = "placed"
    in_flight: ClassVar[str | None] = "between_waves"  # whatever moves is in no container for a while

    objects: tuple[ObjectName, ...] | None = Field(
        None,
        description="Only these must be placed; all objects where left out; the others may be left out or taken out.",
    )

    def members(self, problem: Problem) -> IntArray:
        """Return the objects that must be placed."""
        if self.objects is None:
            return np.arange(len(problem.objects))
        return np.unique(problem.objects.lookup(list(self.objects)))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        objects = self.members(problem)
        inside = np.zeros(len(problem.containers) + 1, np.int32)
        inside[UNPLACED] = -1
        tally = model.custom_tally(np.arange(len(objects)), objects, len(objects), inside, 1)
        return [Component(model.linear([(tally, -1)], 1), group_index=objects, group_names=problem.objects)]
