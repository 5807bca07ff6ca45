"""working_set: keep what works together in few scope items."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import DimensionName, Number, ObjectName, Part, ScopeName, exact

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class WorkingUnit(Part):
    """Something that every scope item needs that holds one of its endpoints."""

    endpoints: tuple[ObjectName, ...] = Field(description="The objects that need it.")
    weight: Number = Field(description="How much an item that holds any of them has to keep.")


class WorkingSetMetric(str, Enum):
    """How the working sets of items add up."""

    AVG = "AVG"
    MAX = "MAX"


class WorkingSetSpec(Spec):
    """Keep the working sets of scope items small: what each has to keep for the objects that are in it.

    Notes
    -----
    The working set ``ws(s)`` of item ``s`` is the sum of the weights of the units that have an endpoint in it. Goal,
    with ``U(s)`` the amount of the dimension in the item:

    - AVG: ``Σ U(s) · ws(s)``, so that each object pays for the working set it works beside; not divided by anything;
    - MAX: the largest ``ws(s)``, at least 0.

    Unplaced objects are in no item. An endpoint listed twice counts once. Without units the goal is 0.
    """

    key: ClassVar[str] = "working_set"

    scope: ScopeName = Field(description="Scope whose items have working sets.")
    dimension: DimensionName = Field(description="With AVG: how much each object counts.")
    working_units: tuple[WorkingUnit, ...] = Field(description="What objects need beside them.")
    metric: WorkingSetMetric = Field(
        WorkingSetMetric.AVG, description="AVG: summed, weighted by amounts; MAX: the largest."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        if not self.working_units:
            return model.linear([])
        problem = model.problem
        scope = problem.scopes[self.scope]
        members = [np.unique(problem.objects.lookup(list(unit.endpoints))) for unit in self.working_units]
        group = np.repeat(np.arange(len(members)), [len(listed) for listed in members])
        present = model.step(
            model.custom_tally(group, np.concatenate(members), len(members), scope.item_of, len(scope.items))
        )
        weights = Param.of([[exact(unit.weight)] for unit in self.working_units])
        working_set = model.sum_groups(present, weights)
        if self.metric is WorkingSetMetric.MAX:
            return model.hinge(model.largest(working_set))
        return model.total(model.product(model.amount(self.scope, self.dimension), working_set))

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        for position, unit in enumerate(self.working_units):
            if not unit.endpoints:
                message = "a working unit without endpoints is needed nowhere"
                yield Fault("no-effect", message, ("working_units", position, "endpoints"))
