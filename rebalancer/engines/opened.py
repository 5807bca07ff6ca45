"""An objective opened from above: what single cells weigh in it, through sums, linear forms and roundings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Container
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Cells, Function, Gather, Gathering, Grid, Map, Model, Reduce
from rebalancer.model.param import Param

Floats: TypeAlias = NDArray[np.float64]

#: Functions that round to coarser units.
COARSER = (Function.RAISE, Function.CEIL, Function.ROUND)


class Opened(ABC):
    """A walk from an objective down to the cells it is made of: ``constant + Σ weight · cell``.

    Parameters
    ----------
    model : Model
    objective : Cells
        Of one cell.
    through : container of Function
        The roundings that are taken for divisions.
    exact : bool
        Whether weights are those of the exact formula, in true units, that knows no rounding. Otherwise they are those
        of the cells' integers, in the objective's.

    Attributes
    ----------
    constant, size : float
        What does not depend on the assignment, and the sum of its addends' magnitudes.
    taken : float
        How much less than that the objective can be, for what roundings take away.
    """

    def __init__(self, model: Model, objective: Cells, through: Container[Function], exact: bool) -> None:
        self.constant = self.size = self.taken = 0.0
        self._through, self._exact = through, exact
        self._weight: dict[int, Floats] = defaultdict(lambda: np.zeros((1, 1)))
        self._weight[objective.index] = np.ones((1, 1))
        for cells in reversed(model.graph[: objective.index + 1]):
            weight = self._weight.pop(cells.index, None)
            if weight is not None and weight.any():
                self._open(cells, weight)

    # -- what a reader decides ----------------------------------------------------------------------------------------

    @abstractmethod
    def opens(self, cells: Cells) -> bool:
        """Whether to go on to the cells that a sum or a choice is made of."""

    @abstractmethod
    def leaf(self, cells: Cells, weight: Floats) -> None:
        """Take cells that are not opened."""

    # -- the walk -----------------------------------------------------------------------------------------------------

    def add(self, addends: Floats) -> None:
        """Add to the constant."""
        self.constant += float(addends.sum())
        self.size += float(np.abs(addends).sum())

    def _open(self, cells: Cells, weight: Floats) -> None:
        if isinstance(cells, Reduce) and cells.how is Gathering.SUM and self.opens(cells.source):
            group = np.zeros(cells.source.groups, np.int64) if cells.group_map is None else cells.group_map
            item = np.zeros(cells.source.items, np.int64) if cells.item_map is None else cells.item_map
            counts = (group >= 0)[:, None] & (item >= 0)[None, :]
            coef = self._numbers(cells.coef, cells.exact_coef)
            self._pass(cells.source, np.where(counts, weight[np.ix_(group, item)], 0.0) * coef)
        elif isinstance(cells, Gather) and self.opens(cells.source):
            wide = np.zeros((cells.source.groups, cells.source.items))
            np.add.at(wide, (cells.group, cells.item), weight[0])
            self._pass(cells.source, wide)
        elif isinstance(cells, Map) and (cells.function is Function.IDENTITY or cells.function in self._through):
            if cells.function is not Function.IDENTITY and not self._exact:
                weight = self._divided(cells, weight)
            self.add(weight * self._numbers(cells.const, cells.exact_const))
            for term in cells.terms:
                self._pass(term.cells, weight * self._numbers(term.coef, term.exact))
        else:
            self.leaf(cells, weight)

    def _numbers(self, integers: Grid, exact: Param) -> Floats:
        return (exact.floats() if self._exact else integers).dense().astype(np.float64)

    def _divided(self, cells: Map, weight: Floats) -> Floats:
        """Return the weight of what is rounded; note what the rounding may take away."""
        divisor = cells.divisor.dense().astype(np.float64)
        up = divisor - 1 if cells.function is not Function.ROUND else divisor // 2  # in fine units, at most
        weight = weight / divisor
        self.taken += float(np.where(weight > 0, weight * (divisor - 1 - up), -weight * up).sum())
        return weight

    def _pass(self, cells: Cells, weight: Floats) -> None:
        """Add to the weight of cells; an axis on which they are repeated is added up."""
        weight = np.broadcast_to(weight, np.broadcast_shapes(weight.shape, (cells.groups, cells.items)))
        for axis, length in enumerate((cells.groups, cells.items)):
            if weight.shape[axis] > length:
                weight = weight.sum(axis=axis, keepdims=True)
        self._weight[cells.index] = self._weight[cells.index] + weight


__all__ = ["COARSER", "Floats", "Opened"]
