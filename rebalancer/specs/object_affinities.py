"""object_affinities: objects that cover for one another, in every scope item where one is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault, unknown_name
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemFilter, Name, ObjectName, Part, ScopeOrContainer
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder
    from rebalancer.problem import Problem


class ObjectAffinity(Part):
    """Where one object is without another, each of some further objects has to be."""

    object0: ObjectName = Field(description="The object that makes the others unnecessary.")
    object1: Name = Field(description="The object that calls for the others, or a scope item that always does.")
    objects_n: tuple[ObjectName, ...] = Field(description="The objects that have to be there.")


class ObjectAffinitiesSpec(Spec):
    """Demand objects in every scope item that holds one object without another.

    Notes
    -----
    For every affinity, every filtered item ``s`` and every one ``n`` of its further objects,

        ``e = [object1 in s] − [object0 in s] − [n in s]``:

    where object1 is without object0, every further object has to be. If object1 names a scope item instead, only
    that item is looked at, with ``e = 1 − [object0 in s] − [n in s]``. A name that is both an object's and an
    item's means the object.

    Constraint: one component per affinity, item and further object, ``e ≤ 0``. Unplaced objects are in no item.
    Without affinities the constraint holds.
    """

    key: ClassVar[str] = "object_affinities"

    scope: ScopeOrContainer = Field("", description="Scope of the items; empty: the containers.")
    affinities: tuple[ObjectAffinity, ...] = Field(description="Which objects call for which.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        scope = problem.scopes[self.scope or problem.container_name]
        kept = kept_items(scope.items, self.filter).tolist()
        objects = problem.objects.index
        terms = []  # caller (-1: always), excuse, demanded, item
        for affinity in self.affinities:
            caller = objects.get(affinity.object1, -1)
            where = kept if caller >= 0 else [item for item in kept if scope.items[item] == affinity.object1]
            excuse = objects[affinity.object0]
            terms += [(caller, excuse, objects[name], item) for name in affinity.objects_n for item in where]
        if not terms:
            return []
        table = np.array(terms, np.int64)
        involved = np.unique(table[:, :3])
        involved = involved[involved >= 0]
        there = model.custom_tally(np.arange(len(involved)), involved, len(involved), scope.item_of, len(scope.items))
        caller, excuse, demanded, item = table.T
        called = caller >= 0
        rows = [
            np.searchsorted(involved, np.where(called, caller, excuse)),
            *(np.searchsorted(involved, who) for who in (excuse, demanded)),
        ]
        calls, excused, present = (model.gather(there, row, item) for row in rows)
        missing = model.linear(
            [(calls, Param.of(called.astype(int).tolist())), (excused, -1), (present, -1)],
            Param.of((~called).astype(int).tolist()),
        )
        return [
            Component(missing, scope=scope.name, group_index=demanded, item_index=item, group_names=problem.objects)
        ]

    def faults(self, problem: Problem) -> Iterator[Fault]:
        found = list(super().faults(problem))
        yield from found
        if found:
            return
        items = problem.scopes[self.scope or problem.container_name].items
        for position, affinity in enumerate(self.affinities):
            if affinity.object1 not in problem.objects and affinity.object1 not in items:
                known = [*problem.objects, *items]
                path = ("affinities", position, "object1")
                yield unknown_name(f"{problem.object_name} or scope item", affinity.object1, known, path)
