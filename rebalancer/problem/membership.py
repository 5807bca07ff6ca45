"""Memberships found by object: whatever counts objects is asked, over and over, what a few of them are in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.numbers import IntArray


class ByObject:
    """The rows of memberships, by object. In memory proportional to the memberships, however many objects there are.

    Parameters
    ----------
    member : integer array
        Whose membership each row is.
    """

    def __init__(self, member: NDArray[np.integer]) -> None:
        in_order = bool((member[1:] >= member[:-1]).all())
        self._rows = None if in_order else np.argsort(member, kind="stable")
        self._member = member if self._rows is None else member[self._rows]

    def of(self, who: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of objects, one object after the other, and whose each is, as a position in ``who``."""
        begin, end = (np.searchsorted(self._member, who, side=side) for side in ("left", "right"))
        rows, owner = spans(begin, end)
        return rows if self._rows is None else self._rows[rows], owner


def spans(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return the numbers of ranges, one range after the other, and which range each is of."""
    often = end - begin
    owner = np.repeat(np.arange(len(begin)), often)
    return np.arange(len(owner)) + np.repeat(begin - np.cumsum(often) + often, often), owner
