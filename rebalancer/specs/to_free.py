"""to_free: empty given containers."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import dynamic_faults, negative_faults, vector_faults
from rebalancer.specs.fields import ContainerName, Name, Ref

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class FreeFormula(str, Enum):
    """What is counted of the containers to free."""

    MINIMIZE_TOTAL_UTILIZATION = "MINIMIZE_TOTAL_UTILIZATION"
    MINIMIZE_OCCUPIED_CONTAINERS = "MINIMIZE_OCCUPIED_CONTAINERS"


class ToFreeSpec(Spec):
    """Empty given containers.

    Notes
    -----
    With ``U(c)`` the amount of the dimension in container ``c``:

    - goal, MINIMIZE_TOTAL_UTILIZATION: ``Σ_c U(c)`` over the listed containers, not relative to anything;
    - goal, MINIMIZE_OCCUPIED_CONTAINERS: how many of them have ``U(c) > 0``;
    - constraint (MINIMIZE_TOTAL_UTILIZATION only): two components per listed container, ``U(c) ≤ 0`` and "what
      arrived in ``c`` ≤ 0". So a container that is still being emptied may not receive anything either.

    Objects that weigh nothing in the dimension may stay. Unplaced objects are in no container; placing one counts as
    an arrival. Without containers the goal is 0 and the constraint holds. A container listed twice counts once.
    """

    key: ClassVar[str] = "to_free"

    containers: tuple[ContainerName, ...] = Field(description="The containers to empty.")
    dimension: Annotated[Name | None, Ref("dimension", empty=True)] = Field(
        None, description="What is counted; left out or empty: the number of objects; no vectors."
    )
    formula: FreeFormula = Field(
        FreeFormula.MINIMIZE_TOTAL_UTILIZATION,
        description="What is left in them, or (goal only) how many of them are not empty.",
    )

    def goal(self, model: ModelBuilder) -> Cells:
        amount = self._amount(model, "AFTER")
        occupied = self.formula is FreeFormula.MINIMIZE_OCCUPIED_CONTAINERS
        return model.total(model.step(amount) if occupied else amount)

    def components(self, model: ModelBuilder) -> list[Component]:
        scope, listed = model.problem.container_name, self._listed(model.problem)
        return [
            Component(amount, amount=amount, scope=scope, item_index=listed)
            for amount in (self._amount(model, metric) for metric in ("AFTER", "NEW"))
        ]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        dimension = self.dimension or ""
        yield from vector_faults(problem, self.key, "dimension", dimension)
        if self.formula is FreeFormula.MINIMIZE_OCCUPIED_CONTAINERS:
            yield from dynamic_faults(problem, self.key, "dimension", dimension)
            yield from negative_faults(problem, self.key, "dimension", dimension)

    def constraint_faults(self, problem: Problem) -> Iterator[Fault]:
        if self.formula is not FreeFormula.MINIMIZE_TOTAL_UTILIZATION:
            allowed = FreeFormula.MINIMIZE_TOTAL_UTILIZATION.value
            message = f"as a constraint, {self.key} only has the formula {allowed}, got {self.formula.value}"
            yield Fault("unsupported-field", message, ("formula",), self.formula.value, allowed)

    def _listed(self, problem: Problem) -> IntArray:
        return np.unique(problem.containers.lookup(list(self.containers)))

    def _amount(self, model: ModelBuilder, metric: str) -> Cells:
        problem = model.problem
        return model.amount(problem.container_name, self.dimension or "", metric, items=self._listed(problem))
