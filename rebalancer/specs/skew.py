"""skew: groups that are spread evenly over scope items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid
from rebalancer.problem import UNPLACED, Fault
from rebalancer.specs.fields import ContainerName, ItemFilter, ScopeName, Whole
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import (
    MISSING,
    GroupwiseSpec,
    Missing,
    Objects,
    excess,
    one_group,
    outside,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem, Scope
    from rebalancer.problem.numbers import IntArray


class SkewSpec(GroupwiseSpec):
    """Spread each group evenly: bound by how much its fullest scope item is ahead of its emptiest.

    Notes
    -----
    Domains are the filtered items that some of the listed containers are in; an item without containers is none.
    With ``n(s)`` objects of the group in domain ``s``, the skew of the group is ``max n(s) − floor``, and the floor

    - domains eligible: the least ``n(s)``, or 0 if there are fewer than min_domains domains;
    - domains used: the least ``n(s)`` of the domains that hold some of the group, or 0 while these are fewer than
      min_domains. So each holds at most max_skew objects until min_domains are used.

    Where others are counted instead of the group itself, only domains that hold an object of the group make the
    maximum: the group is judged by whom it joins.

    Goal: ``Σ max(0, skew − max_skew)`` over groups. Constraint: one component per group, ``skew − max_skew ≤ 0``;
    under DEFAULT a group that is less even at the start may not become more uneven. With ``missing: refuse``, one
    component more per object: 1 while it is in a container that is in no item of the scope.

    Unplaced objects are in no item. Without domains the skew is 0.
    """

    key: ClassVar[str] = "skew"

    scope: ScopeName = Field(description="Scope over whose items groups are spread.")
    counted: Objects | None = Field(
        None, description="With objects: who is counted in their place; they only say where the rule is judged."
    )
    max_skew: Whole = Field(1, description="How far the fullest may be ahead.")
    domains: Literal["eligible", "used"] = Field(
        "eligible", description="Whether all domains are compared, or only those that hold some of the group."
    )
    min_domains: Whole = Field(1, description="With fewer domains than this the floor is 0.")
    containers: tuple[ContainerName, ...] | None = Field(
        None, description="Only these make domains, and only objects in them count; left out: all containers."
    )
    filter: ItemFilter = Field(None, description="Which scope items can be domains.")
    missing: Missing = Field("unconstrained", description=MISSING)

    def goal(self, model: ModelBuilder) -> Cells:
        return excess(model, self.components(model))

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        groups = self.grouped(problem)
        scope = problem.scopes[self.scope]
        place, count = self._domains(problem, scope)
        sides = []
        if len(groups) and count:
            there = groups.tally(model, place, count)
            if self.counted is None:
                number = most = there
            else:
                number = one_group(self.counted.members(problem)).tally(model, place, count)
                most = model.hinge(model.linear([(number, 1), (model.step(there), number.high)], -number.high))
            row = np.arange(len(groups))
            fullest = model.largest(most, row, None, len(groups))
            gap = model.linear([(fullest, 1), (self._floor(model, number, count), -1)])
            sides.append(
                Component(
                    model.linear([(gap, 1)], -self.max_skew),
                    amount=gap,
                    limit=Grid.constant(len(groups), 1, float(self.max_skew)),
                    **groups.labels(problem),
                )
            )
        return [*sides, *outside(model, scope, self.missing, np.unique(groups.member))]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.counted is not None and self.partition_name is not None:
            yield Fault("unsupported-field", "'counted' and 'partition' do not go together", ("counted",))
        for field in ("max_skew", "min_domains"):
            if getattr(self, field) < 0:
                message = f"'{field}' must be 0 or more, got {getattr(self, field)}"
                yield Fault("out-of-range", message, (field,), getattr(self, field))

    def _domains(self, problem: Problem, scope: Scope) -> tuple[NDArray[np.int32], int]:
        """Return the domain of each container, -1 for none, and how many there are."""
        item_of = scope.item_of.copy()
        if self.containers is not None:
            listed = np.zeros(len(item_of), bool)
            listed[problem.containers.lookup(list(self.containers))] = True
            item_of[~listed] = UNPLACED
        kept: IntArray = kept_items(scope.items, self.filter)
        kept = kept[np.isin(kept, item_of)]
        return np.where(item_of >= 0, scope.among(kept), -1).astype(np.int32), len(kept)

    def _floor(self, model: ModelBuilder, number: Cells, count: int) -> Cells:
        """Return what each group's fullest domain is compared with: shape (groups, 1)."""
        row = np.arange(number.groups)
        if self.domains == "eligible":
            if count < self.min_domains:
                return model.linear([], 0)
            return model.largest(number, row, None, number.groups, smallest=True)
        used = model.step(number)
        beyond = model.linear([(number, 1), (used, -number.high)], number.high)  # an unused one is never the least
        least = model.largest(beyond, row, None, number.groups, smallest=True)
        enough = model.step(model.linear([(model.sum_items(used), 1)], 1 - max(1, self.min_domains)))
        return model.largest_of([least, model.linear([(enough, number.high)])], smallest=True)
