"""logical_and: several constraints hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rebalancer.model import Component
from rebalancer.specs.nested import LogicalSpec

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder


class LogicalAndSpec(LogicalSpec):
    """Demand several constraints as one, mostly within logical_or.

    Notes
    -----
    The violation of a nested constraint is the sum over its components, 0 where it holds. Constraint: one
    component, broken by the largest of these violations. Nested constraints may be logical_or and logical_and in
    turn.
    """

    key: ClassVar[str] = "logical_and"

    def components(self, model: ModelBuilder) -> list[Component]:
        return [Component(model.largest_of(self.violations(model)), "all")]
