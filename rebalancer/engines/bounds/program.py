"""The best prices, by linear programming: parts of objects go, to the best place that there is."""

from __future__ import annotations

import time
from threading import Event

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.prices import Prices
from rebalancer.engines.linear import Matrix, Program, solve, summed
from rebalancer.engines.opened import Floats
from rebalancer.problem.numbers import IntArray

#: As many different prices at most are told apart where there is room, by floor.
_LEVELS = 64
#: So many lines tell what whole amounts leave out, by floor.
_LINES = 16
#: What so many objects or a few more cost tells the floors, where these join what is apart otherwise.
_SAMPLE = 8_000


def best_prices(prices: Prices, seconds: float, stop: Event | None = None) -> tuple[Floats, Floats]:
    """Return the best prices and floors, by linear programming; the usual floors where there was no time.

    Where floors join what containers cost and there are many objects, those of some places tell the floors first.
    """
    if prices.joins and prices.objects > 2 * _SAMPLE:
        chance = np.random.default_rng(0).random(int(prices.place.max()) + 1)
        some, began = (chance < _SAMPLE / prices.objects)[prices.place], time.monotonic()
        _, floor = _solve(prices.of_some(some), seconds / 2, stop)
        return _solve(prices, max(0.0, seconds - (time.monotonic() - began)), stop, floor)
    return _solve(prices, seconds, stop)


def _solve(prices: Prices, seconds: float, stop: Event | None, known: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the best prices and floors, where these are not ``known``."""
    columns = _Columns(prices)
    usual = known
    if usual is None:  # the largest, or what the cheapest place costs anyway
        usual = prices.usual.copy()
        some = prices.competes[prices.floor_of]
        np.minimum.at(usual, prices.floor_of[some], prices.arriving[some])
    if not len(columns.people):
        return prices.lowest(usual), usual
    matrix, limits = _rows(prices, columns)
    # everything is of the size of 1: prices times the largest amount of their resource, in what a typical object saves
    money = float(np.median(np.abs(limits[limits != 0]))) if limits.any() else 1.0
    largest = np.ones(len(prices.top))
    np.maximum.at(largest, prices.floor_of[prices.here.of], prices.here.units)
    np.maximum.at(largest, prices.there.of, prices.there.units)
    scale = np.ones(columns.count)
    scale[: columns.saving[0]] = largest[columns.floor_of]
    least, most = np.full(columns.count, -np.inf), np.full(columns.count, np.inf)
    least[: columns.saving[0]] = 0.0
    most[: columns.saving[0]] = np.concatenate([prices.most[columns.dear], prices.top[columns.level_floor], prices.top])
    most[columns.saving] = 0.0
    if known is not None:
        most[columns.floors] = least[columns.floors] = known
    rows, of, values = matrix
    program = Program(
        cost=_brings(prices, columns) / scale,
        low=scale * least / money,
        high=scale * most / money,
        least=np.full(len(limits), -np.inf),
        most=limits / money,
        matrix=(rows, of, values / scale[of]),
        maximise=True,
    )
    optimum = solve(program, seconds, stop=stop)
    if optimum is None:
        return prices.lowest(usual), usual
    found = optimum.values * money / scale
    floor = found[columns.floors].clip(0.0, prices.top)
    return np.clip(found[columns.number], prices.lowest(floor), prices.most), floor


class _Columns:
    """The variables of the linear program, in this order.

    One for each price where there may be too much at the start (``dear``), one for each level of what a unit costs
    anyway elsewhere, one for each floor, one for what each object saves by going from where there may be too much: at
    most what staying costs more, and at least nothing. And one for what whole amounts add, by floor. Other prices are
    what is left of the floor, so whoever is there stays.

    Attributes
    ----------
    levels, floors, saving, misfits : int64 arrays
        The variables of each kind; the first ones are those of the prices.
    number : int64 array, one per price
        The variable that tells it.
    floor_of : int64 array
        The floor of each variable before those of objects.
    people : int64 array
        Whose savings there are variables for.
    lines : (int64 array, float64 array, float64 array)
        What `_misfits` returns, and ``misfit``, the variable that is below each line.
    """

    def __init__(self, prices: Prices) -> None:
        self.dear = prices.dear > 0
        competes = prices.competes[prices.floor_of]
        roomy = np.flatnonzero(~self.dear & competes)
        level, self.level_floor, self.level_cost = _levels(prices.floor_of[roomy], prices.arriving[roomy])
        self.people = np.unique(prices.here.who[self.dear[prices.here.of]])
        self.lines = _misfits(prices, ~self.dear & ~competes)
        with_lines, misfit = np.unique(self.lines[0], return_inverse=True)
        sizes = self.dear.sum(), len(self.level_cost), len(prices.top), len(self.people), len(with_lines)
        ends = np.cumsum(sizes)
        self.levels, self.floors, self.saving, self.misfits = map(np.arange, ends[:-1], ends[1:])
        self.count = int(ends[-1])
        self.misfit = self.misfits[misfit]
        self.number = np.where(self.dear, np.cumsum(self.dear) - 1, self.floors[prices.floor_of])
        self.number[roomy] = self.levels[level]
        self.floor_of = np.concatenate([prices.floor_of[self.dear], self.level_floor, np.arange(len(prices.top))])


def _rows(prices: Prices, columns: _Columns) -> tuple[Matrix, Floats]:
    """Return the rows, and what each is at most: savings, prices that floors are below, what whole amounts add."""
    row = np.full(prices.objects, -1)
    row[columns.people] = np.arange(len(columns.people))
    bounded = np.flatnonzero(columns.dear & (prices.top > 0)[prices.floor_of])
    lower = np.append(columns.number[bounded], columns.levels)
    below = columns.floors[np.append(prices.floor_of[bounded], columns.level_floor)]
    line_floor, line_slope, line_const = columns.lines
    prices_from = len(columns.people)
    lines_from = prices_from + len(lower)
    rows, lines = prices_from + np.arange(len(lower)), lines_from + np.arange(len(line_const))
    matrix = summed(
        (np.arange(len(columns.people)), columns.saving, np.ones(len(columns.people))),
        (row[prices.here.who], columns.number[prices.here.of], -prices.here.units),
        (row[prices.there.who], columns.floors[prices.there.of], prices.there.units),
        (rows, lower, -np.ones(len(rows))),
        (rows, below, np.ones(len(rows))),
        (lines, columns.misfit, np.ones(len(lines))),
        (lines, columns.floors[line_floor], -line_slope),
    )
    saved = (prices.stay - prices.away)[columns.people]
    return matrix, np.concatenate([saved, prices.arriving[bounded], columns.level_cost, line_const])


def _brings(prices: Prices, columns: _Columns) -> Floats:
    """Return what a unit of each variable brings."""
    brings: Floats = np.bincount(columns.number, prices.brings, columns.count).astype(np.float64)
    brings[columns.floors] += prices.there.received(len(columns.floors))
    moves = np.zeros(prices.objects, np.bool_)
    moves[columns.people] = True
    stays = np.flatnonzero((columns.number[prices.here.of] < columns.floors[0]) & ~moves[prices.here.who])
    of, units = prices.here.of[stays], prices.here.units[stays]
    brings += np.bincount(columns.number[of], units, columns.count)
    brings -= np.bincount(columns.floors[prices.floor_of[of]], units, columns.count)
    brings[columns.saving] = brings[columns.misfits] = 1.0
    return brings


def _misfits(prices: Prices, some: NDArray[np.bool_]) -> tuple[IntArray, Floats, Floats]:
    """Return lines above what some prices leave out as amounts are whole, by floor: its number, slopes and constants.

    They touch it where the floor has some values; it is concave.
    """
    mine = np.flatnonzero(some & (prices.below > 0) & (prices.top > 0)[prices.floor_of])
    number, at = np.unique(prices.floor_of[mine], return_inverse=True)
    below, above, most = prices.below[mine], prices.above[mine], prices.most[mine]
    slopes, consts = [], []
    for share in np.linspace(0.0, 1.0, _LINES):
        floor = (share * prices.top[number])[at]
        rising = floor * below <= (most - floor) * above
        slopes.append(np.bincount(at, np.where(rising, below, -above), len(number)))
        consts.append(np.bincount(at, np.where(rising, 0.0, most * above), len(number)))
    return np.tile(number, _LINES), np.concatenate(slopes), np.concatenate(consts)


def _levels(floor: IntArray, cost: Floats) -> tuple[IntArray, IntArray, Floats]:
    """Tell costs apart: return the level of each, and the floor and the cost of each level.

    Where there are too many different ones, those of about the same size are one level, of their mean.
    """
    rank = np.zeros(len(cost), np.int64)
    for which in np.unique(floor).tolist():
        mine = np.flatnonzero(floor == which)
        known, at = np.unique(cost[mine], return_inverse=True)
        rank[mine] = at * min(_LEVELS, len(known)) // len(known)
    _, first, level = np.unique(floor * _LEVELS + rank, return_index=True, return_inverse=True)
    return level, floor[first], np.bincount(level, cost, len(first)) / np.bincount(level, minlength=len(first))


__all__ = ["best_prices"]
