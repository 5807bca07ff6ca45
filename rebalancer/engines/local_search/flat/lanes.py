"""Which tallies have lanes, and what there is to know of plain ones: see `kernels.lanes`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.atoms import COARSER, Column, Piece, constant_of
from rebalancer.engines.local_search.flat.forms import Forms
from rebalancer.engines.local_search.flat.members import Members
from rebalancer.engines.local_search.flat.sums import bends
from rebalancer.engines.local_search.kernels.layout import (
    C_EXTREME,
    C_LANE,
    C_LANE_END,
    C_PIECE,
    C_PIECE_END,
    C_PLAIN,
    C_RISING,
    C_USE,
    C_USE_END,
    C_VALUES,
    C_WIDTH,
    P_TARGET,
    P_WIDTH,
    Y_WIDTH,
)
from rebalancer.model import Function
from rebalancer.problem.numbers import IntArray

#: Lanes × objects, at most.
MOST_LANES = 100_000_000
#: Pieces of a tally that has lanes, at most, and one in how many objects it has to count.
_MOST_PIECES, _SHARE = 4, 4


def assign_lanes(forms: Forms, rows: IntArray) -> tuple[int, int]:
    """Note with each column which lanes are its own, one for each of its pieces and at least one, and if it is plain.

    Lanes of plain tallies come first. Plain as well are columns of one cell that pass on what they take in.

    Parameters
    ----------
    rows : int64 array (columns, C_WIDTH)
        Is written to.

    Returns
    -------
    int, int
        How many lanes there are, and how many of them are of plain tallies.
    """
    home, containers = forms.model.problem.initial, len(forms.model.problem.containers)
    objects = len(home)
    rows[:, [C_LANE, C_LANE_END]], rows[:, C_PLAIN] = -1, 0
    found: tuple[list[int], list[int]] = [], []  # plain tallies, and others
    lanes = 0
    for column, row in zip(forms.columns, rows, strict=True):
        count = max(1, len(column.pieces))
        if row[C_VALUES] < 0:
            continue
        # lanes know what pieces make of an amount, not what specials do, nor that they compare it with others
        compared = any(rows[target.index, C_EXTREME] for target in _targets(column))
        read = compared or row[C_USE] < row[C_USE_END]
        plain = not read and all(_plain(piece) for piece in column.pieces)
        if not read and (lanes + count) * objects <= MOST_LANES and _fits(column, home, containers):
            row[C_PLAIN] = int(plain and _weighs_little(column))
            found[1 - row[C_PLAIN]].append(column.index)
            row[C_RISING] *= 1 - row[C_PLAIN]  # nobody asks it of lanes, and of plain ones nobody counts what is paid
            lanes += count
        elif column.size == 1 and column.members is None and not (column.low or column.high):
            row[C_PLAIN] = int(plain and all(_passes_on(piece) for piece in column.pieces))
    last = np.cumsum([0, *(max(1, len(forms.columns[index].pieces)) for index in found[0] + found[1])])
    rows[found[0] + found[1], C_LANE], rows[found[0] + found[1], C_LANE_END] = last[:-1], last[1:]
    return lanes, int(last[len(found[0])])


def plain_lanes(rows: IntArray, pieces: list[list[int]], count: int) -> IntArray:
    """Return the tally of each plain lane, where its values begin, and the single cell that it adds into.

    Parameters
    ----------
    rows : int64 array (columns, C_WIDTH)
    pieces : list of list of int
        The rows of all pieces.
    count : int
        How many lanes are plain.

    Returns
    -------
    int64 array (Y_WIDTH, count)
    """
    found = np.zeros((Y_WIDTH, count), np.int64)
    for index, row in enumerate(rows):
        for lane in range(row[C_LANE], min(row[C_LANE_END], count)):
            piece = row[C_PIECE] // P_WIDTH + lane - row[C_LANE]
            adds = piece < row[C_PIECE_END] // P_WIDTH
            tally = index * C_WIDTH
            found[:, lane] = tally, row[C_VALUES], pieces[piece][P_TARGET] if adds else tally
    return found


def _targets(column: Column) -> list[Column]:
    """Return what a tally adds to, and what sums of it and others that are written down do."""
    targets = [piece.target for piece in column.pieces]
    return targets + [piece.target for target in targets if bends(target) for piece in target.pieces]


def bends_after(piece: Piece) -> bool:
    """Whether a piece adds to a sum that is written down, has no limits, and goes on by one function of one bend."""
    target, coef = piece.target, constant_of(piece.atom.coef)
    if target.sparse or target.low or target.high or len(target.pieces) != 1 or piece.atom.stages or not coef:
        return False
    after = target.pieces[0]
    step = any(stage.function is Function.STEP for stage in after.atom.stages)
    return bool(after.atom.stages) and _bends_once(after) and (coef > 0 or not step)


def _fits(column: Column, home: NDArray[np.int32], containers: int) -> bool:
    """Whether a column is a tally by container of many objects, all of which it weighs, and bends once at most."""
    objects = len(home)
    members = column.members
    if members is None or column.groups > 1 or column.items < containers or column.read or column.low:
        return False
    often = len(members.member) and np.bincount(members.member).max() > 1
    if often or len(members.member) * _SHARE < objects or not _elsewhere_the_same(members, home):
        return False
    assert column.item_of is not None
    unplaced = containers if column.items > containers else -1
    plain = np.array_equal(column.item_of, np.append(np.arange(containers), unplaced))
    return plain and len(column.pieces) <= _MOST_PIECES and all(_bends_once(piece) for piece in column.pieces)


def _elsewhere_the_same(members: Members, home: NDArray[np.int32]) -> bool:
    """Whether objects weigh the same everywhere but where they started."""
    if not len(members.row):
        return True
    condition = members.condition
    if condition is None or not np.array_equal(condition[:-1], np.arange(len(condition) - 1)):
        return False
    return bool((condition[home[members.member[members.row]]] == members.item).all())


def _bends_once(piece: Piece) -> bool:
    stages = piece.atom.stages
    if not stages:
        return True
    first, alpha = stages[0].function, constant_of(stages[0].alpha) or 0
    if first is Function.STEP:
        return len(stages) == 1 and alpha > 0
    return first is Function.HINGE and alpha != 0 and all(stage.function in COARSER for stage in stages[1:])


def _weighs_little(column: Column) -> bool:
    """Whether the weights of a tally are exact in floating point, as lanes have them."""
    assert column.members is not None
    return all(np.abs(weight).max(initial=0) < 2**53 for weight in (column.members.default, column.members.weight))


def _passes_on(piece: Piece) -> bool:
    """Whether a piece of one cell adds a multiple of that."""
    return not piece.atom.stages and constant_of(piece.atom.coef) is not None


def _plain(piece: Piece) -> bool:
    """Whether a piece is a line or a hinge that adds into one cell from everywhere, and is not rounded."""
    stages, target, way = piece.atom.stages, piece.target, piece.atom.way
    if target.groups * target.items > 1 or way.spread or way.keys is not None:
        return False
    if any(isinstance(mapping, np.ndarray) and (mapping < 0).any() for mapping in (way.group, way.item)):
        return False
    hinge = all(stage.function is Function.HINGE and constant_of(stage.divisor) == 1 for stage in stages)
    return len(stages) < 2 and hinge


__all__ = ["assign_lanes", "bends_after", "plain_lanes"]
