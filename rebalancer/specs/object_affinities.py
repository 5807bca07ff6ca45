"""object_affinities: objects that cover for one another, in every scope item where one is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import Fault, unknown_name
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemFilter, Name, ObjectName, Part, ScopeOrContainer
from rebalancer.specs.limits import kept_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem
    from rebalancer.problem.numbers import IntArray


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
        scope = model.problem.scopes[self.scope or model.problem.container_name]
        kept = kept_items(scope.items, self.filter)
        objects, chosen = model.problem.objects.index, set(kept.tolist())
        calling, always = [], []  # who counts in a row, the demanded object last; and of items that call, which
        for affinity in self.affinities:
            excuse, demanded = objects[affinity.object0], [objects[name] for name in affinity.objects_n]
            if affinity.object1 in objects:
                calling += [(objects[affinity.object1], excuse, name) for name in demanded]
            elif (item := scope.items.index[affinity.object1]) in chosen:
                always += [(excuse, name, item) for name in demanded]
        out = []
        if calling and len(kept):
            rows = np.array(calling, np.int64)
            missing = _counted(model, rows, [1, -1, -1], scope.among(kept), len(kept))
            out.append(self._component(model, missing, rows[:, -1], kept))
        if always:
            table = np.array(always, np.int64)
            rows, where = table[:, :2], table[:, 2]
            there = _counted(model, rows, [-1, -1], scope.item_of, len(scope.items))
            missing = model.linear([(model.gather(there, np.arange(len(where)), where), 1)], 1)
            out.append(self._component(model, missing, rows[:, -1], where))
        return out

    def _component(self, model: ModelBuilder, missing: Cells, demanded: IntArray, items: IntArray) -> Component:
        scope, names = self.scope or model.problem.container_name, model.problem.objects
        return Component(missing, scope=scope, group_index=demanded, item_index=items, group_names=names)

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


def _counted(model: ModelBuilder, rows: IntArray, weights: list[int], item_of: NDArray[np.int32], items: int) -> Cells:
    """Return, by row, what its objects weigh together in each item: an object that is in it twice, both weights."""
    objects = max(1, len(model.problem.objects))
    key, slot = np.unique((np.arange(len(rows))[:, None] * objects + rows).ravel(), return_inverse=True)
    weight = np.zeros(len(key), np.int64)
    np.add.at(weight, slot.ravel(), np.tile(weights, len(rows)))
    return model.custom_tally(key // objects, key % objects, len(rows), item_of, items, weight=weight)
