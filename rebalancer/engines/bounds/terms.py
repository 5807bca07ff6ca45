"""An objective from below, in terms that a bound can work with: a constant, weighted amounts, and weighted hinges."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from rebalancer.engines.bounds.averaging import MOST_CELLS, Affine, Floats, affine
from rebalancer.model import Cells, Function, Gather, Gathering, Map, Model, Reduce, Tally
from rebalancer.problem.numbers import IntArray

#: Functions that round to coarser units.
_COARSER = (Function.RAISE, Function.CEIL, Function.ROUND)


@dataclass(frozen=True, eq=False)
class Hinges:
    """Cells ``weight · max(0, slope · U[key] + const)`` of one tally."""

    tally: Tally
    key: IntArray
    slope: Floats
    const: Floats
    weight: Floats


class Terms:
    """An objective from below: a constant, weighted amounts, and weighted hinges over amounts.

    Parameters
    ----------
    model : Model
    objective : Cells
        Of one cell.
    known : dict
        Proven lower bounds of single cells, by index.

    Attributes
    ----------
    constant, size : float
        What does not depend on the assignment, and the sum of its addends' magnitudes.
    amounts : list of (Tally, array)
        With the weight of each cell.
    hinges : list of Hinges
    """

    def __init__(self, model: Model, objective: Cells, known: dict[int, int]) -> None:
        self._known = known
        self.constant = self.size = 0.0
        self.amounts: list[tuple[Tally, Floats]] = []
        self.hinges: list[Hinges] = []
        self._weight: dict[int, Floats] = defaultdict(lambda: np.zeros((1, 1)))
        self._weight[objective.index] = np.ones((1, 1))
        for cells in reversed(model.graph[: objective.index + 1]):
            weight = self._weight.pop(cells.index, None)
            if weight is not None and weight.any():
                self._open(cells, weight)

    def _add(self, addends: Floats) -> None:
        self.constant += float(addends.sum())
        self.size += float(np.abs(addends).sum())

    def _open(self, cells: Cells, weight: Floats) -> None:
        """Put what cells are made of in their place, or what they are at least."""
        if isinstance(cells, Tally):
            self.amounts.append((cells, weight))
        elif isinstance(cells, Reduce) and cells.how is Gathering.SUM and _opens(cells.source):
            group = np.zeros(cells.source.groups, np.int64) if cells.group_map is None else cells.group_map
            item = np.zeros(cells.source.items, np.int64) if cells.item_map is None else cells.item_map
            counts = (group >= 0)[:, None] & (item >= 0)[None, :]
            self._pass(cells.source, np.where(counts, weight[np.ix_(group, item)], 0.0) * cells.coef.dense())
        elif isinstance(cells, Gather) and _opens(cells.source):
            wide = np.zeros((cells.source.groups, cells.source.items))
            np.add.at(wide, (cells.group, cells.item), weight[0])
            self._pass(cells.source, wide)
        elif isinstance(cells, Map) and cells.function is Function.HINGE and (weight >= 0).all():
            hinges = self._hinges_of(cells, weight)
            if hinges is None:
                self._least(cells, weight)
            else:
                self.hinges.append(hinges)
        elif isinstance(cells, Map) and cells.function in (Function.IDENTITY, *_COARSER):
            if cells.function in _COARSER:
                divisor = cells.divisor.dense().astype(np.float64)
                up = divisor - 1 if cells.function is not Function.ROUND else divisor // 2  # in fine units, at most
                down = divisor - 1 - up
                weight = weight / divisor
                self._add(np.where(weight > 0, -weight * down, weight * up))
            self._add(weight * cells.const.dense().astype(np.float64))
            for term in cells.terms:
                self._pass(term.cells, weight * term.coef.dense().astype(np.float64))
        else:
            self._least(cells, weight)

    def _pass(self, cells: Cells, weight: Floats) -> None:
        """Add to the weight of cells; an axis on which they are repeated is added up."""
        weight = np.broadcast_to(weight, np.broadcast_shapes(weight.shape, (cells.groups, cells.items)))
        for axis, length in enumerate((cells.groups, cells.items)):
            if weight.shape[axis] > length:
                weight = weight.sum(axis=axis, keepdims=True)
        self._weight[cells.index] = self._weight[cells.index] + weight

    def _least(self, cells: Cells, weight: Floats) -> None:
        low = max(cells.low, self._known.get(cells.index, cells.low))
        self._add(np.where(weight > 0, weight * float(low), weight * float(cells.high)))

    def _hinges_of(self, cells: Map, weight: Floats) -> Hinges | None:
        """Return hinges with prices; None where they can have none."""
        inner = _amounts_of(cells)
        if inner is None:
            return None
        flat = np.broadcast_to(weight, (cells.groups, cells.items)).ravel()
        used = np.flatnonzero((flat > 0) & (inner.slope > 0))  # the others cost nothing at the least
        if not len(used) or len(np.unique(inner.key[used])) < len(used):
            return None
        slope, const = inner.slope[used].astype(np.float64), inner.const[used].astype(np.float64)
        return Hinges(inner.tally, inner.key[used], slope, const, flat[used])

    @property
    def memberships(self) -> int:
        """How many memberships prices are about; 0 where these prove nothing, as nothing else weighs against them."""
        return sum(len(hinges.tally.member) for hinges in self.hinges) if self.amounts else 0


def _opens(cells: Cells) -> bool:
    """Whether there is more to know of cells than what they are at least."""
    if cells.groups * cells.items > MOST_CELLS:
        return False
    if isinstance(cells, Map) and cells.function in _COARSER and len(cells.terms) == 1:
        return _opens(cells.terms[0].cells)
    if isinstance(cells, Map) and cells.function is Function.HINGE:
        return _amounts_of(cells) is not None
    return not isinstance(cells, Map) or cells.function is Function.IDENTITY


def _amounts_of(cells: Map) -> Affine | None:
    """Return what hinges are of if that is a static amount by where objects are; None: something else."""
    inner = affine(cells, through=True)
    static = inner is not None and inner.tally.dynamic is None and not (inner.tally.weight < 0).any()
    return inner if static else None


__all__ = ["Hinges", "Terms"]
