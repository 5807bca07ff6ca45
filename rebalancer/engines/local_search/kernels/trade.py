"""Trades: some objects of a container for some of another one, chosen so that they fit.

Where containers are full, next to no random move or exchange fits. Of a dozen objects on either side any two may go,
and of fewer any three or more, which is some ten thousand trades; sorted by what they weigh where there is least room,
few of them need a look.
"""

from __future__ import annotations

import math
from typing import Any

from rebalancer.engines.local_search.kernels.cell import weights_at
from rebalancer.engines.local_search.kernels.jit import FLOAT, INT, apart, inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN, NOWHERE
from rebalancer.engines.local_search.kernels.layout import (
    C_GROUPS,
    FLAT,
    L_BASE,
    L_EDGE,
    L_FINE,
    L_JUMP,
    L_KNEE,
    L_RATE,
    L_WALL,
    L_WIDTH,
    R_COLUMN,
    R_GROUP,
    R_WIDTH,
    Z_CONTAINERS,
    Z_LANES,
    Z_OBJECTS,
)
from rebalancer.engines.local_search.kernels.scan import exchange_rows, row_cost
from rebalancer.engines.local_search.kernels.trail import (
    BENT,
    MATES,
    SETS,
    SOME,
    T_LARGEST,
    T_LENGTH,
    TRAIL,
    draw,
    draw_share,
    full,
    go,
    judged,
    outside,
)

#: How many steps of a walk one takes as long as.
TRADE = 16
#: Objects of a container that are drawn from at most: of very many, those near the front of its list.
FRONT = 256
#: Where the other side begins among things that may happen. A thing is that an object goes to the other container, or
#: that it changes places with one there of the same group: what forbids the one does not forbid both.
_OTHER = SOME + MATES


@kernel
def trade(f: Any, t: Any, steps: int, temperature: float) -> int:
    """Walk by trades: the best one of two containers is made with probability exp(-cost / temperature).

    One container is that of a random object, the other one where that object started, or any.

    Returns
    -------
    int
        Trades tried; fewer than ``steps`` where the log is full.
    """
    objects, containers = f.sizes[Z_OBJECTS], f.sizes[Z_CONTAINERS]
    for step in range(steps):
        if full(t, 2 * SOME):
            return step
        o, b = draw(t, objects), draw(t, containers)
        a = f.place[o]
        if f.home[o] != a and f.home[o] < containers and draw(t, 2):
            b = f.home[o]
        if a != b and a < containers:
            trade_best(f, t, a, b, -temperature * math.log(draw_share(t)))
    return steps


@kernel
def even_out(f: Any, t: Any, cool: Any, order: Any, first: int, last: int, tries: int, least: float) -> int:
    """Trade some containers with random ones in ``cool`` wherever that gains ``least``; returns like `descend`."""
    for at in range(first, last):
        if full(t, tries * 2 * SOME):
            return at
        for _ in range(tries):
            b = cool[draw(t, len(cool))]
            if b != order[at]:
                trade_best(f, t, order[at], b, -least)
    return last


@kernel
def trade_best(f: Any, t: Any, a: int, b: int, allowed: float) -> bool:
    """Make the cheapest trade of some objects of two containers, if it costs less than ``allowed``; return if so."""
    length = t.numbers[T_LENGTH]
    return bool(trade_unjudged(f, t, a, b, allowed) and judged(f, t, length, allowed))


@apart(INT, FLAT, TRAIL, INT, INT, FLOAT)
def trade_unjudged(f: Any, t: Any, a: int, b: int, allowed: float) -> bool:
    """Make what looks like the cheapest trade, if it costs less than ``allowed``, for others to judge; return if so."""
    lanes = _bent(f, t, a, b)
    if lanes == 0:  # whatever pays does so move by move
        return False
    left, right = _some(f, t, a, b, 0), _some(f, t, b, a, _OTHER)
    mates = _mates(f, t, left, right)
    _change(f, t, a, b, 0, left + mates, lanes)
    _change(f, t, b, a, _OTHER, right, lanes)
    mine, theirs = _sets(t, 0, left + mates, 0, lanes), _sets(t, _OTHER, right, SETS, lanes)
    least = _least(t, SETS, theirs)
    open = _open(f, t, a, lanes) + _open(f, t, b, lanes)
    lane = _tightest(f, t, a, b, left, right, lanes, allowed + open - least - _least(t, 0, mine))
    _sort(t, theirs, lane, lanes)
    best, found, others = allowed, -1, -1
    for i in range(mine):
        most = best + open - t.set_cost[i] - least
        if most <= 0.0:
            continue
        at_a, at_b = 2 * i * lanes + lane, (2 * i + 1) * lanes + lane
        high = _room(f, t, a, lane, most) - t.set_change[at_a]
        low = t.set_change[at_b] - _room(f, t, b, lane, most)
        for at in range(_first(t, theirs, low, lane, lanes), theirs):
            j = t.sorted[at]
            if t.set_change[2 * j * lanes + lane] > high:
                break
            cost = t.set_cost[i] + t.set_cost[j]
            if cost - open >= best or t.set_bits[i] & t.set_bits[j] or i + j == SETS:
                continue
            cost += _lanes(f, t, a, i, j, 0, lanes)
            if cost - open < best:
                cost += _lanes(f, t, b, i, j, lanes, lanes)
                if cost < best:
                    best, found, others = cost, i, j
    if found < 0:
        return False
    _carry_out(f, t, found, b, a)
    _carry_out(f, t, others, a, b)
    return True


@inner
def _bent(f: Any, t: Any, a: int, b: int) -> int:
    """Note the lanes that are not straight in one of two containers; return how many, `BENT` at most."""
    n, found = f.sizes[Z_LANES], 0
    for i in range(n):
        if found < BENT and (_bends(f, a, i, n) or _bends(f, b, i, n)):
            t.bent[found] = i
            found += 1
    return found


@inner
def _bends(f: Any, s: int, i: int, n: int) -> bool:
    at = s * n * L_WIDTH + i
    kinked = f.lanes[at + L_RATE * n] != 0.0 or f.lanes[at + L_JUMP * n] != 0.0
    if kinked and abs(f.lanes[at + L_KNEE * n]) < NOWHERE:
        return True
    return bool(f.lanes[at + L_WALL * n] < NOWHERE or f.lanes[at + L_EDGE * n] < NOWHERE)


@inner
def _some(f: Any, t: Any, a: int, b: int, first: int) -> int:
    """Note some random objects of a container, and what it costs outside lanes that they go to another one.

    And where somebody of the same group is in the way there.
    """
    n, taken, rest = min(f.load[a], FRONT), 0, 0
    o = f.first[a]
    for _ in range(n):
        rest += not outside(f, t, o, b)
        o = f.after[o]
    o = f.first[a]
    while rest > 0 and taken < SOME:
        if outside(f, t, o, b):
            o = f.after[o]
            continue
        rest -= 1
        if draw(t, rest + 1) < SOME - taken:
            at = first + taken
            t.queue[at], t.target[at], t.when[at], t.price[at] = o, -1, -1, 0.0
            t.bits[at] = 1 << (taken if first == 0 else SOME + taken)
            for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
                cost = row_cost(f, o, r, b)
                if cost > 0.0 and f.columns[f.rows[r + R_COLUMN] + C_GROUPS] > 1:
                    t.when[at] = r
                t.price[at] = min(FORBIDDEN, t.price[at] + cost)
            taken += 1
        o = f.after[o]
    return taken


@inner
def _mates(f: Any, t: Any, left: int, right: int) -> int:
    """Note exchanges of objects of one group that are in each other's way; return how many, `MATES` at most."""
    found = 0
    for x in range(left):
        for y in range(_OTHER, _OTHER + right):
            o, q = t.queue[x], t.queue[y]
            if found < MATES and (_meets(f, q, t.when[x]) or _meets(f, o, t.when[y])):
                at = left + found
                t.queue[at], t.target[at], t.bits[at] = o, q, t.bits[x] | t.bits[y]
                t.price[at] = exchange_rows(f, o, q)
                found += 1
    return found


@inner
def _meets(f: Any, o: int, r: int) -> bool:
    """Return whether an object is a member of the same group as some membership says."""
    if r >= 0:
        for q in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
            if f.rows[q + R_COLUMN] == f.rows[r + R_COLUMN] and f.rows[q + R_GROUP] == f.rows[r + R_GROUP]:
                return True
    return False


@inner
def _change(f: Any, t: Any, here: int, there: int, first: int, count: int, lanes: int) -> None:
    """Note what things add where lanes bend, and with their price what they cost in lanes besides."""
    n = f.sizes[Z_LANES]
    for x in range(first, first + count):
        if t.price[x] >= FORBIDDEN:
            continue
        at_here, at_there = 2 * x * lanes, (2 * x + 1) * lanes
        if first:
            at_here, at_there = at_there, at_here
        for k in range(lanes):
            t.change[at_here + k] = t.change[at_there + k] = 0.0
        t.price[x] += _shift(f, t, t.queue[x], here, there, at_here, at_there, lanes, n)
        if t.target[x] >= 0:
            t.price[x] += _shift(f, t, t.target[x], there, here, at_there, at_here, lanes, n)


@inner
def _shift(f: Any, t: Any, o: int, a: int, b: int, at_a: int, at_b: int, lanes: int, n: int) -> float:
    out, into, cost = weights_at(f, o, a), weights_at(f, o, b), 0.0
    leave, come = a * n * L_WIDTH + L_BASE * n, b * n * L_WIDTH + L_BASE * n
    for i in range(n):
        cost += f.lanes[come + i] * f.lane_weight[into + i] - f.lanes[leave + i] * f.lane_weight[out + i]
    for k in range(lanes):
        t.change[at_a + k] -= f.lane_weight[out + t.bent[k]]
        t.change[at_b + k] += f.lane_weight[into + t.bent[k]]
    return cost


@inner
def _sets(t: Any, first: int, count: int, at: int, lanes: int) -> int:
    """List the sets of things that may happen together, all those of a size or none; return how many there are.

    Where much is forbidden there are few things, and it takes sets of more of them for something to fit exactly.
    """
    t.set_last[at] = t.set_rest[at] = -1
    t.set_cost[at], t.set_bits[at] = 0.0, 0
    for k in range(2 * lanes):
        t.set_change[2 * at * lanes + k] = 0.0
    begin, q = at, at + 1
    for _ in range(t.numbers[T_LARGEST]):
        end = q
        for i in range(begin, end):
            for x in range(max(first, t.set_last[i] + 1), first + count):
                if t.price[x] >= FORBIDDEN or t.set_bits[i] & t.bits[x]:
                    continue
                if q == at + SETS:
                    return end - at
                t.set_last[q], t.set_rest[q], t.set_bits[q] = x, i, t.set_bits[i] | t.bits[x]
                t.set_cost[q] = t.set_cost[i] + t.price[x]
                for k in range(2 * lanes):
                    t.set_change[2 * q * lanes + k] = t.set_change[2 * i * lanes + k] + t.change[2 * x * lanes + k]
                q += 1
        begin = end
    return q - at


@inner
def _least(t: Any, at: int, count: int) -> float:
    least = 0.0
    for i in range(at, at + count):
        least = min(least, t.set_cost[i])
    return least


@inner
def _open(f: Any, t: Any, s: int, lanes: int) -> float:
    """Return the most that can be gained where lanes of a container are beyond where they bend."""
    n, gain = f.sizes[Z_LANES], 0.0
    for k in range(lanes):
        at = s * n * L_WIDTH + t.bent[k]
        over, more = f.lanes[at] - f.lanes[at + L_KNEE * n], f.lanes[at] - f.lanes[at + L_EDGE * n]
        if over > 0.0:
            gain += max(0.0, f.lanes[at + L_RATE * n] * over) + max(0.0, f.lanes[at + L_JUMP * n])
        if more > 0.0:
            gain += f.lanes[at + L_FINE * n] * more
    return gain


@inner
def _room(f: Any, t: Any, s: int, lane: int, most: float) -> float:
    """Return how much more of a lane a container may have for at most so much."""
    n = f.sizes[Z_LANES]
    at = s * n * L_WIDTH + t.bent[lane]
    v, rate, fine = f.lanes[at], f.lanes[at + L_RATE * n], f.lanes[at + L_FINE * n]
    knee, room = f.lanes[at + L_KNEE * n] - v, max(0.0, f.lanes[at + L_WALL * n] - v)
    if rate > 0.0:
        room = min(room, max(0.0, knee) + most / rate)
    if knee >= 0.0 and f.lanes[at + L_JUMP * n] > most:
        room = min(room, knee)
    if fine > 0.0:
        room = min(room, max(0.0, f.lanes[at + L_EDGE * n] - v) + most / fine)
    return float(room)


@inner
def _tightest(f: Any, t: Any, a: int, b: int, left: int, right: int, lanes: int, most: float) -> int:
    """Return the lane with least room in two containers, by what their objects weigh there."""
    best, tightest = 0, math.inf
    for k in range(lanes):
        weight = 1e-9
        for x in range(left):
            weight += abs(t.change[2 * x * lanes + k])
        for y in range(_OTHER, _OTHER + right):
            weight += abs(t.change[2 * y * lanes + k])
        room = (_room(f, t, a, k, most) + _room(f, t, b, k, most)) / weight
        if room < tightest:
            best, tightest = k, room
    return best


@inner
def _sort(t: Any, count: int, lane: int, lanes: int) -> None:
    """Sort the sets of the other side by what they add to a lane on this side."""
    for x in range(count):
        t.sorted[x] = SETS + x
    gap = 121
    while gap:  # as Shell does, with gaps of 121, 40, 13, 4, and 1
        for x in range(gap, count):
            j, at = t.sorted[x], x
            weight = t.set_change[2 * j * lanes + lane]
            while at >= gap and t.set_change[2 * t.sorted[at - gap] * lanes + lane] > weight:
                t.sorted[at] = t.sorted[at - gap]
                at -= gap
            t.sorted[at] = j
        gap //= 3


@inner
def _first(t: Any, count: int, low: float, lane: int, lanes: int) -> int:
    """Return the first of the sorted sets that adds so much."""
    first, last = 0, count
    while first < last:
        middle = (first + last) // 2
        if t.set_change[2 * t.sorted[middle] * lanes + lane] < low:
            first = middle + 1
        else:
            last = middle
    return first


@inner
def _lanes(f: Any, t: Any, s: int, i: int, j: int, side: int, lanes: int) -> float:
    """Return what two sets together cost where lanes of a container bend."""
    n, cost = f.sizes[Z_LANES], 0.0
    for k in range(lanes):
        w = t.set_change[2 * i * lanes + side + k] + t.set_change[2 * j * lanes + side + k]
        at = s * n * L_WIDTH + t.bent[k]
        v = f.lanes[at]
        if w > 0.0 and v + w > f.lanes[at + L_WALL * n]:
            return FORBIDDEN
        over, more = v - f.lanes[at + L_KNEE * n], v - f.lanes[at + L_EDGE * n]
        cost += f.lanes[at + L_RATE * n] * (max(0.0, over + w) - max(0.0, over))
        cost += f.lanes[at + L_FINE * n] * (max(0.0, more + w) - max(0.0, more))
        cost += f.lanes[at + L_JUMP * n] * ((1.0 if over + w > 0.0 else 0.0) - (1.0 if over > 0.0 else 0.0))
    return cost


@inner
def _carry_out(f: Any, t: Any, i: int, to: int, back: int) -> None:
    """Make the moves of a set."""
    while t.set_rest[i] >= 0:
        x, i = t.set_last[i], t.set_rest[i]
        go(f, t, t.queue[x], to)
        if t.target[x] >= 0:
            go(f, t, t.target[x], back)
