"""What no single move or exchange does: ejection chains, taking some objects out to place them anew, and emptying.

Most make moves that no bound has been asked about, or that cost something; they are judged by what they come to in the
end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN
from rebalancer.engines.local_search.kernels.layout import N_BROKEN, Z_CONTAINERS, Z_OBJECTS
from rebalancer.engines.local_search.kernels.propagate import flush
from rebalancer.engines.local_search.kernels.scan import block, pair, rotate
from rebalancer.engines.local_search.kernels.trail import (
    M_NOW,
    NEVER,
    T_LENGTH,
    T_REACH,
    back,
    draw,
    full,
    go,
    judged,
    merit,
)

#: The most objects that one chain pushes out, and how many of a container are looked at for the next one.
_LINKS, _LOOKS = 4, 6
#: The most objects that are placed anew at once, and the share in per cent of a container's that leave.
_OUT, _SHARE = 24, 60
#: How often an object looks for another place where its container is emptied.
_ROUNDS = 4


@inner
def some_object(f: Any, t: Any, c: int) -> int:
    """Return a random object of a container, -1 if there is none; of those near the front where there are very many."""
    n = min(f.load[c], 64)
    if n == 0:
        return -1
    q = f.first[c]
    for _ in range(draw(t, n)):
        q = f.after[q]
    return int(q)


@inner
def chase(f: Any, t: Any, o: int, b: int, allowed: float) -> bool:
    """Put an object into a container, push another one out of there, and so on, until it all costs at most ``allowed``.

    At each link, the last object goes where it costs least: home, to where the chain began, or anywhere. If that is too
    dear it goes to any container, full or not, and somebody there is next. What does not come to an end after some
    links is undone. The log must have room for `_LINKS` + 2 moves.

    Returns
    -------
    bool
        Whether the moves were kept.
    """
    length, a, last = t.numbers[T_LENGTH], f.place[o], o
    go(f, t, o, b)
    for _ in range(_LINKS):
        if b == f.sizes[Z_CONTAINERS]:
            break
        best, best_cost, best_to = -1, FORBIDDEN, -1
        for _ in range(_LOOKS):
            q = some_object(f, t, b)
            if q < 0 or q == last:
                continue
            for way in range(3):
                c = f.home[q] if way == 0 else a if way == 1 else draw(t, t.numbers[T_REACH])
                cost = pair(f, q, c, best_cost) if c != b else FORBIDDEN
                if cost < best_cost:
                    best, best_cost, best_to = q, cost, c
        if best >= 0:
            open = t.numbers[T_LENGTH]
            go(f, t, best, best_to)
            flush(f)
            after = merit(f, t)
            if after < NEVER and after - t.merits[M_NOW] <= allowed:
                return judged(f, t, length, allowed)
            back(f, t, open)
        q, c = some_object(f, t, b), draw(t, f.sizes[Z_CONTAINERS])
        if q < 0 or q == last or c == b:
            break
        go(f, t, q, c)
        last, b = q, c
    back(f, t, length)
    return False


@kernel
def chase_down(f: Any, t: Any, order: Any, first: int, last: int, tries: int, least: float) -> int:
    """Start ``tries`` chains with each object of some containers, kept where they gain ``least``; see `descend`."""
    for at in range(first, last):
        if full(t, (_LINKS + 2) * (f.load[order[at]] + 1)):
            return at
        o = f.first[order[at]]
        # a chain may take along who is next: the list of another container is not gone through, nor the log filled up
        while o >= 0 and f.place[o] == order[at] and not full(t, _LINKS + 2):
            after = f.after[o]
            for _ in range(tries):
                b = draw(t, f.sizes[Z_CONTAINERS])
                if b != f.place[o] and chase(f, t, o, b, -least):
                    break
            o = after
    return last


@kernel
def oust(f: Any, t: Any, order: Any, first: int, last: int, tries: int, least: float) -> int:
    """Send objects of some containers to where they gain most, at least ``least``; returns like `descend`.

    Ends where no bound is exceeded any more. Each looks at its home, at ``tries`` containers, and at as many objects to
    push out of where they are: to where these started, which frees what they take from others while they are away, or
    to anywhere.
    """
    objects, reach = f.sizes[Z_OBJECTS], t.numbers[T_REACH]
    for at in range(first, last):
        if full(t, 2 * f.load[order[at]] + 2):
            return at
        o = f.first[order[at]]
        while o >= 0 and f.counts[N_BROKEN]:
            after, a = f.after[o], f.place[o]
            pushed, to, cost = -1, -1, -least
            for i in range(tries + 1):
                b = draw(t, reach) if i else f.home[o]
                if b != a:
                    now = pair(f, o, b, cost)
                    if now < cost:
                        to, cost = b, now
            for i in range(tries):
                q = draw(t, objects)
                b, c = f.place[q], f.home[q]
                if i % 2 or c == b:
                    c = draw(t, reach)
                if b != a and c != b and b < f.sizes[Z_CONTAINERS]:
                    now = rotate(f, o, q, c, cost)
                    if now < cost:
                        pushed, to, cost = q, c, now
            if to >= 0:
                length = t.numbers[T_LENGTH]
                if pushed >= 0:
                    b = f.place[pushed]
                    go(f, t, pushed, to)
                    to = b
                go(f, t, o, to)
                judged(f, t, length, -least)
            o = after
    return last


@kernel
def vacate(
    f: Any, t: Any, starts: Any, containers: Any, order: Any, first: int, last: int, width: int, least: float
) -> int:
    """Empty some sets of containers wherever that gains ``least`` in the end; returns like `descend`.

    Each object goes to the cheapest of its home and some sampled containers, ``width`` in all; where none of them takes
    it, it looks at others.

    Parameters
    ----------
    starts, containers : int64 and int32 arrays
        Where the containers of each set begin in ``containers``, and they, in order.
    """
    for at in range(first, last):
        among = containers[starts[order[at]] : starts[order[at] + 1]]
        held, length = 1, t.numbers[T_LENGTH]
        for c in among:
            held += f.load[c]
        if full(t, held):
            return at
        for c in among:
            while f.load[c] > 0:
                b = _elsewhere(f, t, f.first[c], among, width)
                if b < 0:
                    break
                go(f, t, f.first[c], b)
            if f.load[c] > 0:
                back(f, t, length)
                break
        if t.numbers[T_LENGTH] > length:
            judged(f, t, length, -least)
    return last


@inner
def _elsewhere(f: Any, t: Any, o: int, among: Any, width: int) -> int:
    """Return the cheapest container that is none of some and takes an object; -1 where none is found."""
    best = -1
    for _ in range(_ROUNDS):
        t.to[0] = f.home[o]
        for j in range(1, width):
            t.to[j] = draw(t, f.sizes[Z_CONTAINERS])
        block(f, t, o, width, FORBIDDEN)
        for j in range(width):
            if t.cost[j] < FORBIDDEN and (best < 0 or t.cost[j] < t.cost[best]):
                at = np.searchsorted(among, t.to[j])
                if at == len(among) or among[at] != t.to[j]:
                    best = j
        if best >= 0:
            return int(t.to[best])
    return -1


@kernel
def rebuild(f: Any, t: Any, order: Any, first: int, last: int, width: int, least: float) -> int:
    """Take objects out of each of some containers and of another one, and place them anew if that gains ``least``.

    Ruin and recreate: next is whoever would lose most if it did not get its best place, of its home, the two containers
    and ``width`` - 3 sampled ones. Returns like `descend`.
    """
    containers = f.sizes[Z_CONTAINERS]
    for at in range(first, last):
        if full(t, 4 * _OUT):
            return at
        length, other = t.numbers[T_LENGTH], draw(t, containers)
        n = _take_out(f, t, order[at], 0)
        if other != order[at]:
            n = _take_out(f, t, other, n)
        t.to[1], t.to[2] = order[at], other
        for j in range(3, width):
            t.to[j] = draw(t, containers)
        if _place(f, t, n, width):
            judged(f, t, length, -least)
        else:
            back(f, t, length)
    return last


@inner
def _take_out(f: Any, t: Any, c: int, n: int) -> int:
    """Take some objects out of a container and queue them from the ``n``-th place on; return how many are queued."""
    share = min(_SHARE, 1 + 100 * _OUT // max(1, f.load[c]))
    most, o = n + _OUT, f.first[c]
    while o >= 0 and n < most:
        after = f.after[o]
        if draw(t, 100) < share:
            t.queue[n] = o
            n += 1
            go(f, t, o, f.sizes[Z_CONTAINERS])
        o = after
    return n


@inner
def _place(f: Any, t: Any, n: int, width: int) -> bool:
    """Place the first ``n`` objects of the queue, whoever has most to lose first; return whether all found a place."""
    for i in range(n):
        _weigh(f, t, i, width)
    while n > 0:
        next = 0
        for i in range(1, n):
            if t.gain[i] > t.gain[next]:
                next = i
        if t.price[next] >= FORBIDDEN:
            return False
        to = t.target[next]
        if to != f.place[t.queue[next]]:
            go(f, t, t.queue[next], to)
        n -= 1
        t.queue[next], t.target[next], t.when[next] = t.queue[n], t.target[n], t.when[n]
        t.gain[next], t.price[next] = t.gain[n], t.price[n]
        for i in range(n):
            if t.target[i] == to or t.when[i] == to:
                _weigh(f, t, i, width)
    return True


@inner
def _weigh(f: Any, t: Any, i: int, width: int) -> None:
    """Note the best place of an object in the queue, what it costs, the next best one, and how much dearer that is."""
    o = t.queue[i]
    t.to[0] = f.home[o]
    block(f, t, o, width, FORBIDDEN)
    best, second = 2 * FORBIDDEN, 2 * FORBIDDEN
    t.target[i] = t.when[i] = -1
    for j in range(width):
        if t.cost[j] < best:
            if t.target[i] != t.to[j]:
                second, t.when[i] = best, t.target[i]
            best, t.target[i] = t.cost[j], t.to[j]
        elif t.cost[j] < second and t.to[j] != t.target[i]:
            second, t.when[i] = t.cost[j], t.to[j]
    t.price[i], t.gain[i] = best, min(second, FORBIDDEN) - best
