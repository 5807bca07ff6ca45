"""sr_buffer_capacity: a buffer next to each scope item holds enough to replace any group that fails."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    DimensionOrCount,
    Flag,
    ItemFilter,
    ItemName,
    Number,
    Part,
    PartitionName,
    ScopeName,
    exact,
)
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder


class BufferPair(Part):
    """A scope item and its buffer."""

    scope_item1: ItemName = Field(description="The item.")
    scope_item2: ItemName = Field(description="Its buffer.")


class SRBufferCapacitySpec(Spec):
    """Keep enough in a buffer item to replace any group of failing objects.

    Notes
    -----
    The groups are what may fail at once. For every listed pair whose main item passes the filter, with ``n`` the
    amount of a group and ``U`` that of everything,

        ``e = Σ_g max(0, n(g, main) + n(g, buffer) − U(buffer) − error)``:

    without group ``g``, the buffer still holds as much as the main item loses. The error is the main item's in
    lower_bound_matching_errors, else matching_error.

    Goal: ``Σ e``. Constraint: one component per pair, ``e ≤ 0``. Objects in no group never fail. Unplaced objects
    are in no item. A pair that is stated twice counts twice. Of a vector dimension, the largest component of each
    amount counts.
    """

    key: ClassVar[str] = "sr_buffer_capacity"
    no_effect: ClassVar[tuple[str, ...]] = (
        "upper_bound_matching_errors",
        "add_upper_bound",
        "use_heuristics",
        "use_sum_over_failure_scenarios",
    )

    scope: ScopeName = Field(description="Scope of the items.")
    partition_name: PartitionName = Field(description="What may fail at once.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionOrCount = Field("", description="What is summed; empty: the number of objects.")
    scope_item_pairs: tuple[BufferPair, ...] = Field(description="Each item and its buffer.")
    matching_error: Number = Field(0, description="How much may be missing.")
    lower_bound_matching_errors: Mapping[ItemName, Number] = Field(
        {}, description="How much may be missing, by main item; instead of matching_error."
    )
    filter: ItemFilter = Field(None, description="Which main items.")
    upper_bound_matching_errors: Mapping[ItemName, Number] = Field({}, description="No effect.")
    add_upper_bound: Flag = Field(False, description="No effect.")
    use_heuristics: Flag = Field(False, description="No effect: only steers Rebalancer's own search.")
    use_sum_over_failure_scenarios: Flag = Field(False, description="No effect.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.linear([(model.total(part.cells), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        items = problem.scopes[self.scope].items
        kept = set(kept_items(items, self.filter).tolist())
        pairs = [
            (items.index[pair.scope_item1], items.index[pair.scope_item2])
            for pair in self.scope_item_pairs
            if items.index[pair.scope_item1] in kept
        ]
        groups = len(problem.partitions[self.partition_name].groups)
        if not pairs or not groups:
            return []
        mains, buffers = np.array(pairs, np.int64).T
        by_group = model.amount(self.scope, self.dimension, partition=self.partition_name)
        everything = model.amount(self.scope, self.dimension)
        group, pair = np.divmod(np.arange(groups * len(pairs)), len(pairs))
        lost, gone = (model.gather(by_group, group, side[pair]) for side in (mains, buffers))
        held = model.gather(everything, np.zeros(len(pair), np.int64), buffers[pair])
        errors = [self._error(items[main]) for main in mains.tolist()]
        missing = model.hinge(
            model.linear([(lost, 1), (gone, 1), (held, -1)], Param.of([-errors[index] for index in pair.tolist()]))
        )
        short = model.regroup(missing, None, pair, 1, len(pairs))
        return [Component(short, scope=self.scope, item_index=mains)]

    def _error(self, main: str) -> Fraction:
        return exact(self.lower_bound_matching_errors.get(main, self.matching_error))
