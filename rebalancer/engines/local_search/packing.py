"""Who leaves first where there is just enough room: sets that fit, and each of them to where it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.budget import Budget
from rebalancer.engines.local_search.kernels.lanes import NOWHERE
from rebalancer.engines.local_search.kernels.layout import L_EDGE, L_KNEE, L_RATE, L_VALUE, L_WALL, L_WIDTH, Flat
from rebalancer.engines.local_search.kernels.pack import MOST, leavers, pack
from rebalancer.engines.local_search.kernels.recall import fullness
from rebalancer.engines.local_search.kernels.trail import BENT, T_PICKY, Trail

if TYPE_CHECKING:
    from rebalancer.engines.local_search.searcher import Searcher

#: There is just enough room in a lane where what is free is so many times what is beyond. With less most of that stays
#: beyond wherever it is; with more what is free in small pieces may be left.
_TIGHT, _AMPLE = 0.8, 1.05
#: What a unit of room is worth, of what a unit beyond costs where it costs least; the less the more room there is.
_WORTH = 0.1
#: Where more than this share of what is to leave finds no place, and as much room is left, other limits are in the way;
#: those would be better off who are placed with these in mind, so it ends where it began.
_MISSED = 0.025
#: Choosing who leaves takes as long as so many looks at a container, for each object; and this share of the time at
#: most, as nobody has moved until then.
_CHOICE, _SHARE = 10, 0.15


@dataclass(frozen=True)
class _Room:
    """What is free in each container and lane, and how scarce that is.

    Attributes
    ----------
    free : float64 array (containers, lanes)
        Less than 0 where the container is beyond where the line bends.
    least : float64 array (lanes,)
        What a unit costs that is beyond, where it costs least; 0 in lanes that do not have just enough room.
    worth : float64 array (lanes,)
        What a unit of room is worth.
    lane : int
        The one with the least room for what is beyond.
    """

    free: NDArray[np.float64]
    least: NDArray[np.float64]
    worth: NDArray[np.float64]
    lane: int

    @classmethod
    def of(cls, flat: Flat, containers: int) -> _Room:
        lanes = flat.lanes.reshape(containers + 1, L_WIDTH, -1)[:containers]
        rate, knee = lanes[:, L_RATE], lanes[:, L_KNEE]
        bends = (rate > 0) & (knee < NOWHERE)
        end = np.minimum(lanes[:, L_WALL], lanes[:, L_EDGE])
        free = np.where(rate > 0, np.minimum(end, knee), end) - lanes[:, L_VALUE]
        room = np.where(bends, np.maximum(0.0, free), 0.0).sum(axis=0)
        beyond = np.where(bends, np.maximum(0.0, -free), 0.0).sum(axis=0)
        share = np.full(len(beyond), np.inf)
        np.divide(room, beyond, out=share, where=beyond > 0)
        share[(share < _TIGHT) | (share > _AMPLE)] = np.inf
        least = np.where(share < np.inf, np.where(bends, rate, np.inf).min(axis=0), 0.0)
        worth = _WORTH * least * np.clip((_AMPLE - share) / (_AMPLE - 1), 0.0, 1.0)
        return cls(free, least, worth, int(share.argmin()))


def pack_leavers(searcher: Searcher, budget: Budget, width: int) -> None:
    """Let sets of objects leave that free what is too much, the largest first; where there is just enough room only.

    Parameters
    ----------
    width : int
        How many containers each object looks at.
    """
    flat, trail, containers = searcher.flat, searcher.trail, searcher.containers
    if not flat.scarce.any():
        return
    searcher.slopes()
    room = _Room.of(flat, containers)
    if not room.least.any():
        return
    start = flat.place.copy()
    order = _choose(searcher, room, budget)
    own = np.flatnonzero(room.free[:, room.lane] > 0)
    own = own[np.argsort(-room.free[own, room.lane], kind="stable")]
    free, place = np.zeros(containers + 1), np.zeros(containers + 1, np.int32)
    free[: len(own)], place[: len(own)] = room.free[own, room.lane], own
    count = np.array([len(own)])

    def put(flat: Flat, trail: Trail, *which: Any) -> int:
        return pack(flat, trail, free, place, count, room.lane, *which)

    trail.numbers[T_PICKY] = 1
    noise = max(1e-9, abs(searcher.merit) * 2**-50)  # what is gained last is little beside a broken limit
    searcher.work_on(order, put, budget, width, noise, np.ones(len(order), np.int64))
    trail.numbers[T_PICKY] = 0
    weight = flat.lane_weight[2 * order.astype(np.int64) * len(room.least) + room.lane]
    left = weight[flat.place[order] == start[order]].sum()
    missed = min(left, free[: count[0]].sum()) / max(weight.sum(), 1.0)
    if missed > _MISSED and not budget.over:
        searcher.start_at(start)


def _choose(searcher: Searcher, room: _Room, budget: Budget) -> NDArray[np.int32]:
    """Return who leaves, the largest first."""
    objects = len(searcher.flat.place)
    over, left = np.empty(searcher.containers), np.empty(searcher.containers)
    fullness(searcher.flat, over, left)
    hot = np.argsort(-over, kind="stable")[: np.count_nonzero(over)].astype(np.int32)
    cool = np.argsort(-left, kind="stable")[: (np.count_nonzero(left) + 1) // 2].astype(np.int32)
    chosen, price = np.zeros(objects, bool), np.empty(objects)
    weights, order = np.empty(MOST * BENT), np.empty(MOST, np.int64)

    def choose(flat: Flat, trail: Trail, *which: Any) -> int:
        return leavers(flat, trail, cool, room.worth, weights, order, price, chosen, *which)

    searcher.work_on(hot, choose, budget.part(_SHARE * budget.remaining), _CHOICE, searcher.least)
    own = np.flatnonzero(chosen)
    size = searcher.flat.lane_weight.reshape(-1, len(room.least))[2 * own] @ room.least
    return own[np.argsort(-size, kind="stable")].astype(np.int32)


__all__ = ["pack_leavers"]
