"""Specs that several languages share: how many objects of a set may meet, and who may not meet whom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.dialects.base import State
from rebalancer.dialects.facts import Facts
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Spec
from rebalancer.specs.conditional_presence import ConditionalPresenceSpec
from rebalancer.specs.group_conflict import GroupConflictSpec
from rebalancer.specs.selection import Missing


def at_most(facts: Facts, scope: str, objects: IntArray, most: int, missing: Missing = "unconstrained") -> Spec:
    """Return the spec that no item of a scope holds more than so many of some objects."""
    who = facts.selection(objects)
    return ConditionalPresenceSpec(scope=scope, source=who, target=who, max=most, count_self=True, missing=missing)


def apart(facts: Facts, scope: str, objects: IntArray, others: IntArray) -> tuple[Spec, ...]:
    """Return the spec that no item holds one of some objects and another one of others."""
    if not len(objects) or (len(objects) < 2 and not len(np.setdiff1d(others, objects))):
        return ()
    return (GroupConflictSpec(scope=scope, objects=facts.selection(objects), others=facts.selection(others)),)


def met(state: State, objects: IntArray, item_of: NDArray[np.int32], container: int) -> IntArray:
    """Return those of some objects that are in the item of a container; nobody where it has no item."""
    if item_of[container] < 0:
        return np.empty(0, np.int64)
    running = state.running(objects)
    beside: IntArray = running[item_of[state.where[running]] == item_of[container]]
    return beside
