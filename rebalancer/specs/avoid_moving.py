"""avoid_moving: objects that stay where they are."""

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


class AvoidMovingSpec(Spec):
    """Keep given objects in their containers.

    Notes
    -----
    Constraint: one component, the number of listed objects that are not in the container where they began. Objects
    that begin unplaced, and those whose move is in progress, are left out; a placed object that ends unplaced has
    moved. An object listed twice counts once.

    The policy counts as for any constraint: under SOFT a listed object moves if that pays.
    """

    key: ClassVar[str] = "avoid_moving"

    objects: tuple[ObjectName, ...] = Field(description="The objects that should not move.")

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        listed = np.unique(problem.objects.lookup(list(self.objects)))
        fixed = listed[(problem.origin[listed] != UNPLACED) & ~problem.in_progress[listed]]
        if not len(fixed):
            return []
        at_home = model.at(fixed, problem.origin[fixed])
        return [Component(model.linear([(at_home, -1)], len(fixed)), "all")]
