"""One cell: where its record and its value are, what its bounds and its pieces make of that value."""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.jit import inner
from rebalancer.engines.local_search.kernels.layout import (
    C_CLASS,
    C_CONDITION,
    C_EXCEPT,
    C_HASH,
    C_HIGH,
    C_ITEMS,
    C_LOW,
    C_RECORDS,
    C_ROW_STEP,
    C_VALUES,
    C_WORDS,
    F_CEIL,
    F_HINGE,
    F_MOD,
    F_ROUND,
    F_SQUARE,
    F_STEP,
    P_COEF,
    P_COEF_WORD,
    P_GROUP,
    P_GROUP_MAP,
    P_INDEX_WORD,
    P_ITEM,
    P_ITEM_MAP,
    P_STAGE,
    P_STAGE_END,
    P_TARGET,
    R_EXCEPT,
    R_EXCEPTS,
    R_WIDTH,
    S_ALPHA,
    S_ALPHA_WORD,
    S_CONST,
    S_CONST_WORD,
    S_DIVISOR,
    S_DIVISOR_WORD,
    S_FUNCTION,
    S_SHIFT,
    S_WIDTH,
    Z_LANES,
    Z_OBJECTS,
)


@inner
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


@inner
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


@inner
def value(f: Any, k: int, g: int, s: int) -> int:
    """Return the value of a cell."""
    base = f.columns[k + C_VALUES]
    if base >= 0:
        return int(f.values[base + g * f.columns[k + C_ITEMS] + s])
    slot = slot_of(f, k, g, s)
    return int(f.hash_value[slot])


@inner
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


@inner
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


@inner
def weights_at(f: Any, o: int, s: int) -> int:
    """Return where the weights of an object in lanes begin that count in a container."""
    row = 2 * o
    if o < f.sizes[Z_OBJECTS] and f.home[o] == s:
        row += 1
    return int(row * f.sizes[Z_LANES])


@inner
def beyond(f: Any, k: int, rec: int, v: int) -> int:
    """Return how far a value is beyond the bounds of its cell."""
    high, low = f.columns[k + C_HIGH], f.columns[k + C_LOW]
    if high >= 0 and v > f.words[rec + high]:
        return int(v - f.words[rec + high])
    if low >= 0 and v < f.words[rec + low]:
        return int(f.words[rec + low] - v)
    return 0


@inner
def word(f: Any, rec: int, at: int) -> int:
    """Return a number of a stage, given where it says in which word of a record that is."""
    w = f.stages[at]
    return int(f.words[rec + w]) if w >= 0 else int(f.stages[at + 1])


@inner
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
            if function == F_ROUND and f.stages[t + S_SHIFT] >= 0:
                y = (y + d // 2) >> f.stages[t + S_SHIFT]
            elif function == F_SQUARE:
                y = (y * y + d // 2) // d
            elif function == F_CEIL:
                y = -((-y) // d)
            elif function == F_MOD:
                y = y % d
            elif function == F_ROUND:
                y = (y + d // 2) // d
    return int(y)


@inner
def coefficient(f: Any, p: int, rec: int) -> int:
    """Return the coefficient of a piece that does not spread."""
    w = f.pieces[p + P_COEF_WORD]
    return int(f.words[rec + w]) if w >= 0 else int(f.pieces[p + P_COEF])


@inner
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


@inner
def push(f: Any, n: int, k: int, g: int, s: int, delta: int) -> int:
    """Note a change that has yet to be made; return where the next one goes."""
    f.stack[n], f.stack[n + 1], f.stack[n + 2], f.stack[n + 3] = k, g, s, delta
    return n + 4
