"""What flat arrays hold at an assignment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.atoms import Column, Special, ranks_of
from rebalancer.engines.local_search.flat.forms import FAR
from rebalancer.engines.local_search.kernels import layout as at
from rebalancer.engines.local_search.kernels.layout import Flat
from rebalancer.engines.local_search.kernels.ranks import fill_ranks
from rebalancer.engines.local_search.kernels.settle import build_trees
from rebalancer.model.evaluate import add_up
from rebalancer.problem.numbers import IntArray


def fill_numbers(
    flat: Flat,
    specials: list[Special],
    rows: IntArray,
    columns: IntArray,
    sparse: dict[int, tuple[IntArray, IntArray, IntArray]],
) -> None:
    """Fill in the trees and sorted rows of largest, smallest and n-th largest cells.

    Parameters
    ----------
    rows, columns : int64 arrays
        What the layout says of each special, and of each column.
    sparse : dict
        By column, the cells that are not 0 of those in hash rows, as groups, items and values.
    """
    for number, (special, row) in enumerate(zip(specials, rows, strict=True)):
        kind = int(row[at.X_KIND])
        if kind not in (at.K_MAX, at.K_MIN, at.K_NTH, at.K_REST):
            continue
        if row[at.X_PLACE] < 0:
            entries = sparse[special.inputs[0].index]
            fill_ranks(flat, number * at.X_WIDTH, *ranks_of(special), *entries)
            continue
        source = columns[special.inputs[0].index]
        values = flat.values[source[at.C_VALUES] : source[at.C_VALUES] + source[at.C_SIZE]]
        place = flat.spots[row[at.X_PLACE] : row[at.X_PLACE] + len(values)]
        outputs = int(columns[row[at.X_OUTPUT] // at.C_WIDTH, at.C_SIZE])
        start = flat.spots[row[at.X_TREES] : row[at.X_TREES] + outputs + 1]
        inside = np.flatnonzero(place >= 0)
        output, within = place[inside] >> 32, place[inside] & (2**32 - 1)
        if kind in (at.K_MAX, at.K_MIN):
            size = np.diff(start) // 2
            flat.numbers[start[0] : start[-1]] = -FAR if kind == at.K_MAX else FAR
            flat.numbers[start[output] + size[output] + within] = values[inside]
            build_trees(flat.numbers, start, kind == at.K_MAX)
        else:
            order = np.lexsort((-values[inside], output))
            flat.numbers[start[0] : start[-1]] = values[inside][order]


def _weights_at(column: Column, place: NDArray[np.int32]) -> IntArray:
    """Return what each membership of a tally weighs at an assignment."""
    members = column.members
    assert members is not None
    weight = members.default
    if len(members.row):
        assert members.condition is not None
        weight = weight.copy()
        here = members.condition[place[members.member[members.row]]] == members.item
        weight[members.row[here]] = members.weight[here]
    return weight


def tally_at(column: Column, place: NDArray[np.int32]) -> IntArray:
    """Return the cells of a tally at an assignment."""
    assert column.members is not None
    assert column.item_of is not None
    item = column.item_of[place[column.members.member]]
    kept = item >= 0
    key = column.members.group[kept] * column.items + item[kept]
    return add_up(key, _weights_at(column, place)[kept], column.groups * column.items)


def entries_at(column: Column, place: NDArray[np.int32]) -> tuple[IntArray, IntArray, IntArray]:
    """Return the groups and items of the cells of a tally that are not empty, and what they hold."""
    assert column.members is not None
    assert column.item_of is not None
    item = column.item_of[place[column.members.member]]
    kept = item >= 0
    keys, slot = np.unique(column.members.group[kept] * column.items + item[kept], return_inverse=True)
    return keys // column.items, keys % column.items, add_up(slot, _weights_at(column, place)[kept], len(keys))


__all__ = ["entries_at", "fill_numbers", "tally_at"]
