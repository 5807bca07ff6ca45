"""minimize_containers: use as few scope items as possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rebalancer.model import Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import dynamic_faults, negative_faults
from rebalancer.specs.fields import DimensionName, ItemFilter, ItemName, Number, ScopeName, Whole, exact
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ContainersFormula(str, Enum):
    """How what is in use is measured."""

    NEW = "NEW"
    LEGACY = "LEGACY"


class MinimizeContainersSpec(Spec):
    """Empty as many scope items as possible.

    Notes
    -----
    Goal: ``max(0, Σ cost(s) · [U(s) > 0] − n + M)`` over the ``n`` filtered items, with ``U(s)`` the amount in item
    ``s`` and ``M`` the max_free_limit, at most ``n``: with costs of 1, how many items are in use beyond the ``n − M``
    that may be.

    Objects that weigh nothing do not keep an item in use. Unplaced objects are in none. Without items the goal is 0.
    """

    key: ClassVar[str] = "minimize_containers"

    scope: ScopeName = Field(description="Scope whose items are emptied.")
    dimension: DimensionName = Field(
        description="An item is in use where its amount of this is above 0; not dynamic, no negative values."
    )
    container_costs: Mapping[ItemName, Number] = Field({}, description="What using an item costs; 1 where left out.")
    max_free_limit: Whole | None = Field(None, description="More empty items than this are worth nothing.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    formula: ContainersFormula = Field(
        ContainersFormula.NEW, description="NEW: the number of items in use; LEGACY is not offered."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        items = model.problem.scopes[self.scope].items
        kept = kept_items(items, self.filter)
        in_use = model.step(model.amount(self.scope, self.dimension, items=kept))
        costs = [exact(self.container_costs.get(items[item], 1)) for item in kept.tolist()]
        most = len(kept) if self.max_free_limit is None else min(self.max_free_limit, len(kept))
        return model.hinge(model.linear([(model.total(in_use, Param.of(costs or [1])), 1)], most - len(kept)))

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.formula is ContainersFormula.LEGACY:
            message = f"the formula LEGACY is not offered; {self.key} has {ContainersFormula.NEW.value}"
            yield Fault("unsupported-field", message, ("formula",), self.formula.value, ContainersFormula.NEW.value)
        if self.max_free_limit is not None and self.max_free_limit <= 0:
            message = f"'max_free_limit' must be above 0, got {self.max_free_limit}"
            yield Fault("out-of-range", message, ("max_free_limit",), self.max_free_limit)
        yield from dynamic_faults(problem, self.key, "dimension", self.dimension)
        yield from negative_faults(problem, self.key, "dimension", self.dimension)
