"""disaster_recovery_capacity: what primaries use fits beside what fails over in the worst disaster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Grid, Param
from rebalancer.problem import Fault
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.checks import dynamic_faults
from rebalancer.specs.fields import DimensionName, ItemName, ObjectName, ScopeName
from rebalancer.specs.limits import mean
from rebalancer.specs.own_item import in_own_item, repeated

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem, Scope


class DisasterRecoveryCapacitySpec(Spec):
    """Let what primaries use fit in each scope item beside what its secondaries take over in the worst disaster.

    Notes
    -----
    In a disaster all scope items of one disaster group fail at once: one of the shared_disaster_groups, or a single
    item that is in none of them. Each primary in the group is then taken over by the first of its secondaries, in the
    order listed, that is not in the group itself. With

    - ``P(s)`` the amount of the primaries in item ``s``,
    - ``X(s, G)`` the amount of the secondaries in ``s`` that take over when ``G`` fails (their own amounts; 0 where
      ``s`` is in ``G``),

    the excess is ``e(s) = (P(s) + max_G X(s, G) − capacity(s)) / A``, where ``A`` is the mean capacity of all items, or
    1 if that is 0; of a vector dimension the largest component counts. Goal: ``Σ max(0, e)``. Constraint: one component
    per item, e ≤ 0.

    Objects that are neither primary nor secondary count nowhere. An unplaced secondary takes nothing over: it passes on
    to the next. One in a container outside the scope does take over, there. An item without capacity has to stay free
    of both.
    """

    key: ClassVar[str] = "disaster_recovery_capacity"

    scope: ScopeName = Field(description="Scope whose items fail, and whose capacities count.")
    dimension: DimensionName = Field(description="What objects use, and items offer; dynamic only on the same scope.")
    primary_to_set_of_secondary_objects: Mapping[ObjectName, tuple[ObjectName, ...]] = Field(
        description="Primary to its secondaries, in the order in which they take over."
    )
    shared_disaster_groups: tuple[tuple[ItemName, ...], ...] = Field(
        (), description="Scope items that fail together; every other item fails alone."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        part = self._component(model)
        return model.total(model.hinge(part.cells), part.weight)

    def components(self, model: ModelBuilder) -> list[Component]:
        return [self._component(model)]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        yield from dynamic_faults(problem, self.key, "dimension", self.dimension, self.scope)
        for primary, secondaries in self.primary_to_set_of_secondary_objects.items():
            path = ("primary_to_set_of_secondary_objects", primary)
            for position, name in enumerate(secondaries):
                if name in secondaries[:position]:
                    message = f"'{name}' is listed twice as a secondary of '{primary}'"
                    yield Fault("duplicate-secondary", message, (*path, position), name)

    # -- cells --------------------------------------------------------------------------------------------------------

    def _component(self, model: ModelBuilder) -> Component:
        problem = model.problem
        scope = problem.scopes[self.scope]
        offered = problem.capacity(self.dimension, self.scope).exact
        chains = self._chains(problem)
        known = problem.dimension(self.dimension)
        primaries = problem.objects.lookup(list(self.primary_to_set_of_secondary_objects))
        blocks = [_Block.of(model, scope, chains, groups) for groups in self._disaster_groups(problem) if chains]
        uses = []
        for component in range(known.components):
            own = model.custom_tally(
                np.zeros(len(primaries), np.int64),
                primaries,
                1,
                scope.item_of,
                len(scope.items),
                self.dimension,
                component=component,
            )
            failed_over = [
                block.taken_over(self._weights(problem, chains, block.groups, component)) for block in blocks
            ]
            worst = [model.largest_of(failed_over)] if len(failed_over) > 1 else failed_over
            uses.append(model.linear([(own, 1), *((cells, 1) for cells in worst)]))
        use = model.largest_of(uses) if len(uses) > 1 else uses[0]
        excess = model.linear([(use, 1)], Param.of([-capacity for capacity in offered]))
        limit = Param.of(offered).floats()
        weight = Param.constant(1 / mean(offered))
        return Component(excess, weight=weight, amount=use, limit=limit, scope=self.scope)

    def _chains(self, problem: Problem) -> list[list[int]]:
        """Return for every place in every list the primary, the secondaries before it, and the secondary itself."""
        index = problem.objects.index
        out = []
        for primary, secondaries in self.primary_to_set_of_secondary_objects.items():
            chain = [index[primary]]
            for name in secondaries:
                chain = [*chain, index[name]]
                out.append(chain)
        return out

    def _disaster_groups(self, problem: Problem) -> list[list[IntArray]]:
        """Return the disaster groups in blocks of disjoint ones: each shared one, and all single items."""
        items = problem.scopes[self.scope].items
        shared = [np.unique(items.lookup(list(group))) for group in self.shared_disaster_groups if group]
        taken = {item for group in shared for item in group.tolist()}
        alone = [np.array([item]) for item in range(len(items)) if item not in taken]
        return [*([group] for group in shared), *([alone] if alone else [])]

    def _weights(self, problem: Problem, chains: list[list[int]], groups: int, component: int) -> Param:
        """Return what the secondary of each chain weighs in each item, for every disaster group again."""
        known = problem.dimension(self.dimension)
        secondary = np.array([chain[-1] for chain in chains], np.int64)
        items = len(problem.scopes[self.scope].items)
        if known.dynamic is None:
            table = known.values[secondary, component][:, None]
        else:
            item = np.tile(np.arange(items), len(chains))
            weight = known.dynamic.at(item, np.repeat(secondary, items), len(problem.objects))
            table = weight.reshape(len(chains), items)
        table = np.repeat(table, groups, axis=0)
        return Param.of_integers(Grid(table.shape[0], table.shape[1], table), Fraction(1, known.scale))


@dataclass(frozen=True, eq=False)
class _Block:
    """Who takes over where, when one of some disjoint disaster groups fails.

    Parameters
    ----------
    happens : Cells
        Whether each chain, with each group failing, takes over in each item if that does not fail itself: shape
        (chains * groups, items).
    group_of : int64 array
        The group that each item is in, -1: none.
    """

    model: ModelBuilder
    happens: Cells
    group_of: IntArray
    groups: int

    @staticmethod
    def of(model: ModelBuilder, scope: Scope, chains: list[list[int]], groups: list[IntArray]) -> _Block:
        """Return the take-overs of chains: all but the last of a chain fail (or are nowhere), the last is elsewhere."""
        rows, items, copies = len(chains), len(scope.items), len(groups)
        group_of = np.full(items + 1, -1, np.int32)
        for position, listed in enumerate(groups):
            group_of[listed] = position
        last = np.array([chain[-1] for chain in chains], np.int64)
        failing, failing_row = _flat([chain[:-1] for chain in chains])
        passing, passing_row = _flat([chain[1:-1] for chain in chains])
        nowhere = np.full(len(scope.item_of), -1, np.int32)
        nowhere[-1] = 0 if scope.item_of[-1] < 0 else -1
        failed = in_own_item(model, failing_row, failing, rows, group_of[scope.item_of], copies)
        absent = model.custom_tally(*repeated(passing_row, passing, copies), rows * copies, nowhere, 1)
        there = model.custom_tally(*repeated(np.arange(rows), last, copies), rows * copies, scope.item_of, items)
        needed = np.repeat([1 - len(chain) for chain in chains], copies)[:, None]
        needs = Param.of_integers(Grid(rows * copies, 1, needed), Fraction(1))
        reached = model.linear([(failed, 1), (absent, 1)], needs)
        happens = model.step(model.linear([(reached, 1), (there, 1)]))
        return _Block(model, happens, group_of[:items].astype(np.int64), copies)

    def taken_over(self, weights: Param) -> Cells:
        """Return what is taken over in each item when the worst of the groups fails: shape (1, items)."""
        items, rows = self.happens.items, self.happens.groups
        to = np.tile(np.arange(self.groups), rows // self.groups)
        amount = self.model.regroup(self.happens, to, np.arange(items), self.groups, items, weights)
        failing = np.flatnonzero(self.group_of >= 0)
        keys = np.sort(self.group_of[failing] * items + failing)
        apart = Grid(self.groups, items, np.ones((1, 1), np.int64), None, keys, np.zeros_like(keys))
        elsewhere = self.model.linear([(amount, Param(apart, Fraction(1)))])
        return self.model.largest(elsewhere, None, np.arange(items), 1, items)


def _flat(lists: list[list[int]]) -> tuple[IntArray, IntArray]:
    """Return all entries, and which list each is from."""
    row = np.repeat(np.arange(len(lists)), [len(entries) for entries in lists])
    return np.array([entry for entries in lists for entry in entries], np.int64), row
