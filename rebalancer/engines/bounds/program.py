"""The best prices, by linear programming: parts of objects go, to the best place that there is."""

from __future__ import annotations

from threading import Event

import numpy as np

from rebalancer.engines.bounds.prices import Prices
from rebalancer.engines.linear import Program, solve, summed
from rebalancer.engines.opened import Floats


def best_prices(prices: Prices, seconds: float, stop: Event | None = None) -> tuple[Floats, Floats]:
    """Return the best prices and floors, by linear programming; the largest floors where there was no time.

    One variable for each price where there may be too much at the start (elsewhere the floor is best), for each
    floor, and for what each object there saves by going: at most what staying costs more, and at least nothing.
    """
    dear = prices.dear > 0
    number = np.where(dear, np.cumsum(dear) - 1, dear.sum() + prices.floor_of)
    floors = dear.sum() + np.arange(len(prices.top))
    people = np.unique(prices.here.who[dear[prices.here.of]])
    if not len(people):
        return prices.top[prices.floor_of], prices.top
    row = np.full(prices.objects, -1)
    row[people] = np.arange(len(people))
    saving = dear.sum() + len(floors) + np.arange(len(people))
    count = int(dear.sum()) + len(floors) + len(people)
    bounded = np.flatnonzero(dear & (prices.top > 0)[prices.floor_of])
    rows = len(people) + np.arange(len(bounded))
    # everything is of the size of 1: prices times the largest amount of their resource, in what a typical object saves
    limits = np.append((prices.stay - prices.away)[people], np.zeros(len(rows)))
    money = float(np.median(np.abs(limits[limits != 0]))) if limits.any() else 1.0
    largest = np.ones(len(prices.top))
    np.maximum.at(largest, prices.floor_of[prices.here.of], prices.here.units)
    np.maximum.at(largest, prices.there.of, prices.there.units)
    scale = np.concatenate([largest[prices.floor_of[dear]], largest, np.ones(len(people))])
    row_ids, columns, values = summed(
        (np.arange(len(people)), saving, np.ones(len(people))),
        (row[prices.here.who], number[prices.here.of], -prices.here.units),
        (row[prices.there.who], floors[prices.there.of], prices.there.units),
        (rows, number[bounded], -np.ones(len(bounded))),
        (rows, floors[prices.floor_of[bounded]], np.ones(len(bounded))),
    )
    brings = np.bincount(number, prices.brings, count)
    brings[floors] += prices.there.received(len(floors))
    brings[saving] = 1.0
    most = np.concatenate([prices.most[dear], prices.top, 0.0 * saving])
    least = np.where(np.arange(count) < saving[0], 0.0, -np.inf)
    matrix = row_ids, columns, values / scale[columns]
    none = np.full(len(limits), -np.inf)
    program = Program(brings / scale, least, scale * most / money, none, limits / money, matrix, maximise=True)
    optimum = solve(program, seconds, stop=stop)
    if optimum is None:
        return prices.top[prices.floor_of], prices.top
    found = optimum.values * money / scale
    floor = found[floors].clip(0.0, prices.top)
    return np.clip(found[number], floor[prices.floor_of], prices.most), floor


__all__ = ["best_prices"]
