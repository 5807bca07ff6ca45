"""Ranks moves without making them: one object against a block of containers, and two objects at once.

What a move costs at the tallies is computed exactly, what follows from it by its slope (`slopes`). Bounds of tallies
count as they are; those of later cells show when the move is made.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import (
    beyond,
    coefficient,
    record,
    staged,
    target_cell,
    value,
    weight,
)
from rebalancer.engines.local_search.kernels.jit import FLOAT, INT, NOTHING, apart, inner
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN, lanes_cost, lanes_forbid
from rebalancer.engines.local_search.kernels.layout import (
    C_EXTREME,
    C_FLAT,
    C_HIGH,
    C_ITEM_OF,
    C_ITEMS,
    C_LOW,
    C_PIECE,
    C_PIECE_END,
    C_RANK,
    C_RISING,
    C_USE,
    C_USE_END,
    C_VALUES,
    C_WORDS,
    FLAT,
    P_BENT,
    P_TARGET,
    P_WIDTH,
    R_COLUMN,
    R_EXCEPTS,
    R_GROUP,
    R_WIDTH,
    UNKNOWN,
    Z_CONTAINERS,
    Z_LANES,
    Z_OBJECTS,
)
from rebalancer.engines.local_search.kernels.slopes import as_extreme, past_extremes, price, use_price
from rebalancer.engines.local_search.kernels.trail import TRAIL


@inner
def cell_cost(f: Any, k: int, g: int, s: int, old: int, new: int) -> float:
    """Return what it costs to change a tally's cell."""
    rec = record(f, k, g, s) if f.columns[k + C_WORDS] else 0
    cost = 0.0
    if f.columns[k + C_HIGH] >= 0 or f.columns[k + C_LOW] >= 0:
        was, now = beyond(f, k, rec, old), beyond(f, k, rec, new)
        if was != now:
            fine = f.penalty[k]
            if fine < FORBIDDEN:
                cost += fine * (now - was)
            elif now > was:
                return FORBIDDEN
    for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
        dy = staged(f, p, rec, new) - staged(f, p, rec, old)
        if dy and f.pieces[p + P_BENT]:
            cost += _bent(f, p, rec, g, s, dy)
        elif dy:
            cost += dy * price(f, p, rec, g, s)
            if f.columns[f.pieces[p + P_TARGET] + C_EXTREME]:
                cost += _compared(f, p, rec, g, s, dy)
    if f.columns[k + C_USE] < f.columns[k + C_USE_END]:
        cost += (new - old) * use_price(f, k, g, s, old)
        if f.columns[k + C_EXTREME]:
            cost += past_extremes(f, k, g * f.columns[k + C_ITEMS] + s, old, new)
    return cost


@apart(FLOAT, FLAT, INT, INT, INT, INT, INT)
def _bent(f: Any, p: int, rec: int, g: int, s: int, dy: int) -> float:
    """Return what it costs that a piece adds so much to the cell in the same place of a column whose functions bend.

    What others add at the same time is not known here. A bound that must hold shows when the move is made.
    """
    t, by = f.pieces[p + P_TARGET], coefficient(f, p, rec) * dy
    old = value(f, t, g, s)
    at, cost = record(f, t, g, s) if f.columns[t + C_WORDS] else 0, 0.0
    if (f.columns[t + C_HIGH] >= 0 or f.columns[t + C_LOW] >= 0) and f.penalty[t] < FORBIDDEN:
        cost += f.penalty[t] * (beyond(f, t, at, old + by) - beyond(f, t, at, old))
    for q in range(f.columns[t + C_PIECE], f.columns[t + C_PIECE_END], P_WIDTH):
        more = staged(f, q, at, old + by) - staged(f, q, at, old)
        if more:
            cost += more * price(f, q, at, g, s)
            if f.columns[f.pieces[q + P_TARGET] + C_EXTREME]:
                cost += _compared(f, q, at, g, s, more)
    return cost


@inner
def _compared(f: Any, p: int, rec: int, g: int, s: int, dy: int) -> float:
    """Return what it costs that a piece adds so much to a cell that others are compared with."""
    t, at = f.pieces[p + P_TARGET], target_cell(f, p, rec, g, s)
    if at < 0:
        return 0.0
    x, by = f.values[f.columns[t + C_VALUES] + at], coefficient(f, p, rec) * dy
    return by * as_extreme(f, t, at, x) + past_extremes(f, t, at, x, x + by)


@inner
def _only_costs(f: Any, k: int) -> bool:
    """Return whether nothing is gained at a tally as it is now, wherever an object goes."""
    if f.columns[k + C_USE] < f.columns[k + C_USE_END]:
        return False
    if f.columns[k + C_PIECE] == f.columns[k + C_PIECE_END]:
        return True
    return bool(f.columns[k + C_RISING] and f.paid[k] == 0 and f.paid[k + 1] == 0)


@inner
def _only_limits(f: Any, k: int) -> bool:
    """Return whether a tally has upper bounds that must hold, and nothing else: to have less there is free."""
    priced = f.columns[k + C_PIECE] < f.columns[k + C_PIECE_END] or f.columns[k + C_USE] < f.columns[k + C_USE_END]
    return bool(f.columns[k + C_LOW] < 0 and not priced and f.penalty[k] >= FORBIDDEN)


@apart(NOTHING, FLAT, TRAIL, INT, INT, FLOAT)
def block(f: Any, t: Any, o: int, n: int, worst: float) -> None:
    """Note what it costs to put an object into each of ``n`` containers; FORBIDDEN where a bound forbids it.

    Which ones is in the scratch ``to``, and that goes to ``cost``.

    Costs of more than ``worst`` may be left incomplete once nothing that follows can make them smaller.
    """
    to, cost = t.to, t.cost
    a, nobody, home = f.place[o], f.sizes[Z_OBJECTS], f.home[o]
    containers, hopeless = f.sizes[Z_CONTAINERS], worst + _spare(f, o) if worst < FORBIDDEN else FORBIDDEN
    open = f.sizes[Z_LANES] == 0
    if f.sizes[Z_LANES]:
        leave = lanes_cost(f, a, nobody, o)
        for i in range(n):
            b = to[i]
            cost[i] = 0.0
            if b != a:
                cost[i] = FORBIDDEN if lanes_forbid(f, b, o, nobody) else leave + lanes_cost(f, b, o, nobody)
                open = open or (cost[i] < FORBIDDEN and (cost[i] <= hopeless or b == home))
    else:
        for i in range(n):
            cost[i] = 0.0
    if not open:
        return
    for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
        k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
        base, excepts = f.columns[k + C_ITEM_OF], f.rows[r + R_EXCEPTS]
        flat = f.columns[k + C_FLAT] and not excepts
        only_costs = _only_costs(f, k)
        ia = f.maps[base + a]
        wa = weight(f, r, k, a)
        known, left, va = False, 0.0, 0
        for i in range(n):
            b = to[i]
            if cost[i] >= FORBIDDEN or (only_costs and cost[i] > worst) or (flat and a < containers > b):
                continue
            if cost[i] > hopeless and b != home:
                continue
            ib = f.maps[base + b]
            if ib == ia and (excepts == 0 or ia < 0):
                continue
            if not known and ia >= 0:
                known, va = True, value(f, k, g, ia)
                left = cell_cost(f, k, g, ia, va, va - wa) if wa else 0.0
            wb = weight(f, r, k, b) if excepts else wa
            if ib == ia:
                if wb != wa:
                    cost[i] += cell_cost(f, k, g, ia, va, va + wb - wa)
                continue
            if ia >= 0:
                cost[i] += left
            if ib >= 0 and wb:
                vb = value(f, k, g, ib)
                cost[i] += _entry(f, k, cell_cost(f, k, g, ib, vb, vb + wb), b == home)


@inner
def _entry(f: Any, k: int, cost: float, at_home: bool) -> float:
    """Return what it costs to come to a tally's cell, having noted that it is a gain, if so."""
    if cost < 0.0 and not at_home and f.paid[k + 2] == 0:
        f.paid[k + 2] = 1
        for o in range(f.sizes[Z_OBJECTS]):
            f.spare[o] = UNKNOWN
    return cost


@inner
def _spare(f: Any, o: int) -> float:
    """Return the most that an object can gain outside lanes wherever it goes but home, as far as is known.

    That is what it gains by leaving; infinity where somebody was seen to gain by coming. Lanes are a few reads, and the
    other memberships ten times as many, of which most are far away in memory.
    """
    if f.spare[o] == UNKNOWN:
        a, gain = f.place[o], 0.0
        for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
            k = f.rows[r + R_COLUMN]
            if f.paid[k + 2]:
                gain = FORBIDDEN
                break
            cost = cost_of(f, k, f.rows[r + R_GROUP], f.maps[f.columns[k + C_ITEM_OF] + a], -weight(f, r, k, a))
            gain += max(0.0, -cost)
        f.spare[o] = gain
    return float(f.spare[o])


@inner
def cost_of(f: Any, k: int, g: int, s: int, delta: int) -> float:
    """Return what it costs to add to a tally's cell."""
    if s < 0 or delta == 0:
        return 0.0
    v = value(f, k, g, s)
    return cell_cost(f, k, g, s, v, v + delta)


@apart(FLOAT, FLAT, INT)
def leaving(f: Any, o: int) -> float:
    """Return what it costs to take an object out of where it is, to another container that is not said."""
    a, cost = f.place[o], 0.0
    if f.sizes[Z_LANES]:
        cost += lanes_cost(f, a, f.sizes[Z_OBJECTS], o)
    inside = a < f.sizes[Z_CONTAINERS]
    for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
        k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
        if f.columns[k + C_FLAT] and inside and not f.rows[r + R_EXCEPTS]:
            continue  # it counts the same in any other container
        w = weight(f, r, k, a)
        if w < 0 or not _only_limits(f, k):
            cost += cost_of(f, k, g, f.maps[f.columns[k + C_ITEM_OF] + a], -w)
    return cost


@inner
def row_cost(f: Any, o: int, r: int, b: int) -> float:
    """Return what it costs at one of an object's memberships to put it into a container."""
    k, g, a = f.rows[r + R_COLUMN], f.rows[r + R_GROUP], f.place[o]
    base, excepts = f.columns[k + C_ITEM_OF], f.rows[r + R_EXCEPTS]
    ia, ib = f.maps[base + a], f.maps[base + b]
    if ib == ia and (excepts == 0 or ia < 0):
        return 0.0
    wa = weight(f, r, k, a)
    wb = weight(f, r, k, b) if excepts else wa
    if ia == ib:
        return cost_of(f, k, g, ia, wb - wa)
    cost = _entry(f, k, cost_of(f, k, g, ib, wb), b == f.home[o])
    return cost if cost >= FORBIDDEN else cost + cost_of(f, k, g, ia, -wa)


@apart(FLOAT, FLAT, INT, INT, FLOAT)
def pair(f: Any, o: int, b: int, worst: float) -> float:
    """Return what it costs to put an object into a container."""
    a, nobody = f.place[o], f.sizes[Z_OBJECTS]
    cost = 0.0
    if f.sizes[Z_LANES] and a != b:
        if lanes_forbid(f, b, o, nobody):
            return FORBIDDEN
        cost += lanes_cost(f, b, o, nobody) + lanes_cost(f, a, nobody, o)
        if cost > worst and b != f.home[o] and cost > worst + _spare(f, o):
            return cost
    for r in range(f.scan_rows[o], f.object_rows[o + 1], R_WIDTH):
        if cost > worst and _only_costs(f, f.rows[r + R_COLUMN]):
            continue
        cost += row_cost(f, o, r, b)
        if cost >= FORBIDDEN:
            return cost
    return cost


@inner
def _rotated_lanes(f: Any, o: int, q: int, a: int, b: int, c: int) -> float:
    """Return what it costs in lanes that ``o`` goes from ``a`` to ``b`` and ``q`` from there to ``c``."""
    nobody = f.sizes[Z_OBJECTS]
    leaves = o if a == c else nobody
    if a == b:
        o = leaves = nobody
    if b == c:
        q = nobody
    if lanes_forbid(f, b, o, q) or lanes_forbid(f, c, q, leaves):
        return FORBIDDEN
    cost = lanes_cost(f, b, o, q) + lanes_cost(f, c, q, leaves)
    if a != c:
        cost += lanes_cost(f, a, nobody, o)
    return cost


@inner
def _rotated_rows(f: Any, o: int, q: int, c: int, cost: float, worst: float) -> float:
    """Return a cost, and what it costs outside lanes that ``o`` goes to where ``q`` is, and that to ``c``."""
    a, b = f.place[o], f.place[q]
    i, j = f.scan_rows[o], f.scan_rows[q]
    i_end, j_end = f.object_rows[o + 1], f.object_rows[q + 1]
    while i < i_end or j < j_end:
        if i < i_end and j < j_end:
            k, other = f.rows[i + R_COLUMN], f.rows[j + R_COLUMN]
            order = f.columns[k + C_RANK] - f.columns[other + C_RANK]
            if order == 0:
                order = f.rows[i + R_GROUP] - f.rows[j + R_GROUP]
        else:
            order = -1 if i < i_end else 1
        r = i if order <= 0 else j
        k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
        if cost > worst and _only_costs(f, k):
            i += R_WIDTH if order <= 0 else 0
            j += R_WIDTH if order >= 0 else 0
            continue
        base = f.columns[k + C_ITEM_OF]
        ia, ib, ic = f.maps[base + a], f.maps[base + b], f.maps[base + c]
        at_a = at_b = at_c = 0
        if order <= 0:
            at_a -= weight(f, i, k, a)
            at_b += weight(f, i, k, b)
            i += R_WIDTH
        if order >= 0:
            at_b -= weight(f, j, k, b)
            at_c += weight(f, j, k, c)
            j += R_WIDTH
        if ic == ib:
            at_b += at_c
            at_c = 0
        if ia == ib:
            at_b += at_a
            at_a = 0
        elif ia == ic:
            at_c += at_a
            at_a = 0
        cost += cost_of(f, k, g, ib, at_b)
        if cost < FORBIDDEN:
            cost += cost_of(f, k, g, ic, at_c)
        if cost < FORBIDDEN:
            cost += cost_of(f, k, g, ia, at_a)
        if cost >= FORBIDDEN:
            return cost
    return cost


@apart(FLOAT, FLAT, INT, INT, INT, FLOAT)
def rotate(f: Any, o: int, q: int, c: int, worst: float) -> float:
    """Return what it costs to put object ``o`` where ``q`` is, and ``q`` into container ``c``.

    An exchange, where ``o`` is in ``c``.
    """
    a, b, cost = f.place[o], f.place[q], 0.0
    if f.sizes[Z_LANES]:
        cost = _rotated_lanes(f, o, q, a, b, c)
        if cost >= FORBIDDEN:
            return cost
        if cost > worst and b != f.home[o] and c != f.home[q] and cost > worst + _spare(f, o) + _spare(f, q):
            return cost
    return _rotated_rows(f, o, q, c, cost, worst)


@apart(FLOAT, FLAT, INT, INT)
def exchange_rows(f: Any, o: int, q: int) -> float:
    """Return what it costs outside lanes that two objects change places."""
    return _rotated_rows(f, o, q, f.place[o], 0.0, FORBIDDEN)
