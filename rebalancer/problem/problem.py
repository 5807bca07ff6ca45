"""The problem: what the world is, before anybody says what is good about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.structure import UNPLACED, Names, ObjectDimension, Partition, Scope, ScopeDimension

#: Built-in scope with the items "placed" and "unplaced".
PLACED_SCOPE = "placed"


@dataclass(frozen=True, eq=False)
class Problem:
    """Objects, containers, their groupings, amounts and places. Immutable; build it with ``ProblemBuilder``.

    Parameters
    ----------
    object_name, container_name : str
        What the user calls the two kinds.
    objects, containers : Names
    origin : int32 array, one per object
        Container index where the object counts as being initially; -1 = unplaced.
    initial : int32 array, one per object
        Where it starts: like ``origin``, except that objects whose move is in progress stand at their destination.
    scopes : mapping of name to Scope
        Includes the container scope and the scope ``placed``.
    partitions : mapping of name to Partition
    object_dimensions : mapping of name to ObjectDimension
        Includes ``<object>_count``.
    scope_dimensions : mapping of (dimension, scope) to ScopeDimension
        Only those that were stated; use `capacity` to read one.
    attributes : mapping of ("object" | "container", attribute) to {name: value}
    """

    object_name: str
    container_name: str
    objects: Names
    containers: Names
    origin: NDArray[np.int32]
    initial: NDArray[np.int32]
    scopes: Mapping[str, Scope]
    partitions: Mapping[str, Partition]
    object_dimensions: Mapping[str, ObjectDimension]
    scope_dimensions: Mapping[tuple[str, str], ScopeDimension]
    attributes: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    #: Capacities of 1 that nobody stated, once they are asked for.
    _implied: dict[tuple[str, str], ScopeDimension] = field(default_factory=dict, init=False, repr=False)

    @property
    def count_dimension(self) -> str:
        """Name of the dimension in which every object weighs 1."""
        return f"{self.object_name}_count"

    @cached_property
    def in_progress(self) -> NDArray[np.bool_]:
        """Which objects are on their way already."""
        moving: NDArray[np.bool_] = self.origin != self.initial
        return moving

    @property
    def has_unplaced(self) -> bool:
        """Whether some object starts in no container."""
        return bool((self.initial == UNPLACED).any())

    def dimension(self, name: str) -> ObjectDimension:
        """Return an object dimension; the empty name means the count. One that only containers have weighs 0."""
        wanted = name or self.count_dimension
        if wanted in self.object_dimensions:
            return self.object_dimensions[wanted]
        return ObjectDimension(wanted, np.zeros((len(self.objects), 1), np.int64), 1)

    def capacity(self, dimension: str, scope: str) -> ScopeDimension:
        """Return what the items of a scope offer in a dimension: 1 each where nothing was stated."""
        name = dimension or self.count_dimension
        known = self.scope_dimensions.get((name, scope)) or self._implied.get((name, scope))
        if known is None:
            items = len(self.scopes[scope].items)
            known = ScopeDimension(name, scope, np.ones(items, np.int64), 1, defined=False, defaulted=items)
            self._implied[name, scope] = known
        return known

    def dimension_names(self) -> list[str]:
        """Return every dimension name, of objects or of scopes."""
        return list(dict.fromkeys([*self.object_dimensions, *(name for name, _ in self.scope_dimensions)]))

    def moving(self, destinations: Mapping[int, int]) -> Problem:
        """Return the problem with moves in progress: object index to destination container index."""
        initial = self.initial.copy()
        for obj, container in destinations.items():
            initial[obj] = container
        return replace(self, initial=initial)
