"""What follows sums of tallies that are written down, and what scans can ask there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.atoms import Atom, Column, Piece, same_place
from rebalancer.model import Function

#: What has more than one slope.
_BENT = (Function.HINGE, Function.STEP, Function.CEIL, Function.MOD)


def adds_alike(atom: Atom) -> bool:
    """Whether an atom adds the same from whatever item: an object that only changes its item changes nothing."""
    way, one = atom.way, atom.coef.columns == 1 and not len(atom.coef.keys)
    return not atom.stages and (way.all_items or (way.item is None and way.keys is None and not way.spread and one))


def bends(column: Column) -> bool:
    """Whether a column of several cells has limits or functions with more than one slope."""
    stages = (stage for piece in column.pieces for stage in piece.atom.stages)
    return column.size > 1 and bool(column.low or column.high or any(stage.function in _BENT for stage in stages))


def ends(column: Column) -> bool:
    """Whether a column is no tally, written down, without limits, and only adds to single cells, from everywhere."""
    if column.members is not None or column.sparse or column.low or column.high:
        return False
    ways = [piece.atom.way for piece in column.pieces if piece.target.size == 1]
    maps = [mapping for way in ways for mapping in (way.group, way.item)]
    everywhere = all(mapping is None or same_place(mapping) for mapping in maps)  # the same place is the only one there
    return len(ways) == len(column.pieces) and everywhere and all(way.keys is None and not way.spread for way in ways)


def asked_of(columns: Sequence[Column], read: set[Column]) -> NDArray[np.bool_]:
    """Return of which columns scans can ask what a cell is among others.

    Tallies, and where only these add up, or sums of theirs that bend and what one cell adds to all of these.

    Parameters
    ----------
    read : set of Column
        What specials read.
    """
    into: list[list[Piece]] = [[] for _ in columns]
    for column in columns:
        for piece in column.pieces:
            into[piece.target.index].append(piece)
    through = np.array([column.members is not None for column in columns], np.bool_)
    for column, pieces in zip(columns, into, strict=True):
        if column.members is None and bends(column) and column not in read:
            tallies = [piece.atom.way for piece in pieces if piece.atom.column.members is not None]
            others = [piece.atom.column for piece in pieces if piece.atom.column.members is None]
            one = all(other.size == 1 for other in others)
            through[column.index] = bool(tallies) and all(way.same for way in tallies) and one
    asked = np.array([not column.sparse for column in columns], np.bool_)
    for index, pieces in enumerate(into):
        for piece in pieces:
            way = piece.atom.way
            asked[index] &= through[piece.atom.column.index] and not (way.spread or way.fans)
    return asked


__all__ = ["adds_alike", "asked_of", "bends", "ends"]
