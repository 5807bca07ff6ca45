"""Lanes: what most moves are about, side by side in memory, so that a few instructions judge all of it.

A lane is a tally of objects by container that bends once at most: an upper bound, a line, a line from some value on, a
step, or some of these. The numbers of a container lie together, and so do the weights of an object. They are copies, in
floating point and not rounded, of what columns and pieces say, and serve to rank moves only.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import coefficient, record, weights_at
from rebalancer.engines.local_search.kernels.jit import inner, kernel, sums
from rebalancer.engines.local_search.kernels.layout import (
    C_HIGH,
    C_ITEMS,
    C_LANE,
    C_LANE_END,
    C_PIECE,
    C_PIECE_END,
    C_VALUES,
    C_WIDTH,
    C_WORDS,
    L_BASE,
    L_EDGE,
    L_FINE,
    L_JUMP,
    L_KNEE,
    L_RATE,
    L_VALUE,
    L_WALL,
    L_WIDTH,
    P_ONCE,
    P_SOURCE,
    P_STAGE,
    P_STAGE_END,
    P_TARGET,
    P_WIDTH,
    S_ALPHA,
    S_ALPHA_WORD,
    S_CONST,
    S_CONST_WORD,
    Z_COLUMNS,
    Z_CONTAINERS,
    Z_LANES,
)

#: What a forbidden move costs.
FORBIDDEN = 1e300
#: A value that no lane reaches, and what is less than that.
_NOWHERE, NOWHERE = 1e280, 1e270
#: What it counts that little is left, beside that all of it runs out together.
_FULLER = 0.02
#: There is little room in all where it is at most so many times what is in excess.
_SCARCE = 4.0


@sums
def lanes_forbid(f: Any, s: int, plus: int, minus: int) -> bool:
    """Return whether an object that comes to a container while another leaves it exceeds what it must not.

    ``objects`` stands for none.
    """
    if f.used[L_WALL] == 0:
        return False
    n = f.sizes[Z_LANES]
    at, plus, minus = s * n * L_WIDTH, weights_at(f, plus, s), weights_at(f, minus, s)
    wall = at + L_WALL * n
    over = 0
    for i in range(n):
        w = f.lane_weight[plus + i] - f.lane_weight[minus + i]
        over += (w > 0.0) & (f.lanes[at + i] + w > f.lanes[wall + i])
    return over > 0


@sums
def lanes_cost(f: Any, s: int, plus: int, minus: int) -> float:
    """Return what it costs that an object comes to a container and another leaves it; ``objects`` stands for none."""
    n = f.sizes[Z_LANES]
    at, plus, minus = s * n * L_WIDTH, weights_at(f, plus, s), weights_at(f, minus, s)
    knee, rate = at + L_KNEE * n, at + L_RATE * n
    total = 0.0
    for i in range(n):
        over = f.lanes[at + i] - f.lanes[knee + i]
        w = f.lane_weight[plus + i] - f.lane_weight[minus + i]
        total += f.lanes[rate + i] * ((over + w if over + w > 0.0 else 0.0) - (over if over > 0.0 else 0.0))
    if f.used[L_EDGE]:
        edge, fine = at + L_EDGE * n, at + L_FINE * n
        for i in range(n):
            over = f.lanes[at + i] - f.lanes[edge + i]
            w = f.lane_weight[plus + i] - f.lane_weight[minus + i]
            total += f.lanes[fine + i] * ((over + w if over + w > 0.0 else 0.0) - (over if over > 0.0 else 0.0))
    if f.used[L_BASE]:
        base = at + L_BASE * n
        for i in range(n):
            total += f.lanes[base + i] * (f.lane_weight[plus + i] - f.lane_weight[minus + i])
    if f.used[L_JUMP]:
        jump = at + L_JUMP * n
        for i in range(n):
            over = f.lanes[at + i] - f.lanes[knee + i]
            w = f.lane_weight[plus + i] - f.lane_weight[minus + i]
            total += f.lanes[jump + i] * ((1.0 if over + w > 0.0 else 0.0) - (1.0 if over > 0.0 else 0.0))
    return total


@kernel
def lanes_fill(f: Any, s: int, o: int) -> float:
    """Return how evenly and how nearly an object takes up what is free in a container before its lines bend.

    With r the share that it takes of the room in each tally that is scarce, (Σ r)² / (n Σ r²) is 1 where all of them
    run out together, and the less the more is left of one that is of no use without the others. Where that makes no
    difference, Σ r / n does.
    """
    n = f.sizes[Z_LANES]
    at, plus = s * n * L_WIDTH, weights_at(f, o, s)
    knee, rate = at + L_KNEE * n, at + L_RATE * n
    tallies, total, squares, share = 0, 0.0, 0.0, 0.0
    for i in range(n):
        w, room = f.lane_weight[plus + i], f.lanes[knee + i] - f.lanes[at + i]
        if f.scarce[i] == 0 or f.lanes[rate + i] <= 0.0 or w <= 0.0 or room <= 0.0:
            continue
        r = min(1.0, w / room)
        if i and share > 0.0 and w == f.lane_weight[plus + i - 1] and f.lanes[at + i] == f.lanes[at + i - 1]:
            if r <= share:  # another line of the same tally: what bends first counts
                continue
            tallies, total, squares = tallies - 1, total - share, squares - share * share
        share = r
        tallies, total, squares = tallies + 1, total + r, squares + r * r
    return (total * total / squares + _FULLER * total) / tallies if tallies else 0.0


@inner
def lanes_free(f: Any, s: int, i: int) -> float:
    """Return what is free in a lane of a container before its line bends, or ends."""
    n = f.sizes[Z_LANES]
    at = s * n * L_WIDTH + i
    end = min(f.lanes[at + L_WALL * n], f.lanes[at + L_EDGE * n])
    if f.lanes[at + L_RATE * n] > 0.0:
        end = min(end, f.lanes[at + L_KNEE * n])
    return float(end - f.lanes[at])


@inner
def note_scarce(f: Any) -> None:
    """Note in which lanes what is free before the line bends, or ends, is little beside what is beyond."""
    n = f.sizes[Z_LANES]
    for i in range(n):
        free, beyond = 0.0, 0.0
        for s in range(f.sizes[Z_CONTAINERS]):
            at = s * n * L_WIDTH + i
            end = f.lanes[at + L_WALL * n]
            if f.lanes[at + L_RATE * n] > 0.0:
                end = min(end, f.lanes[at + L_KNEE * n])
            free += max(0.0, end - f.lanes[at])  # without an end there is room for all
            beyond += max(0.0, f.lanes[at] - end)
        if beyond > 0.0 and free <= _SCARCE * beyond:
            f.scarce[i] = 1


@inner
def fill_lanes(f: Any) -> None:
    """Copy values, bounds and knees into the lanes, and what is beyond a bound costs."""
    n = f.sizes[Z_LANES]
    f.used[L_WALL] = f.used[L_EDGE] = 0
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH if n else 0, C_WIDTH):
        first = f.columns[k + C_LANE]
        if first < 0:
            continue
        if f.columns[k + C_HIGH] >= 0:
            f.used[L_WALL if f.penalty[k] >= FORBIDDEN else L_EDGE] = 1
        words, price = f.columns[k + C_WORDS], f.penalty[k]
        for lane in range(first, f.columns[k + C_LANE_END]):
            high = f.columns[k + C_HIGH] if lane == first else -1
            p = f.columns[k + C_PIECE] + (lane - first) * P_WIDTH
            for s in range(f.columns[k + C_ITEMS], f.sizes[Z_CONTAINERS] + 1):  # unplaced counts nowhere
                at = s * n * L_WIDTH + lane
                f.lanes[at + L_WALL * n] = f.lanes[at + L_EDGE * n] = f.lanes[at + L_KNEE * n] = _NOWHERE
            for s in range(f.columns[k + C_ITEMS]):
                rec = record(f, k, 0, s) if words else 0
                at = s * n * L_WIDTH + lane
                bound = float(f.words[rec + high]) if high >= 0 else _NOWHERE
                f.lanes[at + L_VALUE * n] = f.values[f.columns[k + C_VALUES] + s]
                f.lanes[at + L_WALL * n] = bound if price >= FORBIDDEN else _NOWHERE
                f.lanes[at + L_EDGE * n] = bound if price < FORBIDDEN else _NOWHERE
                f.lanes[at + L_FINE * n] = price if price < FORBIDDEN else 0.0
                f.lanes[at + L_KNEE * n] = _NOWHERE
                if p < f.columns[k + C_PIECE_END]:
                    f.lanes[at + L_KNEE * n] = _knee(f, p, rec, s)


@inner
def _knee(f: Any, p: int, rec: int, s: int) -> float:
    """Return where a piece bends, or what follows it does as things are."""
    if f.pieces[p + P_ONCE]:
        t, k = f.pieces[p + P_TARGET], f.pieces[p + P_SOURCE]
        at = record(f, t, 0, s) if f.columns[t + C_WORDS] else 0
        short = _bend(f, f.columns[t + C_PIECE], at) - f.values[f.columns[t + C_VALUES] + s]
        return float(f.values[f.columns[k + C_VALUES] + s] + short / coefficient(f, p, rec))
    return _bend(f, p, rec)


@inner
def _bend(f: Any, p: int, rec: int) -> float:
    """Return at which value a piece bends."""
    t = f.pieces[p + P_STAGE]
    if t == f.pieces[p + P_STAGE_END]:
        return _NOWHERE
    w = f.stages[t + S_ALPHA_WORD]
    a = float(f.words[rec + w] if w >= 0 else f.stages[t + S_ALPHA])
    w = f.stages[t + S_CONST_WORD]
    c = float(f.words[rec + w] if w >= 0 else f.stages[t + S_CONST])
    return -c / a
