"""Which placements are candidates, one 0/1 variable each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem import UNPLACED
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Literals:
    """Candidate placements, sorted by object, then by container; "unplaced" comes last.

    Their variables are 0 … count - 1.

    Parameters
    ----------
    object, container : int64 arrays
        Of each literal; container -1 is "unplaced".
    start : int64 array, objects + 1
        First literal of each object.
    """

    object: IntArray
    container: IntArray
    start: IntArray

    @staticmethod
    def of(allowed: NDArray[np.bool_]) -> Literals:
        """Return the literals of a mask, shape (objects, containers + 1), whose last column is "unplaced"."""
        obj, container = np.nonzero(allowed)
        container[container == allowed.shape[1] - 1] = UNPLACED
        start = np.concatenate([[0], np.cumsum(np.bincount(obj, minlength=allowed.shape[0]))])
        return Literals(obj.astype(np.int64), container.astype(np.int64), start.astype(np.int64))

    @property
    def count(self) -> int:
        """Number of candidates."""
        return len(self.object)

    @property
    def per_object(self) -> IntArray:
        """Number of candidates of each object."""
        return np.diff(self.start)

    def of_members(self, member: IntArray) -> tuple[IntArray, IntArray]:
        """Return the literals of each membership, given their objects: the membership and the literal."""
        counts = self.per_object[member]
        membership = np.repeat(np.arange(len(member)), counts)
        offset = np.arange(len(membership)) - np.repeat(np.cumsum(counts) - counts, counts)
        return membership, self.start[member[membership]] + offset

    def without(self, forbidden: NDArray[np.bool_]) -> Literals:
        """Return the literals that are not forbidden."""
        kept = ~forbidden
        obj = self.object[kept]
        start = np.concatenate([[0], np.cumsum(np.bincount(obj, minlength=len(self.start) - 1))])
        return Literals(obj, self.container[kept], start.astype(np.int64))

    def chosen(self, assignment: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which literals are true at an assignment."""
        return np.asarray(assignment[self.object] == self.container)

    def assignment(self, values: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the assignment that a solution's literals mean."""
        out = np.full(len(self.start) - 1, UNPLACED, np.int32)
        true = np.flatnonzero(values)
        out[self.object[true]] = self.container[true]
        return out
