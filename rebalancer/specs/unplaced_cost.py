"""unplaced_cost: what leaving an object without a container costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.problem import UNPLACED
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import Number, ObjectName, exact
from rebalancer.specs.selection import Objects, selected

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class UnplacedCostSpec(Spec):
    """Charge for every object that is in no container.

    Notes
    -----
    Goal: ``Σ cost`` over the unplaced objects; a negative cost is worth something. The implicit constraint ``placed``
    keeps what is placed; state ``placed`` yourself, say with ``objects: []``, where objects may be left out for their
    price.
    """

    key: ClassVar[str] = "unplaced_cost"

    objects: Objects | None = Field(None, description="Whom to charge for; left out: all objects.")
    cost: Number = Field(1, description="Cost of an object that has none of its own.")
    object_costs: Mapping[ObjectName, Number] = Field({}, description="Cost by object.")

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        members = selected(problem, self.objects)
        if not len(members):
            return model.linear([])
        own = {problem.objects.index[name]: exact(cost) for name, cost in self.object_costs.items()}
        nowhere = np.full(len(problem.containers) + 1, -1, np.int32)
        nowhere[UNPLACED] = 0
        costs = [own.get(member, exact(self.cost)) for member in members.tolist()]
        return model.located(nowhere, np.zeros(len(members), np.int64), members, costs)
