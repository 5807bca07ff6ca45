"""Which containers an objective hurts at, as far as tallies tell."""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import beyond, coefficient, record, staged, target_cell, value
from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.lanes import FORBIDDEN
from rebalancer.engines.local_search.kernels.layout import (
    C_EXTREME,
    C_GROUPS,
    C_HASH,
    C_HIGH,
    C_ITEM_OF,
    C_ITEMS,
    C_LOW,
    C_PIECE,
    C_PIECE_END,
    C_USE,
    C_USE_END,
    C_VALUES,
    C_WIDTH,
    C_WORDS,
    P_BENT,
    P_TARGET,
    P_WIDTH,
    Z_COLUMNS,
    Z_CONTAINERS,
)
from rebalancer.engines.local_search.kernels.slopes import as_extreme, price, use_price


@inner
def _paid(f: Any, k: int, g: int, s: int, v: int) -> float:
    """Return what a tally's cell costs as it is."""
    rec = record(f, k, g, s) if f.columns[k + C_WORDS] else 0
    cost = _exceeded(f, k, rec, v)
    for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
        if not f.pieces[p + P_BENT]:
            cost += _paid_by(f, p, rec, g, s, v)
            continue
        t = f.pieces[p + P_TARGET]
        x = value(f, t, g, s)
        at = record(f, t, g, s) if f.columns[t + C_WORDS] else 0
        cost += _exceeded(f, t, at, x)
        for q in range(f.columns[t + C_PIECE], f.columns[t + C_PIECE_END], P_WIDTH):
            cost += _paid_by(f, q, at, g, s, x)
    if f.columns[k + C_USE] < f.columns[k + C_USE_END]:
        cost += v * use_price(f, k, g, s, v)
    return cost


@inner
def _exceeded(f: Any, k: int, rec: int, v: int) -> float:
    """Return what it costs that a cell is beyond its bounds; where these must hold, how far it is."""
    if f.columns[k + C_HIGH] < 0 and f.columns[k + C_LOW] < 0:
        return 0.0
    return float(beyond(f, k, rec, v) * (f.penalty[k] if f.penalty[k] < FORBIDDEN else 1.0))


@inner
def _paid_by(f: Any, p: int, rec: int, g: int, s: int, v: int) -> float:
    """Return what a piece costs for a cell as it is."""
    y = staged(f, p, rec, v)
    if y == 0:
        return 0.0
    cost, t = y * price(f, p, rec, g, s), f.pieces[p + P_TARGET]
    at = target_cell(f, p, rec, g, s) if f.columns[t + C_EXTREME] else -1
    if at >= 0:
        cost += coefficient(f, p, rec) * y * as_extreme(f, t, at, f.values[f.columns[t + C_VALUES] + at])
    return float(cost)


@kernel
def heat(f: Any, out: Any, by_item: Any) -> None:
    """Fill in each container's share of what is paid in the items that it is in.

    Parameters
    ----------
    out : float64 array, containers
    by_item : float64 array
        Scratch, as long as the longest tally has items.
    """
    containers = f.sizes[Z_CONTAINERS]
    for c in range(containers):
        out[c] = 0.0
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH, C_WIDTH):
        base = f.columns[k + C_ITEM_OF]
        if base < 0:
            continue
        items = f.columns[k + C_ITEMS]
        costs = f.columns[k + C_PIECE] < f.columns[k + C_PIECE_END] or f.columns[k + C_USE] < f.columns[k + C_USE_END]
        if items == 1 or not (costs or f.broken[k]):
            continue
        for s in range(items):
            by_item[s] = 0.0
        for g in range(f.columns[k + C_GROUPS]):
            if f.columns[k + C_VALUES] >= 0:
                at = f.columns[k + C_VALUES] + g * items
                for s in range(items):
                    if f.values[at + s]:
                        by_item[s] += _paid(f, k, g, s, f.values[at + s])
                continue
            h = f.columns[k + C_HASH] + g
            start, size = f.hash_rows[h], f.hash_rows[h + 1] - f.hash_rows[h]
            for i in range(size):
                s = i if size == items else f.hash_key[start + i]
                if s >= 0 and f.hash_value[start + i]:
                    by_item[s] += _paid(f, k, g, s, f.hash_value[start + i])
        for c in range(containers):
            s = f.maps[base + c]
            if s >= 0:
                out[c] += by_item[s] * items / containers
