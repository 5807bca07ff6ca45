"""Rules about single containers: where some objects may be, whoever else is there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.dialects.base import Check, Rule, State
from rebalancer.dialects.facts import Facts
from rebalancer.problem import Path
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.expression import Expression, Within
from rebalancer.specs.object_expression import ObjectExpressionSpec


def permitted(facts: Facts, objects: IntArray, allowed: NDArray[np.bool_]) -> tuple[Spec, ...]:
    """Return the spec that keeps objects in the allowed containers; nothing where all are allowed."""
    if allowed.all() or not len(objects):
        return ()
    problem = facts.problem
    items = tuple(problem.containers[position] for position in np.flatnonzero(allowed).tolist())
    holds = Expression(within=Within(scope=problem.container_name, items=items))
    return (ObjectExpressionSpec(objects=facts.selection(objects), holds=holds),)


def permitted_rule(
    facts: Facts, text: str, path: Path, objects: IntArray, allowed: NDArray[np.bool_], reasons: list[str] | str
) -> Rule:
    """Return the rule that objects may only be in some containers.

    Parameters
    ----------
    objects : int64 array
        Whom it is about.
    allowed : bool array, one per container
    reasons : list of str, one per container; or str
        Why one is not allowed.
    """
    return Rule(text, path, permitted(facts, objects, allowed), check=permitted_check(objects, allowed, reasons))


def permitted_check(objects: IntArray, allowed: NDArray[np.bool_], reasons: list[str] | str) -> Check:
    """Return the check that goes with `permitted_rule`."""
    judged = frozenset(objects.tolist())

    def check(state: State, obj: int, container: int) -> str | None:
        if obj not in judged or allowed[container]:
            return None
        return reasons if isinstance(reasons, str) else reasons[container]

    return check
