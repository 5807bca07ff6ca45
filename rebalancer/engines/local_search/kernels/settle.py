"""Setting a searcher up: what can be counted once all cells are filled in, and what changes then keep."""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import beyond, coefficient, increase, record, staged, value, word
from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.layout import (
    BOTTOM,
    C_BARE,
    C_GROUPS,
    C_HASH,
    C_HIGH,
    C_ITEMS,
    C_LANE,
    C_LOW,
    C_PIECE,
    C_PIECE_END,
    C_RISING,
    C_VALUES,
    C_WIDTH,
    C_WORDS,
    E_ALPHA,
    E_COEF,
    E_CONST,
    E_FLOOR,
    E_HIGH,
    E_VALUE,
    E_WIDTH,
    N_BROKEN,
    P_STAGE,
    P_STAGE_END,
    P_WIDTH,
    S_ALPHA_WORD,
    S_CONST_WORD,
    TOP,
    Y_COLUMN,
    Z_COLUMNS,
    Z_OBJECTS,
    Z_PLAIN,
)


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
def settle(f: Any) -> None:
    """Count what is beyond its bounds, and what costs something; write down what plain tallies do."""
    _fill_exact(f)
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH, C_WIDTH):
        f.paid[k] = _paid(f, k) if f.columns[k + C_RISING] else 0
    f.counts[N_BROKEN] = 0
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH, C_WIDTH):
        f.broken[k] = 0
        if f.columns[k + C_HIGH] < 0 and f.columns[k + C_LOW] < 0:
            continue
        items, base = f.columns[k + C_ITEMS], f.columns[k + C_VALUES]
        if base >= 0 or f.columns[k + C_BARE]:
            for g in range(f.columns[k + C_GROUPS]):
                for s in range(items):
                    far = beyond(f, k, record(f, k, g, s), value(f, k, g, s))
                    if far:
                        f.broken[k] += far
                        f.counts[N_BROKEN] += 1
            continue
        for g in range(f.columns[k + C_GROUPS]):  # cells that hold nothing are within their bounds
            h = f.columns[k + C_HASH] + g
            start, size = f.hash_rows[h], f.hash_rows[h + 1] - f.hash_rows[h]
            for i in range(size):
                s = i if size == items else f.hash_key[start + i]
                if s >= 0:
                    far = beyond(f, k, record(f, k, g, s), f.hash_value[start + i])
                    if far:
                        f.broken[k] += far
                        f.counts[N_BROKEN] += 1


@inner
def _fill_exact(f: Any) -> None:
    """Copy values, bounds and pieces of plain tallies to where they are together by container."""
    n = f.sizes[Z_PLAIN]
    for lane in range(n):
        k = f.plain[Y_COLUMN * n + lane]
        first = f.columns[k + C_LANE]
        high = f.columns[k + C_HIGH] if lane == first else -1
        p = f.columns[k + C_PIECE] + (lane - first) * P_WIDTH
        t = f.pieces[p + P_STAGE] if p < f.columns[k + C_PIECE_END] else -1
        bends = 0 <= t < f.pieces[p + P_STAGE_END]
        for s in range(f.columns[k + C_ITEMS]):
            rec = record(f, k, 0, s) if f.columns[k + C_WORDS] else 0
            at = s * n * E_WIDTH + lane
            f.exact[at + E_VALUE * n] = f.values[f.columns[k + C_VALUES] + s]
            f.exact[at + E_HIGH * n] = f.words[rec + high] if high >= 0 else TOP
            f.exact[at + E_ALPHA * n] = word(f, rec, t + S_ALPHA_WORD) if bends else 1
            f.exact[at + E_CONST * n] = word(f, rec, t + S_CONST_WORD) if bends else 0
            f.exact[at + E_FLOOR * n] = 0 if bends else BOTTOM
            f.exact[at + E_COEF * n] = coefficient(f, p, rec) if t >= 0 else 0


@inner
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
