"""The ways back through a model: from objects to their memberships, from cells to what reads them. Made once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rebalancer.engines.cpsat.rows import with_values
from rebalancer.model import Cells, CellValues, Gather, Gathering, Grid, Model, Reduce, Tally, evaluate_cells
from rebalancer.model.grid import DENSE_CELLS, reduce_extremum
from rebalancer.model.order import targets
from rebalancer.problem.numbers import IntArray


class TooWide(Exception):
    """The freed objects reach too many cells."""


class Lookup:
    """Finds members, sources and readers without a walk over the model.

    Parameters
    ----------
    model : Model
    needed : sequence of Cells
        Those that will be asked about.
    """

    def __init__(self, model: Model, needed: Sequence[Cells]) -> None:
        self._objects = len(model.problem.objects)
        self._members: dict[int, tuple[IntArray, IntArray] | None] = {}
        self._readers: dict[int, tuple[IntArray, IntArray]] = {}
        self._sources: dict[int, tuple[IntArray, IntArray]] = {}
        for cells in needed:
            if isinstance(cells, Tally):
                self._members[cells.index] = self._by_object(cells.member)
            elif isinstance(cells, Gather):
                key = cells.group * cells.source.items + cells.item
                order = np.argsort(key, kind="stable")
                self._readers[cells.index] = order, key[order]

    def _by_object(self, member: IntArray) -> tuple[IntArray, IntArray] | None:
        """Return memberships in order of their objects, and where each object's begin; None where they are the same."""
        if len(member) == self._objects and (member == np.arange(self._objects)).all():
            return None
        in_order = bool((member[1:] >= member[:-1]).all())
        order = np.arange(len(member)) if in_order else np.argsort(member, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=self._objects))])
        return order, start.astype(np.int64)

    def memberships(self, tally: Tally, objects: IntArray) -> tuple[IntArray, IntArray]:
        """Return the memberships of some objects in a tally, and the position in ``objects`` that each is of."""
        known = self._members[tally.index]
        if known is None:
            return objects, np.arange(len(objects))
        order, start = known
        lengths = start[objects + 1] - start[objects]
        return order[ranges(start[objects], lengths)], np.repeat(np.arange(len(objects)), lengths)

    def positions(self, cells: Gather, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the positions that read source cells at sorted keys, and the position in ``keys`` that each reads."""
        order, sorted_keys = self._readers[cells.index]
        first = np.searchsorted(sorted_keys, keys, "left")
        lengths = np.searchsorted(sorted_keys, keys, "right") - first
        return order[ranges(first, lengths)], np.repeat(np.arange(len(keys)), lengths)

    def others(self, cells: Reduce, outputs: IntArray, keys: IntArray, values: CellValues) -> list[IntArray]:
        """Return for each output the integers of the source cells that map to it, largest first, without ``keys``."""
        source = cells.source
        integers = evaluate_cells(values, source).integers
        if source.groups * source.items > DENSE_CELLS:
            return self._extremes(cells, outputs, keys, integers)
        known = self._sources.get(cells.index)
        if known is None:
            target = targets(cells)
            order = np.argsort(target, kind="stable")
            starts = np.searchsorted(target[order], np.arange(cells.groups * cells.items + 1))
            known = self._sources[cells.index] = order, starts
        order, start = known
        free = np.zeros(source.groups * source.items, bool)
        free[keys] = True
        found = []
        for output in outputs.tolist():
            members = order[start[output] : start[output + 1]]
            members = members[~free[members]]
            found.append(np.sort(integers.at(members // source.items, members % source.items).astype(np.int64))[::-1])
        return found

    @staticmethod
    def _extremes(cells: Reduce, outputs: IntArray, keys: IntArray, integers: Grid) -> list[IntArray]:
        """Return the one that decides of each, where there are too many cells to list: in one pass over all of them."""
        largest = cells.how is Gathering.MAX
        if not largest and cells.how is not Gathering.MIN:
            raise TooWide(f"an order of {cells.source.groups} × {cells.source.items} cells")
        harmless = cells.source.low if largest else cells.source.high
        rest = with_values(integers, keys, np.full(len(keys), harmless, np.int64))
        found = reduce_extremum(rest, cells.groups, cells.items, cells.group_map, cells.item_map, largest, harmless)
        return list(found.at(outputs // cells.items, outputs % cells.items).astype(np.int64)[:, None])


def ranges(first: IntArray, lengths: IntArray) -> IntArray:
    """Return the ranges first[i] … first[i] + lengths[i] - 1, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - lengths, lengths) + np.repeat(first, lengths)


__all__ = ["Lookup", "TooWide", "ranges"]
