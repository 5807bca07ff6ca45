"""Squares from below: lines through x² at consecutive integers, exact at both; more where an answer needs them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rebalancer.engines.cpsat.proto import INFINITE, BulkModel
from rebalancer.engines.cpsat.rows import Rows
from rebalancer.model import Map
from rebalancer.problem.numbers import IntArray

#: Ranges up to this get all their secants at once.
_WHOLE_RANGE = 48
#: Longer ones: the first distance from the start is this fraction of the range, and each next one so many times as far.
_FINEST, _RATIO = 4096, 1.5


@dataclass(frozen=True, eq=False)
class Squares:
    """Epigraph variables of squared cells whose secants are not all there yet.

    Parameters
    ----------
    cells : Map
    key : int64 array
    x : Rows
        The linear forms that are squared, one row per variable.
    variable : int64 array
    divisor : int64 array
    """

    cells: Map
    key: IntArray
    x: Rows
    variable: IntArray
    divisor: IntArray


def first_secants(bulk: BulkModel, squares: Squares, start: IntArray) -> bool:
    """Add the first secants: all of a short range; around ``start``, ever farther apart, on a long one.

    Returns whether they are all there.
    """
    low, high = squares.x.low, squares.x.high
    for row, (least, most, here) in enumerate(zip(low.tolist(), high.tolist(), start.tolist(), strict=True)):
        if most - least <= _WHOLE_RANGE:
            points = set(range(least, most)) or {least}
        else:
            finest = max(1, (most - least) // _FINEST)
            offsets = [
                int(finest * _RATIO**power)
                for power in range(int(np.log((most - least) / finest) / np.log(_RATIO)) + 1)
            ]
            near = {here - 1, here, *(here + offset for offset in offsets), *(here - offset for offset in offsets)}
            points = {point for point in near | {least, most - 1, 0, -1} if least <= point < most}
        _secants(bulk, squares, row, sorted(points))
    return bool((high - low <= _WHOLE_RANGE).all())


def more_secants(bulk: BulkModel, squares: Squares, at: IntArray) -> None:
    """Make the squares exact at ``at``, one x per row, and at its neighbours."""
    for row, here in enumerate(at.tolist()):
        _secants(bulk, squares, row, [here - 1, here])


def _secants(bulk: BulkModel, squares: Squares, row: int, points: list[int]) -> None:
    """Demand ``divisor · y >= (2k + 1) x - k (k + 1) + ⌊divisor/2⌋ - divisor + 1`` for some points k.

    With y whole, the least such y is round(x² / divisor) at x = k and at x = k + 1.
    """
    x = squares.x
    first, last = int(x.start[row]), int(x.start[row + 1])
    divisor = int(squares.divisor[row])
    const = int(x.const.at(x.group[row : row + 1], x.item[row : row + 1])[0])
    var, coef = [*x.var[first:last].tolist(), int(squares.variable[row])], x.coef[first:last].tolist()
    for point in points:
        slope = 2 * point + 1
        right = -point * (point + 1) + divisor // 2 - divisor + 1 + slope * const
        bulk.linear_of(var, [*(-slope * c for c in coef), divisor], right, INFINITE)
