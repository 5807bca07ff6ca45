"""flow: bound the traffic between scope items that pairs of objects make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid, Param
from rebalancer.problem import Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import dynamic_faults, vector_faults
from rebalancer.specs.fields import (
    DimensionOrCount,
    Filter,
    FilterRule,
    FilterType,
    ItemFilter,
    ItemName,
    Limit,
    Number,
    ObjectName,
    Part,
    ScopeName,
    exact,
    limit_field,
)
from rebalancer.specs.limits import kept_items
from rebalancer.specs.own_item import in_own_item, repeated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Names, Problem

#: At most so many pairs × items that flows start in: some hundred bytes each.
_MOST = 20_000_000
#: Limits between items: both sides are items of the scope.
_BETWEEN = {"items": True, "groups": True, "pairs": True, "raw": True, "partition": "scope"}


class FlowBound(str, Enum):
    """Which side a limit bounds."""

    UPPER = "UPPER"
    LOWER = "LOWER"


class FlowPair(Part):
    """Two objects that talk: the first one sends."""

    object1: ObjectName = Field(description="The object that sends; what it weighs is what flows.")
    object2: ObjectName = Field(description="The object that receives.")


class FlowSpec(Spec):
    """Bound what flows from one scope item to another between the objects of given pairs.

    Notes
    -----
    For every ordered pair of different items ``a`` and ``b``, ``flow(a, b)`` is the sum of the amounts of object1
    over the pairs whose object1 is in ``a`` and whose object2 is in ``b``. The excess is ``coefficient · (flow −
    limit)`` with UPPER and ``coefficient · (limit − flow)`` with LOWER. Limit and coefficient are plain numbers;
    the most specific one counts: scope_item_to_group_limits of ``a``, then ``b``; scope_item_limits of ``a``;
    group_limits of ``b``; the global one.

    Goal: ``Σ max(0, excess)``. Constraint: one component per ordered pair of items, excess ≤ 0. Sources are the
    items that source_filter keeps, and the destinations of a source those that its entry in destination_filter
    keeps; without one, all. LOWER demands its limit of every pair of items. Where there is no limit
    (is_default_limit_unbounded) nothing is bounded. Unplaced objects are in no item. A pair that is stated twice
    flows twice.

    Every pair counts in every item that flows start in, at most 20 million times in all. A goal with a limit of 0
    everywhere, no filters and no negative amounts needs no ways: then what flows is that of the pairs that are placed
    apart, for any scope.
    """

    key: ClassVar[str] = "flow"

    scope: ScopeName = Field(description="Scope of the items.")
    dimension: DimensionOrCount = Field(
        "", description="What flows, an amount of the sender; empty: 1 per pair; no vectors, nothing dynamic."
    )
    bound: FlowBound = Field(FlowBound.UPPER, description="UPPER: at most the limit; LOWER: at least.")
    pairs: tuple[FlowPair, ...] = Field(description="Which object sends to which.")
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 0, **_BETWEEN)] = Field(
        Limit(), description="By source item; group_limits by destination item."
    )
    coefficients: Annotated[Limit, *limit_field("ABSOLUTE", 1, **_BETWEEN)] = Field(
        Limit(), description="What the excess is multiplied by; looked up like the limit."
    )
    source_filter: ItemFilter = Field(None, description="Which items flows start in.")
    destination_filter: Mapping[ItemName, Annotated[Filter, FilterRule(FilterType.SCOPE_ITEM, "scope")]] = Field(
        {}, description="By source item: which items flows end in."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        if self._all_counts(model.problem):
            return self._all_flow(model)
        return model.linear([(model.total(model.hinge(part.cells)), 1) for part in self.components(model)])

    def components(self, model: ModelBuilder) -> list[Component]:
        items = model.problem.scopes[self.scope].items
        sign = 1 if self.bound is FlowBound.UPPER else -1
        ways, said = [], []
        # limit and coefficient, of which there are far fewer than ways; equal floats and Fractions may mean two numbers
        known: dict[tuple[Number, type, Number, type], int] = {}
        for source in kept_items(items, self.source_filter).tolist():
            name = items[source]
            for destination in kept_items(items, self.destination_filter.get(name)).tolist():
                limit = _between(self.limit, name, items[destination])
                if source != destination and limit is not None:
                    factor = _between(self.coefficients, name, items[destination]) or 0
                    ways.append((source, destination))
                    said.append(known.setdefault((limit, type(limit), factor, type(factor)), len(known)))
        if not ways:
            return []
        column, table = np.array(said, np.int64), np.array(ways, np.int64)
        const = [-sign * exact(factor) * exact(limit) for limit, _, factor, _ in known]
        factors = Param.of([sign * exact(factor) for _, _, factor, _ in known], 1, len(ways), column=column)
        terms = [(self._flow(model, table), factors)] if self.pairs else []
        cells = model.linear(terms, Param.of(const, 1, len(ways), column=column))
        return [Component(cells, scope=self.scope, item_index=table[:, 0])]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from vector_faults(problem, self.key, "dimension", self.dimension)
        yield from dynamic_faults(problem, self.key, "dimension", self.dimension)

    def goal_faults(self, problem: Problem) -> Iterator[Fault]:
        if not any(self.faults(problem)) and not self._all_counts(problem):
            yield from self._size_faults(problem)

    def constraint_faults(self, problem: Problem) -> Iterator[Fault]:
        if not any(self.faults(problem)):
            yield from self._size_faults(problem)

    def _size_faults(self, problem: Problem) -> Iterator[Fault]:
        """Report what would not fit into memory: each source counts each pair."""
        items = problem.scopes[self.scope].items
        kept = kept_items(items, self.source_filter).tolist()
        sources = sum(self._ways_from(items, items[source]) > 0 for source in kept)
        if sources * len(self.pairs) > _MOST:
            message = (
                f"{len(self.pairs):,d} pairs × {sources:,d} items of {self.scope} that flows start in are more than "
                f"{_MOST:,d}, which is what can be held: choose a coarser scope, or filter its items"
            )
            yield Fault("too-large", message, ("scope",), self.scope)

    def _ways_from(self, items: Names, source: str) -> int:
        """Return how many ways from an item have a limit, at most."""
        ways = len(kept_items(items, self.destination_filter.get(source)))
        if not self.limit.is_default_limit_unbounded or source in self.limit.scope_item_limits:
            return ways
        own = self.limit.scope_item_to_group_limits.get(source, {})
        return min(ways, len({*own, *self.limit.group_limits}))

    def _all_counts(self, problem: Problem) -> bool:
        """Whether all that flows between any items costs the same, and nothing flows backwards."""
        filtered = self.source_filter is not None or self.destination_filter
        if filtered or self.bound is FlowBound.LOWER or not (_plain(self.limit) and _plain(self.coefficients)):
            return False
        forwards = self.coefficients.global_limit >= 0 and (problem.dimension(self.dimension).values >= 0).all()
        return bool(forwards and not self.limit.global_limit)

    def _all_flow(self, model: ModelBuilder) -> Cells:
        """Return what flows between all items: of the pairs that are placed, those that are not together."""
        problem = model.problem
        scope = problem.scopes[self.scope]
        pairs = [pair for pair in self.pairs if pair.object1 != pair.object2]
        if not pairs:
            return model.linear([])
        member = problem.objects.lookup([name for pair in pairs for name in (pair.object1, pair.object2)])
        known = problem.dimension(self.dimension)
        factor = exact(self.coefficients.global_limit)
        each = [[factor * Fraction(value, known.scale)] for value in known.values[member[::2], 0].tolist()]

        group = np.repeat(np.arange(len(pairs)), 2)

        def together(item_of: NDArray[np.int32], items: int) -> Cells:
            """Return, by pair, whether both are in one item."""
            there = model.custom_tally(group, member, len(pairs), item_of, items)
            return model.sum_items(model.hinge(model.linear([(there, 1)], -1)))

        anywhere = together(np.where(scope.item_of >= 0, 0, -1).astype(np.int32), 1)
        apart = model.hinge(model.linear([(anywhere, 1), (together(scope.item_of, len(scope.items)), -1)]))
        return model.total(apart, Param.of(each))

    def _flow(self, model: ModelBuilder, ways: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Cells:
        """Return what flows along each way (source, destination): shape (1, ways)."""
        problem = model.problem
        scope = problem.scopes[self.scope]
        senders, receivers = (
            problem.objects.lookup([getattr(pair, field) for pair in self.pairs]) for field in ("object1", "object2")
        )
        (starts, source), (ends, end) = (np.unique(side, return_inverse=True) for side in ways.T)
        pair, rows = np.arange(len(self.pairs)), len(self.pairs) * len(starts)
        sends = in_own_item(model, pair, senders, len(pair), scope.among(starts), len(starts))
        receives = model.custom_tally(*repeated(pair, receivers, len(starts)), rows, scope.among(ends), len(ends))
        both = model.hinge(model.linear([(sends, 1), (receives, 1)], -1))
        known = problem.dimension(self.dimension)
        amount = np.repeat(known.values[senders, 0], len(starts))[:, None]
        weight = Param.of_integers(Grid(rows, 1, amount), Fraction(1, known.scale))
        to = np.tile(np.arange(len(starts)), len(pair))
        flow = model.regroup(both, to, np.arange(len(ends)), len(starts), len(ends), weight)
        return model.gather(flow, source, end)


def _plain(limit: Limit) -> bool:
    """Whether a limit is the same for all items."""
    own = limit.scope_item_to_group_limits or limit.scope_item_limits or limit.group_limits
    return not (own or limit.is_default_limit_unbounded)


def _between(limit: Limit, source: str, destination: str) -> Number | None:
    """Return what a limit says of a way; None: nothing."""
    pairs = limit.scope_item_to_group_limits.get(source, {})
    for values, name in (
        (pairs, destination),
        (limit.scope_item_limits, source),
        (limit.group_limits, destination),
    ):
        if name in values:
            return values[name]
    return None if limit.is_default_limit_unbounded else limit.global_limit
