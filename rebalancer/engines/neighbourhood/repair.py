"""From an assignment that breaks a hard cell to one that breaks none: the same search, with the violations to minimise.

The relaxed model has no hard cells; what they demand is its one objective, Σ max(0, cell - bound), each constraint's
share scaled so that none drowns the others, and rounded up where it is large.
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
from rebalancer.model.units import form_range

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
    room = _MOST // max(1, len(model.hard))
    for hard in model.hard:
        total = _total(graph, hard, room)
        broken = int(evaluate_cells(values, total).integers.dense()[0, 0])
        factor = _SHARE // broken if broken else _SHARE // 64
        totals.append((total, max(1, min(factor, room // max(1, total.high)))))
    none = Grid.constant(1, 1, 0)
    objective = _map(graph, (1, 1), totals, none)
    return replace(model, graph=tuple(graph), hard=(), tuple_positions=(Position(objective, (), (), 0.0),))


def _total(graph: list[Cells], hard: HardCells, room: int) -> Cells:
    """Return ``Σ max(0, cell - bound)``, in steps so coarse that it stays below ``room``.

    They are rounded up: what is above 0 stays above 0.
    """
    cells = hard.cells
    shape, count = (cells.groups, cells.items), cells.groups * cells.items
    none = Grid.constant(1, 1, 0)
    bound = hard.bound.map(np.negative)
    _, most = form_range((_term(cells, 1),), bound)
    step = -(-most // max(1, room // max(1, count)))
    if step > 1:
        steps = _map(graph, shape, [(cells, 1)], bound, Function.RAISE, step)
        excess = _map(graph, shape, [(steps, 1)], none, Function.HINGE)
    else:
        excess = _map(graph, shape, [(cells, 1)], bound, Function.HINGE)
    one = Grid.constant(*shape, 1)
    high = excess.high * count
    total = Reduce(len(graph), 1, 1, Fraction(1), 0, high, Fraction(0), excess, Gathering.SUM, None, None, one, _UNUSED)
    graph.append(total)
    return total


def _map(
    graph: list[Cells],
    shape: tuple[int, int],
    terms: list[tuple[Cells, int]],
    const: Grid,
    function: Function = Function.IDENTITY,
    divisor: int = 1,
) -> Cells:
    """Return ``f(Σ factor · cells + const)``, which is only ever read in integers."""
    summed = tuple(_term(*term) for term in terms)
    low, high = x_low, x_high = form_range(summed, const)
    if function is Function.HINGE:
        low, high = max(0, low), max(0, high)
    elif function is Function.RAISE:
        low, high = -(-low // divisor), -(-high // divisor)
    one, by = Fraction(1), Grid.constant(1, 1, divisor)
    out = Map(
        len(graph), *shape, one, low, high, Fraction(0), summed, const, _UNUSED, function, by, one, x_low, x_high
    )  # fmt: skip
    graph.append(out)
    return out


def _term(cells: Cells, factor: int) -> Term:
    return Term(cells, Grid.constant(1, 1, factor), _UNUSED)


__all__ = ["Repair", "relaxation"]
