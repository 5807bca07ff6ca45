"""Who is where as rows: what is said of two objects at once has a row for each item that the first may be in."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rebalancer.model import Grid, Param

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem.numbers import IntArray


def repeated(group: IntArray, member: IntArray, copies: int) -> tuple[IntArray, IntArray]:
    """Return memberships so often, copy ``k`` of group ``g`` being group ``g * copies + k``."""
    return (group[:, None] * copies + np.arange(copies)).ravel(), np.repeat(member, copies)


def in_own_item(
    model: ModelBuilder, group: IntArray, member: IntArray, groups: int, item_of: NDArray[np.int32], items: int
) -> Cells:
    """Return how many members of a group are in an item, row by row: shape (groups * items, 1), items within groups.

    Cells of one column are repeated along the items of others, so a sum or an AND with who is in these has as many
    cells that are not 0 as there are rows, where a row of all chosen pairs of cells has groups × items².
    """
    there = model.custom_tally(*repeated(group, member, items), groups * items, item_of, items)
    row = np.arange(there.groups)  # a tally has the same items for all of its groups: each row keeps its own one
    own = Grid(there.groups, items, np.zeros((1, 1), np.int64), None, row * items + row % items, np.ones_like(row))
    return model.sum_items(there, Param(own, Fraction(1)))
