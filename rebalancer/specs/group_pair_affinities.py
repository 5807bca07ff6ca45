"""group_pair_affinities: sets of objects that would rather share scope items, or rather not."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemFilter, Number, Part, ScopeName, exact
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import Objects, one_group, positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.model.units import Amount
    from rebalancer.problem.numbers import IntArray


class GroupPairAffinity(Part):
    """How much the objects of one set like to be beside those of another."""

    first: Objects = Field(description="The one set.")
    second: Objects = Field(description="The other set; the same one is fine.")
    affinity: Number = Field(description="What being together is worth; negative: what it costs.")


class GroupPairAffinitiesSpec(Spec):
    """Reward sets of objects for sharing scope items, or charge for it.

    Notes
    -----
    Goal: ``−Σ affinity · f`` over entries and filtered items, where ``f`` counts, with objects of the first set and of
    the second in the item,

    - pairs: the pairs of two different objects, one of each set, in this order;
    - objects: the objects of the first set that have another object of the second beside them;
    - items: 1 if there is such a pair.

    An object of both sets is no company for itself. A set with itself counts each two objects twice under pairs, once
    for either order. Unplaced objects are in no item. Without entries the goal is 0.
    """

    key: ClassVar[str] = "group_pair_affinities"

    scope: ScopeName = Field(description="Scope in whose items the objects meet.")
    affinities: tuple[GroupPairAffinity, ...] = Field(description="Who likes whom, and how much.")
    count: Literal["pairs", "objects", "items"] = Field("pairs", description="What the affinity is paid for.")
    filter: ItemFilter = Field(None, description="Which scope items.")

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        scope = problem.scopes[self.scope]
        kept = kept_items(scope.items, self.filter)
        place = positions(scope, kept)
        terms: list[tuple[Cells, Amount]] = []
        for entry in self.affinities:
            first, second = entry.first.members(problem), entry.second.members(problem)
            if len(kept) and len(first) and len(second) and entry.affinity:
                together = self._together(model, first, second, place, len(kept))
                terms.append((model.total(together), -exact(entry.affinity)))
        return model.linear(terms)

    def _together(
        self, model: ModelBuilder, first: IntArray, second: IntArray, place: NDArray[np.int32], items: int
    ) -> Cells:
        """Return what is paid for in each item: shape (1, items)."""

        def number(members: IntArray) -> Cells:
            return one_group(members).tally(model, place, items)

        both = np.intersect1d(first, second)
        there = number(second)
        if self.count == "pairs":
            if len(both) == len(first) == len(second):
                return model.linear([(model.square(there), 1), (there, -1)])
            pairs = model.product(number(first), there)
            return model.linear([(pairs, 1), (number(both), -1)]) if len(both) else pairs
        met = []  # objects of the first set, where they have company
        for members, itself in ((np.setdiff1d(first, both), 0), (both, 1)):
            if len(members):
                company = model.step(model.linear([(there, 1)], -itself))
                own = number(members)
                met.append(model.largest_of([own, model.linear([(company, own.high)])], smallest=True))
        if self.count == "objects":
            return model.linear([(cells, 1) for cells in met])
        return model.step(model.linear([(cells, 1) for cells in met]))
