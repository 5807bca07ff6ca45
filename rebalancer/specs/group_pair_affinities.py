"""group_pair_affinities: sets of objects that would rather share scope items, or rather not."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from rebalancer.model.grid import DENSE_CELLS
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import ItemFilter, Number, Part, ScopeName, exact
from rebalancer.specs.limits import kept_items
from rebalancer.specs.selection import Objects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.model.units import Amount
    from rebalancer.problem.numbers import IntArray


#: The first set, the second, and who is in both.
_Sets: TypeAlias = "tuple[IntArray, IntArray, IntArray]"


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
        place = scope.among(kept)
        alike: dict[tuple[int, int, int, Fraction], list[_Sets]] = {}  # alike: in bounds as well
        for entry in self.affinities:
            first, second = entry.first.members(problem), entry.second.members(problem)
            if len(kept) and len(first) and len(second) and entry.affinity:
                both = np.intersect1d(first, second)
                key = len(first), len(second), len(both), exact(entry.affinity)
                alike.setdefault(key, []).append((first, second, both))
        terms: list[tuple[Cells, Amount]] = []
        most = max(1, DENSE_CELLS // max(1, len(kept)))
        for (*_, affinity), pairs in alike.items():
            for begin in range(0, len(pairs), most):
                together = self._together(model, pairs[begin : begin + most], place, len(kept))
                terms.append((model.total(together), -affinity))
        return model.linear(terms)

    def _together(self, model: ModelBuilder, pairs: list[_Sets], place: NDArray[np.int32], items: int) -> Cells:
        """Return what is paid for in each item of pairs of sets that have the same sizes: shape (pairs, items)."""

        def number(sets: Sequence[IntArray]) -> Cells:
            group = np.repeat(np.arange(len(sets)), len(sets[0]))
            return model.custom_tally(group, np.concatenate(sets), len(sets), place, items)

        first, second, both = zip(*pairs, strict=True)
        there, some = number(second), len(both[0])
        if self.count == "pairs":
            if some == len(first[0]) == len(second[0]):
                return model.linear([(model.square(there), 1), (there, -1)])
            met = model.product(number(first), there)
            return model.linear([(met, 1), (number(both), -1)]) if some else met
        company = []  # objects of the first set, where they have some
        alone = [np.setdiff1d(one, shared) for one, shared in zip(first, both, strict=True)]
        for sets, itself in ((alone, 0), (both, 1)):
            if len(sets[0]):
                beside = model.step(model.linear([(there, 1)], -itself))
                own = number(sets)
                company.append(model.largest_of([own, model.linear([(beside, own.high)])], smallest=True))
        if self.count == "objects":
            return model.linear([(cells, 1) for cells in company])
        return model.step(model.linear([(cells, 1) for cells in company]))
