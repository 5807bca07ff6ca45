"""group_move_limit: bound how much of a group moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import UNPLACED, Fault, FixedPoint, Names
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import negative_faults, vector_faults
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    Filter,
    FilterRule,
    FilterType,
    Limit,
    Name,
    PartitionName,
    Ref,
    limit_field,
)
from rebalancer.specs.limits import group_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class GroupMoveLimitSpec(Spec):
    """Bound how much of each group moves.

    Notes
    -----
    ``moved(g)`` is the amount of the objects of group ``g`` that are not in the container where they started, as far as
    the source filter keeps that one and the destination filter keeps the one where they are now. In a dynamic dimension
    objects weigh what they do at their destination.

    Constraint: one component, the largest ``max(0, moved(g) − limit(g))`` of all groups.

    Placing an unplaced object is no move; taking a placed one out is, unless there is a destination filter: it has no
    destination. A move in progress is none: where it goes is where it started. A limit of 0 keeps the groups where they
    are.
    """

    key: ClassVar[str] = "group_move_limit"

    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 1, groups=True, raw=True)] = Field(
        Limit(), description="How much may move, by group."
    )
    source_scope_items_affecting_limit_filter: Annotated[
        Filter | None, FilterRule(FilterType.SCOPE_ITEM, "=container")
    ] = Field(None, description="Only moves from these containers count.")
    destination_scope_items_affecting_limit_filter: Annotated[
        Filter | None, FilterRule(FilterType.SCOPE_ITEM, "=container")
    ] = Field(None, description="Only moves to these containers count.")
    dimension: Annotated[Name | None, Ref("dimension", empty=True)] = Field(
        None, description="What a move counts; left out or empty: 1 per object; no vectors, no negative values."
    )

    def components(self, model: ModelBuilder) -> list[Component]:
        groups = model.problem.partitions[self.partition_name].groups
        moved = self._moved(model)
        excess = model.hinge(group_limits(self.limit, groups, Names(["moved"])).over(model, moved))
        return [Component(model.largest(excess), "all")]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension or "")
        yield from negative_faults(problem, self.key, "dimension", self.dimension or "")

    def _moved(self, model: ModelBuilder) -> Cells:
        """Return how much of each group moved: what is at a destination that counts, less what is still at home."""
        problem = model.problem
        dimension = self.dimension or ""
        source = self._counting(problem, self.source_scope_items_affecting_limit_filter)
        destination = self._counting(problem, self.destination_scope_items_affecting_limit_filter)
        partition = problem.partitions[self.partition_name]
        home = problem.initial[partition.member]
        counts = (home != UNPLACED) & source[home]
        group, member = partition.group[counts].astype(np.int64), partition.member[counts].astype(np.int64)
        groups = len(partition.groups)
        there = np.where(destination, np.int32(0), np.int32(-1)).astype(np.int32)
        now = model.custom_tally(group, member, groups, there, 1, dimension)
        stay = np.unique(member[destination[home[counts]]])
        at_home = model.located(
            problem.scopes[problem.container_name].item_of,
            problem.initial[stay],
            stay,
            self._weights(problem, stay),
            memberships=(group, member, groups),
        )
        return model.linear([(now, 1), (at_home, -1)])

    def _weights(self, problem: Problem, objects: IntArray) -> FixedPoint:
        """Return what objects weigh where they started."""
        known = problem.dimension(self.dimension or "")
        if known.dynamic is None:
            values = known.values[objects, 0]
        else:
            item = problem.scopes[known.dynamic.scope].item_of[problem.initial[objects]]
            values = known.dynamic.at(item, objects, len(problem.objects))
        return FixedPoint(values, known.scale)

    @staticmethod
    def _counting(problem: Problem, chosen: Filter | None) -> NDArray[np.bool_]:
        """Return which containers a filter keeps; the last entry: whether no container is."""
        out = np.zeros(len(problem.containers) + 1, bool)
        out[kept_items(problem.containers, chosen)] = True
        out[-1] = chosen is None
        return out
