"""Faults that several specs share: what a dimension may not be, capacities of zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rebalancer.problem import Fault, Problem
from rebalancer.specs.fields import Filter
from rebalancer.specs.limits import kept_items

#: Names listed in one message.
_LISTED = 5


def vector_faults(problem: Problem, key: str, field: str, dimension: str) -> Iterator[Fault]:
    """Yield a fault if the dimension is a vector."""
    known = problem.dimension(dimension)
    if known.is_vector:
        message = f"{key} needs one number per {problem.object_name}; '{known.name}' has {known.components} components"
        yield Fault("vector-dimension", message, (field,), dimension)


def dynamic_faults(problem: Problem, key: str, field: str, dimension: str, scope: str | None = None) -> Iterator[Fault]:
    """Yield a fault if the dimension is dynamic (and, where a scope is given, depends on another scope than that)."""
    dynamic = problem.dimension(dimension).dynamic
    if dynamic is not None and dynamic.scope != scope:
        what = "here" if scope is None else f"on scope '{scope}'"
        message = f"{key} cannot use '{dimension}' {what}: what it weighs depends on the {dynamic.scope}"
        yield Fault("dynamic-dimension", message, (field,), dimension)


def negative_faults(problem: Problem, key: str, field: str, dimension: str) -> Iterator[Fault]:
    """Yield a fault if some object has a negative value."""
    known = problem.dimension(dimension)
    if known.smallest < 0:
        message = f"{key} needs values of 0 or more; '{known.name}' has {known.smallest / known.scale:g}"
        yield Fault("negative-value", message, (field,), dimension)


def zero_capacity_warnings(
    problem: Problem, scope: str, dimension: str, chosen: Filter | None, consequence: str
) -> Iterator[Fault]:
    """Yield a warning that names the kept items whose capacity is zero."""
    capacity = problem.capacity(dimension, scope)
    items = problem.scopes[scope].items
    kept = kept_items(items, chosen)
    zero = kept[np.asarray(capacity.values)[kept] == 0].tolist()
    if zero:
        listed = ", ".join(f"'{items[index]}'" for index in zero[:_LISTED]) + (
            f" and {len(zero) - _LISTED} more" if len(zero) > _LISTED else ""
        )
        yield Fault(
            "zero-capacity",
            f"{scope} {listed} offers 0 of '{capacity.name}': {consequence}",
            ("dimension",),
            capacity.name,
        )
