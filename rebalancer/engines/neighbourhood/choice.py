"""Which objects a part frees, and where each of them may go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.cpsat.literals import Literals
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Choice:
    """Some objects and the placements that each of them may choose from; everything else stays.

    Parameters
    ----------
    objects : int64 array
        The freed objects, sorted.
    containers : int64 array
        The containers that some of them may be in, sorted; "unplaced" is none of them.
    literals : Literals
        The placements, with objects and containers as positions in the two; where an object is now is always one.
    """

    objects: IntArray
    containers: IntArray
    literals: Literals

    @staticmethod
    def of(assignment: NDArray[np.int32], obj: IntArray, container: IntArray) -> Choice:
        """Return the choice among placements ``obj[i]`` in ``container[i]`` (-1: unplaced), and where the objects are.

        Pairs may come in any order, and more than once.
        """
        objects = np.unique(obj)
        here = assignment[objects].astype(np.int64)
        obj, container = np.concatenate([obj, objects]), np.concatenate([container, here])
        containers = np.unique(container[container >= 0])
        row = np.searchsorted(objects, obj)
        column = np.where(container < 0, len(containers), np.searchsorted(containers, container))
        key = np.unique(row * (len(containers) + 1) + column)
        row, column = key // (len(containers) + 1), key % (len(containers) + 1)
        start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(objects)))]).astype(np.int64)
        return Choice(objects, containers, Literals(row, np.where(column == len(containers), -1, column), start))

    @staticmethod
    def among(assignment: NDArray[np.int32], objects: IntArray, containers: IntArray) -> Choice:
        """Return the choice in which each of some objects may be in any of some containers."""
        return Choice.of(
            assignment, np.repeat(objects, len(containers)).astype(np.int64), np.tile(containers, len(objects))
        )

    def local(self, assignment: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return where the freed objects are, as positions in ``containers`` (-1: unplaced)."""
        place = assignment[self.objects].astype(np.int64)
        return np.where(place < 0, -1, np.searchsorted(self.containers, place)).astype(np.int32)

    def whole(self, assignment: NDArray[np.int32], local: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return an assignment with the freed objects where a local one has them."""
        out = np.array(assignment, np.int32)
        out[self.objects] = np.where(local < 0, -1, np.append(self.containers, -1)[local])
        return out
