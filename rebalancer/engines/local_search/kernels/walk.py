"""Random walks that may go up, and what random moves tell of a problem.

Each runs for a bounded amount of work and returns; who calls them decides by the clock.
"""

from __future__ import annotations

import math
from typing import Any

from rebalancer.engines.local_search.kernels.chains import some_object
from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN
from rebalancer.engines.local_search.kernels.layout import C_VALUES, Z_ALIKE, Z_CONTAINERS, Z_OBJECTS
from rebalancer.engines.local_search.kernels.propagate import flush
from rebalancer.engines.local_search.kernels.scan import pair, rotate
from rebalancer.engines.local_search.kernels.trail import (
    M_NOW,
    NEVER,
    T_BLIND,
    T_GUESSES,
    T_HITS,
    T_LENGTH,
    T_REACH,
    back,
    draw,
    draw_share,
    full,
    go,
    judged,
    merit,
    outside,
)

#: Per cent of exchanges and ejections in walks that are of objects that weigh about the same.
_ALIKE = 50


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
            if a == b or outside(f, t, o, b) or outside(f, t, q, a):
                continue
            if _refused(t, rotate(f, o, q, a, allowed), allowed):
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
            if c == b or outside(f, t, o, b) or outside(f, t, q, c):
                continue
            if _refused(t, rotate(f, o, q, c, allowed), allowed):
                continue
            go(f, t, q, c)
            go(f, t, o, b)
        elif kind <= swaps + ejections + homes and draw(t, 2):  # home, from where another leaves for it
            b = f.home[o]
            q = some_object(f, t, b) if b != a and b < containers else -1
            if q < 0:
                continue
            c = a if draw(t, 2) else draw(t, containers)
            if c == b or outside(f, t, o, b) or outside(f, t, q, c):
                continue
            if _refused(t, rotate(f, o, q, c, allowed), allowed):
                continue
            go(f, t, o, b)
            go(f, t, q, c)
        else:
            b = f.home[o] if kind <= swaps + ejections + homes else draw(t, containers)
            if b == a or outside(f, t, o, b) or _refused(t, pair(f, o, b, allowed), allowed):
                continue
            go(f, t, o, b)
        if judged(f, t, length, allowed):
            t.numbers[T_HITS] += t.numbers[T_GUESSES] - guesses
    return steps


@inner
def _partner(f: Any, t: Any, o: int) -> int:
    """Return a random object that weighs about the same, or any where none is known."""
    n = f.sizes[Z_ALIKE]
    return int(f.alike[o * n + draw(t, n)]) if n else draw(t, f.sizes[Z_OBJECTS])


@inner
def _refused(t: Any, cost: float, allowed: float) -> bool:
    """Return whether a move is not even tried; now and then one is made to see what it really costs."""
    if cost <= allowed:
        return False
    if cost >= FORBIDDEN or draw(t, 100) >= t.numbers[T_BLIND]:
        return True
    t.numbers[T_GUESSES] += 1
    return False


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
