"""The best prices, by linear programming: parts of objects go, to the best place that there is."""

from __future__ import annotations

from threading import Event

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.prices import Prices
from rebalancer.engines.linear import Program, solve, summed
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
        some = (chance < _SAMPLE / prices.objects)[prices.place]
        _, floor = _solve(prices.of_some(some), seconds / 2, stop)
        return _solve(prices, seconds / 2, stop, floor)
    return _solve(prices, seconds, stop)


def _solve(prices: Prices, seconds: float, stop: Event | None, known: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the best prices and floors, where these are not ``known``.

    One variable for each price where there may be too much at the start, for each floor, and for what each object there
    saves by going: at most what staying costs more, and at least nothing. Elsewhere the floor is best, or what is left
    of it where a unit costs something anyway: there is a variable for each such cost, and whoever is there stays.
    """
    dear = prices.dear > 0
    people = np.unique(prices.here.who[dear[prices.here.of]])
    competes = prices.competes[prices.floor_of]
    usual = known
    if usual is None:  # the largest, or what the cheapest place costs anyway
        usual = prices.usual.copy()
        np.minimum.at(usual, prices.floor_of[competes], prices.arriving[competes])
    if not len(people):
        return prices.lowest(usual), usual
    roomy = np.flatnonzero(~dear & competes)
    level, level_floor, level_cost = _levels(prices.floor_of[roomy], prices.arriving[roomy])
    levels = int(dear.sum()) + np.arange(len(level_cost))
    floors = int(dear.sum()) + len(levels) + np.arange(len(prices.top))
    number = np.where(dear, np.cumsum(dear) - 1, floors[prices.floor_of])
    number[roomy] = levels[level]
    row = np.full(prices.objects, -1)
    row[people] = np.arange(len(people))
    saving = floors[-1] + 1 + np.arange(len(people))
    line_floor, line_slope, line_const = _misfits(prices, ~dear & ~competes)
    misfit_floor, misfit = np.unique(line_floor, return_inverse=True)
    misfits = saving[-1] + 1 + np.arange(len(misfit_floor))
    count = int(saving[-1]) + 1 + len(misfits)
    bounded = np.flatnonzero(dear & (prices.top > 0)[prices.floor_of])
    lower = np.append(number[bounded], levels)
    lower_floor = floors[np.append(prices.floor_of[bounded], level_floor)]
    rows = len(people) + np.arange(len(lower))
    # everything is of the size of 1: prices times the largest amount of their resource, in what a typical object saves
    limits = np.concatenate([(prices.stay - prices.away)[people], prices.arriving[bounded], level_cost, line_const])
    lines = len(people) + len(lower) + np.arange(len(line_const))
    money = float(np.median(np.abs(limits[limits != 0]))) if limits.any() else 1.0
    largest = np.ones(len(prices.top))
    np.maximum.at(largest, prices.floor_of[prices.here.of], prices.here.units)
    np.maximum.at(largest, prices.there.of, prices.there.units)
    scale = np.concatenate(
        [largest[prices.floor_of[dear]], largest[level_floor], largest, np.ones(len(people) + len(misfits))]
    )
    row_ids, columns, values = summed(
        (np.arange(len(people)), saving, np.ones(len(people))),
        (row[prices.here.who], number[prices.here.of], -prices.here.units),
        (row[prices.there.who], floors[prices.there.of], prices.there.units),
        (rows, lower, -np.ones(len(rows))),
        (rows, lower_floor, np.ones(len(rows))),
        (lines, misfits[misfit], np.ones(len(lines))),
        (lines, floors[line_floor], -line_slope),
    )
    brings: Floats = np.bincount(number, prices.brings, count).astype(np.float64)
    brings[floors] += prices.there.received(len(floors))
    stays = np.flatnonzero((number[prices.here.of] < floors[0]) & (row[prices.here.who] < 0))
    of, units = prices.here.of[stays], prices.here.units[stays]
    brings += np.bincount(number[of], units, count) - np.bincount(floors[prices.floor_of[of]], units, count)
    brings[saving[0] :] = 1.0
    free = np.full(len(misfits), np.inf)
    most = np.concatenate([prices.most[dear], prices.top[level_floor], prices.top, 0.0 * saving, free])
    least = np.where(np.arange(count) < saving[0], 0.0, -np.inf)
    if known is not None:
        most[floors] = least[floors] = known
    matrix = row_ids, columns, values / scale[columns]
    none = np.full(len(limits), -np.inf)
    program = Program(
        brings / scale, scale * least / money, scale * most / money, none, limits / money, matrix, maximise=True
    )
    optimum = solve(program, seconds, stop=stop)
    if optimum is None:
        return prices.lowest(usual), usual
    found = optimum.values * money / scale
    floor = found[floors].clip(0.0, prices.top)
    return np.clip(found[number], prices.lowest(floor), prices.most), floor


def _misfits(prices: Prices, some: NDArray[np.bool_]) -> tuple[IntArray, Floats, Floats]:
    """Return lines above what some prices leave out as amounts are whole, by floor: its number, slopes and constants.

    They touch it where the floor has some values; it is concave.
    """
    numbers, slopes, consts = [], [], []
    for number in np.unique(prices.floor_of[some & (prices.below > 0) & (prices.top > 0)[prices.floor_of]]).tolist():
        mine = np.flatnonzero(some & (prices.floor_of == number))
        below, above, most = prices.below[mine], prices.above[mine], prices.most[mine]
        for floor in np.linspace(0.0, prices.top[number], _LINES):
            rising = floor * below <= (most - floor) * above
            numbers.append(number)
            slopes.append(np.where(rising, below, -above).sum())
            consts.append(np.where(rising, 0.0, most * above).sum())
    return np.array(numbers, np.int64), np.array(slopes, np.float64), np.array(consts, np.float64)


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
