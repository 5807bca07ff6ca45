"""Which moves come first: those that repair what is broken, then those that gain most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import CellValues, Model
from rebalancer.plan.ledger import Ledger, Legs
from rebalancer.plan.work import costs, counting, evaluations
from rebalancer.problem.numbers import IntArray

#: Work that measuring gains may take; see `evaluations`.
_MEASURING = 60_000_000
#: Up to so many pairs of a cell and a move it is noted which cells count what moves.
_NOTED = 50_000_000


@dataclass(frozen=True, eq=False)
class Priority:
    """The order of moves, and what it is made of.

    Parameters
    ----------
    order : int64 array
        Positions of the moves, the most useful first.
    repairs : float64 array, one per move
        How much of what is broken a move repairs: 1 for a cell that it repairs wholly.
    gain : float64 array, shape (moves, tuple positions)
        By how much each position of the objective falls if a move (or the batch it was measured with, by its share)
        is the only one.
    """

    order: IntArray
    repairs: NDArray[np.float64]
    gain: NDArray[np.float64]


def priority(model: Model, ledger: Ledger, legs: Legs, start: NDArray[np.int32]) -> Priority:
    """Return the order in which moves are worth carrying out."""
    repairs = _repairs(ledger, legs)
    gain = _gains(model, legs, start)
    columns = [np.arange(len(legs)), *(-gain[:, position] for position in reversed(range(gain.shape[1]))), -repairs]
    return Priority(np.lexsort(columns), repairs, gain)


def _repairs(ledger: Ledger, legs: Legs) -> NDArray[np.float64]:
    uses = ledger.uses(legs)
    excess = ledger.excess(uses.key)
    relief = np.clip(uses.give - uses.take, -excess, excess)
    share = np.divide(relief, excess, out=np.zeros(len(excess)), where=excess > 0)
    return np.bincount(uses.leg, share, len(legs)).astype(np.float64)


def _gains(model: Model, legs: Legs, start: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return what each move gains, measured one by one where that is little work, in batches by source elsewhere.

    Only the cells that count what moves are evaluated anew: few, where there are many small rules.
    """
    out = np.zeros((len(legs), model.positions))
    if not len(legs):
        return out
    values = CellValues(model.problem, start)
    before = model.objective_of(values)
    batches = min(len(legs), max(1, evaluations(model, _MEASURING)))
    noted = len(model.graph) * len(legs) <= _NOTED
    touched = counting(model, legs.who) if noted else np.ones((len(model.graph), 1), np.bool_)
    if noted and int((costs(model) @ touched).sum()) <= _MEASURING:
        batches = len(legs)
    by_source = np.argsort(legs.source, kind="stable") if batches < len(legs) else np.arange(len(legs))
    for batch in np.array_split(by_source, batches):
        moved = start.copy()
        moved[legs.who[batch]] = legs.destination[batch]
        anew = np.asarray(touched[:, batch if noted else [0]].any(axis=1))
        near = values.moved(moved, anew)
        out[batch] = (before - model.objective_of(near)) / len(batch)
    return out
