"""What a changed input means for cells that read several: order statistics, products, quotients."""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import push
from rebalancer.engines.local_search.kernels.jit import inner
from rebalancer.engines.local_search.kernels.layout import (
    C_GROUPS,
    C_ITEMS,
    C_VALUES,
    K_LARGEST_OF,
    K_MAX,
    K_MIN,
    K_PRODUCT,
    K_RATIO,
    K_REST,
    K_SMALLEST_OF,
    X_INPUTS,
    X_INPUTS_END,
    X_KIND,
    X_NUMBER,
    X_OUTPUT,
    X_PLACE,
    X_TREES,
)
from rebalancer.engines.local_search.kernels.ranks import exchange, output_of


@inner
def special(f: Any, u: int, k: int, g: int, s: int, old: int, new: int, n: int) -> int:
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
    if f.specials[u + X_PLACE] < 0:
        cell = output_of(f, u, g, s)
        dy = exchange(f, u, cell, old, new) if cell >= 0 else 0
        if dy:
            n = push(f, n, t, cell // items, cell % items, dy)
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


@inner
def _read(f: Any, k: int, g: int, s: int) -> int:
    """Return a value of a column that may be repeated along an axis."""
    groups, items = f.columns[k + C_GROUPS], f.columns[k + C_ITEMS]
    return int(f.values[f.columns[k + C_VALUES] + (g if groups > 1 else 0) * items + (s if items > 1 else 0)])


@inner
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


@inner
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
