"""Recalls: an object returns home, and others of there take over what it did by changing places.

A guest of its home may go where the first one was. One or two that are away come home as well, and as many that fill
their home exactly go instead. Where those were has too much then, and where the first one was has room: trades between
these containers settle it, and with a third one where none of them fits. For the same balance one object less is away.
"""

from __future__ import annotations

import math
from typing import Any

from rebalancer.engines.local_search.kernels.cell import weights_at
from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN, NOWHERE
from rebalancer.engines.local_search.kernels.layout import (
    L_KNEE,
    L_RATE,
    L_WIDTH,
    Z_CONTAINERS,
    Z_LANES,
    Z_OBJECTS,
)
from rebalancer.engines.local_search.kernels.propagate import flush
from rebalancer.engines.local_search.kernels.scan import pair
from rebalancer.engines.local_search.kernels.trade import FRONT, trade_unjudged
from rebalancer.engines.local_search.kernels.trail import (
    BENT,
    M_NOW,
    MATES,
    NEVER,
    SOME,
    T_LENGTH,
    back,
    draw,
    full,
    go,
    judged,
    merit,
)

#: Trades that may settle one recall, containers drawn that may take what does not fit, and the share of it that this
#: may cost there; of so many recalls where home has a guest all but one send it away.
_TRADES, _THIRDS, _SLACK, _GUESTS = 12, 6, 0.05, 4
#: Where queued objects begin that are away and may come home, and those that are there; trades use what is before.
_AWAY = 2 * (SOME + MATES)
_THERE = _AWAY + SOME


@kernel
def returning(f: Any, cost: Any) -> None:
    """Note what it costs each object to return home as things are, infinity for those that are there or have none."""
    for o in range(f.sizes[Z_OBJECTS]):
        cost[o] = pair(f, o, f.home[o], FORBIDDEN) if _is_away(f, o) else math.inf


@kernel
def recall(f: Any, t: Any, order: Any, first: int, last: int, tries: int, least: float) -> int:
    """Recall some objects wherever that gains ``least``, in ``tries`` ways each; returns like `descend`."""
    for at in range(first, last):
        if full(t, 10 + _TRADES * 2 * SOME):
            return at
        for _ in range(tries):
            if not _is_away(f, order[at]) or _recalled(f, t, order[at], least):
                break
    return last


@inner
def _is_away(f: Any, o: int) -> bool:
    return bool(f.place[o] != f.home[o] and max(f.home[o], f.place[o]) < f.sizes[Z_CONTAINERS])


@inner
def _recalled(f: Any, t: Any, o: int, least: float) -> bool:
    """Recall an object if that gains ``least``; return whether it did."""
    length, a, home, ends = t.numbers[T_LENGTH], f.place[o], f.home[o], 0
    before, cost = _over(f, home), pair(f, o, home, FORBIDDEN)
    go(f, t, o, home)
    spared = _over(f, home) - before - cost  # if its home were not too full now
    if _is_needed(f, t, home, before + spared):
        back(f, t, length)
        return False
    guest = _guest(f, t, home, o)
    if guest >= 0:
        go(f, t, guest, a)
    for s in (home, a):
        off = _closest(f, t, s, o)
        if s == home and off - before >= spared:
            back(f, t, length)
            return False
        ends = _exchange(f, t, s, ends)
    if _least(f, t, ends) > -least:
        back(f, t, length)
        return False
    _settle(f, t, ends)
    return bool(judged(f, t, length, -least))


@inner
def _is_needed(f: Any, t: Any, s: int, most: float) -> bool:
    """Return whether a container costs ``most`` whoever of its own is away, as long as no more are than now."""
    n, natives = f.sizes[Z_LANES], f.first_native[s + 1] - f.first_native[s]
    if natives > FRONT:
        return False
    for k in range(n):
        at = s * n * L_WIDTH + k
        if not bends(f, at):
            continue
        over, away, q = f.lanes[at] - f.lanes[at + L_KNEE * n], 0, f.first[s]
        for _ in range(f.load[s]):
            if f.home[q] != s:  # who does not belong there may leave
                over -= max(0.0, f.lane_weight[weights_at(f, q, s) + k])
            q = f.after[q]
        for i in range(natives):
            q = f.native[f.first_native[s] + i]
            weight = f.lane_weight[weights_at(f, q, s) + k]
            if f.place[q] != s:
                away += 1
                over += weight
            x = i
            while x > 0 and t.set_cost[x - 1] < weight:
                t.set_cost[x] = t.set_cost[x - 1]
                x -= 1
            t.set_cost[x] = weight
        for i in range(away):
            over -= max(0.0, t.set_cost[i])
        if f.lanes[at + L_RATE * n] * over >= most:
            return True
    return False


@inner
def _guest(f: Any, t: Any, s: int, o: int) -> int:
    """Draw an object that is in a container and started elsewhere, other than ``o``; -1 for nobody, now and then."""
    guest, seen, q = -1, 0, f.first[s]
    for _ in range(min(f.load[s], FRONT)):
        if q != o and f.home[q] != s:
            seen += 1
            guest = q if draw(t, seen) == 0 else guest
        q = f.after[q]
    return int(guest if seen and draw(t, _GUESTS) else -1)


@inner
def _closest(f: Any, t: Any, s: int, o: int) -> float:
    """Find the exchange that fills a container best, of one or two that are away from it and as many that are there.

    Looks at some of each, not at one object. What is found goes to the scratch ``target``: two that come home, two that
    leave, -1 for none.

    Returns
    -------
    float
        What it costs that the container has too much then, and what it would cost to have as much too much as it has
        too little; 0 where nobody is away.
    """
    for k in range(4):
        t.target[k] = -1
    away = there = seen = 0
    for i in range(f.first_native[s], f.first_native[s + 1]):
        if f.native[i] != o and _is_away(f, f.native[i]):
            seen += 1
            away = _keep_some(t, _AWAY, away, seen, f.native[i])
    q, seen = f.first[s], 0
    for _ in range(min(f.load[s], FRONT)):
        if q != o:
            seen += 1
            there = _keep_some(t, _THERE, there, seen, q)
        q = f.after[q]
    lanes = _note_lanes(f, t, s)
    for x in range(away):
        _note_weights(f, t, s, _AWAY + x, lanes)
    for x in range(there):
        _note_weights(f, t, s, _THERE + x, lanes)
    best = _off(t, -1, -1, -1, -1, lanes, math.inf) if away else 0.0
    for i in range(away):
        for j in range(i + 1):  # the same one: nobody else
            for p in range(there):
                for q in range(p if j < i else 1):
                    k, r = (j, q) if j < i else (-1, -1)
                    off = _off(t, i, k, p, r, lanes, best)
                    if off < best:
                        best = off
                        t.target[0], t.target[2] = t.queue[_AWAY + i], t.queue[_THERE + p]
                        t.target[1] = t.queue[_AWAY + k] if k >= 0 else -1
                        t.target[3] = t.queue[_THERE + r] if k >= 0 else -1
    return best


@inner
def _keep_some(t: Any, first: int, kept: int, seen: int, o: int) -> int:
    """Queue an object of which ``seen`` were seen, each with the same chance; return how many are queued."""
    at = kept if kept < SOME else draw(t, seen)
    if at < SOME:
        t.queue[first + at] = o
    return min(SOME, kept + 1)


@inner
def _note_lanes(f: Any, t: Any, s: int) -> int:
    """Note the lanes that bend in a container: what it has too much, and what a unit above and below costs."""
    n, lanes = f.sizes[Z_LANES], 0
    for i in range(n):
        at = s * n * L_WIDTH + i
        if lanes < BENT and bends(f, at):
            t.bent[lanes] = i
            t.set_change[lanes] = f.lanes[at] - f.lanes[at + L_KNEE * n]
            t.set_cost[lanes] = f.lanes[at + L_RATE * n]
            t.set_cost[BENT + lanes] = f.lanes[at + L_RATE * n] if is_scarce(f, s, i) else 0.0
            lanes += 1
    return lanes


@inner
def _note_weights(f: Any, t: Any, s: int, x: int, lanes: int) -> None:
    into = weights_at(f, t.queue[x], s)
    for k in range(lanes):
        t.change[(x - _AWAY) * lanes + k] = f.lane_weight[into + t.bent[k]]


@inner
def _off(t: Any, i: int, j: int, p: int, q: int, lanes: int, most: float) -> float:
    """Return how far a container is off what fills it when ``i`` and ``j`` came home, and ``p`` and ``q`` left."""
    total = 0.0
    for k in range(lanes):
        v = t.set_change[k]
        if i >= 0:
            v += t.change[i * lanes + k] - t.change[(SOME + p) * lanes + k]
        if j >= 0:
            v += t.change[j * lanes + k] - t.change[(SOME + q) * lanes + k]
        total += t.set_cost[k] * v if v > 0.0 else -t.set_cost[BENT + k] * v
        if total >= most:
            break
    return total


@inner
def _exchange(f: Any, t: Any, s: int, ends: int) -> int:
    """Make the exchange that `_closest` has found.

    Where it leaves too much or too little goes to the scratch ``to``, after ``ends`` others: the container itself
    where there is no exchange. Returns how many there are.
    """
    if t.target[0] < 0:
        t.to[ends] = s
        return ends + 1
    for k in range(2):
        o, q = t.target[k], t.target[2 + k]
        if o >= 0:
            t.to[ends] = f.place[o]
            ends += 1
            go(f, t, q, f.place[o])
            go(f, t, o, s)
    return ends


@inner
def _least(f: Any, t: Any, ends: int) -> float:
    """Return the least that it may cost after trades."""
    flush(f)
    now = merit(f, t)
    if now >= NEVER:
        return FORBIDDEN
    cost = now - t.merits[M_NOW]
    for i in range(ends):
        cost -= _over(f, t.to[i])
    return float(cost)


@inner
def _settle(f: Any, t: Any, ends: int) -> None:
    """Trade between the container that has most too much and the one that takes it best, again and again.

    Where they have no trade that fits, another container takes what is too much, and trades in its turn.
    """
    thirds = 0
    for _ in range(_TRADES):
        hot, most, cool, least = -1, 0.0, -1, math.inf
        for i in range(ends):
            over = _over(f, t.to[i])
            if over > most:
                hot, most = t.to[i], over
        for i in range(ends):
            if hot >= 0 and t.to[i] != hot:
                extra = _extra(f, hot, t.to[i])
                if extra < least:
                    cool, least = t.to[i], extra
        if cool < 0:
            return
        settled = bool(trade_unjudged(f, t, hot, cool, 0.0))
        while not settled and thirds < _THIRDS:
            third = draw(t, f.sizes[Z_CONTAINERS])
            thirds += 1
            settled = third != hot and third != cool and bool(trade_unjudged(f, t, hot, third, _SLACK * most))
            if settled:
                t.to[ends] = third
                ends += 1
        if not settled:
            return


@inner
def bends(f: Any, at: int) -> bool:
    """Return whether a lane of a container bends upwards."""
    n = f.sizes[Z_LANES]
    return bool(f.lanes[at + L_RATE * n] > 0.0 and f.lanes[at + L_KNEE * n] < NOWHERE)


@inner
def is_scarce(f: Any, s: int, i: int) -> bool:
    """Return whether little is free in a lane, and no other line of the same tally bends earlier in a container."""
    n = f.sizes[Z_LANES]
    at = s * n * L_WIDTH
    knee = at + L_KNEE * n
    for j in (i - 1, i + 1):
        if 0 <= j < n and f.lanes[at + j] == f.lanes[at + i] and f.lanes[knee + j] < f.lanes[knee + i]:
            return False
    return bool(f.scarce[i])


@inner
def _over(f: Any, s: int) -> float:
    """Return what it costs that a container is beyond where its lanes bend."""
    n, total = f.sizes[Z_LANES], 0.0
    for i in range(n):
        at = s * n * L_WIDTH + i
        if bends(f, at):
            total += f.lanes[at + L_RATE * n] * max(0.0, f.lanes[at] - f.lanes[at + L_KNEE * n])
    return total


@kernel
def fullness(f: Any, over: Any, room: Any) -> None:
    """Note what it costs that containers are beyond where lanes bend, and what it would to be beyond by their room.

    Room counts only in lanes of which little is free.
    """
    n = f.sizes[Z_LANES]
    for s in range(f.sizes[Z_CONTAINERS]):
        over[s], room[s] = _over(f, s), 0.0
        for i in range(n):
            at = s * n * L_WIDTH + i
            if bends(f, at) and is_scarce(f, s, i):
                room[s] += f.lanes[at + L_RATE * n] * max(0.0, f.lanes[at + L_KNEE * n] - f.lanes[at])


@inner
def _extra(f: Any, a: int, b: int) -> float:
    """Return what it costs where lanes bend that what one container has too much comes to another one."""
    n, total = f.sizes[Z_LANES], 0.0
    for i in range(n):
        at, to = a * n * L_WIDTH + i, b * n * L_WIDTH + i
        if bends(f, at) and bends(f, to):
            more, over = max(0.0, f.lanes[at] - f.lanes[at + L_KNEE * n]), f.lanes[to] - f.lanes[to + L_KNEE * n]
            total += f.lanes[to + L_RATE * n] * (max(0.0, over + more) - max(0.0, over))
    return total
