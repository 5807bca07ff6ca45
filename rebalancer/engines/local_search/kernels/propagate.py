"""The exact kernels: what changes in every cell when an object moves.

A move is a few changes of tallies. A change of a cell is followed through the pieces and specials that read it;
columns of one cell wait until the move is complete. Undoing a move is making the opposite one.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.jit import INT, NOTHING, apart, kernel
from rebalancer.engines.local_search.kernels.layout import (
    C_CLASS,
    C_CONDITION,
    C_EXCEPT,
    C_GROUPS,
    C_HASH,
    C_HIGH,
    C_ITEM_OF,
    C_ITEMS,
    C_LANE,
    C_LANE_END,
    C_LOW,
    C_PIECE,
    C_PIECE_END,
    C_RECORDS,
    C_RISING,
    C_ROW_STEP,
    C_USE,
    C_USE_END,
    C_VALUES,
    C_WIDTH,
    C_WORDS,
    F_CEIL,
    F_HINGE,
    F_MOD,
    F_ROUND,
    F_SQUARE,
    F_STEP,
    FLAT,
    K_LARGEST_OF,
    K_MAX,
    K_MIN,
    K_PRODUCT,
    K_RATIO,
    K_REST,
    K_SMALLEST_OF,
    L_WIDTH,
    N_APPLIED,
    N_BROKEN,
    P_COEF,
    P_COEF_WORD,
    P_FAN,
    P_GROUP,
    P_GROUP_MAP,
    P_INDEX_WORD,
    P_ITEM,
    P_ITEM_MAP,
    P_SINGLE,
    P_SOURCE,
    P_SPREAD,
    P_SPREAD_COEF,
    P_STAGE,
    P_STAGE_END,
    P_TARGET,
    P_WIDTH,
    R_COLUMN,
    R_EXCEPT,
    R_EXCEPTS,
    R_GROUP,
    R_WIDTH,
    S_ALPHA,
    S_ALPHA_WORD,
    S_CONST,
    S_CONST_WORD,
    S_DIVISOR,
    S_DIVISOR_WORD,
    S_FUNCTION,
    S_WIDTH,
    UNKNOWN,
    X_INPUTS,
    X_INPUTS_END,
    X_KIND,
    X_NUMBER,
    X_OUTPUT,
    X_PLACE,
    X_TREES,
    Z_COLUMNS,
    Z_HEAD,
    Z_LANES,
    Z_OBJECTS,
    Z_SINGLES,
)

# -- one cell -------------------------------------------------------------------------------------------------------


@kernel
def record(f: Any, k: int, g: int, s: int) -> int:
    """Return where the record of a cell begins."""
    col = f.columns
    e = col[k + C_EXCEPT]
    if e >= 0:
        for i in range(f.maps[e + 2 + g], f.maps[e + 3 + g]):
            if f.maps[f.maps[e] + i] == s:
                return int(f.maps[e + 1] + i * col[k + C_WORDS])
    at = col[k + C_RECORDS] + g * col[k + C_ROW_STEP]
    c = col[k + C_CLASS]
    if c >= 0:
        return int(at + f.maps[c + s])
    if c == -2:
        return int(at + s * col[k + C_WORDS])
    return int(at)


@kernel
def slot_of(f: Any, k: int, g: int, s: int) -> int:
    """Return the slot of a cell in its hash row: its own, or the free one where it would be."""
    h = f.columns[k + C_HASH] + g
    start, size = f.hash_rows[h], f.hash_rows[h + 1] - f.hash_rows[h]
    if size == f.columns[k + C_ITEMS]:
        return int(start + s)
    at = (s * 40503) & (size - 1)
    while f.hash_key[start + at] != s and f.hash_key[start + at] >= 0:
        at = (at + 1) & (size - 1)
    return int(start + at)


@kernel
def value(f: Any, k: int, g: int, s: int) -> int:
    """Return the value of a cell."""
    base = f.columns[k + C_VALUES]
    if base >= 0:
        return int(f.values[base + g * f.columns[k + C_ITEMS] + s])
    slot = slot_of(f, k, g, s)
    return int(f.hash_value[slot])


@kernel
def increase(f: Any, k: int, g: int, s: int, delta: int) -> int:
    """Add to a cell; return its value before."""
    base = f.columns[k + C_VALUES]
    if base >= 0:
        at = base + g * f.columns[k + C_ITEMS] + s
        old = f.values[at]
        f.values[at] = old + delta
        return int(old)
    slot = slot_of(f, k, g, s)
    old = f.hash_value[slot]
    f.hash_value[slot] = old + delta
    h = f.columns[k + C_HASH] + g
    start, size = f.hash_rows[h], f.hash_rows[h + 1] - f.hash_rows[h]
    if size == f.columns[k + C_ITEMS]:
        return int(old)
    f.hash_key[slot] = s
    if old + delta == 0:  # free the slot, and let those that were pushed past it move up
        hole = slot - start
        at = (hole + 1) & (size - 1)
        while f.hash_key[start + at] >= 0:
            wanted = (f.hash_key[start + at] * 40503) & (size - 1)
            if ((at - wanted) & (size - 1)) >= ((at - hole) & (size - 1)):
                f.hash_key[start + hole] = f.hash_key[start + at]
                f.hash_value[start + hole] = f.hash_value[start + at]
                hole = at
            at = (at + 1) & (size - 1)
        f.hash_key[start + hole] = -1
        f.hash_value[start + hole] = 0
    return int(old)


@kernel
def weight(f: Any, r: int, k: int, c: int) -> int:
    """Return what a membership weighs if its object is in a container."""
    n = f.rows[r + R_EXCEPTS]
    if n:
        item = f.maps[f.columns[k + C_CONDITION] + c]
        first = f.rows[r + R_EXCEPT]
        if n <= 8:
            for i in range(first, first + n):
                if f.except_item[i] == item:
                    return int(f.except_weight[i])
        else:
            low, high = first, first + n
            while low < high:
                middle = (low + high) >> 1
                if f.except_item[middle] < item:
                    low = middle + 1
                else:
                    high = middle
            if low < first + n and f.except_item[low] == item:
                return int(f.except_weight[low])
    return int(f.weights[r // R_WIDTH])


@kernel
def beyond(f: Any, k: int, rec: int, v: int) -> int:
    """Return how far a value is beyond the bounds of its cell."""
    high, low = f.columns[k + C_HIGH], f.columns[k + C_LOW]
    if high >= 0 and v > f.words[rec + high]:
        return int(v - f.words[rec + high])
    if low >= 0 and v < f.words[rec + low]:
        return int(f.words[rec + low] - v)
    return 0


@kernel
def staged(f: Any, p: int, rec: int, x: int) -> int:
    """Return what a piece makes of a value."""
    y = x
    for t in range(f.pieces[p + P_STAGE], f.pieces[p + P_STAGE_END], S_WIDTH):
        w = f.stages[t + S_ALPHA_WORD]
        a = f.words[rec + w] if w >= 0 else f.stages[t + S_ALPHA]
        w = f.stages[t + S_CONST_WORD]
        c = f.words[rec + w] if w >= 0 else f.stages[t + S_CONST]
        y = a * y + c
        function = f.stages[t + S_FUNCTION]
        if function == F_HINGE:
            if y < 0:
                y = 0
        elif function == F_STEP:
            y = 1 if y > 0 else 0
        else:
            w = f.stages[t + S_DIVISOR_WORD]
            d = f.words[rec + w] if w >= 0 else f.stages[t + S_DIVISOR]
            if function == F_SQUARE:
                y = (y * y + d // 2) // d
            elif function == F_CEIL:
                y = -((-y) // d)
            elif function == F_MOD:
                y = y % d
            elif function == F_ROUND:
                y = (y + d // 2) // d
    return int(y)


@kernel
def coefficient(f: Any, p: int, rec: int) -> int:
    """Return the coefficient of a piece that does not spread."""
    w = f.pieces[p + P_COEF_WORD]
    return int(f.words[rec + w]) if w >= 0 else int(f.pieces[p + P_COEF])


@kernel
def target_cell(f: Any, p: int, rec: int, g: int, s: int) -> int:
    """Return the cell of its target to which a piece contributes, -1 for none; where its fan stands, if it has one.

    Not of pieces that spread.
    """
    w = f.pieces[p + P_INDEX_WORD]
    if w >= 0:
        return int(f.words[rec + w])
    how = f.pieces[p + P_GROUP]
    tg = g if how == 1 else 0
    if how == 2:
        tg = f.maps[f.pieces[p + P_GROUP_MAP] + g]
    how = f.pieces[p + P_ITEM]
    ts = s if how == 1 else 0
    if how == 2:
        ts = f.maps[f.pieces[p + P_ITEM_MAP] + s]
    if tg < 0 or ts < 0:
        return -1
    return int(tg * f.columns[f.pieces[p + P_TARGET] + C_ITEMS] + ts)


# -- following a change ---------------------------------------------------------------------------------------------


@apart(NOTHING, FLAT, INT, INT, INT, INT)
def change(f: Any, k: int, g: int, s: int, delta: int) -> None:
    """Add to a cell, and to everything that depends on it; cells that stand alone have it noted as pending."""
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
            if dy == 0:
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
            n = _special(f, f.uses[u], k, g, s, old, new, n)


@kernel
def push(f: Any, n: int, k: int, g: int, s: int, delta: int) -> int:
    """Note a change that has yet to be made; return where the next one goes."""
    f.stack[n], f.stack[n + 1], f.stack[n + 2], f.stack[n + 3] = k, g, s, delta
    return n + 4


@kernel
def _spread(f: Any, p: int, t: int, g: int, s: int, dy: int, n: int) -> int:
    groups, items = f.columns[t + C_GROUPS], f.columns[t + C_ITEMS]
    how = f.pieces[p + P_SPREAD]
    first_g, last_g = (0, groups) if how & 1 else (g, g + 1)
    first_s, last_s = (0, items) if how & 2 else (s, s + 1)
    base = f.pieces[p + P_SPREAD_COEF]
    for tg in range(first_g, last_g):
        for ts in range(first_s, last_s):
            n = push(f, n, t, tg, ts, dy * f.spread[base + tg * items + ts])
    return n


@kernel
def _read(f: Any, k: int, g: int, s: int) -> int:
    """Return a value of a column that may be repeated along an axis."""
    groups, items = f.columns[k + C_GROUPS], f.columns[k + C_ITEMS]
    return int(f.values[f.columns[k + C_VALUES] + (g if groups > 1 else 0) * items + (s if items > 1 else 0)])


@kernel
def _special(f: Any, u: int, k: int, g: int, s: int, old: int, new: int, n: int) -> int:
    """Pass on what a changed input means for a special's output."""
    kind, t = f.specials[u + X_KIND], f.specials[u + X_OUTPUT]
    first, last = f.specials[u + X_INPUTS], f.specials[u + X_INPUTS_END]
    items = f.columns[t + C_ITEMS]
    if kind == K_PRODUCT or kind == K_RATIO:
        left, right = f.maps[first], f.maps[first + 1]
        every_g = f.columns[k + C_GROUPS] == 1 and f.columns[t + C_GROUPS] > 1
        every_s = f.columns[k + C_ITEMS] == 1 and items > 1
        for tg in range(0 if every_g else g, f.columns[t + C_GROUPS] if every_g else g + 1):
            for ts in range(0 if every_s else s, items if every_s else s + 1):
                a, b = _read(f, left, tg, ts), _read(f, right, tg, ts)
                before_a, before_b = old if left == k else a, old if right == k else b
                d = f.specials[u + X_NUMBER]
                if kind == K_PRODUCT:
                    dy = (a * b + d // 2) // d - (before_a * before_b + d // 2) // d
                else:
                    dy = (2 * d * a + b) // (2 * b) - (2 * d * before_a + before_b) // (2 * before_b)
                if dy:
                    n = push(f, n, t, tg, ts, dy)
        return n
    if kind == K_LARGEST_OF or kind == K_SMALLEST_OF:
        before, after = old, new
        for i in range(first, last):
            if f.maps[i] != k:
                v = _read(f, f.maps[i], g, s)
                if kind == K_LARGEST_OF:
                    before, after = max(before, v), max(after, v)
                else:
                    before, after = min(before, v), min(after, v)
        if before != after:
            n = push(f, n, t, g, s, after - before)
        return n
    place = f.spots[f.specials[u + X_PLACE] + g * f.columns[k + C_ITEMS] + s]
    if place < 0:
        return n
    cell, within = place >> 32, place & 0xFFFFFFFF
    trees = f.specials[u + X_TREES]
    start, end = f.spots[trees + cell], f.spots[trees + cell + 1]
    if kind == K_MAX or kind == K_MIN:
        dy = _play(f.numbers, start, (end - start) // 2 + within, new, kind == K_MAX)
    else:
        dy = _reorder(f.numbers, start, end, old, new, f.specials[u + X_NUMBER], kind == K_REST)
    if dy:
        n = push(f, n, t, cell // items, cell % items, dy)
    return n


@kernel
def _play(numbers: Any, start: int, leaf: int, new: int, largest: bool) -> int:
    """Enter a value into a tournament; return by how much its winner changes."""
    before = numbers[start + 1]
    numbers[start + leaf] = new
    i = leaf >> 1
    while i >= 1:
        a, b = numbers[start + 2 * i], numbers[start + 2 * i + 1]
        best = max(a, b) if largest else min(a, b)
        if numbers[start + i] == best:
            break
        numbers[start + i] = best
        i >>= 1
    return int(numbers[start + 1] - before)


@kernel
def _reorder(numbers: Any, start: int, end: int, old: int, new: int, rank: int, rest: bool) -> int:
    """Exchange a value in a row sorted downwards; return by how much its order statistic changes."""
    top = min(rank, end - start)
    nth = start + min(rank, end - start - 1)
    before = numbers[nth]
    if rest:
        before = 0
        for i in range(start, start + top):
            before -= numbers[i]
    low, high = start, end  # the first entry that is not above the old value is one that has it
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] > old:
            low = middle + 1
        else:
            high = middle
    i = low
    while i > start and numbers[i - 1] < new:
        numbers[i] = numbers[i - 1]
        i -= 1
    while i + 1 < end and numbers[i + 1] > new:
        numbers[i] = numbers[i + 1]
        i += 1
    numbers[i] = new
    after = numbers[nth]
    if rest:
        after = new - old
        for j in range(start, start + top):
            after -= numbers[j]
    return int(after - before)


# -- moves ----------------------------------------------------------------------------------------------------------


@apart(NOTHING, FLAT, INT, INT)
def shift(f: Any, o: int, b: int) -> None:
    """Put an object into container ``b``; single cells learn of it in `flush`."""
    a = f.place[o]
    for r in range(f.object_rows[o], f.object_rows[o + 1], R_WIDTH):
        k, g = f.rows[r + R_COLUMN], f.rows[r + R_GROUP]
        base = f.columns[k + C_ITEM_OF]
        ia, ib = f.maps[base + a], f.maps[base + b]
        if ia == ib and (f.rows[r + R_EXCEPTS] == 0 or ia < 0):
            continue
        wa, wb = weight(f, r, k, a), weight(f, r, k, b)
        if ia == ib:
            if wa != wb:
                change(f, k, g, ia, wb - wa)
        else:
            if ia >= 0 and wa != 0:
                change(f, k, g, ia, -wa)
            if ib >= 0 and wb != 0:
                change(f, k, g, ib, wb)
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


@kernel
def flush(f: Any) -> None:
    """Let single cells take in what is pending, in order."""
    for i in range(f.sizes[Z_SINGLES]):
        k = f.singles[i]
        delta = f.pending[k]
        if delta:
            f.pending[k] = 0
            change(f, k, 0, 0, delta)


@kernel
def move(f: Any, o: int, b: int) -> None:
    """Put an object into container ``b``."""
    shift(f, o, b)
    flush(f)


@kernel
def objective(f: Any, position: int) -> tuple[int, float]:
    """Return the objective of a tuple position, as `integer` and as `fine` have it."""
    return integer(f, position), fine(f, position)


@kernel
def integer(f: Any, position: int) -> int:
    """Return the integer objective of a tuple position."""
    return int(f.values[f.columns[f.objectives[position] + C_VALUES]])


@kernel
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


# -- setting up -----------------------------------------------------------------------------------------------------


@kernel
def fill_hashes(f: Any, k: int, group: Any, item: Any, amount: Any) -> None:
    """Enter values into the hash rows of a column."""
    for i in range(len(group)):
        if amount[i]:
            increase(f, k, group[i], item[i], amount[i])


@kernel
def build_trees(numbers: Any, start: Any, largest: bool) -> None:
    """Play all tournaments whose leaves are filled in."""
    for t in range(len(start) - 1):
        for i in range((start[t + 1] - start[t]) // 2 - 1, 0, -1):
            a, b = numbers[start[t] + 2 * i], numbers[start[t] + 2 * i + 1]
            numbers[start[t] + i] = max(a, b) if largest else min(a, b)


@kernel
def link(f: Any) -> None:
    """Chain the objects of each container."""
    for o in range(f.sizes[Z_OBJECTS] - 1, -1, -1):
        c = f.place[o]
        head = f.first[c]
        f.first[c], f.after[o], f.before[o] = o, head, -1 - c
        if head >= 0:
            f.before[head] = o
        f.load[c] += 1


@kernel
def _paid(f: Any, k: int) -> int:
    """Return how many cells that hold something have a piece that is not 0."""
    paid, items, base = 0, f.columns[k + C_ITEMS], f.columns[k + C_VALUES]
    for g in range(f.columns[k + C_GROUPS]):
        h = 0 if base >= 0 else f.columns[k + C_HASH] + g
        start = base + g * items if base >= 0 else f.hash_rows[h]
        size = items if base >= 0 else f.hash_rows[h + 1] - start
        for i in range(size):
            s = i if size == items else f.hash_key[start + i]
            if s < 0:
                continue
            x, rec = f.values[start + i] if base >= 0 else f.hash_value[start + i], record(f, k, g, s)
            for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
                if x and staged(f, p, rec, x):
                    paid += 1
                    break
    return paid


@kernel
def settle(f: Any) -> None:
    """Count what is beyond its bounds, and what costs something."""
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH, C_WIDTH):
        f.paid[k] = _paid(f, k) if f.columns[k + C_RISING] else 0
    f.counts[N_BROKEN] = 0
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH, C_WIDTH):
        f.broken[k] = 0
        if f.columns[k + C_HIGH] < 0 and f.columns[k + C_LOW] < 0:
            continue
        items, base = f.columns[k + C_ITEMS], f.columns[k + C_VALUES]
        if base >= 0 or f.columns[k + C_LOW] >= 0:
            for g in range(f.columns[k + C_GROUPS]):
                for s in range(items):
                    far = beyond(f, k, record(f, k, g, s), value(f, k, g, s))
                    if far:
                        f.broken[k] += far
                        f.counts[N_BROKEN] += 1
            continue
        for g in range(f.columns[k + C_GROUPS]):  # cells that hold nothing are within an upper bound, or always beyond
            h = f.columns[k + C_HASH] + g
            start, size = f.hash_rows[h], f.hash_rows[h + 1] - f.hash_rows[h]
            for i in range(size):
                s = i if size == items else f.hash_key[start + i]
                if s >= 0:
                    far = beyond(f, k, record(f, k, g, s), f.hash_value[start + i])
                    if far:
                        f.broken[k] += far
                        f.counts[N_BROKEN] += 1
