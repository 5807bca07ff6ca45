"""Whole groups at once: for what pays only when it is complete, so that no single move leads there."""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN
from rebalancer.engines.local_search.kernels.layout import (
    C_INSIDE,
    C_ITEM_OF,
    C_MEETS,
    R_COLUMN,
    R_WIDTH,
    Z_CONTAINERS,
)
from rebalancer.engines.local_search.kernels.pull import add_some
from rebalancer.engines.local_search.kernels.scan import block
from rebalancer.engines.local_search.kernels.trail import T_LENGTH, T_REACH, draw, full, go, judged

#: Where the objects of a group go: each to the best of some containers, or home, all to one container, out of all of
#: them, or each to the best of some in the item that one of them is in.
_APART, _HOME, _TOGETHER, _OUT, _GATHERED = range(5)


@kernel
def move_teams(f: Any, t: Any, starts: Any, members: Any, tries: int, width: int, allowed: float) -> int:
    """Move all objects of a group at once, and keep that if it costs at most ``allowed``.

    Parameters
    ----------
    starts, members : int64 and int32 arrays
        Where the objects of each group begin in ``members``, and they.

    Returns
    -------
    int
        Groups tried; fewer than ``tries`` where the log is full.
    """
    groups, reach, containers = len(starts) - 1, t.numbers[T_REACH], f.sizes[Z_CONTAINERS]
    for turn in range(tries):
        g = draw(t, groups)
        first, last = starts[g], starts[g + 1]
        if full(t, last - first + 1):
            return turn
        length = t.numbers[T_LENGTH]
        kind, together = draw(t, 5), draw(t, reach)
        row = -1
        if kind == _OUT:
            together = containers
            if reach == together:
                kind = _HOME
        elif kind == _GATHERED:
            together = f.place[members[first + draw(t, last - first)]]
            row = _meeting(f, t, members[first])
        for i in range(first, last):
            o = members[i]
            b = together
            if kind == _HOME:
                b = f.home[o]
            elif kind == _APART:
                for n in range(width):
                    t.to[n] = draw(t, reach)
                b = _best(f, t, o, width)
            elif row >= 0 and together < containers:
                k = f.rows[row + R_COLUMN]
                item = f.maps[f.columns[k + C_ITEM_OF] + together]
                if item < 0 or f.maps[f.columns[k + C_ITEM_OF] + f.place[o]] == item:
                    continue
                b = _best(f, t, o, add_some(f, t, f.columns[k + C_INSIDE], item, 0, width))
            if b != f.place[o]:
                go(f, t, o, b)
        if t.numbers[T_LENGTH] > length:
            judged(f, t, length, allowed)
    return tries


@inner
def _best(f: Any, t: Any, o: int, n: int) -> int:
    """Return the best of ``n`` listed containers for an object that is not there; where it is if none is allowed."""
    block(f, t, o, n, FORBIDDEN)
    best = -1
    for i in range(n):
        if t.to[i] != f.place[o] and t.cost[i] < FORBIDDEN and (best < 0 or t.cost[i] < t.cost[best]):
            best = i
    return int(t.to[best] if best >= 0 else f.place[o])


@inner
def _meeting(f: Any, t: Any, o: int) -> int:
    """Return a random membership of an object in a group whose objects may want to meet; -1 if there is none."""
    found, row = 0, -1
    for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
        k = f.rows[r + R_COLUMN]
        if f.columns[k + C_INSIDE] >= 0 and f.columns[k + C_MEETS]:
            found += 1
            if draw(t, found) == 0:
                row = r
    return row
