"""The averaging bound over candidate placements: what amounts can add up to where some placements are left out."""

from __future__ import annotations

import numpy as np

from rebalancer.engines.bounds.averaging import bound_by_totals
from rebalancer.engines.cpsat.literals import Literals
from rebalancer.model import Model, Reduce, Tally
from rebalancer.problem.numbers import IntArray


def averaging_bound(model: Model, literals: Literals, cells: Reduce) -> int | None:
    """Return a lower bound of a sum of convex cells in its own integers, or None where there is none to be had.

    Parameters
    ----------
    literals : Literals
        The candidate placements: the bound holds for these.
    """
    return bound_by_totals(cells, lambda tally, key: _totals(model, literals, tally, key))


def _totals(model: Model, literals: Literals, tally: Tally, key: IntArray) -> tuple[IntArray, IntArray]:
    """Return, by group, the least and the most that the chosen cells of a tally can add up to."""
    chosen = np.zeros(tally.groups * tally.items, bool)
    chosen[key] = True
    counts = literals.per_object[tally.member]
    membership, lit = literals.of_members(tally.member)
    container = literals.container[lit]
    item = tally.item_of[container]
    counted = (item >= 0) & chosen[np.where(item >= 0, tally.group[membership] * tally.items + item, 0)]
    amount = np.where(counted, tally.weight_at(membership, container, len(model.problem.objects)), 0)
    first = np.cumsum(counts) - counts
    least, most = np.zeros(tally.groups, np.int64), np.zeros(tally.groups, np.int64)
    if len(first):
        np.add.at(least, tally.group, np.minimum.reduceat(amount, first))
        np.add.at(most, tally.group, np.maximum.reduceat(amount, first))
    return least, most


__all__ = ["averaging_bound"]
