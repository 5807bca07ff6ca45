"""Pods that meet, as the scheduler asks about one newcomer at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.dialects.base import State
from rebalancer.problem.numbers import IntArray

#: What the scheduler adds to a place for each pod there that requires the newcomer's company.
_HARD_AFFINITY_WEIGHT = 1


@dataclass(frozen=True, eq=False)
class Meeting:
    """Pods that meet others, or should not, on nodes with the same value of a label; as one newcomer sees it.

    Parameters
    ----------
    key : str
        The node label.
    item_of : int32 array
        Its value on every node, -1: none.
    pods, targets : int64 array
        Whose rule it is, and whom it is about.
    weight : int
        What a meeting is worth.
    """

    key: str
    item_of: NDArray[np.int32]
    pods: IntArray
    targets: IntArray
    weight: int = 0

    def refusal(self, state: State, obj: int, container: int) -> str | None:
        """Return why the newcomer may not meet them; it makes no difference who has the rule."""
        if obj in self.pods and self.beside(state, self.targets, obj, container):
            return f"a pod that it keeps away from is in the same '{self.key}'"
        if obj in self.targets and self.beside(state, self.pods, obj, container):
            return f"a pod that keeps away from it is in the same '{self.key}'"
        return None

    def score(self, state: State, obj: int, container: int) -> float | None:
        """Return what the meetings are worth, for the newcomer and for those there."""
        sides = [others for own, others in ((self.pods, self.targets), (self.targets, self.pods)) if obj in own]
        return sum(self.weight * self.beside(state, others, obj, container) for others in sides) if sides else None

    def beside(self, state: State, pods: IntArray, obj: int, container: int) -> int:
        """Return how many of some pods, the newcomer aside, are on nodes with the value that a node has."""
        if self.item_of[container] < 0:
            return 0
        there = state.where[state.running(pods[pods != obj])]
        return int((self.item_of[there] == self.item_of[container]).sum())


@dataclass(frozen=True, eq=False)
class Gathering:
    """Pods that require the company of others, as one newcomer sees it.

    Parameters
    ----------
    key : str
        The node label.
    item_of : int32 array
        Its value on every node, -1: none.
    pods, targets : int64 array
        Whose rule it is, and the pods that all of its terms select.
    selected : int64 array
        The pods that this term selects.
    """

    key: str
    item_of: NDArray[np.int32]
    pods: IntArray
    targets: IntArray
    selected: IntArray

    def check(self, state: State, obj: int, container: int) -> str | None:
        """Return why not; the first of its kind may go anywhere."""
        if obj not in self.pods:
            return None
        if self.item_of[container] < 0:
            return f"it has no label '{self.key}'"
        there = state.where[state.running(self.targets)]
        if (not len(there) and obj in self.targets) or (self.item_of[there] == self.item_of[container]).any():
            return None
        return f"no pod that it requires is in the same '{self.key}'"

    def score(self, state: State, obj: int, container: int) -> float | None:
        """Return what it is worth to those there that require such a pod."""
        if obj not in self.selected:
            return None
        meeting = Meeting(self.key, self.item_of, self.pods, self.selected)
        return _HARD_AFFINITY_WEIGHT * meeting.beside(state, self.pods, obj, container)


__all__ = ["Gathering", "Meeting"]
