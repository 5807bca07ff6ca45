"""colocate_groups: bound how many scope items a group spreads over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault, Names
from rebalancer.specs.base import Bound, Spec
from rebalancer.specs.fields import (
    PARTITION_ALIASES,
    Flag,
    GroupName,
    ItemFilter,
    ItemName,
    Limit,
    Name,
    Number,
    PartitionName,
    Ref,
    ScopeName,
    exact,
    limit_field,
)
from rebalancer.specs.limits import group_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem


class ColocateGroupsSpec(Spec):
    """Bound how many scope items each group spreads over: keep it together (MAX) or apart (MIN).

    Notes
    -----
    The spread of group ``g`` is ``Σ_s weight(s) · [some of g is in s]`` over the filtered items, where "some of g"
    means that its amount of the dimension is above 0. Its excess ``e(g)`` is ``spread − limit`` under MAX and ``limit
    − spread`` under MIN.

    - goal: ``Σ_g weight(g) · max(0, e(g))``, with squares ``Σ_g weight(g) · max(0, e(g))²``;
    - constraint: one component per group, ``weight(g) · e(g) ≤ 0`` (squares: its violation is ``weight(g) · e(g)²``).
      A group of weight 0, or without a limit, is not constrained; a negative weight turns the condition round.

    An empty group has a spread of 0: within every MAX limit, and below every positive MIN limit for ever. Unplaced
    objects are in no item. An empty whitelist makes every spread 0.
    """

    key: ClassVar[str] = "colocate_groups"
    no_effect: ClassVar[tuple[str, ...]] = ("use_continuous_penalty_with_optimal",)

    scope: ScopeName = Field(description="Scope whose items are counted.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    scope_item_weights: Mapping[ItemName, Number] = Field({}, description="How much an item counts; 1 where left out.")
    filter: ItemFilter = Field(None, description="Which scope items count.")
    bound: Bound = Field(Bound.MAX, description="MAX: spread over at most the limit; MIN: at least.")
    limits: Annotated[Limit, *limit_field("ABSOLUTE", 1, groups=True, types=("ABSOLUTE",))] = Field(
        Limit(), description="The spread allowed, by group."
    )
    dimension: Annotated[Name | None, Ref("dimension", empty=True)] = Field(
        None, description="Objects that weigh nothing in it do not count; left out or empty: all count."
    )
    squares: Flag = Field(False, description="Square the excess of each group.")
    use_continuous_penalty_with_optimal: Flag = Field(
        False, description="No effect: only steers Rebalancer's own search."
    )
    group_to_weight: Mapping[GroupName, Number] = Field({}, description="How much a group counts; 1 where left out.")

    def goal(self, model: ModelBuilder) -> Cells:
        return model.total(
            self._measured(model, self._excess(model, self.bound)),
            Param.of([[weight] for weight in self._weights(model.problem)] or [[1]]),
        )

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        weights = self._weights(problem)
        spread = self._spread(model)
        limits = group_limits(self.limits, problem.partitions[self.partition_name].groups, Names(["spread"]))
        out = []
        turned = Bound.MIN if self.bound is Bound.MAX else Bound.MAX
        for sign, bound in ((1, self.bound), (-1, turned)):
            chosen = np.array([group for group, weight in enumerate(weights) if weight * sign > 0], np.int64)
            if not len(chosen):
                continue
            zeros = np.zeros(len(chosen), np.int64)
            excess = model.gather(self._excess(model, bound), chosen, zeros)
            out.append(
                Component(
                    self._measured(model, excess) if self.squares else excess,
                    weight=Param.of([abs(weights[group]) for group in chosen.tolist()]),
                    amount=model.gather(spread, chosen, zeros),
                    limit=limits.shown(float("inf") if bound is Bound.MAX else -float("inf")).take(chosen, zeros),
                    partition=self.partition_name,
                    group_index=chosen,
                )
            )
        return out

    def constraint_faults(self, problem: Problem) -> Iterator[Fault]:
        if self.squares and any(exact(weight) < 0 for weight in self.group_to_weight.values()):
            yield Fault(
                "unsupported-field",
                "'squares' and negative group weights do not go together in a constraint",
                ("squares",),
                True,
            )

    def _weights(self, problem: Problem) -> list[Fraction]:
        """Return the weight of each group."""
        return [exact(self.group_to_weight.get(name, 1)) for name in problem.partitions[self.partition_name].groups]

    def _measured(self, model: ModelBuilder, excess: Cells) -> Cells:
        above = model.hinge(excess)
        return model.square(above) if self.squares else above

    def _spread(self, model: ModelBuilder) -> Cells:
        """Return the spread of each group: shape (groups, 1)."""
        items = model.problem.scopes[self.scope].items
        kept = kept_items(items, self.filter)
        there = model.step(model.amount(self.scope, self.dimension or "", partition=self.partition_name, items=kept))
        return model.sum_items(
            there, Param.of([exact(self.scope_item_weights.get(items[item], 1)) for item in kept.tolist()] or [1])
        )

    def _excess(self, model: ModelBuilder, bound: Bound) -> Cells:
        """Return how far each group's spread is beyond its limit: shape (groups, 1)."""
        problem = model.problem
        spread = self._spread(model)
        limits = group_limits(self.limits, problem.partitions[self.partition_name].groups, Names(["spread"]))
        return limits.over(model, spread) if bound is Bound.MAX else limits.under(model, spread)
