"""From an assignment that breaks a hard cell to one that breaks none: the same search, with the violations to minimise.

The relaxed model has no hard cells; what they demand is its one objective, Σ max(0, cell - bound), each constraint's
share scaled so that none drowns the others.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.neighbourhood.search import Neighbourhoods
from rebalancer.engines.neighbourhood.state import integers_of
from rebalancer.engines.progress import ProgressLog
from rebalancer.model import (
    Cells,
    CellValues,
    Function,
    Gathering,
    Grid,
    HardCells,
    Map,
    Model,
    Param,
    Position,
    Reduce,
    Term,
    evaluate_cells,
)

#: What each constraint's violation counts for at the start, and the most that anything may add up to.
_SHARE, _MOST = 2**20, 2**55
_UNUSED = Param.constant(0)


class Repair:
    """The search for an answer where there is none yet. It may be interrupted, and goes on from where it was.

    Parameters
    ----------
    incumbent : Incumbent
        Is offered the answer.
    request : Request
    """

    def __init__(self, incumbent: Incumbent, request: Request) -> None:
        model, budget = incumbent.model, incumbent.budget
        start = model.problem.initial if request.start is None else request.start
        relaxed = relaxation(model, start)
        silent = replace(request, on_progress=None, target=(), gap=0.0)
        self._incumbent = incumbent
        self._broken = Incumbent(relaxed, silent, budget, ProgressLog(relaxed, silent))
        self._broken.offer(start, integers_of(relaxed, CellValues(model.problem, start)))
        self._search = Neighbourhoods(self._broken, request)

    def go_on(self, budget: Budget) -> bool:
        """Break less, until nothing is broken or the budget is over; return whether there is an answer."""
        self._search.improve(0, budget, bound=0)
        found = self._broken.found
        assert found is not None
        if found.integers[0] <= 0:
            self._incumbent.offer(found.assignment)
        return self._incumbent.found is not None


def relaxation(model: Model, assignment: NDArray[np.int32]) -> Model:
    """Return the model in which nothing is hard, and what the hard cells demand is the only objective."""
    graph = list(model.graph)
    values = CellValues(model.problem, assignment)
    totals: list[tuple[Cells, int]] = []
    for hard in model.hard:
        excess = _excess(graph, hard)
        total = _total(graph, excess)
        broken = int(evaluate_cells(values, total).integers.dense()[0, 0])
        factor = max(1, _SHARE // broken if broken else _SHARE // 64)
        totals.append((total, max(1, min(factor, _MOST // 2**6 // max(1, excess.largest)))))
    most = min(_MOST, sum(factor * total.high for total, factor in totals))
    one = Grid.constant(1, 1, 1)
    objective = Map(
        len(graph),
        1,
        1,
        Fraction(1),
        0,
        most,
        Fraction(0),
        tuple(Term(total, Grid.constant(1, 1, factor), _UNUSED) for total, factor in totals),
        Grid.constant(1, 1, 0),
        _UNUSED,
        Function.IDENTITY,
        one,
        Fraction(1),
        0,
        most,
    )
    graph.append(objective)
    return replace(model, graph=tuple(graph), hard=(), tuple_positions=(Position(objective, (), (), 0.0),))


def _excess(graph: list[Cells], hard: HardCells) -> Cells:
    """Return ``max(0, cell - bound)`` cell by cell."""
    cells = hard.cells
    bound = hard.bound.map(lambda v: -v)
    low = cells.low - int(hard.bound.largest_magnitude())
    high = cells.high + int(hard.bound.largest_magnitude())
    excess = Map(
        len(graph),
        cells.groups,
        cells.items,
        Fraction(1),
        0,
        max(0, high),
        Fraction(0),
        (Term(cells, Grid.constant(1, 1, 1), _UNUSED),),
        bound,
        _UNUSED,
        Function.HINGE,
        Grid.constant(1, 1, 1),
        Fraction(1),
        low,
        high,
    )
    graph.append(excess)
    return excess


def _total(graph: list[Cells], excess: Cells) -> Cells:
    """Return the sum over all cells."""
    high = min(_MOST, excess.high * excess.groups * excess.items)
    total = Reduce(
        len(graph),
        1,
        1,
        Fraction(1),
        0,
        high,
        Fraction(0),
        excess,
        Gathering.SUM,
        None,
        None,
        Grid.constant(excess.groups, excess.items, 1),
        _UNUSED,
    )
    graph.append(total)
    return total


__all__ = ["Repair", "relaxation"]
