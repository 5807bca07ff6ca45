"""exclusive_swaps: objects move only by trading places."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component
from rebalancer.problem import UNPLACED, Fault
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ObjectName

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem

#: At most so many pairs of containers: some 700 bytes each.
_MOST = 10_000_000


class SwapSides(str, Enum):
    """Which two objects may trade places."""

    AT_LEAST_ONE_IN_SUBSET = "AT_LEAST_ONE_IN_SUBSET"
    EXACTLY_ONE_IN_SUBSET = "EXACTLY_ONE_IN_SUBSET"
    BOTH_SAME_SIDE_OF_SUBSET = "BOTH_SAME_SIDE_OF_SUBSET"


class ExclusiveSwapsSpec(Spec):
    """Allow objects to move only by trading places between two containers.

    Notes
    -----
    The moves have to divide into swaps: of an object from container ``a`` to ``b`` with one from ``b`` to ``a``.
    With a subset, every swap is of

    - AT_LEAST_ONE_IN_SUBSET: two objects of which at least one is in it;
    - EXACTLY_ONE_IN_SUBSET: an object in it and one that is not;
    - BOTH_SAME_SIDE_OF_SUBSET: two objects in it, or two that are not.

    Constraint: one component, broken by 1 if the moves do not divide like that. Placing an object that began
    unplaced is no move, and neither is taking one out. A move in progress is one.
    """

    key: ClassVar[str] = "exclusive_swaps"

    subset_objects: tuple[ObjectName, ...] | None = Field(
        None, description="The objects that subset_definition is about; left out: any two objects may trade places."
    )
    subset_definition: SwapSides = Field(
        SwapSides.AT_LEAST_ONE_IN_SUBSET, description="Which two objects may trade places, given a subset."
    )

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        containers = len(problem.containers)
        pairs = containers * (containers - 1) // 2
        if pairs > _MOST:
            message = f"{containers:,d} containers are {pairs:,d} pairs, more than the {_MOST:,d} that can be held"
            yield Fault("too-large", message)

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        containers = len(problem.containers)
        forth, back = np.triu_indices(containers, 1)
        placed = np.flatnonzero(problem.origin != UNPLACED)
        if not len(forth) or not len(placed):
            return []
        inside = np.zeros(len(problem.objects), bool)
        inside[problem.objects.lookup(list(self.subset_objects or ()))] = True

        def moves(who: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[Cells, Cells]:
            """Return how many of some objects move each way, for every two containers."""
            scope = problem.scopes[problem.container_name]
            home = problem.origin[who].astype(np.int64)
            between = model.custom_tally(home, who, containers, scope.item_of, containers)
            return model.gather(between, forth, back), model.gather(between, back, forth)

        ours, theirs = (moves(placed[inside[placed] == side]) for side in (True, False))
        there, again = ((ours[side], theirs[side]) for side in (0, 1))
        if self.subset_objects is None or self.subset_definition is SwapSides.AT_LEAST_ONE_IN_SUBSET:
            surplus = model.linear([(there[0], 1), (there[1], 1), (again[0], -1), (again[1], -1)])
            wrong = [surplus, model.linear([(surplus, -1)])]
            if self.subset_objects is not None:  # two that are not in the subset cannot trade places
                wrong.append(model.linear([(there[1], 1), (again[0], -1)]))
        else:
            crossed = self.subset_definition is SwapSides.EXACTLY_ONE_IN_SUBSET
            differences = [model.linear([(there[0], 1), (again[int(crossed)], -1)])]
            differences.append(model.linear([(there[1], 1), (again[int(not crossed)], -1)]))
            wrong = [cells for one in differences for cells in (one, model.linear([(one, -1)]))]
        amiss = model.linear([(model.total(model.hinge(cells)), 1) for cells in wrong])
        return [Component(model.step(amiss), "all")]
