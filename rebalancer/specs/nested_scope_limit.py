"""nested_scope_limit: bound what a scope item holds of what its outer item holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from rebalancer.model import Component, Param
from rebalancer.problem import Fault
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import DimensionName, ItemFilter, Limit, ScopeName, limit_field
from rebalancer.specs.limits import item_limits, kept_items

if TYPE_CHECKING:
    from rebalancer.model import ModelBuilder
    from rebalancer.problem import Problem


class NestedScopeLimitSpec(Spec):
    """Bound the share of an outer scope item that one of its inner items holds.

    Notes
    -----
    ``e(s) = U(s) − limit(s) · U(outer item of s)``, with ``U`` the amount of the dimension. Constraint: one
    component per filtered inner item, ``e ≤ 0``. The limit is a plain fraction.

    All containers of an inner item that lie in the outer scope at all lie in one of its items. An inner item that
    lies in none has nothing to be a share of, and has to stay empty. Where there is no limit
    (is_default_limit_unbounded) nothing is bounded. Unplaced objects are in no item.
    """

    key: ClassVar[str] = "nested_scope_limit"

    scope: ScopeName = Field(description="Scope of the inner items.")
    outer_scope: ScopeName = Field(description="Scope of the items that contain them.")
    dimension: DimensionName = Field(description="What is summed.")
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 1, items=True, raw=True)] = Field(
        Limit(), description="Fraction of what the outer item holds."
    )
    filter: ItemFilter = Field(None, description="Which inner items.")

    def components(self, model: ModelBuilder) -> list[Component]:
        problem = model.problem
        items = problem.scopes[self.scope].items
        kept = kept_items(items, self.filter).tolist()
        limits = {
            item: limit
            for item, limit in zip(kept, item_limits(self.limit, items, kept, None), strict=True)
            if limit is not None
        }
        outer = _outer(problem, self.scope, self.outer_scope)
        out = []
        for inside in (True, False):
            chosen = np.array([item for item in limits if (outer[item] >= 0) == inside], np.int64)
            if not len(chosen):
                continue
            held = model.amount(self.scope, self.dimension, items=chosen)
            excess = held
            if inside:
                around = model.gather(
                    model.amount(self.outer_scope, self.dimension), np.zeros(len(chosen), np.int64), outer[chosen]
                )
                share = Param.of([-limits[item] for item in chosen.tolist()])
                excess = model.linear([(held, 1), (around, share)])
            out.append(Component(excess, amount=held, scope=self.scope, item_index=chosen))
        return out

    def faults(self, problem: Problem) -> Iterator[Fault]:
        found = list(super().faults(problem))
        yield from found
        if found:
            return
        split = np.flatnonzero(_outer(problem, self.scope, self.outer_scope) < -1)
        if len(split):
            name = problem.scopes[self.scope].items[int(split[0])]
            message = f"every {self.scope} must lie in one {self.outer_scope}; '{name}' lies in several"
            yield Fault("not-nested", message, ("outer_scope",), self.outer_scope)


def _outer(problem: Problem, inner: str, outer: str) -> IntArray:
    """Return the outer item of each inner one: -1 for none, -2 for several. Containers outside do not matter."""
    inside, around = problem.scopes[inner].item_of[:-1], problem.scopes[outer].item_of[:-1]
    known = (inside >= 0) & (around >= 0)
    out = np.full(len(problem.scopes[inner].items), -1, np.int64)
    out[inside[known]] = around[known]
    out[inside[known][out[inside[known]] != around[known]]] = -2
    return out
