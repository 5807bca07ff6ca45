"""Down from hot containers: moves of single objects, exchanges, returns.

Each runs for a bounded amount of work and returns; who calls them decides by the clock.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN, lanes_cost, lanes_fill, lanes_forbid
from rebalancer.engines.local_search.kernels.layout import UNKNOWN, Z_LANES, Z_OBJECTS
from rebalancer.engines.local_search.kernels.scan import block, leaving, pair, rotate
from rebalancer.engines.local_search.kernels.trail import (
    LOT,
    T_LENGTH,
    T_PICKY,
    T_REACH,
    WIDEST,
    draw,
    full,
    go,
    judged,
)

#: Containers that are looked at to rank the objects of one.
_GLANCE = 8
#: In classes, lanes tell of so many times as many containers which ones to look at.
FAR = 4
#: Costs that differ by no more than this share differ by rounding only.
_ALMOST = 1e-11


@kernel
def descend(f: Any, t: Any, order: Any, first: int, last: int, width: int, least: float) -> int:
    """Move objects of some containers to the best of ``width`` sampled ones wherever that gains ``least``.

    Of the objects of a container those go first that gain the most; whoever is left when enough have gone stays. Where
    the trail says to be picky, only those are looked at that gain as much by leaving, and did where they last looked;
    they look at more containers. Where ``least`` is below 0, what ought to gain is kept if it costs no more than that.

    Returns
    -------
    int
        Where in ``order`` it stopped: ``last``, or earlier because the log is full.
    """
    for at in range(first, last):
        if full(t, f.load[order[at]] + 1):
            return at
        o = f.first[order[at]]
        while o >= 0:
            n = 0
            while o >= 0 and n < LOT:
                if t.numbers[T_PICKY] == 0 or (t.hope[o] >= least and -leaving(f, o) >= least):
                    t.queue[n] = o
                    n += 1
                o = f.after[o]
            _send_away(f, t, n, width, least)
    return last


@kernel
def place(f: Any, t: Any, order: Any, first: int, last: int, width: int, least: float) -> int:
    """Move some objects, one after the other, to the best of ``width`` sampled containers wherever that gains.

    Returns
    -------
    int
        Where in ``order`` it stopped: ``last``, or earlier because the log is full.
    """
    for at in range(first, last):
        if full(t, 1):
            return at
        t.queue[0] = order[at]
        _look_properly(f, t, 0, width, least)
        if t.gain[0] > 0.0:
            length = t.numbers[T_LENGTH]
            go(f, t, order[at], t.target[0])
            judged(f, t, length, -least)
    return last


@kernel
def gains(f: Any, t: Any, wanted: Any, out: Any) -> None:
    """Note what each object of some containers gains by leaving, wherever it goes, and no more than it may hope for.

    Parameters
    ----------
    wanted : bool array (containers + 1)
    """
    for o in range(f.sizes[Z_OBJECTS]):  # in the order of memory, which is several times faster than by container
        if wanted[f.place[o]]:
            out[o] = min(t.hope[o], -leaving(f, o))


@inner
def _send_away(f: Any, t: Any, n: int, width: int, least: float) -> None:
    """Move those of the first ``n`` objects in the queue that gain by it, best first."""
    moves = 0
    glance = min(width, _GLANCE)
    _draw_targets(t, glance)  # the same for all, so that they compare
    for i in range(n):
        t.when[i] = -1
        allowed = look_around(f, t, i, glance, least)
        if not allowed or (t.numbers[T_PICKY] and t.gain[i] <= 0.0):
            _look_properly(f, t, i, width, least)
            t.when[i] = 0
    while n > 0:
        best, second = 0, 0.0
        for i in range(1, n):
            if t.gain[i] > t.gain[best]:
                best, second = i, t.gain[best]
            else:
                second = max(second, t.gain[i])
        if t.gain[best] <= 0.0:
            return
        if t.when[best] < moves:  # others have left since, or it was only a glance
            t.when[best] = moves
            _look_properly(f, t, best, width, least)
            if t.gain[best] <= 0.0 or t.gain[best] < second:
                continue
        length = t.numbers[T_LENGTH]
        go(f, t, t.queue[best], t.target[best])
        if judged(f, t, length, -least):
            moves += 1
        n -= 1
        t.queue[best], t.target[best], t.when[best] = t.queue[n], t.target[n], t.when[n]
        t.gain[best] = t.gain[n]


@inner
def _draw_targets(t: Any, n: int) -> None:
    """Draw ``n`` containers, all but the first."""
    for j in range(1, n):
        t.to[j] = draw(t, t.numbers[T_REACH])


@inner
def _look_properly(f: Any, t: Any, i: int, width: int, least: float) -> None:
    """Look around for an object in the queue, in classes among the best of many containers."""
    n = width
    if t.numbers[T_PICKY] and f.sizes[Z_LANES]:
        many = min(WIDEST, FAR * width)
        _draw_targets(t, many)
        n = shortlist(f, t, t.queue[i], many, width)
    else:
        _draw_targets(t, n)
    look_around(f, t, i, n, least)


@inner
def shortlist(f: Any, t: Any, o: int, n: int, most: int) -> int:
    """Keep of ``n`` containers the ``most`` that are best for an object by its lanes; return how many there are."""
    nobody, a, kept = f.sizes[Z_OBJECTS], f.place[o], 1
    margin = _ALMOST * abs(lanes_cost(f, a, nobody, o))
    for j in range(1, n):
        b = t.to[j]
        if b == a or lanes_forbid(f, b, o, nobody):
            continue
        cost = lanes_cost(f, b, o, nobody)
        if kept == most and cost > t.cost[kept - 1] + margin:
            continue
        fill, at = lanes_fill(f, b, o), kept
        while at > 1:
            worse = t.cost[at - 1] - cost
            if worse < -margin or (worse <= margin and fill <= t.fill[at - 1]):
                break
            at -= 1
        if at < most:
            kept = min(most, kept + 1)
            for k in range(kept - 1, at, -1):
                t.to[k], t.cost[k], t.fill[k] = t.to[k - 1], t.cost[k - 1], t.fill[k - 1]
            t.to[at], t.cost[at], t.fill[at] = b, cost, fill
    return kept


@inner
def look_around(f: Any, t: Any, i: int, n: int, least: float) -> bool:
    """Note which of ``n`` containers, one its home, is best for an object in the queue; return if any is allowed.

    In classes, of those that cost the same the one that it fills best: what room is left then serves others.
    """
    o, picky = t.queue[i], t.numbers[T_PICKY] > 0
    t.to[0] = f.home[o]
    block(f, t, o, n, -least)
    best, cost, lowest, fill, allowed = -1, -least, FORBIDDEN, UNKNOWN, False
    for j in range(n):
        if t.to[j] == f.place[o]:
            continue
        allowed, lowest = allowed or t.cost[j] < FORBIDDEN, min(lowest, t.cost[j])
        margin = _ALMOST * abs(cost) if picky else 0.0
        if t.cost[j] < cost - margin:
            best, cost, fill = j, t.cost[j], UNKNOWN
        elif picky and best >= 0 and t.cost[j] <= cost + margin:
            fill = lanes_fill(f, t.to[best], o) if fill == UNKNOWN else fill
            other = lanes_fill(f, t.to[j], o)
            if other > fill:
                best, fill = j, other
    t.gain[i] = 0.0
    if picky:
        t.hope[o] = -lowest
    if best >= 0:
        t.target[i], t.gain[i] = t.to[best], -cost
    return allowed


@kernel
def swap_down(f: Any, t: Any, order: Any, first: int, last: int, tries: int, least: float) -> int:
    """Exchange objects of some containers with sampled others wherever that gains ``least``; returns like `descend`.

    Where ``least`` is below 0, what ought to gain is kept if it costs no more than that.
    """
    objects = f.sizes[Z_OBJECTS]
    for at in range(first, last):
        if full(t, 2 * f.load[order[at]] + 2):
            return at
        o = f.first[order[at]]
        while o >= 0:
            after = f.after[o]
            best, best_cost = -1, min(0.0, -least)
            for _ in range(tries):
                q = draw(t, objects)
                if f.place[q] != f.place[o]:
                    cost = rotate(f, o, q, f.place[o], best_cost)
                    if cost < best_cost:
                        best, best_cost = q, cost
            if best >= 0:
                length = t.numbers[T_LENGTH]
                a, b = f.place[o], f.place[best]
                go(f, t, o, b)
                go(f, t, best, a)
                judged(f, t, length, -least)
            o = after
    return last


@kernel
def return_home(f: Any, t: Any, first: int, last: int, allowed: float) -> int:
    """Put moved objects back where they started wherever that costs at most ``allowed``.

    Returns the object at which it stopped.
    """
    for o in range(first, last):
        home = f.home[o]
        if f.place[o] == home:
            continue
        if full(t, 1):
            return o
        if pair(f, o, home, allowed) <= allowed:
            length = t.numbers[T_LENGTH]
            go(f, t, o, home)
            judged(f, t, length, allowed)
    return last
