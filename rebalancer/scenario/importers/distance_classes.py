"""Classes of places that are equally far from all others: a matrix of distances, written with a row per class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rebalancer.problem.numbers import IntArray

#: Of so many different distances, from the most frequent down, classes are looked for. More only means less compact.
_MOST_DISTANCES = 64


@dataclass(frozen=True, eq=False)
class DistanceClasses:
    """Distances by class.

    Parameters
    ----------
    of : int64 array, one per place
        Class of each place, numbered by their first members.
    cost : int64 array, shape (classes, classes)
        Distance between two places of these classes; on the diagonal between two places of one class, 0 where it
        has only one.
    """

    of: IntArray
    cost: IntArray


def distance_classes(matrix: IntArray) -> DistanceClasses:
    """Return classes of places such that the distance of two different places depends on their classes alone.

    Parameters
    ----------
    matrix : int64 array, shape (places, places)
        Distance by source and destination; what stands on the diagonal does not matter.
    """
    places = len(matrix)
    own = np.eye(places, dtype=bool)
    values, count = np.unique(matrix[~own], return_counts=True)
    leader = np.arange(places)
    within = np.zeros(places, np.int64)
    filled = matrix.copy()
    for value in values[np.argsort(-count, kind="stable")][:_MOST_DISTANCES].tolist():
        # with the distance within the class on the diagonal, the rows and columns of its places are the same throughout
        np.fill_diagonal(filled, value)
        first: dict[tuple[bytes, bytes], int] = {}
        for place in np.flatnonzero(leader == np.arange(places)).tolist():
            found = first.setdefault((filled[place].tobytes(), filled[:, place].tobytes()), place)
            if found != place:
                leader[place] = found
                within[found] = value
    leaders, of = np.unique(leader, return_inverse=True)
    cost = matrix[np.ix_(leaders, leaders)].copy()
    np.fill_diagonal(cost, within[leaders])
    return DistanceClasses(of.astype(np.int64), cost)
