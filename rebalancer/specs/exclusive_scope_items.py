"""exclusive_scope_items: scope items that should not be used together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import negative_faults
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionName,
    ItemName,
    Name,
    Number,
    Part,
    Ref,
    ScopeName,
    exact,
)

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ConflictingScopeItem(Part):
    """One scope item that another conflicts with."""

    conflicting_scope_item: ItemName = Field(description="The scope item.")
    overlap: Number = Field(1, description="With AGGRESSIVE_PACKING: how much of it the two share.")


class ConflictInfo(Part):
    """What one scope item conflicts with."""

    scope_item: ItemName = Field(description="The scope item.")
    conflicting_scope_items_with_overlap: tuple[ConflictingScopeItem, ...] = Field(
        (), description="What it conflicts with. The other way round follows."
    )
    conflicting_scope_items: tuple[Name, ...] = Field((), description="No effect: superseded in Rebalancer.")


class ExclusiveFormula(str, Enum):
    """What the goal measures."""

    MINIMIZE_INVALIDATED_SCOPE_ITEMS_COUNT = "MINIMIZE_INVALIDATED_SCOPE_ITEMS_COUNT"
    AGGRESSIVE_PACKING = "AGGRESSIVE_PACKING"


class ExclusiveScopeItemsSpec(Spec):
    """Do not use scope items together that conflict, such as overlapping slices of the same device.

    Notes
    -----
    An item is in use where its amount of the dimension is above 0. A conflict holds both ways; stated more than once,
    the last overlap counts.

    - goal, MINIMIZE_INVALIDATED_SCOPE_ITEMS_COUNT: how many items conflict with at least one that is in use, whether
      they are in use themselves or not;
    - goal, AGGRESSIVE_PACKING: ``−Σ_i w_i · (w_i · use_i + Σ_j overlap_ij · use_j)²`` over the items ``i`` that have a
      conflict, and those ``j`` that conflict with them;
    - constraint: one component, 1 if two items that conflict are in use, else 0; with a partition one per group, with
      what is in use counted within the group.

    Unplaced objects use nothing. Without conflicts the constraint holds.
    """

    key: ClassVar[str] = "exclusive_scope_items"

    scope: ScopeName = Field(description="Scope of the items.")
    dimension: DimensionName = Field(
        description="An item is in use where its amount of this is above 0; no negative values."
    )
    conflict_info_list: tuple[ConflictInfo, ...] = Field(description="Which items conflict.")
    scope_item_weights: Mapping[ItemName, Number] = Field(
        {}, description="With AGGRESSIVE_PACKING: how much an item counts; 1 where left out."
    )
    partition_name: Annotated[Name | None, Ref("partition")] = Field(
        None, description="As a constraint: items conflict only within a group.", validation_alias=PARTITION_ALIASES
    )
    formula: ExclusiveFormula = Field(
        ExclusiveFormula.MINIMIZE_INVALIDATED_SCOPE_ITEMS_COUNT, description="What the goal measures."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        items = problem.scopes[self.scope].items
        conflicts = self._conflicts(problem)
        use = model.step(model.amount(self.scope, self.dimension))
        here = np.array([item for item, _ in conflicts], np.int64)
        there = np.array([other for _, other in conflicts], np.int64)
        neighbours = model.gather(use, np.zeros(len(there), np.int64), there)
        if self.formula is ExclusiveFormula.MINIMIZE_INVALIDATED_SCOPE_ITEMS_COUNT:
            return model.total(model.step(model.regroup(neighbours, None, here, 1, len(items))))
        overlap = Param.of([*conflicts.values()] or [1])
        shared = model.regroup(neighbours, None, here, 1, len(items), overlap)
        involved = set(here.tolist())
        weights = [
            exact(self.scope_item_weights.get(name, 1)) if item in involved else Fraction(0)
            for item, name in enumerate(items)
        ]
        packed = model.square(model.linear([(use, Param.of(weights)), (shared, 1)]))
        return model.total(packed, Param.of([-weight for weight in weights]))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        edges = [(item, other) for item, other in self._conflicts(problem) if item <= other]
        use = model.step(model.amount(self.scope, self.dimension, partition=self.partition_name))
        if not edges or not use.groups:
            return []
        here, there = np.array(edges, np.int64).T
        group = np.repeat(np.arange(use.groups), len(edges))
        first, second = (model.gather(use, group, np.tile(side, use.groups)) for side in (here, there))
        both = model.step(model.linear([(first, 1), (second, 1)], -1))
        broken = model.step(model.regroup(both, None, group, 1, use.groups))
        if self.partition_name is None:
            return [Component(broken, "all")]
        return [Component(broken, partition=self.partition_name, group_index=np.arange(use.groups))]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from negative_faults(problem, self.key, "dimension", self.dimension)
        for position, info in enumerate(self.conflict_info_list):
            for place, other in enumerate(info.conflicting_scope_items_with_overlap):
                if other.conflicting_scope_item == info.scope_item:
                    path = ("conflict_info_list", position, "conflicting_scope_items_with_overlap", place)
                    message = f"'{info.scope_item}' cannot conflict with itself"
                    yield Fault("own-conflict", message, (*path, "conflicting_scope_item"), info.scope_item)

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        for position, info in enumerate(self.conflict_info_list):
            if info.conflicting_scope_items:
                message = "'conflicting_scope_items' has no effect: list them as 'conflicting_scope_items_with_overlap'"
                yield Fault("no-effect", message, ("conflict_info_list", position, "conflicting_scope_items"))

    def _conflicts(self, problem: Problem) -> dict[tuple[int, int], Fraction]:
        """Return the overlap of every two items that conflict, both ways, sorted."""
        index = problem.scopes[self.scope].items.index
        out: dict[tuple[int, int], Fraction] = {}
        for info in self.conflict_info_list:
            for other in info.conflicting_scope_items_with_overlap:
                one, two = index[info.scope_item], index[other.conflicting_scope_item]
                out[one, two] = out[two, one] = exact(other.overlap)
        return dict(sorted(out.items()))
