"""Objects that weigh about the same: exchanges of those fit where others do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Objects that are listed with each, and the most objects for which it is done.
PARTNERS, MOST_OBJECTS = 16, 20_000
#: Objects that are compared at once; up to so many, each is compared with all.
_ROWS, _ALL = 256, 3_000
#: Otherwise objects are sorted in so many random directions, and each is compared with so many on either side.
_DIRECTIONS, _SIDE = 4, 10


def partners_of(weight: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the most similar objects of each object.

    Parameters
    ----------
    weight : float64 array (objects, dimensions)

    Returns
    -------
    int32 array (objects, at most `PARTNERS`)
        Others, unless there are too few that differ; no columns where there is nothing to compare.
    """
    objects = len(weight)
    if not 2 < objects <= MOST_OBJECTS or not weight.any():
        return np.empty((objects, 0), np.int32)
    mean = np.abs(weight).mean(axis=0)
    relative = np.unique(weight[:, mean > 0] / mean[mean > 0], axis=1)
    everybody = np.arange(objects)
    order = None if objects <= _ALL else _sorted(relative)
    found = []
    for first in range(0, objects, _ROWS):
        rows = everybody[first : first + _ROWS]
        candidates = np.broadcast_to(everybody, (len(rows), objects)) if order is None else _beside(*order, rows)
        found.append(_nearest(relative, rows, candidates))
    return np.concatenate(found)


def _sorted(relative: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the objects sorted in each of some random directions, and the rank of each object there."""
    directions = np.random.default_rng(2).exponential(size=(relative.shape[1], _DIRECTIONS))
    order = np.argsort(relative @ directions, axis=0, kind="stable").T
    return order, np.argsort(order, axis=1)


def _beside(order: NDArray[np.int64], rank: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the objects that are near some objects in any of the directions."""
    offset = np.concatenate([np.arange(-_SIDE, 0), np.arange(1, _SIDE + 1)])
    at = np.clip(rank[:, rows, None] + offset, 0, order.shape[1] - 1)
    near = np.take_along_axis(order[:, None, :], at.reshape(len(order), 1, -1), axis=2)
    return np.moveaxis(near.reshape(at.shape), 0, 1).reshape(len(rows), -1)


def _nearest(
    relative: NDArray[np.float64], rows: NDArray[np.int64], candidates: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the nearest of the candidates of some objects, by the sum of differences."""
    far = np.zeros(candidates.shape)
    for column in relative.T:
        far += np.abs(column[candidates] - column[rows][:, None])
    far[far == 0] = np.inf  # itself, and what no exchange changes anything with
    count = min(PARTNERS, candidates.shape[1] - 1)
    kept = np.argpartition(far, count - 1, axis=1)[:, :count]
    return np.take_along_axis(candidates, kept, axis=1).astype(np.int32)
