"""Lists of what each object counts in, as flat arrays, each in the turn in which a move asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.local_search.flat.atoms import Column
from rebalancer.engines.local_search.flat.forms import Forms
from rebalancer.engines.local_search.kernels import layout as at
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Memberships:
    """The memberships of all objects, one object after the other.

    Parameters
    ----------
    first : int64 array (objects + 1,)
        Where those of each object begin.
    scan, loose : int64 array (objects,)
        Where those begin that are not in lanes, and those that are not in plain ones.
    rows : int32 array (memberships, R_WIDTH)
    weights : int64 array (memberships,)
        What the object weighs where it has no exceptional weight.
    except_item, except_weight : int32 array, int64 array
        Where objects weigh something else.
    lane_weights : float64 array (objects + 1, 2, lanes)
        What each object weighs in each lane, elsewhere and where it began. The last object weighs nothing.
    """

    first: IntArray
    scan: IntArray
    loose: IntArray
    rows: NDArray[np.int32]
    weights: IntArray
    except_item: NDArray[np.int32]
    except_weight: IntArray
    lane_weights: NDArray[np.float64]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields of `Flat` that these are."""
        return {
            "object_rows": self.first * at.R_WIDTH,
            "scan_rows": self.scan * at.R_WIDTH,
            "loose_rows": self.loose * at.R_WIDTH,
            "rows": self.rows.ravel(),
            "weights": self.weights,
            "except_item": self.except_item,
            "except_weight": self.except_weight,
            "lane_weight": self.lane_weights.ravel(),
        }


def lay_out(forms: Forms, columns: IntArray, lanes: int) -> Memberships:
    """Put the memberships of each object together, and note with each tally which of an object's it is.

    Parameters
    ----------
    columns : int64 array (columns, C_WIDTH)
        Is written to.
    """
    objects = len(forms.model.problem.objects)
    tallies = sorted((c for c in forms.columns if c.members is not None), key=lambda c: _turn(c, columns[c.index]))
    total = np.zeros(objects, np.int64)
    for rank, column in enumerate(tallies):
        columns[column.index, at.C_RANK] = rank
        assert column.members is not None
        total += np.bincount(column.members.member, minlength=objects)
    begin = np.concatenate([[0], np.cumsum(total)])
    rows, weights = np.zeros((int(begin[-1]), at.R_WIDTH), np.int32), np.zeros(int(begin[-1]), np.int64)
    lane_weights = np.zeros((objects + 1, 2, lanes))
    loose = scan = filled = begin[:-1].copy()
    item, weight, used = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)], 0
    for column in tallies:
        members = column.members
        assert members is not None
        order = np.argsort(members.member, kind="stable")
        member = members.member[order]
        slot = filled[member] + np.arange(len(member)) - np.searchsorted(member, member)
        filled = filled + np.bincount(member, minlength=objects)
        lane = slice(*columns[column.index, [at.C_LANE, at.C_LANE_END]])
        if lane.start >= 0:
            scan = filled
            if columns[column.index, at.C_PLAIN]:
                loose = filled
            lane_weights[member, :, lane] = members.default[order][:, None, None]
            lane_weights[members.member[members.row], 1, lane] = members.weight[:, None]
        rows[slot, at.R_COLUMN] = column.index * at.C_WIDTH
        rows[slot, at.R_GROUP] = members.group[order]
        weights[slot] = members.default[order]
        if len(members.row):
            first = np.searchsorted(members.row, np.arange(len(member) + 1))
            rows[slot, at.R_EXCEPT] = used + first[:-1][order]
            rows[slot, at.R_EXCEPTS] = np.diff(first)[order]
            used += len(members.row)
            item.append(members.item.astype(np.int32))
            weight.append(members.weight)
    return Memberships(begin, scan, loose, rows, weights, np.concatenate(item), np.concatenate(weight), lane_weights)


def _turn(column: Column, row: IntArray) -> tuple[Any, ...]:
    """Return when to look at a tally.

    Lanes come first, as scans pass over them, and of these plain ones, as moves do. Then what may forbid a move
    cheaply, then costs, then bounds of many groups.
    """
    turn = 1 if column.pieces else 0 if column.groups == 1 else 2
    return row[at.C_LANE] < 0, not row[at.C_PLAIN], turn, row[at.C_HASH] >= 0, column.groups, column.index
