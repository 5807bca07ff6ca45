"""The searches: down from hot containers, and random walks that may go up.

Each runs for a bounded amount of work and returns; who calls them decides by the clock.
"""

from __future__ import annotations

import math
from typing import Any

from rebalancer.engines.local_search.kernels.chains import some_object
from rebalancer.engines.local_search.kernels.jit import kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN, lanes_cost, lanes_fill, lanes_forbid
from rebalancer.engines.local_search.kernels.layout import C_VALUES, UNKNOWN, Z_ALIKE, Z_CONTAINERS, Z_LANES, Z_OBJECTS
from rebalancer.engines.local_search.kernels.propagate import flush
from rebalancer.engines.local_search.kernels.scan import block, leaving, pair, rotate
from rebalancer.engines.local_search.kernels.trail import (
    LOT,
    M_NOW,
    NEVER,
    T_BLIND,
    T_GUESSES,
    T_HITS,
    T_LENGTH,
    T_PICKY,
    T_REACH,
    WIDEST,
    back,
    draw,
    draw_share,
    full,
    go,
    judged,
    merit,
)

#: Containers that are looked at to rank the objects of one.
_GLANCE = 8
#: In classes, lanes tell of so many times as many containers which ones to look at.
_FAR = 4
#: Costs that differ by no more than this share differ by rounding only.
_ALMOST = 1e-11
#: Per cent of exchanges and ejections in walks that are of objects that weigh about the same.
_ALIKE = 50


@kernel
def descend(f: Any, t: Any, order: Any, first: int, last: int, width: int, least: float) -> int:
    """Move objects of some containers to the best of ``width`` sampled ones wherever that gains ``least``.

    Of the objects of a container those go first that gain the most; whoever is left when enough have gone stays. Where
    the trail says to be picky, only those are looked at that gain as much by leaving, and did where they last looked;
    they look at more containers.

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
def gains(f: Any, t: Any, wanted: Any, out: Any) -> None:
    """Note what each object of some containers gains by leaving, wherever it goes, and no more than it may hope for.

    Parameters
    ----------
    wanted : bool array (containers + 1)
    """
    for o in range(f.sizes[Z_OBJECTS]):  # in the order of memory, which is several times faster than by container
        if wanted[f.place[o]]:
            out[o] = min(t.hope[o], -leaving(f, o))


@kernel
def _send_away(f: Any, t: Any, n: int, width: int, least: float) -> None:
    """Move those of the first ``n`` objects in the queue that gain by it, best first."""
    moves = 0
    glance = min(width, _GLANCE)
    _draw_targets(t, glance)  # the same for all, so that they compare
    for i in range(n):
        t.when[i] = -1
        allowed = _look_around(f, t, i, glance, least)
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


@kernel
def _draw_targets(t: Any, n: int) -> None:
    """Draw ``n`` containers, all but the first."""
    for j in range(1, n):
        t.to[j] = draw(t, t.numbers[T_REACH])


@kernel
def _look_properly(f: Any, t: Any, i: int, width: int, least: float) -> None:
    """Look around for an object in the queue, in classes among the best of many containers."""
    n = width
    if t.numbers[T_PICKY] and f.sizes[Z_LANES]:
        many = min(WIDEST, _FAR * width)
        _draw_targets(t, many)
        n = _shortlist(f, t, t.queue[i], many, width)
    else:
        _draw_targets(t, n)
    _look_around(f, t, i, n, least)


@kernel
def _shortlist(f: Any, t: Any, o: int, n: int, most: int) -> int:
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


@kernel
def _look_around(f: Any, t: Any, i: int, n: int, least: float) -> bool:
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
    """Exchange objects of some containers with sampled others wherever that gains ``least``; returns like `descend`."""
    objects = f.sizes[Z_OBJECTS]
    for at in range(first, last):
        if full(t, 2 * f.load[order[at]] + 2):
            return at
        o = f.first[order[at]]
        while o >= 0:
            after = f.after[o]
            best, best_cost = -1, -least
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
def anneal(f: Any, t: Any, steps: int, hot: float, cold: float, swaps: float, homes: float, ejections: float) -> int:
    """Walk at random: moves and exchanges that cost c are made with probability exp(-c / temperature).

    Parameters
    ----------
    steps : int
        Moves to try; fewer where the log is full.
    hot, cold : float
        Temperature at the first and the last step.
    swaps, homes, ejections : float
        Shares of exchanges, of returns to where an object started, half of them for another one that leaves there, and
        of moves that push another object out of the destination, to where that one started or anywhere.

    Returns
    -------
    int
        Steps made.
    """
    objects, containers = f.sizes[Z_OBJECTS], t.numbers[T_REACH]
    temperature = hot
    factor = (cold / hot) ** (64.0 / steps) if hot > 0 and cold > 0 else 0.0
    for step in range(steps):
        guesses = t.numbers[T_GUESSES]
        if step % 64 == 63:
            temperature *= factor
        if full(t, 3):
            return step
        allowed = -temperature * math.log(draw_share(t))
        o = draw(t, objects)
        a = f.place[o]
        length = t.numbers[T_LENGTH]
        kind = draw_share(t)
        if kind <= swaps:
            q = _partner(f, t, o) if draw(t, 100) < _ALIKE else draw(t, objects)
            b = f.place[q]
            if a == b or _refused(t, rotate(f, o, q, a, allowed), allowed):
                continue
            go(f, t, o, b)
            go(f, t, q, a)
        elif kind <= swaps + ejections:
            if draw(t, 100) < _ALIKE:
                q = _partner(f, t, o)
                b = f.place[q]
            else:
                b = draw(t, containers)
                q = some_object(f, t, b)
            if b == a or q < 0 or b >= containers:
                continue
            c = f.home[q]
            if c == b:
                c = draw(t, containers)
            if c == b or _refused(t, rotate(f, o, q, c, allowed), allowed):
                continue
            go(f, t, q, c)
            go(f, t, o, b)
        elif kind <= swaps + ejections + homes and draw(t, 2):  # home, from where another leaves for it
            b = f.home[o]
            q = some_object(f, t, b) if b != a and b < containers else -1
            if q < 0:
                continue
            c = a if draw(t, 2) else draw(t, containers)
            if c == b or _refused(t, rotate(f, o, q, c, allowed), allowed):
                continue
            go(f, t, o, b)
            go(f, t, q, c)
        else:
            b = f.home[o] if kind <= swaps + ejections + homes else draw(t, containers)
            if b == a or _refused(t, pair(f, o, b, allowed), allowed):
                continue
            go(f, t, o, b)
        if judged(f, t, length, allowed):
            t.numbers[T_HITS] += t.numbers[T_GUESSES] - guesses
    return steps


@kernel
def _partner(f: Any, t: Any, o: int) -> int:
    """Return a random object that weighs about the same, or any where none is known."""
    n = f.sizes[Z_ALIKE]
    return int(f.alike[o * n + draw(t, n)]) if n else draw(t, f.sizes[Z_OBJECTS])


@kernel
def _refused(t: Any, cost: float, allowed: float) -> bool:
    """Return whether a move is not even tried; now and then one is made to see what it really costs."""
    if cost <= allowed:
        return False
    if cost >= FORBIDDEN or draw(t, 100) >= t.numbers[T_BLIND]:
        return True
    t.numbers[T_GUESSES] += 1
    return False


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


@kernel
def sample(f: Any, t: Any, out: Any) -> int:
    """Fill in what random moves and exchanges really cost that no bound forbids, and are no gain.

    Returns
    -------
    int
        How many were found.
    """
    objects, containers = f.sizes[Z_OBJECTS], t.numbers[T_REACH]
    found = 0
    for turn in range(20 * len(out)):
        if found == len(out) or full(t, 2):
            break
        o = draw(t, objects)
        a, length = f.place[o], t.numbers[T_LENGTH]
        if turn % 2:
            q = draw(t, objects)
            b = f.place[q]
            if a == b or rotate(f, o, q, a, FORBIDDEN) >= FORBIDDEN:
                continue
            go(f, t, o, b)
            go(f, t, q, a)
        else:
            b = draw(t, containers)
            if b == a or pair(f, o, b, FORBIDDEN) >= FORBIDDEN:
                continue
            go(f, t, o, b)
        flush(f)
        after = merit(f, t)
        back(f, t, length)
        if after < NEVER and after > t.merits[M_NOW]:
            out[found] = after - t.merits[M_NOW]
            found += 1
    return found


@kernel
def effects(f: Any, t: Any, columns: Any, out: Any) -> int:
    """Fill in by how much random moves that no bound forbids change the value of each of some columns of one cell.

    Parameters
    ----------
    columns : int64 array
        Where these columns begin.
    out : float64 array
        A row for each move.

    Returns
    -------
    int
        Rows filled in.
    """
    found, width = 0, len(columns)
    for _ in range(20 * len(out)):
        if found == len(out) or full(t, 1):
            break
        o, b = draw(t, f.sizes[Z_OBJECTS]), draw(t, t.numbers[T_REACH])
        if b == f.place[o] or pair(f, o, b, FORBIDDEN) >= FORBIDDEN:
            continue
        for i in range(width):
            out[found, i] = -f.values[f.columns[columns[i] + C_VALUES]]
        length = t.numbers[T_LENGTH]
        go(f, t, o, b)
        flush(f)
        for i in range(width):
            out[found, i] += f.values[f.columns[columns[i] + C_VALUES]]
        back(f, t, length)
        found += 1
    return found


@kernel
def may_leave(f: Any, t: Any, tries: int) -> bool:
    """Return whether some sampled object may be taken out of all containers."""
    for _ in range(tries):
        o = draw(t, f.sizes[Z_OBJECTS])
        if f.place[o] < f.sizes[Z_CONTAINERS] and pair(f, o, f.sizes[Z_CONTAINERS], FORBIDDEN) < FORBIDDEN:
            return True
    return False


@kernel
def sampled_share(f: Any, t: Any, tries: int) -> float:
    """Return the share of random moves that no bound of a tally forbids."""
    allowed = 0
    for _ in range(tries):
        o, b = draw(t, f.sizes[Z_OBJECTS]), draw(t, f.sizes[Z_CONTAINERS])
        if b == f.place[o] or pair(f, o, b, FORBIDDEN) < FORBIDDEN:
            allowed += 1
    return allowed / tries


@kernel
def move_teams(f: Any, t: Any, starts: Any, members: Any, tries: int, width: int, allowed: float) -> int:
    """Move all objects of a group at once: to one container, each to the best of some, home, or out of all containers.

    For what pays only when it is complete, so that no single move leads there.

    Parameters
    ----------
    starts, members : int64 and int32 arrays
        Where the objects of each group begin in ``members``, and they.

    Returns
    -------
    int
        Groups tried; fewer than ``tries`` where the log is full.
    """
    groups, reach = len(starts) - 1, t.numbers[T_REACH]
    for turn in range(tries):
        g = draw(t, groups)
        if full(t, starts[g + 1] - starts[g] + 1):
            return turn
        length = t.numbers[T_LENGTH]
        kind, together = draw(t, 4), draw(t, reach)
        if kind == 3:
            together = f.sizes[Z_CONTAINERS]
            if reach == together:
                kind = 1
        for i in range(starts[g], starts[g + 1]):
            o = members[i]
            b = together
            if kind == 1:
                b = f.home[o]
            elif kind == 0:
                for n in range(width):
                    t.to[n] = draw(t, reach)
                block(f, t, o, width, FORBIDDEN)
                best = -1
                for n in range(width):
                    at_home = t.to[n] == f.place[o]
                    if not at_home and t.cost[n] < FORBIDDEN and (best < 0 or t.cost[n] < t.cost[best]):
                        best = n
                b = t.to[best] if best >= 0 else f.place[o]
            if b != f.place[o]:
                go(f, t, o, b)
        if t.numbers[T_LENGTH] > length:
            judged(f, t, length, allowed)
    return tries
