"""group_count: bound the amount of each group in each scope item."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault, Path
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Definition, Spec
from rebalancer.specs.checks import dynamic_faults, vector_faults, zero_capacity_warnings
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionOrCount,
    Flag,
    ItemFilter,
    Limit,
    LimitType,
    Name,
    Number,
    PartitionName,
    ScopeName,
    exact,
    limit_field,
)
from rebalancer.specs.limits import Limits, group_limits, group_sizes, kept_items, nested

if TYPE_CHECKING:
    from rebalancer.model import Cells, Grid, ModelBuilder
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
    """Bound the amount of each group in each scope item.

    Notes
    -----
    ``n`` is the amount of group ``g`` that counts in item ``s``, and ``l`` its limit there: the most specific of
    pair, item, group and global limit; RELATIVE to GROUP_SIZE it is multiplied by the group's total in the dimension,
    RELATIVE to SCOPE_ITEM_UTIL by the item's. The excess is

    - MAX: ``n − l``; MIN: ``l − n``; EXACT: both, each with components of its own;
    - MULTIPLE: how much is missing to the next multiple of ``l`` above ``n``; 0 is a multiple;
    - MIN (or the MIN of EXACT) with zero_allowed: 1 if ``minimum_limit < n < l``, else 0. (Rebalancer leaves 0.00001
      at both ends; here the comparison is exact.)

    With SCOPE_ITEM_UTIL it is divided by the item's capacity. With squares it is replaced by ``(max(0, excess) /
    |g|)²``, where ``|g|`` is the number of objects of the group; an empty group then contributes 0.

    Goal: ``Σ max(0, excess)`` over groups and filtered items; DURING_AND_AFTER adds up both. Constraint: the excesses
    are ≤ 0. Plain MAX, MIN and EXACT make one component per item out of its groups; under DEFAULT each group is still
    kept from getting worse on its own. MULTIPLE, zero_allowed, STAYED and SCOPE_ITEM_UTIL make one component per item
    and group.

    What a group totals in a dynamic dimension is what it would weigh in the item if all of it were there.

    Unplaced objects count in no item, but they do count in the size of their group. An empty group is below
    every positive MIN limit for ever. Where there is no limit (is_default_limit_unbounded),
    nothing is bounded. An item whose capacity is 0 has to stay empty under a limit relative to SCOPE_ITEM_UTIL, and
    is left out of the goal.
    """

    key: ClassVar[str] = "group_count"

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionOrCount = Field("", description="What is summed; empty: the number of objects; no vectors.")
    definition: Literal[Definition.AFTER, Definition.DURING, Definition.DURING_AND_AFTER, Definition.STAYED] = Field(
        Definition.AFTER, description="Which objects count; STAYED: who was there and still is."
    )
    bound: GroupBound = Field(
        GroupBound.MAX,
        description="MAX: at most the limit; MIN: at least; EXACT: exactly; MULTIPLE: a whole multiple of it.",
    )
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 1, items=True, groups=True, pairs=True)] = Field(
        Limit(), description="How much of a group an item holds; RELATIVE: times what limit_relative_to says."
    )
    squares: Flag = Field(
        False, description="Sum the squares of the excesses, each relative to the number of objects of its group."
    )
    zero_allowed: Flag = Field(
        False,
        description="With MIN or EXACT: an item that holds none of the group is fine, and too little of it counts 1.",
    )
    minimum_limit: Number = Field(0, description="With zero_allowed: up to this much of the group is fine, too.")
    limit_relative_to: LimitRelativeTo = Field(
        LimitRelativeTo.GROUP_SIZE,
        description="What a RELATIVE limit is a fraction of: the total of the group, or of all that the item holds.",
    )
    routing_config_for_limit: Name | None = Field(None, description="Not offered: limits relative to routing traffic.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        parts = self._conditions(model, demanded=False)
        return model.linear([(model.total(model.hinge(part.cells), part.weight), 1) for part in parts])

    def components(self, model: ModelBuilder) -> list[Component]:
        return self._conditions(model, demanded=True)

    def faults(self, problem: Problem) -> Iterator[Fault]:
        found = list(super().faults(problem))
        yield from found
        if found:
            return
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        if self.definition in (Definition.DURING, Definition.DURING_AND_AFTER):
            yield from dynamic_faults(
                problem, f"{self.key} {self.definition.value}", "dimension", self.dimension, self.scope
            )
        dynamic = problem.dimension(self.dimension).dynamic
        relative = self.limit.type is LimitType.RELATIVE and not self._share
        if relative and dynamic is not None and not nested(problem, self.scope, dynamic.scope):
            message = f"{self.key} with a limit relative to GROUP_SIZE"
            yield from dynamic_faults(problem, message, "dimension", self.dimension, self.scope)
        yield from self._combination_faults()
        if self.bound is GroupBound.MULTIPLE:
            yield from self._multiple_faults()

    def _combination_faults(self) -> Iterator[Fault]:
        routing = LimitRelativeTo.GROUP_TO_SCOPE_ITEM_ROUTING_TRAFFIC
        if self.limit_relative_to is routing:
            message = (
                f"limits relative to routing traffic are not offered; {self.key} has GROUP_SIZE and SCOPE_ITEM_UTIL"
            )
            yield Fault(
                "unsupported-field", message, ("limit_relative_to",), routing.value, LimitRelativeTo.GROUP_SIZE.value
            )
        if self.routing_config_for_limit is not None:
            message = "'routing_config_for_limit' is not offered: there are no limits relative to routing traffic"
            yield Fault("unsupported-field", message, ("routing_config_for_limit",), self.routing_config_for_limit)
        indicator = self.zero_allowed and self.bound in (GroupBound.MIN, GroupBound.EXACT)
        if self.minimum_limit and not self.zero_allowed:
            message = "'minimum_limit' needs 'zero_allowed: true'"
            yield Fault("unsupported-field", message, ("minimum_limit",), self.minimum_limit)
        if self.squares and indicator:
            yield Fault(
                "unsupported-field",
                "'squares' cannot go with 'zero_allowed': a violation counts 1 there",
                ("squares",),
                True,
            )
        if self._share and indicator:
            message = f"a {self.bound.value} limit relative to SCOPE_ITEM_UTIL cannot go with 'zero_allowed'"
            yield Fault("unsupported-field", message, ("limit_relative_to",), self.limit_relative_to.value)
        if self._share and self.bound is GroupBound.MULTIPLE:
            message = "a MULTIPLE limit is relative to GROUP_SIZE only"
            yield Fault(
                "unsupported-field",
                message,
                ("limit_relative_to",),
                self.limit_relative_to.value,
                LimitRelativeTo.GROUP_SIZE.value,
            )

    def _multiple_faults(self) -> Iterator[Fault]:
        limit = self.limit
        stated: dict[Path, Any] = {} if limit.is_default_limit_unbounded else {("global_limit",): limit.global_limit}
        stated.update({("scope_item_limits", name): value for name, value in limit.scope_item_limits.items()})
        stated.update({("group_limits", name): value for name, value in limit.group_limits.items()})
        for item, values in limit.scope_item_to_group_limits.items():
            stated.update({("scope_item_to_group_limits", item, name): value for name, value in values.items()})
        for path, value in stated.items():
            if exact(value) <= 0:
                message = f"a MULTIPLE needs a limit above 0, got {float(value):g}"
                yield Fault("out-of-range", message, ("limit", *path), value)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        if self.zero_allowed and self.bound in (GroupBound.MAX, GroupBound.MULTIPLE):
            yield Fault(
                "no-effect",
                f"'zero_allowed' has no effect with {self.bound.value}: an empty item is fine there",
                ("zero_allowed",),
                True,
            )
        if self.limit_relative_to is not LimitRelativeTo.GROUP_SIZE and not self._share:
            message = "'limit_relative_to' has no effect: the limit is ABSOLUTE"
            yield Fault("no-effect", message, ("limit_relative_to",), self.limit_relative_to.value)
        if self._share:
            consequence = "no group may be in it under MAX or EXACT, and goals leave it out"
            yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, consequence)

    @property
    def _share(self) -> bool:
        """Whether limits are shares of what each item holds."""
        return self.limit_relative_to is LimitRelativeTo.SCOPE_ITEM_UTIL and self.limit.type is LimitType.RELATIVE

    # -- cells --------------------------------------------------------------------------------------------------------

    def _conditions(self, model: ModelBuilder, demanded: bool) -> list[Component]:
        """Return amount against limit, by metric and side; ``demanded`` as a constraint."""
        problem = model.problem
        kept = kept_items(problem.scopes[self.scope].items, self.filter)
        metrics = ("DURING", "AFTER") if self.definition is Definition.DURING_AND_AFTER else (self.definition.value,)
        if not self._share:
            limits = self._limits(problem, kept)
            if self.limit.type is LimitType.RELATIVE:
                limits = limits.times(*group_sizes(problem, self.partition_name, self.dimension, self.scope, kept))
            return [part for metric in metrics for part in self._sized(model, metric, kept, limits)]
        offered = problem.capacity(self.dimension, self.scope).exact
        if not demanded:
            kept = kept[[offered[item] != 0 for item in kept.tolist()]]
        limits = self._limits(problem, kept)
        own = [offered[item] for item in kept.tolist()]
        return [part for metric in metrics for part in self._shared(model, metric, kept, limits, own)]

    def _limits(self, problem: Problem, kept: IntArray) -> Limits:
        return group_limits(
            self.limit, problem.partitions[self.partition_name].groups, problem.scopes[self.scope].items, kept
        )

    def _sized(self, model: ModelBuilder, metric: str, kept: IntArray, limits: Limits) -> list[Component]:
        """Return amount against limit, where limits are numbers."""
        amount = model.amount(self.scope, self.dimension, metric, partition=self.partition_name, items=kept)
        if self.bound is GroupBound.MULTIPLE:
            step = limits.param(lambda limit: amount.unit if limit is None or limit <= 0 else limit)
            missing = model.linear([(model.ceil(amount, step), step), (amount, -1)])
            return [self._component(model, missing, kept, "cell", amount=amount, limit=limits.shown(np.inf))]
        by: Literal["cell", "item"] = "cell" if self.definition is Definition.STAYED else "item"
        over = limits.over(model, amount)
        if self.bound is GroupBound.MAX:
            return [self._component(model, over, kept, by, amount=amount, limit=limits.shown(np.inf))]
        under = limits.under(model, amount)
        if self.zero_allowed:
            above_least = model.step(model.linear([(amount, 1)], -exact(self.minimum_limit)))
            between = model.hinge(model.linear([(above_least, 1), (model.step(under), 1)], -1))
            if self.bound is GroupBound.MIN:
                return [self._component(model, between, kept, "cell", amount=amount, limit=limits.shown(-np.inf))]
            return [
                self._component(model, over, kept, by, amount=amount, limit=limits.shown(np.inf)),
                self._component(model, between, kept, "cell", amount=amount, limit=limits.shown(-np.inf)),
            ]
        if self.bound is GroupBound.MIN:
            return [self._component(model, under, kept, by, amount=amount, limit=limits.shown(-np.inf))]
        return [
            self._component(model, over, kept, by, amount=amount, limit=limits.shown(np.inf)),
            self._component(model, under, kept, by, amount=amount, limit=limits.shown(-np.inf)),
        ]

    def _shared(
        self, model: ModelBuilder, metric: str, kept: IntArray, limits: Limits, offered: list[Fraction]
    ) -> list[Component]:
        """Return amount against its share of what the item holds; without capacity the item has to be empty."""
        amount = model.amount(self.scope, self.dimension, metric, partition=self.partition_name, items=kept)
        held = model.amount(self.scope, self.dimension, metric, items=kept)
        if 0 in offered:
            held = model.linear([(held, Param.of([int(capacity != 0) for capacity in offered]))])
        share = limits.param(lambda limit: Fraction(0) if limit is None else limit)
        out_of_reach = (amount.largest + 1) * amount.unit
        free = limits.param(lambda limit: -out_of_reach if limit is None else Fraction(0))
        sides = []
        if self.bound is not GroupBound.MIN:
            sides.append(model.linear([(amount, 1), (held, share.scaled(Fraction(-1)))], free))
        if self.bound is not GroupBound.MAX:
            sides.append(model.linear([(amount, -1), (held, share)], free))
        factor = Param.of([1 / capacity if capacity else Fraction(1) for capacity in offered] or [1])
        return [self._component(model, cells, kept, "cell", factor=factor) for cells in sides]

    def _component(
        self,
        model: ModelBuilder,
        cells: Cells,
        kept: IntArray,
        by: Literal["cell", "item"],
        *,
        factor: Param | None = None,
        amount: Cells | None = None,
        limit: Grid | None = None,
    ) -> Component:
        """Return cells as components, times ``factor`` by item, squared relative to group sizes if asked for."""
        weight = factor or Param.constant(1)
        if self.squares:
            sizes = model.problem.partitions[self.partition_name].sizes.tolist()
            above = model.hinge(cells)
            if 0 in sizes:  # an empty group contributes nothing, whatever its limit
                above = model.linear([(above, Param.of([[int(size > 0)] for size in sizes]))])
            cells = model.square(above if factor is None else model.linear([(above, factor)]))
            weight = Param.of([[Fraction(1, max(1, size) ** 2)] for size in sizes] or [[1]])
        return Component(
            cells,
            by,
            weight,
            amount=amount,
            limit=limit,
            scope=self.scope,
            partition=self.partition_name,
            item_index=kept,
        )
