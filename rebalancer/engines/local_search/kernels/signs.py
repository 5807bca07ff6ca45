"""Who may gain by coming, as the prices of cells tell: what scans must not refuse unseen."""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.jit import inner
from rebalancer.engines.local_search.kernels.layout import (
    C_EXTREME,
    C_GROWS,
    C_ITEM_OF,
    C_LOW,
    C_PIECE,
    C_PIECE_END,
    C_SIZE,
    C_VALUES,
    P_BENT,
    P_FALLS,
    P_TARGET,
    P_WIDTH,
)

#: Prices that are below and above 0.
_LESS, _MORE = 1, 2


@inner
def worth_having(f: Any, k: int) -> int:
    """Return 1 if something has a negative price that pieces of a column add to."""
    for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
        t = f.pieces[p + P_TARGET]
        first = f.columns[t + C_VALUES]
        if first < 0 or f.columns[t + C_EXTREME] or _signs(f, t) & _LESS or (f.pieces[p + P_BENT] and _rewards(f, t)):
            return 1  # or who knows
    return 0


@inner
def may_gain(f: Any, k: int) -> int:
    """Return 1 if somebody may gain at a tally by coming, other than home, as far as is written down."""
    grows = f.columns[k + C_GROWS]
    if f.columns[k + C_ITEM_OF] < 0 or grows == 2:
        return 0
    if f.columns[k + C_EXTREME] or (f.columns[k + C_LOW] >= 0 and f.penalty[k] < 1e300):
        return 1
    for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
        t = f.pieces[p + P_TARGET]
        first = f.columns[t + C_VALUES]
        if first < 0:
            continue  # who knows: somebody has to be seen to gain
        if f.columns[t + C_EXTREME] or _signs(f, t) & (_LESS if grows else _LESS | _MORE):
            return 1
        if f.pieces[p + P_BENT] and _rewards(f, t):
            return 1
    return 0


@inner
def _signs(f: Any, k: int) -> int:
    """Return which signs the prices of a column's cells have, which are written down."""
    found, first = 0, f.columns[k + C_VALUES]
    for i in range(first, first + f.columns[k + C_SIZE]):
        found |= _LESS if f.gradient[i] < 0.0 else _MORE if f.gradient[i] > 0.0 else 0
    return found


@inner
def _rewards(f: Any, k: int) -> bool:
    """Return whether something is the better the more a column's functions make of its cells, even if that is 0 now."""
    for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
        t = f.pieces[p + P_TARGET]
        rewarded = _LESS | _MORE if f.pieces[p + P_FALLS] else _LESS
        if f.columns[t + C_VALUES] >= 0 and (f.columns[t + C_EXTREME] or _signs(f, t) & rewarded):
            return True
    return False
