"""group_capacity: bound what the parts of a group contribute, over all scope items."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault, Names, Path
from rebalancer.specs.base import Definition, Spec
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    ItemFilter,
    Limit,
    Name,
    PartitionName,
    Ref,
    ScopeName,
    exact,
    limit_field,
)
from rebalancer.specs.limits import Limits, group_limits, kept_items, outer_groups, stated_numbers

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class GroupCapacityBound(str, Enum):
    """Which side a limit bounds."""

    MAX = "MAX"
    EXACT = "EXACT"
    MIN = "MIN"


class UtilType(str, Enum):
    """What counts of the objects of a part in a scope item."""

    LINEAR = "LINEAR"
    STEP = "STEP"
    STEP_MOD_K = "STEP_MOD_K"


class GroupCapacitySpec(Spec):
    """Bound what the parts of each group contribute, over all scope items.

    Notes
    -----
    The parts of group ``G`` are the groups of the contribution partition that lie in it; without one, ``G`` itself.
    With ``n`` the number of objects of part ``c`` that count in item ``s``, the group's total is

    ``R(G) = Σ_s Σ_c f(n) · contribution(s, c)``

    over the filtered items, where ``f(n)`` is ``n`` (LINEAR), 1 where ``n > 0`` (STEP), or 1 where ``n`` is no multiple
    of the bundle size ``k(s, c)`` (STEP_MOD_K; DURING with a bundle size of 1 counts ``n``, as Rebalancer does). The
    excess is ``R − limit`` under MAX, ``limit − R`` under MIN, and both under EXACT.

    Goal: ``Σ max(0, excess)`` over groups and conditions. Constraint: one component per condition, side and group,
    excess ≤ 0. DURING_AND_AFTER is two conditions against the same limit.

    Contributions are 0 unless they are stated. An empty group totals 0. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "group_capacity"

    scope: ScopeName = Field(description="Scope in whose items objects are counted.")
    partition_name: PartitionName = Field(
        description="The groups that are bounded; disjoint.", validation_alias=PARTITION_ALIASES
    )
    contribution_partition: Annotated[Name | None, Ref("partition")] = Field(
        None, description="Their parts, each inside one group; left out: the groups themselves."
    )
    definition: Literal[Definition.AFTER, Definition.DURING, Definition.DURING_AND_AFTER] = Field(
        Definition.DURING_AND_AFTER, description="Which objects count."
    )
    bound: GroupCapacityBound = Field(
        GroupCapacityBound.MAX, description="MAX: at most the limit; MIN: at least; EXACT: exactly."
    )
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 0, groups=True, raw=True)] = Field(
        Limit(), description="The bound, by group."
    )
    contribution: Annotated[
        Limit, *limit_field("ABSOLUTE", 0, items=True, groups=True, pairs=True, partition="parts", raw=True)
    ] = Field(Limit(), description="What an object (or a step) contributes, by part and scope item.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    util_type: UtilType = Field(
        UtilType.LINEAR,
        description="LINEAR: the count; STEP: whether there is any; STEP_MOD_K: whether it is no multiple of bundles.",
    )
    bundle_config: Annotated[
        Limit | None,
        *limit_field("ABSOLUTE", 1, items=True, groups=True, pairs=True, partition="parts", types=("ABSOLUTE",)),
    ] = Field(
        None, description="With STEP_MOD_K: the bundle size, by part and scope item; ABSOLUTE, whole numbers above 0."
    )

    @property
    def parts(self) -> str:
        """The partition whose groups contribute."""
        return self.contribution_partition or self.partition_name

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(model.hinge(part.cells)), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        both = self.definition is Definition.DURING_AND_AFTER
        limits = group_limits(
            self.limit, model.problem.partitions[self.partition_name].groups, Names(["contributions"])
        )
        out = []
        for metric in ("DURING", "AFTER") if both else (self.definition.value,):
            total = self._total(model, metric)
            if self.bound is not GroupCapacityBound.MIN:
                over = limits.over(model, total)
                out.append(self._component(over, total, limits, float("inf")))
            if self.bound is not GroupCapacityBound.MAX:
                under = limits.under(model, total)
                out.append(self._component(under, total, limits, -float("inf")))
        return out

    def _component(self, excess: Cells, total: Cells, limits: Limits, absent: float) -> Component:
        return Component(excess, amount=total, limit=limits.shown(absent), partition=self.partition_name)

    def _total(self, model: ModelBuilder, metric: str) -> Cells:
        """Return what the parts of each group contribute: shape (groups, 1)."""
        problem = model.problem
        items, parts = problem.scopes[self.scope].items, problem.partitions[self.parts]
        kept = kept_items(items, self.filter)
        counted = self._counted(model, model.amount(self.scope, "", metric, partition=self.parts, items=kept), metric)
        contribution = group_limits(self.contribution, parts.groups, items, kept).param(_number)
        count = len(problem.partitions[self.partition_name].groups)
        whole = self.parts == self.partition_name
        owner = np.arange(count) if whole else outer_groups(problem, self.parts, self.partition_name)
        return model.regroup(counted, owner, None, count, 1, contribution)

    def _counted(self, model: ModelBuilder, amount: Cells, metric: str) -> Cells:
        """Return what counts of the objects of each part in each kept item."""
        if self.util_type is UtilType.LINEAR:
            return amount
        if self.util_type is UtilType.STEP:
            return model.step(amount)
        assert self.bundle_config is not None
        problem = model.problem
        items = problem.scopes[self.scope].items
        sizes = group_limits(
            self.bundle_config, problem.partitions[self.parts].groups, items, kept_items(items, self.filter)
        )
        broken_bundle = model.step(model.mod(amount, sizes.param(_number)))
        if metric != "DURING":
            return broken_bundle
        single = sizes.param(lambda size: Fraction(int(size == 1)))
        return model.linear([(broken_bundle, 1), (amount, single)])

    # -- faults -------------------------------------------------------------------------------------------------------

    def faults(self, problem: Problem) -> Iterator[Fault]:
        found = list(super().faults(problem))
        yield from found
        if found:
            return
        if problem.partitions[self.partition_name].overlapping:
            message = f"{self.key} needs disjoint groups; '{self.partition_name}' has overlapping ones"
            yield Fault("overlapping-groups", message, ("partition_name",), self.partition_name)
        elif self.contribution_partition is not None:
            yield from self._nesting_faults(problem, self.contribution_partition)
        if self.contribution.is_default_limit_unbounded:
            yield _unbounded("contribution")
        yield from self._bundle_faults()

    def _nesting_faults(self, problem: Problem, parts: str) -> Iterator[Fault]:
        try:
            owner = outer_groups(problem, parts, self.partition_name)
        except ValueError:
            owner = None
        if owner is None or bool((owner[problem.partitions[parts].group] < 0).any()):
            message = (
                f"every group of the contribution partition '{parts}' must lie in one group of '{self.partition_name}'"
            )
            yield Fault("not-nested", message, ("contribution_partition",), parts)

    def _bundle_faults(self) -> Iterator[Fault]:
        wanted = self.util_type is UtilType.STEP_MOD_K
        if self.bundle_config is None:
            if wanted:
                message = f"the util_type {UtilType.STEP_MOD_K.value} needs 'bundle_config'"
                yield Fault("missing-field", message, ("util_type",), self.util_type.value)
            return
        if not wanted:
            message = f"'bundle_config' needs 'util_type: {UtilType.STEP_MOD_K.value}'"
            yield Fault("unsupported-field", message, ("bundle_config",))
        if self.bundle_config.is_default_limit_unbounded:
            yield _unbounded("bundle_config")
        for where, value in stated_numbers(self.bundle_config):
            if exact(value) <= 0 or exact(value).denominator != 1:
                message = f"a bundle size must be a whole number above 0, got {float(value):g}"
                yield Fault("out-of-range", message, ("bundle_config", *where), value)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        if not any(exact(value) for _, value in stated_numbers(self.contribution)):
            message = "no contribution is stated: every group totals 0"
            yield Fault("no-effect", message, ("contribution",))


def _number(limit: Fraction | None) -> Fraction:
    """Return a number that has been checked to be there."""
    assert limit is not None
    return limit


def _unbounded(field: str) -> Fault:
    path: Path = (field, "is_default_limit_unbounded")
    return Fault("unsupported-limit", f"'{field}' needs numbers: it cannot be unbounded", path, True)
