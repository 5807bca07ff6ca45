"""An objective from below, in terms that a bound can work with: a constant, weighted amounts, and weighted hinges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rebalancer.engines.bounds.averaging import MOST_CELLS, Affine, affine
from rebalancer.engines.opened import COARSER, Floats, Opened
from rebalancer.model import Cells, Function, Map, Model, Tally
from rebalancer.problem.numbers import IntArray


@dataclass(frozen=True, eq=False)
class Hinges:
    """Cells ``weight · max(0, slope · U[key] + const)`` of one tally."""

    tally: Tally
    key: IntArray
    slope: Floats
    const: Floats
    weight: Floats


class Terms(Opened):
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
        What is there at least whatever the assignment is, and the sum of its addends' magnitudes.
    amounts : list of (Tally, array)
        With the weight of each cell.
    hinges : list of Hinges
    """

    def __init__(self, model: Model, objective: Cells, known: dict[int, int]) -> None:
        self._known = known
        self.amounts: list[tuple[Tally, Floats]] = []
        self.hinges: list[Hinges] = []
        super().__init__(model, objective, COARSER, exact=False)
        self.constant -= self.taken
        self.size += self.taken

    def opens(self, cells: Cells) -> bool:
        """Whether there is more to know of cells than what they are at least."""
        if cells.groups * cells.items > MOST_CELLS:
            return False
        if isinstance(cells, Map) and cells.function in COARSER and len(cells.terms) == 1:
            return self.opens(cells.terms[0].cells)
        if isinstance(cells, Map) and cells.function is Function.HINGE:
            return _amounts_of(cells) is not None
        return not isinstance(cells, Map) or cells.function is Function.IDENTITY

    def leaf(self, cells: Cells, weight: Floats) -> None:
        """Take amounts and hinges over amounts; of all other cells, what they are at least."""
        if isinstance(cells, Tally):
            self.amounts.append((cells, weight))
        elif isinstance(cells, Map) and cells.function is Function.HINGE and (weight >= 0).all():
            hinges = self._hinges_of(cells, weight)
            if hinges is None:
                self._least(cells, weight)
            else:
                self.hinges.append(hinges)
        else:
            self._least(cells, weight)

    def _least(self, cells: Cells, weight: Floats) -> None:
        low = max(cells.low, self._known.get(cells.index, cells.low))
        self.add(np.where(weight > 0, weight * float(low), weight * float(cells.high)))

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


def _amounts_of(cells: Map) -> Affine | None:
    """Return what hinges are of if that is a static amount by where objects are; None: something else."""
    inner = affine(cells, through=True)
    static = inner is not None and inner.tally.dynamic is None and not (inner.tally.weight < 0).any()
    return inner if static else None


__all__ = ["Hinges", "Terms"]
