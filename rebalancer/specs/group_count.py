"""group_count: bound the amount of each group in each scope item."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Definition, Spec
from rebalancer.specs.checks import dynamic_faults, vector_faults
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionOrCount,
    Flag,
    ItemFilter,
    Limit,
    Name,
    Number,
    PartitionName,
    ScopeName,
    exact,
    limit_field,
)
from rebalancer.specs.limits import Limits, capacities, group_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class GroupBound(str, Enum):
    """Which side a limit bounds, or how else the amount relates to it."""

    MAX = "MAX"
    MIN = "MIN"
    EXACT = "EXACT"
    MULTIPLE = "MULTIPLE"


class LimitRelativeTo(str, Enum):
    """What a RELATIVE limit is a fraction of."""

    GROUP_SIZE = "GROUP_SIZE"
    SCOPE_ITEM_UTIL = "SCOPE_ITEM_UTIL"
    GROUP_TO_SCOPE_ITEM_ROUTING_TRAFFIC = "GROUP_TO_SCOPE_ITEM_ROUTING_TRAFFIC"


class GroupCountSpec(Spec):
    """Bound the amount of each group in each scope item."""

    key: ClassVar[str] = "group_count"

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionOrCount = Field("", description="What is summed; empty: the number of objects.")
    definition: Literal[Definition.AFTER, Definition.DURING, Definition.DURING_AND_AFTER, Definition.STAYED] = Field(
        Definition.AFTER, description="Which objects count."
    )
    bound: GroupBound = Field(
        GroupBound.MAX, description="MAX: at most the limit; MIN: at least; EXACT: exactly; MULTIPLE: a whole multiple of it."
    )
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 1, items=True, groups=True, pairs=True)] = Field(
        Limit(), description="How much of a group an item holds; RELATIVE: times what limit_relative_to says."
    )
    squares: Flag = Field(False, description="Sum the squares of the excesses, each relative to the number of objects of its group.")
    zero_allowed: Flag = Field(False, description="With MIN: an item that holds none of the group is fine, and a violation counts 1.")
    minimum_limit: Number = Field(0, description="With zero_allowed: up to this much of the group is fine, too.")
    limit_relative_to: LimitRelativeTo = Field(
        LimitRelativeTo.GROUP_SIZE,
        description="What a RELATIVE limit is a fraction of. GROUP_SIZE: the group's total; SCOPE_ITEM_UTIL: all that the item holds.",
    )
    routing_config_for_limit: Name | None = Field(None, description="Not offered: limits relative to routing traffic.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        parts = self._conditions(model)
        return model.linear([(model.total(model.hinge(part.cells), part.weight), 1) for part in parts])

    def components(self, model: ModelBuilder) -> list[Component]:
        return self._conditions(model)

    def _conditions(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        kept = kept_items(problem.scopes[self.scope].items, self.filter)
        metrics = ("DURING", "AFTER") if self.definition is Definition.DURING_AND_AFTER else (self.definition.value,)
        return []
