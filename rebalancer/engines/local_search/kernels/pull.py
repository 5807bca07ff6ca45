"""To where objects are drawn: few containers of thousands, so that a sample of all of them rarely has one.

Lists tell where an object weighs something unusual, where limits are unusual, and where others of its group are.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import value, weight
from rebalancer.engines.local_search.kernels.chains import some_object
from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN
from rebalancer.engines.local_search.kernels.layout import (
    C_COMMON,
    C_CONDITION,
    C_EXTREME,
    C_GROUPS,
    C_HASH,
    C_INSIDE,
    C_ITEM_OF,
    C_ITEMS,
    C_LOW,
    C_MEETS,
    C_PIECE,
    C_PIECE_END,
    C_RISING,
    C_SIZE,
    C_SPECIAL,
    C_USE,
    C_USE_END,
    C_VALUES,
    C_WIDTH,
    C_WISH,
    C_WITHIN,
    P_TARGET,
    P_WIDTH,
    R_COLUMN,
    R_EXCEPT,
    R_EXCEPTS,
    R_GROUP,
    R_WIDTH,
    X_OUTPUT,
    Z_COLUMNS,
    Z_OBJECTS,
)
from rebalancer.engines.local_search.kernels.scan import block, cell_cost, cost_of, rotate
from rebalancer.engines.local_search.kernels.trail import T_LENGTH, T_REACH, WIDEST, draw, full, go, judged

#: An item is special where no more than one of so many is like it. What has not been asked yet.
_SPECIAL, _UNKNOWN = 8, -2
#: Items that each membership of an object tells of, and containers of one of these.
_ITEMS, _EACH = 16, 4
#: Objects of a container without room that may have to leave.
_LOOKS = 6
#: How many looks at a container all of it takes as long as, about.
PULL = 60


@kernel
def drawn(f: Any, t: Any, out: Any) -> None:
    """Note which objects may be drawn to some containers, and where it costs least that one more of each group comes.

    Parameters
    ----------
    out : bool array (objects,)
    """
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH, C_WIDTH):
        f.paid[k + 3] = f.columns[k + C_ITEM_OF] >= 0 and _may_draw(f, k)
        for g in range(f.columns[k + C_GROUPS] if f.columns[k + C_WISH] >= 0 else 0):
            f.wish[f.columns[k + C_WISH] + g] = _UNKNOWN
    for o in range(f.sizes[Z_OBJECTS]):
        out[o] = False
        for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
            k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
            if not f.paid[k + 3]:
                continue
            if f.columns[k + C_WITHIN] >= 0 and f.rows[r + R_EXCEPTS]:
                out[o] = True
            elif f.columns[k + C_INSIDE] >= 0:
                at = f.columns[k + C_SPECIAL]
                special = f.columns[k + C_COMMON] >= 0 or (at >= 0 and f.maps[at + g] < f.maps[at + g + 1])
                out[o] = special or f.columns[k + C_MEETS] > 0 or _may_wish(f, t, o, r)
            if out[o]:
                break


@kernel
def pull(f: Any, t: Any, order: Any, first: int, last: int, rooms: int, least: float) -> int:
    """Move some objects to where they are drawn wherever that gains ``least``, also if somebody has to make room.

    Parameters
    ----------
    order : int32 array
        Objects.
    rooms : int
        How many containers without room are looked at.

    Returns
    -------
    int
        Where in ``order`` it stopped: ``last``, or earlier because the log is full.
    """
    for at in range(first, last):
        if full(t, 4):
            return at
        o = order[at]
        n = _places(f, t, o)
        if n == 0:
            continue
        block(f, t, o, n, FORBIDDEN)
        best, cost = -1, -least
        for i in range(n):
            if t.to[i] != f.place[o] and t.cost[i] < cost:
                best, cost = t.to[i], t.cost[i]
        length = t.numbers[T_LENGTH]
        if best >= 0:
            go(f, t, o, best)
            if judged(f, t, length, -least):
                continue
        _make_room(f, t, o, n, rooms, least)
    return last


@inner
def _make_room(f: Any, t: Any, o: int, n: int, rooms: int, least: float) -> None:
    """Move an object to one of the first ``n`` containers that were listed, and another one out of there."""
    a, cost = f.place[o], -least
    leaves, to = -1, -1
    for _ in range(rooms):
        b = t.to[draw(t, n)]
        for look in range(_LOOKS if b != a else 0):
            q = some_object(f, t, b)
            if q < 0:
                break
            c = a if look % 3 == 0 else f.home[q] if look % 3 == 1 else draw(t, t.numbers[T_REACH])
            if c == b:
                continue
            price = rotate(f, o, q, c, FORBIDDEN)  # in full: that coming there is a gain need not be known yet
            if price < cost:
                leaves, to, cost = q, c, price
    if leaves >= 0:
        length = t.numbers[T_LENGTH]
        b = f.place[leaves]
        go(f, t, leaves, to)
        go(f, t, o, b)
        judged(f, t, length, -least)


@inner
def _may_draw(f: Any, k: int) -> bool:
    """Return whether anything has a price that depends on a tally's cells, other than bounds that must hold."""
    if f.columns[k + C_LOW] >= 0 and f.penalty[k] < FORBIDDEN:
        return True
    for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
        if _has_price(f, f.pieces[p + P_TARGET]):
            return True
    for i in range(f.columns[k + C_USE], f.columns[k + C_USE_END]):
        if _has_price(f, f.specials[f.uses[i] + X_OUTPUT]):
            return True
    return False


@inner
def _has_price(f: Any, k: int) -> bool:
    """Return whether some cell of a column has a price, as far as is known."""
    first = f.columns[k + C_VALUES]
    if first < 0 or f.columns[k + C_EXTREME]:
        return True
    priced = 0
    for i in range(first, first + f.columns[k + C_SIZE]):
        priced += f.gradient[i] != 0.0
    return priced > 0


@inner
def _may_wish(f: Any, t: Any, o: int, r: int) -> bool:
    """Return whether an object may wish to be in some item; for certain, if that is quickly said."""
    if f.columns[f.rows[r + R_COLUMN] + C_VALUES] < 0:
        return _gains(f, o, r)
    return _wish(f, t, o, r) >= 0


@inner
def _gains(f: Any, o: int, r: int) -> bool:
    """Return whether an object gains at one of its memberships by leaving."""
    k, a = f.rows[r + R_COLUMN], f.place[o]
    return cost_of(f, k, f.rows[r + R_GROUP], f.maps[f.columns[k + C_ITEM_OF] + a], -weight(f, r, k, a)) < 0.0


@inner
def _wish(f: Any, t: Any, o: int, r: int) -> int:
    """Return the item where it costs least that one like an object of a group comes; -1 if that is nowhere special.

    A random one of several; found once for all objects of the group. Where groups have hash rows, there are many that
    nothing depends on: only who gains by leaving has a wish.
    """
    k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
    if f.columns[k + C_WISH] < 0 or (f.columns[k + C_VALUES] < 0 and not _gains(f, o, r)):
        return -1
    at = f.columns[k + C_WISH] + g
    if f.wish[at] == _UNKNOWN:
        items, w = f.columns[k + C_ITEMS], f.weights[r // R_WIDTH]
        item, lowest, several = -1, FORBIDDEN, 0
        for s in range(items):
            x = value(f, k, g, s)
            cost = cell_cost(f, k, g, s, x, x + w)
            if cost < lowest:
                item, lowest, several = s, cost, 1
            elif cost == lowest and several:
                several += 1
                if draw(t, several) == 0:
                    item = s
        f.wish[at] = item if several * _SPECIAL <= items else -1
    return int(f.wish[at])


@inner
def _places(f: Any, t: Any, o: int) -> int:
    """List containers that an object may be drawn to in the scratch ``to``; return how many there are."""
    n = 0
    for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
        k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
        if not f.paid[k + 3]:
            continue
        if f.columns[k + C_WITHIN] >= 0:
            n = _exceptions(f, t, o, r, n)
        if f.columns[k + C_INSIDE] >= 0:
            n = _specials(f, t, k, g, n)
            n = add_some(f, t, f.columns[k + C_INSIDE], _wish(f, t, o, r), n, _EACH)
            if f.columns[k + C_MEETS]:
                n = _mates(f, t, k, g, n)
    return n


@inner
def _exceptions(f: Any, t: Any, o: int, r: int, n: int) -> int:
    """List containers where an object weighs something exceptional, beside ``n`` others; return how many there are."""
    k, first, count = f.rows[r + R_COLUMN], f.rows[r + R_EXCEPT], f.rows[r + R_EXCEPTS]
    here = f.maps[f.columns[k + C_CONDITION] + f.place[o]]
    lighter = f.columns[k + C_RISING] and f.paid[k + 1] == 0  # then more is never better
    begin = draw(t, count) if count > _ITEMS else 0
    for i in range(min(count, _ITEMS)):
        at = first + (begin + i) % count
        if f.except_item[at] != here and not (lighter and f.except_weight[at] >= f.weights[r // R_WIDTH]):
            n = add_some(f, t, f.columns[k + C_WITHIN], f.except_item[at], n, _EACH)
    return n


@inner
def _specials(f: Any, t: Any, k: int, g: int, n: int) -> int:
    """List containers of items that have unusual records."""
    at, groups = f.columns[k + C_SPECIAL], f.columns[k + C_GROUPS]
    if at >= 0:
        n = _some_of(f, t, k, at + groups + 1 + f.maps[at + g], f.maps[at + g + 1] - f.maps[at + g], n)
    at = f.columns[k + C_COMMON]
    return _some_of(f, t, k, at + 1, f.maps[at], n) if at >= 0 else n


@inner
def _some_of(f: Any, t: Any, k: int, first: int, count: int, n: int) -> int:
    """List containers of some items, of those that stand from ``first`` on."""
    begin = draw(t, count) if count > _ITEMS else 0
    for i in range(min(count, _ITEMS)):
        n = add_some(f, t, f.columns[k + C_INSIDE], f.maps[first + (begin + i) % count], n, _EACH)
    return n


@inner
def _mates(f: Any, t: Any, k: int, g: int, n: int) -> int:
    """List containers of items that others of a group are in."""
    items, base, left = f.columns[k + C_ITEMS], f.columns[k + C_VALUES], _ITEMS
    h = f.columns[k + C_HASH] + g
    start = base + g * items if base >= 0 else f.hash_rows[h]
    size = items if base >= 0 else f.hash_rows[h + 1] - start
    begin = draw(t, size)
    for i in range(size):
        at = (begin + i) % size
        if (f.values[start + at] if base >= 0 else f.hash_value[start + at]) == 0:
            continue
        item = at if base >= 0 or size == items else f.hash_key[start + at]
        n = add_some(f, t, f.columns[k + C_INSIDE], item, n, _EACH)
        left -= 1
        if left == 0:
            break
    return n


@inner
def add_some(f: Any, t: Any, at: int, item: int, n: int, most: int) -> int:
    """List at most so many containers of an item in the scratch ``to``, beside ``n`` others; return how many there are.

    Parameters
    ----------
    at : int
        Where in ``maps`` it says which containers are in each item.
    """
    items = f.maps[at]
    if item < 0 or item >= items:
        return n
    first, count = f.maps[at + 1 + item], f.maps[at + 2 + item] - f.maps[at + 1 + item]
    for i in range(min(count, most, WIDEST - n)):
        t.to[n] = f.maps[at + 2 + items + first + (i if count <= most else draw(t, count))]
        n += 1
    return n
