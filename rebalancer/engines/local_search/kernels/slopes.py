"""What one unit more of each cell is worth, as far as a straight line can tell.

Backwards from the objectives through pieces and specials. Blocks of moves are ranked with it: functions of tallies are
computed as they are, what comes after them by its slope.
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.cell import beyond, coefficient, record, target_cell, value
from rebalancer.engines.local_search.kernels.jit import FLOAT, INT, apart, inner, kernel
from rebalancer.engines.local_search.kernels.lanes import fill_lanes, note_scarce
from rebalancer.engines.local_search.kernels.layout import (
    C_EXTREME,
    C_GROUPS,
    C_HIGH,
    C_ITEM_OF,
    C_ITEMS,
    C_LANE,
    C_LANE_END,
    C_LOW,
    C_MAKER,
    C_PIECE,
    C_PIECE_END,
    C_RISING,
    C_SIZE,
    C_USE,
    C_USE_END,
    C_VALUES,
    C_WIDTH,
    C_WORDS,
    F_CEIL,
    F_HINGE,
    F_ROUND,
    F_SQUARE,
    F_STEP,
    FLAT,
    K_LARGEST_OF,
    K_MAX,
    K_MIN,
    K_NTH,
    K_PRODUCT,
    K_RATIO,
    K_REST,
    K_SMALLEST_OF,
    L_BASE,
    L_JUMP,
    L_RATE,
    L_WIDTH,
    N_LEANING,
    P_COEF,
    P_COEF_WORD,
    P_FAN,
    P_ONCE,
    P_SINGLE,
    P_SPREAD,
    P_SPREAD_COEF,
    P_STAGE,
    P_STAGE_END,
    P_TARGET,
    P_WIDTH,
    S_ALPHA,
    S_ALPHA_WORD,
    S_CONST,
    S_CONST_WORD,
    S_DIVISOR,
    S_DIVISOR_WORD,
    S_FUNCTION,
    S_WIDTH,
    TOP,
    UNKNOWN,
    X_INPUTS,
    X_INPUTS_END,
    X_KIND,
    X_NUMBER,
    X_OUTPUT,
    X_PLACE,
    X_TREES,
    Z_COLUMNS,
    Z_LANES,
    Z_OBJECTS,
    Z_POSITIONS,
    Z_SINGLES,
    Z_VALUES,
)
from rebalancer.engines.local_search.kernels.ranks import decides, output_of
from rebalancer.engines.local_search.kernels.signs import may_gain, worth_having

#: Numbers are as good as equal if they differ by no more than this power of two of them.
_NEAR = 20
#: What it counts to become one of several that are largest.
_TIE = 0.5


@inner
def slope(f: Any, p: int, rec: int, x: int) -> float:
    """Return the slope of a piece's function at a value; of a step, what being rid of it is worth per unit."""
    y, d = float(x), 1.0
    for t in range(f.pieces[p + P_STAGE], f.pieces[p + P_STAGE_END], S_WIDTH):
        w = f.stages[t + S_ALPHA_WORD]
        a = float(f.words[rec + w] if w >= 0 else f.stages[t + S_ALPHA])
        w = f.stages[t + S_CONST_WORD]
        c = float(f.words[rec + w] if w >= 0 else f.stages[t + S_CONST])
        w = f.stages[t + S_DIVISOR_WORD]
        by = float(f.words[rec + w] if w >= 0 else f.stages[t + S_DIVISOR])
        y = a * y + c
        d *= a
        function = f.stages[t + S_FUNCTION]
        if function == F_HINGE:
            if y < 0:
                return 0.0
        elif function == F_STEP:
            if y <= 0:
                return 0.0
            d /= y
            y = 1.0
        elif function == F_SQUARE:
            d *= 2 * y / by
            y = y * y / by
        elif function == F_CEIL or function == F_ROUND:
            d /= by
            y /= by
    return d


@inner
def price(f: Any, p: int, rec: int, g: int, s: int) -> float:
    """Return what one unit more of a piece is worth."""
    t = f.pieces[p + P_TARGET]
    if f.columns[t + C_VALUES] < 0:
        return float(coefficient(f, p, rec) * sparse_gradient(f, t, g, s))  # it has the cells of its source
    return _price(f, p, rec, g, s)


@inner
def _price(f: Any, p: int, rec: int, g: int, s: int) -> float:
    """Return what one unit more of a piece is worth whose target has all cells written down."""
    if f.pieces[p + P_SPREAD]:
        return float(f.piece_gradient[p])
    if f.pieces[p + P_FAN]:
        return _fan_price(f, p, rec, target_cell(f, p, rec, g, s))
    if f.pieces[p + P_SINGLE]:
        if f.pieces[p + P_COEF_WORD] < 0 and target_cell(f, p, rec, g, s) >= 0:
            return float(f.piece_gradient[p])
        if target_cell(f, p, rec, g, s) < 0:
            return 0.0
        return float(f.piece_gradient[p] * coefficient(f, p, rec))
    cell = target_cell(f, p, rec, g, s)
    if cell < 0:
        return 0.0
    return float(coefficient(f, p, rec) * f.gradient[f.columns[f.pieces[p + P_TARGET] + C_VALUES] + cell])


@apart(FLOAT, FLAT, INT, INT, INT)
def sparse_gradient(f: Any, k: int, g: int, s: int) -> float:
    """Return what one unit more of a cell is worth that is in a hash row, but no tally's.

    What reads it is written down: only what reads nothing but tallies is not.
    """
    x = value(f, k, g, s)
    total = _slope_at(f, k, g, s, x)
    for i in range(f.columns[k + C_USE], f.columns[k + C_USE_END]):
        u = f.uses[i]
        cell = output_of(f, u, g, s)
        if cell >= 0 and decides(f, u, cell, x):
            total += f.gradient[f.columns[f.specials[u + X_OUTPUT] + C_VALUES] + cell]
    return total


@inner
def use_price(f: Any, k: int, g: int, s: int, x: int) -> float:
    """Return what one unit more of a tally's cell that holds ``x`` is worth to the specials that read it."""
    base = f.columns[k + C_VALUES]
    if base >= 0:
        at = g * f.columns[k + C_ITEMS] + s
        return float(f.gradient[base + at]) + (as_extreme(f, k, at, x) if f.columns[k + C_EXTREME] else 0.0)
    total = 0.0
    for i in range(f.columns[k + C_USE], f.columns[k + C_USE_END]):
        u = f.uses[i]
        cell = output_of(f, u, g, s)
        if cell >= 0 and decides(f, u, cell, x):
            total += _gradient(f, f.specials[u + X_OUTPUT], cell)
    return total


@inner
def as_extreme(f: Any, k: int, at: int, x: int) -> float:
    """Return what one unit more of a cell that holds ``x`` is worth as a largest or smallest one, as it is now.

    What is written down would be so of how it was: who comes to the smallest cell makes another one that. What is as
    good as equal, as quotients that were rounded are, counts as that.
    """
    total = 0.0
    for i in range(f.columns[k + C_USE], f.columns[k + C_USE_END]):
        u = f.uses[i]
        place = f.spots[f.specials[u + X_PLACE] + at] if _compares(f, u) else -1
        top = _extreme(f, u, place >> 32, 0) if place >= 0 else 0
        if place >= 0 and abs(x - top) <= abs(top) >> _NEAR:
            total += _gradient(f, f.specials[u + X_OUTPUT], place >> 32)
    return total


@inner
def past_extremes(f: Any, k: int, at: int, old: int, new: int) -> float:
    """Return what a change of a cell costs beyond its slope, by making it the largest or smallest one of some.

    To become one of several counts as half a unit, as all of them have to change again before anything is gained.
    """
    total = 0.0
    for i in range(f.columns[k + C_USE], f.columns[k + C_USE_END]):
        u = f.uses[i]
        place = f.spots[f.specials[u + X_PLACE] + at] if _compares(f, u) else -1
        if place < 0:
            continue
        top = _extreme(f, u, place >> 32, 0)
        if f.specials[u + X_KIND] == K_MIN:
            by = new - top - _TIE if new <= top < old else 0.0
        else:
            by = new - top + _TIE if old < top <= new else 0.0
            if by and f.specials[u + X_KIND] == K_NTH:
                by = min(by, _extreme(f, u, place >> 32, 1) - top + _TIE)
        if by:
            total += by * _gradient(f, f.specials[u + X_OUTPUT], place >> 32)
    return total


@inner
def _compares(f: Any, u: int) -> bool:
    """Return whether a special takes a largest or smallest number."""
    kind = f.specials[u + X_KIND]
    return bool(kind == K_MAX or kind == K_MIN or kind == K_NTH)


@inner
def _extreme(f: Any, u: int, cell: int, before: int) -> int:
    """Return the number that a special takes for one of its cells, or of order statistics one that comes ``before``."""
    tree = f.spots[f.specials[u + X_TREES] + cell]
    if f.specials[u + X_KIND] != K_NTH:
        return int(f.numbers[tree + 1])
    last = f.spots[f.specials[u + X_TREES] + cell + 1] - tree - 1
    rank = min(f.specials[u + X_NUMBER], last)
    return int(f.numbers[tree + max(0, rank - before)]) if rank or not before else TOP


@inner
def _gradient(f: Any, k: int, cell: int) -> float:
    """Return what one unit more of a cell of no tally is worth."""
    if f.columns[k + C_VALUES] >= 0:
        return float(f.gradient[f.columns[k + C_VALUES] + cell])
    return float(sparse_gradient(f, k, cell // f.columns[k + C_ITEMS], cell % f.columns[k + C_ITEMS]))


@inner
def _fan_price(f: Any, p: int, rec: int, fan: int) -> float:
    """Return what one unit more of a piece is worth that contributes to several cells."""
    if fan < 0:
        return 0.0
    total, at = 0.0, f.columns[f.pieces[p + P_TARGET] + C_VALUES]
    for i in range(fan + 1, fan + 1 + f.maps[fan]):
        total += f.gradient[at + f.maps[i]]
    return total * coefficient(f, p, rec)


@kernel
def compute(f: Any, worth: Any) -> None:
    """Fill in all slopes, for tuple positions that are worth this much each, and bounds with a finite price."""
    for i in range(f.sizes[Z_VALUES]):
        f.gradient[i] = 0.0
    for position in range(f.sizes[Z_POSITIONS]):
        f.gradient[f.columns[f.objectives[position] + C_VALUES]] += worth[position]
    if f.counts[N_LEANING]:
        for i in range(f.sizes[Z_SINGLES]):
            f.gradient[f.columns[f.singles[i] + C_VALUES]] += f.lean[f.singles[i]]
    for k in range((f.sizes[Z_COLUMNS] - 1) * C_WIDTH, -1, -C_WIDTH):
        first, last = f.columns[k + C_PIECE], f.columns[k + C_PIECE_END]
        for p in range(first, last, P_WIDTH):
            t = f.pieces[p + P_TARGET]
            at = f.columns[t + C_VALUES]
            if f.pieces[p + P_SPREAD]:
                total = 0.0
                if f.columns[k + C_SIZE] == 1:
                    for i in range(f.columns[t + C_SIZE]):
                        total += f.spread[f.pieces[p + P_SPREAD_COEF] + i] * f.gradient[at + i]
                f.piece_gradient[p] = total
            elif f.pieces[p + P_SINGLE]:
                f.piece_gradient[p] = f.gradient[at]
                if f.pieces[p + P_COEF_WORD] < 0:
                    f.piece_gradient[p] *= f.pieces[p + P_COEF]
        f.paid[k + 1] = f.columns[k + C_RISING] and worth_having(f, k)
        f.paid[k + 2] = may_gain(f, k)
        if f.columns[k + C_ITEM_OF] >= 0:
            continue  # functions of tallies are computed, not approached
        _column(f, k)
        if f.columns[k + C_MAKER] >= 0:
            _maker(f, f.columns[k + C_MAKER], k)
    fill_lanes(f)
    _lanes(f)
    note_scarce(f)
    for o in range(f.sizes[Z_OBJECTS]):
        f.spare[o] = UNKNOWN


@inner
def _lanes(f: Any) -> None:
    """Fill in the slopes of lanes."""
    n = f.sizes[Z_LANES]
    f.used[L_BASE] = f.used[L_JUMP] = 0
    for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH if n else 0, C_WIDTH):
        first = f.columns[k + C_LANE]
        for lane in range(first, f.columns[k + C_LANE_END]):
            piece = f.columns[k + C_PIECE] + (lane - first) * P_WIDTH
            for s in range(f.columns[k + C_ITEMS] if piece < f.columns[k + C_PIECE_END] else 0):
                p, rec = piece, record(f, k, 0, s) if f.columns[k + C_WORDS] else 0
                base, rate, jump, times = 0.0, 0.0, 0.0, 1.0
                if f.pieces[piece + P_ONCE]:  # what follows it bends, and that is all
                    after = f.pieces[piece + P_TARGET]
                    times, p = float(coefficient(f, piece, rec)), f.columns[after + C_PIECE]
                    rec = record(f, after, 0, s) if f.columns[after + C_WORDS] else 0
                worth = price(f, p, rec, 0, s)
                t, end = f.pieces[p + P_STAGE], f.pieces[p + P_STAGE_END]
                if t == end:
                    base = worth
                elif f.stages[t + S_FUNCTION] == F_STEP:
                    jump = worth
                else:
                    rise = times * _rise(f, t, rec)
                    for stage in range(t + S_WIDTH, end, S_WIDTH):
                        worth *= _rise(f, stage, rec)
                    base, rate = worth * min(0.0, rise), worth * abs(rise)
                at = s * n * L_WIDTH + lane
                f.lanes[at + L_BASE * n], f.lanes[at + L_RATE * n], f.lanes[at + L_JUMP * n] = base, rate, jump
                f.used[L_BASE] |= base != 0.0
                f.used[L_JUMP] |= jump != 0.0


@inner
def _rise(f: Any, t: int, rec: int) -> float:
    """Return what a stage makes of one unit more where it does not round."""
    w = f.stages[t + S_ALPHA_WORD]
    a = float(f.words[rec + w] if w >= 0 else f.stages[t + S_ALPHA])
    if f.stages[t + S_FUNCTION] == F_HINGE:
        return a
    w = f.stages[t + S_DIVISOR_WORD]
    return a / float(f.words[rec + w] if w >= 0 else f.stages[t + S_DIVISOR])


@inner
def _column(f: Any, k: int) -> None:
    """Fill in the slopes of a column that is no tally."""
    items, at = f.columns[k + C_ITEMS], f.columns[k + C_VALUES]
    bounded = (f.columns[k + C_HIGH] >= 0 or f.columns[k + C_LOW] >= 0) and f.penalty[k] < 1e300
    if at < 0 or (not bounded and f.columns[k + C_PIECE] == f.columns[k + C_PIECE_END]):
        return
    for g in range(f.columns[k + C_GROUPS]):
        for s in range(items):
            cell = at + g * items + s
            f.gradient[cell] += _slope_at(f, k, g, s, f.values[cell])


@inner
def _slope_at(f: Any, k: int, g: int, s: int, x: int) -> float:
    """Return what one unit more of a cell is worth to its pieces and bounds."""
    rec = record(f, k, g, s) if f.columns[k + C_WORDS] else 0
    total = 0.0
    for p in range(f.columns[k + C_PIECE], f.columns[k + C_PIECE_END], P_WIDTH):
        d = slope(f, p, rec, x)
        if d == 0.0:
            continue
        if f.pieces[p + P_SPREAD]:
            total += d * _spread_price(f, p, g, s)
        else:
            total += d * _price(f, p, rec, g, s)
    bounded = (f.columns[k + C_HIGH] >= 0 or f.columns[k + C_LOW] >= 0) and f.penalty[k] < 1e300
    if bounded and beyond(f, k, rec, x) > 0:
        upper = f.columns[k + C_HIGH] >= 0 and x > f.words[rec + f.columns[k + C_HIGH]]
        total += f.penalty[k] if upper else -f.penalty[k]
    return total


@inner
def _spread_price(f: Any, p: int, g: int, s: int) -> float:
    t, how = f.pieces[p + P_TARGET], f.pieces[p + P_SPREAD]
    groups, items = f.columns[t + C_GROUPS], f.columns[t + C_ITEMS]
    at, base = f.columns[t + C_VALUES], f.pieces[p + P_SPREAD_COEF]
    total = 0.0
    for tg in range(0 if how & 1 else g, groups if how & 1 else g + 1):
        for ts in range(0 if how & 2 else s, items if how & 2 else s + 1):
            total += f.spread[base + tg * items + ts] * f.gradient[at + tg * items + ts]
    return total


@inner
def _maker(f: Any, u: int, k: int) -> None:
    """Pass the slopes of a special's output on to what it reads."""
    kind, number = f.specials[u + X_KIND], f.specials[u + X_NUMBER]
    first, last = f.specials[u + X_INPUTS], f.specials[u + X_INPUTS_END]
    items, at = f.columns[k + C_ITEMS], f.columns[k + C_VALUES]
    if kind == K_MAX or kind == K_MIN or kind == K_NTH or kind == K_REST:
        source = f.maps[first]
        start = f.columns[source + C_VALUES]
        if start < 0 or (f.columns[source + C_EXTREME] and kind != K_REST):
            return  # that is told where somebody asks
        for i in range(f.columns[source + C_SIZE]):
            place = f.spots[f.specials[u + X_PLACE] + i]
            if place < 0:
                continue
            cell = place >> 32
            d = _gradient(f, k, cell)
            if d == 0.0:
                continue
            tree = f.spots[f.specials[u + X_TREES] + cell]
            end = f.spots[f.specials[u + X_TREES] + cell + 1]
            x = f.values[start + i]
            if kind == K_MAX or kind == K_MIN:
                counts = x == f.numbers[tree + 1]
            elif kind == K_NTH:
                counts = x == f.numbers[tree + min(number, end - tree - 1)]
            else:
                counts = number == 0 or number > end - tree or x <= f.numbers[tree + number - 1]
            if counts:
                f.gradient[start + i] += d
        return
    for g in range(f.columns[k + C_GROUPS]):
        for s in range(items):
            d = f.gradient[at + g * items + s]
            if d == 0.0:
                continue
            if kind == K_LARGEST_OF or kind == K_SMALLEST_OF:
                for i in range(first, last):
                    cell = f.columns[f.maps[i] + C_VALUES] + g * items + s
                    if f.values[cell] == f.values[at + g * items + s]:
                        f.gradient[cell] += d
                        break
                continue
            left, right = f.maps[first], f.maps[first + 1]
            a = f.columns[left + C_VALUES] + (g if f.columns[left + C_GROUPS] > 1 else 0) * f.columns[left + C_ITEMS]
            b = f.columns[right + C_VALUES] + (g if f.columns[right + C_GROUPS] > 1 else 0) * f.columns[right + C_ITEMS]
            a += s if f.columns[left + C_ITEMS] > 1 else 0
            b += s if f.columns[right + C_ITEMS] > 1 else 0
            x, y = float(f.values[a]), float(f.values[b])
            if kind == K_PRODUCT:
                f.gradient[a] += d * y / number
                f.gradient[b] += d * x / number
            elif kind == K_RATIO:
                f.gradient[a] += d * number / y
                f.gradient[b] -= d * number * x / (y * y)
