"""The exact kernels: what changes in every cell when an object moves.

A move is a few changes of tallies. A change of a cell is followed through the pieces and specials that read it;
columns of one cell wait until the move is complete. Undoing a move is making the opposite one.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import (
    beyond,
    coefficient,
    increase,
    push,
    record,
    staged,
    target_cell,
    weight,
    weights_at,
)
from rebalancer.engines.local_search.kernels.jit import INT, NOTHING, apart, inner, kernel
from rebalancer.engines.local_search.kernels.layout import (
    C_ENDS,
    C_GROUPS,
    C_HIGH,
    C_ITEM_OF,
    C_ITEMS,
    C_LANE,
    C_LANE_END,
    C_LOW,
    C_PIECE,
    C_PIECE_END,
    C_PLAIN,
    C_RISING,
    C_USE,
    C_USE_END,
    C_VALUES,
    C_WORDS,
    E_ALPHA,
    E_COEF,
    E_CONST,
    E_FLOOR,
    E_HIGH,
    E_WIDTH,
    F_HINGE,
    FLAT,
    L_WIDTH,
    N_APPLIED,
    N_BROKEN,
    P_COEF,
    P_FAN,
    P_SINGLE,
    P_SOURCE,
    P_SPREAD,
    P_SPREAD_COEF,
    P_STAGE,
    P_STAGE_END,
    P_SUM,
    P_TARGET,
    P_WIDTH,
    R_COLUMN,
    R_EXCEPTS,
    R_GROUP,
    R_WIDTH,
    S_ALPHA,
    S_ALPHA_WORD,
    S_CONST,
    S_CONST_WORD,
    S_DIVISOR,
    S_FUNCTION,
    S_WIDTH,
    UNKNOWN,
    Y_COLUMN,
    Y_TARGET,
    Y_VALUES,
    Z_CONTAINERS,
    Z_HEAD,
    Z_LANES,
    Z_PLAIN,
    Z_SINGLES,
)
from rebalancer.engines.local_search.kernels.specials import special


@apart(NOTHING, FLAT, INT, INT, INT, INT, INT)
def change(f: Any, k: int, g: int, s: int, delta: int, within: int) -> None:
    """Add to a cell, and to everything that depends on it; cells that stand alone have it noted as pending.

    Parameters
    ----------
    within : int
        1: another item of its group has the opposite change, so sums over all items stay what they are.
    """
    stack = f.stack
    stack[0], stack[1], stack[2], stack[3] = k, g, s, delta
    n = 4
    while n:
        n -= 4
        k, g, s, delta = stack[n], stack[n + 1], stack[n + 2], stack[n + 3]
        if delta == 0:
            continue
        old = increase(f, k, g, s, delta)
        new = old + delta
        if f.columns[k + C_LANE] >= 0:
            for lane in range(f.columns[k + C_LANE], f.columns[k + C_LANE_END]):
                f.lanes[s * L_WIDTH * f.sizes[Z_LANES] + lane] += delta  # L_VALUE is the first
        rec = record(f, k, g, s) if f.columns[k + C_WORDS] else 0
        if f.columns[k + C_HIGH] >= 0 or f.columns[k + C_LOW] >= 0:
            was, now = beyond(f, k, rec, old), beyond(f, k, rec, new)
            if was != now:
                f.broken[k] += now - was
                f.counts[N_BROKEN] += (1 if now else 0) - (1 if was else 0)
        was_paid = is_paid = 0
        for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
            before, after = staged(f, p, rec, old), staged(f, p, rec, new)
            was_paid, is_paid = was_paid | (before != 0), is_paid | (after != 0)
            dy = after - before
            if dy == 0 or (within and f.pieces[p + P_SUM]):
                continue
            t = f.pieces[p + P_TARGET]
            if f.pieces[p + P_SPREAD]:
                n = _spread(f, p, t, g, s, dy, n)
                continue
            cell = target_cell(f, p, rec, g, s)
            if cell < 0:
                continue
            dy *= coefficient(f, p, rec)
            if f.pieces[p + P_SINGLE]:
                f.pending[t] += dy * (f.maps[cell] if f.pieces[p + P_FAN] else 1)
            elif f.pieces[p + P_FAN]:
                for i in range(cell + 1, cell + 1 + f.maps[cell]):
                    n = push(f, n, t, f.maps[i] // f.columns[t + C_ITEMS], f.maps[i] % f.columns[t + C_ITEMS], dy)
            else:
                items = f.columns[t + C_ITEMS]
                n = push(f, n, t, cell // items, cell % items, dy)
        if f.columns[k + C_RISING]:
            f.paid[k] += (is_paid if new else 0) - (was_paid if old else 0)
        for u in range(f.columns[k + C_USE], f.columns[k + C_USE_END]):
            n = special(f, f.uses[u], k, g, s, old, new, n)
        within = 0


@inner
def _spread(f: Any, p: int, t: int, g: int, s: int, dy: int, n: int) -> int:
    groups, items = f.columns[t + C_GROUPS], f.columns[t + C_ITEMS]
    how = f.pieces[p + P_SPREAD]
    first_g, last_g = (0, groups) if how & 1 else (g, g + 1)
    first_s, last_s = (0, items) if how & 2 else (s, s + 1)
    base = f.pieces[p + P_SPREAD_COEF]
    if f.columns[t + C_ENDS]:
        for tg in range(first_g, last_g):
            _end(f, t, tg, first_s, last_s, base + tg * items, dy)
        return n
    for tg in range(first_g, last_g):
        for ts in range(first_s, last_s):
            n = push(f, n, t, tg, ts, dy * f.spread[base + tg * items + ts])
    return n


@inner
def _end(f: Any, k: int, g: int, first: int, last: int, base: int, dy: int) -> None:
    """Add to some cells of a group from which everything goes to single cells: what `change` does, in one loop."""
    values, words = f.columns[k + C_VALUES] + g * f.columns[k + C_ITEMS], f.columns[k + C_WORDS]
    for s in range(first, last):
        old = f.values[values + s]
        new = old + dy * f.spread[base + s]
        f.values[values + s] = new
        rec = record(f, k, g, s) if words else 0
        for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
            if _both_below(f, p, old, new):
                continue
            more = staged(f, p, rec, new) - staged(f, p, rec, old)
            f.pending[f.pieces[p + P_TARGET]] += more * coefficient(f, p, rec)


@inner
def _both_below(f: Any, p: int, old: int, new: int) -> bool:
    """Return whether a piece is a hinge, the same for all cells, that is known to be 0 at two values."""
    t = f.pieces[p + P_STAGE]
    if t == f.pieces[p + P_STAGE_END] or f.stages[t + S_FUNCTION] != F_HINGE:
        return False
    if f.stages[t + S_ALPHA_WORD] >= 0 or f.stages[t + S_CONST_WORD] >= 0:
        return False
    alpha, const = f.stages[t + S_ALPHA], f.stages[t + S_CONST]
    return bool(alpha * old + const <= 0 >= alpha * new + const)


@inner
def _count(f: Any, o: int, s: int, sign: int) -> None:
    """Add an object to plain tallies in a container, or take it away: what `change` does, one lane after the other."""
    n, lanes, inside = f.sizes[Z_PLAIN], f.sizes[Z_LANES], s < f.sizes[Z_CONTAINERS]
    first, known, ranked = weights_at(f, o, s), s * n * E_WIDTH, s * lanes * L_WIDTH
    for i in range(n):
        delta = sign * int(f.lane_weight[first + i])
        if delta == 0 or not (inside or s < f.columns[f.plain[Y_COLUMN * n + i] + C_ITEMS]):
            continue
        at = known + i
        old = f.exact[at]  # E_VALUE is the first, and so is L_VALUE
        new = old + delta
        f.exact[at] = f.values[f.plain[Y_VALUES * n + i] + s] = new
        f.lanes[ranked + i] += delta
        high = f.exact[at + E_HIGH * n]
        was, now = max(0, old - high), max(0, new - high)
        if was != now:
            f.broken[f.plain[Y_COLUMN * n + i]] += now - was
            f.counts[N_BROKEN] += (1 if now else 0) - (1 if was else 0)
        alpha, const, floor = f.exact[at + E_ALPHA * n], f.exact[at + E_CONST * n], f.exact[at + E_FLOOR * n]
        more = max(floor, alpha * new + const) - max(floor, alpha * old + const)
        f.pending[f.plain[Y_TARGET * n + i]] += more * f.exact[at + E_COEF * n]


@apart(NOTHING, FLAT, INT, INT)
def shift(f: Any, o: int, b: int) -> None:
    """Put an object into container ``b``; single cells learn of it in `flush`."""
    a = f.place[o]
    if f.sizes[Z_PLAIN]:
        _count(f, o, a, -1)
        _count(f, o, b, 1)
    for r in range(f.loose_rows[o], f.object_rows[o + 1], R_WIDTH):
        k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
        base = f.columns[k + C_ITEM_OF]
        ia, ib = f.maps[base + a], f.maps[base + b]
        if ia == ib and (f.rows[r + R_EXCEPTS] == 0 or ia < 0):
            continue
        wa, wb = weight(f, r, k, a), weight(f, r, k, b)
        if ia == ib:
            if wa != wb:
                change(f, k, g, ia, wb - wa, 0)
        else:
            within = int(ia >= 0 and ib >= 0 and wa == wb)
            if ia >= 0 and wa != 0:
                change(f, k, g, ia, -wa, within)
            if ib >= 0 and wb != 0:
                change(f, k, g, ib, wb, within)
    before, after = f.before[o], f.after[o]
    if before < 0:
        f.first[a] = after
    else:
        f.after[before] = after
    if after >= 0:
        f.before[after] = before
    head = f.first[b]
    f.first[b], f.after[o], f.before[o] = o, head, -1 - b
    if head >= 0:
        f.before[head] = o
    f.load[a] -= 1
    f.load[b] += 1
    f.place[o], f.spare[o] = b, UNKNOWN
    f.counts[N_APPLIED] += 1


@inner
def flush(f: Any) -> None:
    """Let single cells take in what is pending, in order."""
    for i in range(f.sizes[Z_SINGLES]):
        k = f.singles[i]
        delta = f.pending[k]
        if delta:
            f.pending[k] = 0
            if f.columns[k + C_PLAIN]:
                f.values[f.columns[k + C_VALUES]] += delta
                for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
                    f.pending[f.pieces[p + P_TARGET]] += delta * f.pieces[p + P_COEF]
            else:
                change(f, k, 0, 0, delta, 0)


@kernel
def move(f: Any, o: int, b: int) -> None:
    """Put an object into container ``b``."""
    shift(f, o, b)
    flush(f)


@kernel
def objective(f: Any, position: int) -> tuple[int, float]:
    """Return the objective of a tuple position, as `integer` and as `fine` have it."""
    return integer(f, position), fine(f, position)


@inner
def integer(f: Any, position: int) -> int:
    """Return the integer objective of a tuple position."""
    return int(f.values[f.columns[f.objectives[position] + C_VALUES]])


@inner
def fine(f: Any, position: int) -> float:
    """Return the objective of a tuple position without the rounding of what it adds up."""
    total = float(integer(f, position))
    for i in range(f.sizes[Z_HEAD]):
        if f.head[2 * i + 1] == position:
            p = f.head[2 * i]
            known = f.values[f.columns[f.pieces[p + P_SOURCE] + C_VALUES]]
            x, y = float(known), staged(f, p, 0, known)
            for t in range(f.pieces[p + P_STAGE], f.pieces[p + P_STAGE_END], S_WIDTH):
                x = (f.stages[t + S_ALPHA] * x + f.stages[t + S_CONST]) / f.stages[t + S_DIVISOR]
            total += f.head_weight[i] * (x - y)
    return total
