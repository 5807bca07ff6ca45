"""capacity_with_group_presence: bound amounts in scope items where each group present also has a least charge."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault, Names, Path
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Bound, Spec
from rebalancer.specs.checks import negative_faults, vector_faults, zero_capacity_warnings
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionName,
    Filter,
    FilterRule,
    FilterType,
    Flag,
    ItemFilter,
    Limit,
    LimitType,
    Name,
    Part,
    PartitionName,
    Ref,
    ScopeName,
    exact,
    limit_field,
)
from rebalancer.specs.limits import (
    Limits,
    combined,
    group_limits,
    kept_items,
    nested,
    outer_groups,
    outer_items,
    stated_numbers,
)

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem

#: Annotations of a number for every (group, item) where charges are made: plain numbers.
_CHARGE = limit_field(
    "ABSOLUTE",
    1,
    items=True,
    groups=True,
    pairs=True,
    scope="charged_scope",
    partition="charged_partition",
    types=("ABSOLUTE",),
)


class MultiplierTarget(str, Enum):
    """What a multiplier multiplies."""

    PRESENCE_WEIGHT = "PRESENCE_WEIGHT"
    UTILIZATION = "UTILIZATION"
    COMMON = "COMMON"


class GroupUtilMultiplier(Part):
    """A factor of what groups are charged."""

    value: Annotated[Limit, *_CHARGE] = Field(description="The factor, by group and scope item; ABSOLUTE only.")
    target: MultiplierTarget = Field(
        MultiplierTarget.COMMON,
        description="PRESENCE_WEIGHT: the least charge; UTILIZATION: the amount; COMMON: both, after the others.",
    )


class PresenceIntent(str, Enum):
    """What a limit bounds."""

    PER_SCOPE_ITEM = "PER_SCOPE_ITEM"
    PER_GROUP_AND_SCOPE_ITEM = "PER_GROUP_AND_SCOPE_ITEM"


class ContinuousPenaltyType(str, Enum):
    """How Rebalancer steers its own search."""

    NORMALIZED_CONTINUOUS_UTILIZATION = "NORMALIZED_CONTINUOUS_UTILIZATION"
    CONTINUOUS_UTILIZATION = "CONTINUOUS_UTILIZATION"


class CapacityWithGroupPresenceSpec(Spec):
    """Bound amounts in scope items where each group that is present is charged at least its presence weight.

    Notes
    -----
    With ``U`` the amount of group ``g`` in item ``s``, and ``up`` rounding up to a whole number (nothing without
    round_up_group_util_on_scope_item), the charge is

    - ``a = up(U)``, multiplied by each multiplier of UTILIZATION in turn, with ``up`` after each;
    - ``p = up(presence weight)``, likewise with each multiplier of PRESENCE_WEIGHT;
    - both multiplied by each COMMON multiplier, again with ``up`` after each;
    - ``0`` if ``a`` is 0, else ``max(a, p)``.

    With aggregation_scope charges are made in its items, which lie in those of the scope, and added up; with
    aggregation_partition for its groups, which lie in those of the partition. Weights and multipliers are looked up
    where the charge is made.

    PER_SCOPE_ITEM bounds the sum of the charges of all filtered groups in an item, PER_GROUP_AND_SCOPE_ITEM the charge
    of each. The excess is ``charges − L`` under MAX and ``L − charges`` under MIN; a RELATIVE limit ``L`` is multiplied
    by the item's capacity.

    Goal: ``Σ max(0, excess)``. Constraint: one component per filtered item, or per filtered group and item; excess ≤ 0.

    Under a RELATIVE MAX limit an item without capacity has to stay empty. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "capacity_with_group_presence"
    no_effect: ClassVar[tuple[str, ...]] = ("group_to_extra_additive_penalty", "continuous_penalty_type")

    scope: ScopeName = Field(description="Scope whose items are bounded.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionName = Field(description="What is summed; no vectors, no negative values.")
    group_to_presence_weight: Annotated[Limit, *_CHARGE] = Field(
        Limit(), description="What a group is charged at least where it is present; ABSOLUTE only."
    )
    scope_item_to_limit: Annotated[Limit, *limit_field("RELATIVE", 1, items=True, groups=True, pairs=True)] = Field(
        Limit(),
        description="The bound; RELATIVE: times the item's capacity. Groups only with PER_GROUP_AND_SCOPE_ITEM.",
    )
    bound: Bound = Field(Bound.MAX, description="MAX: at most the limit; MIN: at least.")
    scope_item_filter: ItemFilter = Field(None, description="Which scope items.")
    group_filter: Annotated[Filter | None, FilterRule(FilterType.GROUP, "partition_name")] = Field(
        None, description="Which groups."
    )
    round_up_group_util_on_scope_item: Flag = Field(True, description="Round amounts and charges up to whole numbers.")
    multiplier_list: tuple[Annotated[Limit, *_CHARGE], ...] = Field(
        (), description="COMMON multipliers; ignored where group_util_multipliers are given."
    )
    group_util_multipliers: tuple[GroupUtilMultiplier, ...] = Field((), description="Factors of charges, in order.")
    aggregation_scope: Annotated[Name | None, Ref("scope")] = Field(
        None, description="Finer scope, nested in the spec's, in whose items charges are made."
    )
    aggregation_partition: Annotated[Name | None, Ref("partition")] = Field(
        None,
        description="Finer partition, nested in the spec's, whose groups are charged; PER_GROUP_AND_SCOPE_ITEM only.",
    )
    group_to_extra_additive_penalty: Annotated[
        Limit,
        *limit_field(
            "ABSOLUTE",
            0,
            items=True,
            groups=True,
            pairs=True,
            scope="charged_scope",
            partition="charged_partition",
            types=("ABSOLUTE",),
        ),
    ] = Field(Limit(), description="No effect: only steers Rebalancer's own search.")
    intent: PresenceIntent = Field(
        PresenceIntent.PER_SCOPE_ITEM,
        description="What a limit bounds: the charges of all groups together, or of each group.",
    )
    continuous_penalty_type: ContinuousPenaltyType = Field(
        ContinuousPenaltyType.NORMALIZED_CONTINUOUS_UTILIZATION,
        description="No effect: only steers Rebalancer's own search.",
    )

    @property
    def charged_scope(self) -> str:
        """The scope in whose items charges are made."""
        return self.aggregation_scope or self.scope

    @property
    def charged_partition(self) -> str:
        """The partition for whose groups charges are made."""
        return self.aggregation_partition or self.partition_name

    def goal(self, model: ModelBuilder) -> Cells:
        return model.total(model.hinge(self._component(model).cells))

    def components(self, model: ModelBuilder) -> list[Component]:
        return [self._component(model)]

    # -- cells --------------------------------------------------------------------------------------------------------

    def _component(self, model: ModelBuilder) -> Component:
        """Return charges against limit: one row over the filtered items, or one per filtered group."""
        problem = model.problem
        items, names = problem.scopes[self.scope].items, problem.partitions[self.partition_name].groups
        kept, groups = kept_items(items, self.scope_item_filter), kept_items(names, self.group_filter)
        charges = self._charges(model, kept, groups)
        if self._per_group:
            stated = group_limits(self.scope_item_to_limit, Names([names[group] for group in groups]), items, kept)
        else:
            stated = group_limits(self.scope_item_to_limit, Names(["charges"]), items, kept)
        limits = self._absolute(problem, stated, kept)
        at_most = self.bound is Bound.MAX
        return Component(
            limits.over(model, charges) if at_most else limits.under(model, charges),
            amount=charges,
            limit=limits.shown(float("inf") if at_most else -float("inf")),
            scope=self.scope,
            partition=self.partition_name if self._per_group else None,
            group_index=groups if self._per_group else None,
            item_index=kept,
        )

    def _absolute(self, problem: Problem, limits: Limits, kept: IntArray) -> Limits:
        if self.scope_item_to_limit.type is LimitType.ABSOLUTE:
            return limits
        offered = problem.capacity(self.dimension, self.scope).exact
        return limits.times_items([offered[item] for item in kept.tolist()])

    def _charges(self, model: ModelBuilder, kept: IntArray, groups: IntArray) -> Cells:
        """Return the charges in each kept item: of each kept group, or of all together."""
        problem = model.problem
        scope, partition = problem.scopes[self.charged_scope], problem.partitions[self.charged_partition]
        position = np.full(len(problem.scopes[self.scope].items) + 1, -1, np.int64)
        position[kept] = np.arange(len(kept))
        outer = (
            np.arange(len(scope.items))
            if self.charged_scope == self.scope
            else outer_items(problem, self.charged_scope, self.scope)
        )
        row = np.full(len(problem.partitions[self.partition_name].groups) + 1, -1, np.int64)
        row[groups] = np.arange(len(groups)) if self._per_group else 0
        owner = (
            np.arange(len(partition.groups))
            if self.charged_partition == self.partition_name
            else outer_groups(problem, self.charged_partition, self.partition_name)
        )
        charged = np.flatnonzero(position[outer] >= 0)
        charge = self._charge(model, charged)
        return model.regroup(
            charge, row[owner], position[outer[charged]], len(groups) if self._per_group else 1, len(kept)
        )

    def _charge(self, model: ModelBuilder, items: IntArray) -> Cells:
        """Return the charge of every group in some items of the scope where charges are made."""
        problem = model.problem
        names, groups = problem.scopes[self.charged_scope].items, problem.partitions[self.charged_partition].groups

        def number(limit: Limit) -> Limits:
            return group_limits(limit, groups, names, items)

        amount = model.amount(self.charged_scope, self.dimension, partition=self.charged_partition, items=items)
        amount = self._up(model, amount)
        least = [number(self.group_to_presence_weight)]
        common = [number(factor) for factor in self._multipliers(MultiplierTarget.COMMON)]
        for factor in [*map(number, self._multipliers(MultiplierTarget.UTILIZATION)), *common]:
            amount = self._up(model, model.linear([(amount, factor.param(_plain))]))
        least += [*map(number, self._multipliers(MultiplierTarget.PRESENCE_WEIGHT)), *common]
        weight = self._weight(least)
        return model.linear([(amount, 1), (model.hinge(model.linear([(model.step(amount), weight), (amount, -1)])), 1)])

    def _weight(self, factors: list[Limits]) -> Param:
        """Return the product of numbers, rounded up after each factor where that is asked for."""

        def product(values: tuple[Fraction | None, ...]) -> Fraction:
            out = Fraction(1)
            for value in values:
                out *= _plain(value)
                out = Fraction(-(-out // 1)) if self.round_up_group_util_on_scope_item else out
            return out

        return combined(factors, product)

    def _up(self, model: ModelBuilder, cells: Cells) -> Cells:
        """Return cells rounded up to whole numbers, where that is asked for and they are not whole anyway."""
        if not self.round_up_group_util_on_scope_item or cells.unit.denominator == 1:
            return cells
        return model.ceil(cells, Param.constant(1))

    def _multipliers(self, target: MultiplierTarget) -> list[Limit]:
        if self.group_util_multipliers:
            return [entry.value for entry in self.group_util_multipliers if entry.target is target]
        return list(self.multiplier_list) if target is MultiplierTarget.COMMON else []

    @property
    def _per_group(self) -> bool:
        return self.intent is PresenceIntent.PER_GROUP_AND_SCOPE_ITEM

    # -- faults -------------------------------------------------------------------------------------------------------

    def faults(self, problem: Problem) -> Iterator[Fault]:
        found = list(super().faults(problem))
        yield from found
        if found:
            return
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        yield from negative_faults(problem, self.key, "dimension", self.dimension)
        yield from self._limit_faults()
        yield from self._nesting_faults(problem)

    def _limit_faults(self) -> Iterator[Fault]:
        multipliers: list[tuple[Path, Limit]] = [
            (("multiplier_list", position), limit) for position, limit in enumerate(self.multiplier_list)
        ]
        multipliers += [
            (("group_util_multipliers", position, "value"), entry.value)
            for position, entry in enumerate(self.group_util_multipliers)
        ]
        for path, limit in [(("group_to_presence_weight",), self.group_to_presence_weight), *multipliers]:
            if limit.is_default_limit_unbounded:
                message = "a weight or multiplier cannot be unbounded"
                yield Fault("unsupported-limit", message, (*path, "is_default_limit_unbounded"), True)
            yield from _negative_limit_faults(limit, path)
        yield from _negative_limit_faults(self.scope_item_to_limit, ("scope_item_to_limit",))
        if not self._per_group:
            for field in ("group_limits", "scope_item_to_group_limits"):
                if stated := getattr(self.scope_item_to_limit, field):
                    message = f"'{field}' needs 'intent: {PresenceIntent.PER_GROUP_AND_SCOPE_ITEM.value}'"
                    yield Fault("unsupported-limit", message, ("scope_item_to_limit", field), list(stated))

    def _nesting_faults(self, problem: Problem) -> Iterator[Fault]:
        finer = self.aggregation_scope
        if finer is not None and not nested(problem, finer, self.scope):
            message = f"every item of the aggregation scope '{finer}' must lie in one item of '{self.scope}'"
            yield Fault("not-nested", message, ("aggregation_scope",), finer)
        finer = self.aggregation_partition
        if finer is None:
            return
        if not self._per_group:
            message = f"'aggregation_partition' needs 'intent: {PresenceIntent.PER_GROUP_AND_SCOPE_ITEM.value}'"
            yield Fault("unsupported-field", message, ("aggregation_partition",), finer)
        try:
            outer_groups(problem, finer, self.partition_name)
        except ValueError:
            message = (
                f"every group of the aggregation partition '{finer}' must lie in one group of '{self.partition_name}'"
            )
            yield Fault("not-nested", message, ("aggregation_partition",), finer)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        if self.scope_item_to_limit.type is LimitType.RELATIVE and self.bound is Bound.MAX:
            consequence = "it has to stay empty"
            yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.scope_item_filter, consequence)
        if self.multiplier_list and self.group_util_multipliers:
            message = "'multiplier_list' has no effect: 'group_util_multipliers' replace it"
            yield Fault("no-effect", message, ("multiplier_list",))


def _plain(limit: Fraction | None) -> Fraction:
    """Return a number that has been checked to be there."""
    assert limit is not None
    return limit


def _negative_limit_faults(limit: Limit, path: Path) -> Iterator[Fault]:
    """Yield a fault for every negative number of a limit."""
    for where, value in stated_numbers(limit):
        if exact(value) < 0:
            yield Fault("out-of-range", f"it must not be negative, got {float(value):g}", (*path, *where), value)
