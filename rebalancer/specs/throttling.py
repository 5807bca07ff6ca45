"""throttling: bound what moves into or out of each scope item."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault
from rebalancer.specs.base import Definition, Spec
from rebalancer.specs.capacity import CapacitySpec
from rebalancer.specs.checks import zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, ItemFilter, Limit, ScopeName, limit_field

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder
    from rebalancer.problem import Problem


class Direction(str, Enum):
    """Which movement is bounded."""

    ANY = "ANY"
    IN = "IN"
    OUT = "OUT"


_DEFINITIONS = {Direction.ANY: Definition.MOVED_DATA, Direction.IN: Definition.NEW, Direction.OUT: Definition.OLD}


class ThrottlingSpec(Spec):
    """Bound what moves into or out of each scope item, relative to its capacity.

    Notes
    -----
    The same as capacity with a RELATIVE MAX limit and the definition NEW (IN), OLD (OUT), or both added up (ANY):
    with ``M(s)`` what moves, ``e(s) = (M(s) − limit(s) · capacity(s)) / A``, where ``A`` is the mean capacity of
    the filtered items, or 1 if that is 0.

    Constraint: one component per filtered item, ``e ≤ 0``. Nothing may move into or out of an item whose capacity
    is 0. Placing an unplaced object moves it in. A move in progress counts at both ends.
    """

    key: ClassVar[str] = "throttling"

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    dimension: DimensionName = Field(description="What is summed.")
    definition: Direction = Field(Direction.ANY, description="IN: what arrives; OUT: what leaves; ANY: both together.")
    limit: Annotated[Limit, *limit_field("RELATIVE", 1, items=True, types=("RELATIVE",))] = Field(
        Limit(), description="RELATIVE only: times the item's capacity in the same dimension."
    )
    filter: ItemFilter = Field(None, description="Which scope items.")

    def components(self, model: ModelBuilder) -> list[Component]:
        same = CapacitySpec(
            scope=self.scope,
            dimension=self.dimension,
            definition=_DEFINITIONS[self.definition],
            limit=self.limit,
            filter=self.filter,
        )
        return same.components(model)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        consequence = "nothing may move there"
        yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, consequence)
