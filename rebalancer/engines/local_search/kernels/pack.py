"""Packing: who leaves what has too much is chosen as a set that fits, and goes where it fits best.

Where there is just enough room, what goes one by one leaves room in pieces that nobody fits. A container of thirty
objects has some thousands of sets of three, so that one of them is just what is too much; and of some thousands of
containers one has just the room that an object takes.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import weights_at
from rebalancer.engines.local_search.kernels.descent import FAR, look_around, shortlist
from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN, lanes_cost, lanes_free
from rebalancer.engines.local_search.kernels.layout import (
    L_BASE,
    L_EDGE,
    L_FINE,
    L_KNEE,
    L_RATE,
    L_WIDTH,
    Z_CONTAINERS,
    Z_LANES,
    Z_OBJECTS,
)
from rebalancer.engines.local_search.kernels.recall import bends, is_scarce
from rebalancer.engines.local_search.kernels.scan import block
from rebalancer.engines.local_search.kernels.trail import BENT, T_LENGTH, WIDEST, draw, full, go, judged

#: Objects of a container that may be in a set, those first that free most; containers that tell what each costs there.
MOST, _PLACES = 32, 4
#: Comes after all containers.
_LAST = 1 << 40


@kernel
def leavers(
    f: Any,
    t: Any,
    cool: Any,
    worth: Any,
    weights: Any,
    rising: Any,
    price: Any,
    chosen: Any,
    order: Any,
    first: int,
    last: int,
    width: int,
    least: float,
) -> int:
    """Choose who leaves some containers: sets after which excess, room in pieces, and moves cost least together.

    Parameters
    ----------
    cool : int32 array
        Containers with room.
    worth : float64 array (lanes,)
        What a unit of room is worth.
    weights : float64 array (MOST × BENT,)
        Scratch, as are ``rising``, int64 (MOST,), and ``price``, float64 (objects,).
    chosen : bool array (objects,)
        Is set for those that are chosen.
    """
    for at in range(first, last):
        _choose(f, t, cool, worth, weights, rising, price, chosen, order[at])
    return last


@inner
def _choose(f: Any, t: Any, cool: Any, worth: Any, weights: Any, rising: Any, price: Any, chosen: Any, s: int) -> None:
    """Choose who leaves a container: by size in the lanes where room is worth something, and in all that bend."""
    lanes = _note_bends(f, t, s, worth)
    if lanes == 0:
        return
    for k in range(lanes):
        t.set_change[BENT + k] = t.set_change[k]
    scarce = 0
    while scarce < lanes and t.set_cost[BENT + scarce] > 0.0:
        scarce += 1
    _note_prices(f, t, s, cool, price)
    best, kept = _off(t, lanes, weights, -1, -1, -1), 0
    for turn in range(2 if 0 < scarce < lanes else 1):
        n = _queue(f, t, s, scarce if scarce and turn == 0 else lanes, price)
        for i in range(n):
            into = weights_at(f, t.queue[i], s)
            for k in range(lanes):
                weights[i * lanes + k] = f.lane_weight[into + t.bent[k]]
        cost, base, i, j, k = _best_set(t, n, lanes, best, weights, rising)
        if cost < best:
            for x in range(kept):
                chosen[t.when[x]] = False
            best, kept = cost, base
            for x in range(base):
                t.when[x] = t.queue[x]
            for x in (i, j, k):
                if x >= 0:
                    t.when[kept] = t.queue[x]
                    kept += 1
            for x in range(kept):
                chosen[t.when[x]] = True


@inner
def _note_bends(f: Any, t: Any, s: int, worth: Any) -> int:
    """Note where a container has too much, or room that is worth something, those first where it is worth most.

    Notes how much that is (``set_change``), what a unit beyond costs, and what a unit of room is worth (``set_cost``).
    """
    n, lanes = f.sizes[Z_LANES], 0
    for i in range(n):
        at = s * n * L_WIDTH + i
        if bends(f, at):
            over, of_room = f.lanes[at] - f.lanes[at + L_KNEE * n], worth[i] if is_scarce(f, s, i) else 0.0
            if over > 0.0 or of_room > 0.0:
                lanes = _note_bend(t, lanes, i, over, f.lanes[at + L_RATE * n], of_room)
        if f.used[L_EDGE] and f.lanes[at] > f.lanes[at + L_EDGE * n]:
            over = f.lanes[at] - f.lanes[at + L_EDGE * n]
            lanes = _note_bend(t, lanes, i, over, f.lanes[at + L_FINE * n], 0.0)
    return lanes


@inner
def _note_bend(t: Any, lanes: int, lane: int, over: float, rate: float, worth: float) -> int:
    """Note another bend beside ``lanes`` of them; return how many there are."""
    if lanes == BENT:
        return lanes
    x = lanes
    while x > 0 and worth > t.set_cost[BENT + x - 1]:
        t.bent[x], t.set_change[x] = t.bent[x - 1], t.set_change[x - 1]
        t.set_cost[x], t.set_cost[BENT + x] = t.set_cost[x - 1], t.set_cost[BENT + x - 1]
        x -= 1
    t.bent[x], t.set_change[x], t.set_cost[x], t.set_cost[BENT + x] = lane, over, rate, worth
    return lanes + 1


@inner
def _note_prices(f: Any, t: Any, s: int, cool: Any, price: Any) -> None:
    """Note what it costs each object of a container to be in the best of some others, at least 0.

    What is gained where lanes bend is left out: that depends on who else leaves. So it does in crowded groups, where
    one may have to leave, but not each of them.
    """
    places, o = min(_PLACES, len(cool)), f.first[s]
    for i in range(places):
        t.to[i] = cool[draw(t, len(cool))]
    for _ in range(f.load[s]):
        block(f, t, o, places, FORBIDDEN)
        lowest = FORBIDDEN
        for i in range(places):
            if t.to[i] != s:
                lowest = min(lowest, t.cost[i])
        price[o] = lowest if lowest >= FORBIDDEN else max(0.0, lowest - _leaving_bends(f, s, o))
        o = f.after[o]


@inner
def _leaving_bends(f: Any, s: int, o: int) -> float:
    """Return what it costs where lanes bend, end or jump that an object leaves a container."""
    n, cost = f.sizes[Z_LANES], lanes_cost(f, s, f.sizes[Z_OBJECTS], o)
    if f.used[L_BASE]:
        at, into = s * n * L_WIDTH + L_BASE * n, weights_at(f, o, s)
        for i in range(n):
            cost += f.lanes[at + i] * f.lane_weight[into + i]
    return float(cost)


@inner
def _queue(f: Any, t: Any, s: int, lanes: int, price: Any) -> int:
    """Queue the objects of a container that may leave it, those first that free most of what some lanes have too much.

    Returns how many they are; `MOST` at most.
    """
    kept, o = 0, f.first[s]
    for _ in range(f.load[s]):
        into, frees = weights_at(f, o, s), 0.0
        for k in range(lanes):
            over = t.set_change[BENT + k]
            if over > 0.0:
                frees += min(1.0, f.lane_weight[into + t.bent[k]] / over)
        if price[o] < FORBIDDEN and (kept < MOST or frees > t.gain[kept - 1]):
            x = kept if kept < MOST else kept - 1
            while x > 0 and t.gain[x - 1] < frees:
                t.queue[x], t.gain[x], t.price[x] = t.queue[x - 1], t.gain[x - 1], t.price[x - 1]
                x -= 1
            t.queue[x], t.gain[x], t.price[x] = o, frees, price[o]
            kept = min(MOST, kept + 1)
        o = f.after[o]
    return kept


@inner
def _best_set(t: Any, n: int, lanes: int, best: float, weights: Any, rising: Any) -> tuple[float, int, int, int, int]:
    """Find a set of queued objects that costs less than ``best`` if it leaves, the less the better.

    Looks at so many of the first and up to three of the others: all of one, and of two or three those that come
    nearest to what is still too much in the first lane. Returns the cost, how many, and those others, -1 for nobody.
    """
    for k in range(lanes):
        t.set_change[k] = t.set_change[BENT + k]
    _sort(n, lanes, weights, rising)
    a, b, c, d, spent = 0, -1, -1, -1, 0.0
    for base in range(n):
        if base > 0:
            spent += t.price[base - 1]
            for k in range(lanes):
                t.set_change[k] -= weights[(base - 1) * lanes + k]
        if spent >= best:
            break
        if spent + _at_least(t, n, lanes, base, weights) >= best:
            continue
        for i in range(base, n):
            cost = spent + t.price[i] + _off(t, lanes, weights, i, -1, -1)
            if cost < best:
                best, a, b, c, d = cost, base, i, -1, -1
        for i in range(base - 1, n):  # base - 1: nobody
            third = i if i >= base else -1
            so_far = spent + t.price[i] if third >= 0 else spent
            goal = t.set_change[0] - (weights[i * lanes] if third >= 0 else 0.0)
            low, high = 0, n - 1
            while low < high and so_far < best:
                j, k = rising[low], rising[high]
                if j <= i or k <= i:
                    low, high = low + (j <= i), high - (k <= i)
                    continue
                cost = so_far + t.price[j] + t.price[k]
                if cost < best:
                    cost += _off(t, lanes, weights, j, k, third)
                    if cost < best:
                        best, a, b, c, d = cost, base, j, k, third
                if weights[j * lanes] + weights[k * lanes] < goal:
                    low += 1
                else:
                    high -= 1
    return best, a, b, c, d


@inner
def _sort(n: int, lanes: int, weights: Any, rising: Any) -> None:
    """Note queued objects in ascending order of what they weigh in the first lane."""
    for i in range(n):
        x = i
        while x > 0 and weights[rising[x - 1] * lanes] > weights[i * lanes]:
            rising[x] = rising[x - 1]
            x -= 1
        rising[x] = i


@inner
def _off(t: Any, lanes: int, weights: Any, i: int, j: int, k: int) -> float:
    """Return what it costs that a container has too much or too little once up to three have left."""
    total = 0.0
    for lane in range(lanes):
        v = t.set_change[lane]
        if i >= 0:
            v -= weights[i * lanes + lane]
        if j >= 0:
            v -= weights[j * lanes + lane]
        if k >= 0:
            v -= weights[k * lanes + lane]
        total += t.set_cost[lane] * v if v > 0.0 else -t.set_cost[BENT + lane] * v
    return total


@inner
def _at_least(t: Any, n: int, lanes: int, base: int, weights: Any) -> float:
    """Return the least that it costs that a container has too much, whichever three after the first leave."""
    total = 0.0
    for lane in range(lanes):
        most = 0.0
        for i in range(base, n):
            most = max(most, weights[i * lanes + lane])
        total += t.set_cost[lane] * max(0.0, t.set_change[lane] - 3.0 * most)
    return total


@kernel
def pack(
    f: Any,
    t: Any,
    free: Any,
    place: Any,
    count: Any,
    lane: int,
    order: Any,
    first: int,
    last: int,
    width: int,
    least: float,
) -> int:
    """Move objects to where they fit best wherever that gains ``least``; returns like `descend`.

    Parameters
    ----------
    free : float64 array
        What is free in a lane of the containers that have room, descending: what changes most is what has least.
    place : int32 array
        Which containers these are; of those with as much room the lower number first.
    count : int64 array (1,)
        How many they are.
    """
    for at in range(first, last):
        if full(t, 1):
            return at
        o = order[at]
        n = _fitting(t, free, place, count[0], f.lane_weight[2 * o * f.sizes[Z_LANES] + lane], min(WIDEST, FAR * width))
        if n == 1:
            continue
        t.queue[0] = o
        look_around(f, t, 0, shortlist(f, t, o, n, width), least)
        if t.gain[0] <= 0.0:
            continue
        a, b, length = f.place[o], t.target[0], t.numbers[T_LENGTH]
        left, taken = lanes_free(f, a, lane), lanes_free(f, b, lane)
        go(f, t, o, b)
        if judged(f, t, length, -least):
            _note_free(free, place, count, a, left, lanes_free(f, a, lane))
            if b < f.sizes[Z_CONTAINERS]:  # it may have been in none at first
                _note_free(free, place, count, b, taken, lanes_free(f, b, lane))
    return last


@inner
def _fitting(t: Any, free: Any, place: Any, count: int, weight: float, most: int) -> int:
    """Note containers that have room for a weight, after the first: those that it fits best, and some at random."""
    n, at = 1, _where(free, place, count, weight, _LAST)
    while n < most // 2 and at > 0:
        at -= 1
        t.to[n] = place[at]
        n += 1
    while n < most and at > 0:
        t.to[n] = place[draw(t, at)]
        n += 1
    return n


@inner
def _where(free: Any, place: Any, count: int, room: float, s: int) -> int:
    """Return how many containers come before one with so much room."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if free[middle] > room or (free[middle] == room and place[middle] < s):
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _note_free(free: Any, place: Any, count: Any, s: int, was: float, now: float) -> None:
    """Note that what is free in a container has changed."""
    at = _where(free, place, count[0], was, s) if was > 0.0 else count[0]
    to = _where(free, place, count[0], now, s) if now > 0.0 else count[0]
    if was <= 0.0:
        if now <= 0.0:
            return
        count[0] += 1
    if to > at:  # the one that leaves its place is among those before
        to -= 1
        for i in range(at, to):
            free[i], place[i] = free[i + 1], place[i + 1]
    else:
        for i in range(at, to, -1):
            free[i], place[i] = free[i - 1], place[i - 1]
    if now > 0.0:
        free[to], place[to] = now, s
    else:
        count[0] -= 1


__all__ = ["MOST", "leavers", "pack"]
