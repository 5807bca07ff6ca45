"""A lower bound from prices: what is too much must go or stay too much, and either costs something.

Where an objective is at least a weighted sum of amounts and of hinges over amounts, any price μ between 0 and the
weight per unit of a hinge gives

    Σ_k W_k max(0, s_k U_k + c_k)  >=  Σ_k μ_k (U_k + c_k / s_k)

which is linear in where objects are. So each object pays for where it began (μ there, less what staying saves), or for
somewhere else at the least (a move, and the lowest μ). The smaller of both, added up, is a lower bound whatever the
prices are (Lagrangian duality). `program.py` finds the best prices, `leaving.py` knows that objects leave whole.

Where an amount costs something by where it is (a move that costs less the larger the container is, say), the lowest μ
is no measure: the cheapest containers have little room. So what is lowest is μ and that cost together.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.averaging import SAFETY, counted_everywhere
from rebalancer.engines.bounds.terms import Hinges, Terms
from rebalancer.engines.opened import Floats
from rebalancer.model import Family, Model, Tally
from rebalancer.problem import UNPLACED
from rebalancer.problem.numbers import IntArray


class Prices:
    """What objects pay for where they began, and elsewhere at least, by price.

    Parameters
    ----------
    model : Model
    terms : Terms
    placed : bool array, objects
        Who cannot be unplaced.

    Attributes
    ----------
    place : int64 array, objects
        The container where each began; the number of containers: in none.
    stay, away : float64 arrays, objects
        What each object pays, prices apart, for where it began, and elsewhere at the least.
    most, brings : float64 arrays, one per price
        Its largest value, and what a unit of it brings whoever moves. There is a price for each cell of a hinge.
    arriving : float64 array, one per price
        What a unit costs there anyway, wherever it comes from.
    floor_of : int64 array, one per price
        The floor that it does not go below, with what a unit costs there anyway: what any place costs. There is one for
        each group of a tally.
    below, above : float64 arrays, one per price
        Amounts are whole: what is free may lie between two that there can be, so far above one and below the other.
    top, usual : float64 arrays, one per floor
        Its largest value; 0 where some place may cost nothing. And what it is where nobody works out a better one.
    here, there : Members
        What objects take where they began, by price, and wherever else they are, by floor.
    """

    def __init__(self, model: Model, terms: Terms, placed: NDArray[np.bool_]) -> None:
        problem = model.problem
        self._placed, self.objects = placed, len(problem.objects)
        self.place = np.where(problem.origin == UNPLACED, len(problem.containers), problem.origin)
        self._constant, self._size = terms.constant, terms.size
        self.stay, self.away = np.zeros(self.objects), np.zeros(self.objects)
        arriving: dict[int, Floats] = {}
        for tally, weight in terms.amounts:
            at = next((at for at, hinges in enumerate(terms.hinges) if _compete(hinges, tally, weight)), None)
            if at is not None:
                arriving[at] = arriving.get(at, 0.0) + np.broadcast_to(weight, (tally.groups, tally.items)).ravel()
            self._add_amounts(tally, weight, at is None)
        self.most = self.brings = self.arriving = self.below = self.above = self.top = self.usual = np.zeros(0)
        self.floor_of = np.zeros(0, np.int64)
        self.here = self.there = Members.none()
        for at, hinges in enumerate(terms.hinges):
            self._add_hinges(hinges, arriving.get(at))

    def _add_amounts(self, tally: Tally, weight: Floats, elsewhere: bool) -> None:
        """Note what a weighted tally costs each object; ``elsewhere``: and not only where it began."""
        weight = np.broadcast_to(weight, (tally.groups, tally.items))
        member, place = tally.member, self.place[tally.member]
        others = np.bincount(tally.item_of[tally.item_of >= 0], minlength=tally.items)
        item = tally.item_of[place]
        if tally.family is Family.STAYED:
            home = tally.home[member]
            if tally.dynamic is None:
                paid = np.where(home >= 0, tally.weight * weight[tally.group, home], 0.0)
                stay = np.where(item == home, paid, 0.0)
                away = np.where(others[home] > (item == home), np.minimum(0.0, paid), 0.0)
                self._pay(member, stay, away)
                return
        elif tally.dynamic is None:
            used = np.unique(tally.item_of[tally.item_of >= 0])
            if not len(used):
                return
            cheapest, dearest = weight[:, used].min(axis=1), weight[:, used].max(axis=1)
            stay = np.where(item >= 0, tally.weight * weight[tally.group, item], 0.0)
            away = np.minimum(tally.weight * cheapest[tally.group], tally.weight * dearest[tally.group])
            nowhere = (tally.item_of[:-1] < 0).any() | ~self._placed[member]
            self._pay(member, stay, np.where(nowhere, np.minimum(0.0, away), away) if elsewhere else 0.0 * away)
            return
        elif (weight == weight[:, :1]).all():
            factor = weight[tally.group, 0]
            rows = np.arange(len(member))
            stay = np.where(item >= 0, factor * tally.weight_at(rows, place, self.objects), 0.0)
            low, high = self._elsewhere(tally)
            away = np.minimum(factor * low[member], factor * high[member])
            nowhere = (tally.item_of[:-1] < 0).any() | ~self._placed[member]
            self._pay(member, stay, np.where(nowhere, np.minimum(0.0, away), away))
            return
        cost = np.where(weight > 0, weight * float(tally.low), weight * float(tally.high))
        self._constant += float(cost.sum())
        self._size += float(np.abs(cost).sum())

    def _elsewhere(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the least and the most that each object weighs anywhere but where it began."""
        assert tally.dynamic is not None
        assert tally.dynamic_item is not None
        dynamic = tally.dynamic
        low = np.full(self.objects, float(dynamic.default))
        high = low.copy()
        who, item = dynamic.key % max(1, self.objects), dynamic.key // max(1, self.objects)
        known = tally.dynamic_item[tally.dynamic_item >= 0]
        others = np.bincount(known, minlength=int(item.max(initial=0)) + 1)[item]
        listed = others > (tally.dynamic_item[self.place[who]] == item)
        np.minimum.at(low, who[listed], dynamic.value[listed])
        np.maximum.at(high, who[listed], dynamic.value[listed])
        return low, high

    def _pay(self, member: IntArray, stay: Floats, away: Floats) -> None:
        self.stay += np.bincount(member, stay, self.objects)
        self.away += np.bincount(member, away, self.objects)
        self._size += float(np.abs(stay).sum() + np.abs(away).sum())

    def _add_hinges(self, hinges: Hinges, arriving: Floats | None) -> None:
        """Add the prices of some hinges, and a floor for each group: what it costs to be anywhere at all.

        That is more than nothing where all containers count, and are too full on average or cost something anyway.
        """
        tally = hinges.tally
        group = hinges.key // tally.items
        most, brings = hinges.weight * hinges.slope, hinges.const / hinges.slope
        surely = np.where(self._placed[tally.member], tally.weight, 0).astype(np.float64)
        excess = np.bincount(tally.group, surely, tally.groups) + np.bincount(group, brings, tally.groups)
        cost = np.zeros(len(most)) if arriving is None else arriving[hinges.key]
        below, above = _between(-brings, tally.weight)
        top, dearest = np.full(tally.groups, np.inf), np.zeros(tally.groups)
        np.minimum.at(top, group, most + cost)
        np.maximum.at(dearest, group, cost)
        top = np.where(counted_everywhere(tally, hinges.key), top, 0.0)
        usual = np.where(excess > 0, top, np.minimum(top, dearest))  # at that there is room for all
        misfit = np.bincount(group, below, tally.groups) + excess > 0  # there is, but not for whole amounts
        top = np.where((excess > 0) | misfit & (dearest == 0), top, usual)
        number = np.full(tally.groups * tally.items, -1)
        number[hinges.key] = len(self.most) + np.arange(len(hinges.key))
        item = tally.item_of[self.place[tally.member]]
        at = np.where(item >= 0, number[tally.group * tally.items + item], -1)
        here, there = at >= 0, (top > 0)[tally.group]
        self.here = self.here.and_also(tally.member[here], at[here], tally.weight[here])
        self.there = self.there.and_also(tally.member[there], len(self.top) + tally.group[there], surely[there])
        self.most, self.brings = np.append(self.most, most), np.append(self.brings, brings)
        self.arriving = np.append(self.arriving, cost)
        self.below, self.above = np.append(self.below, below), np.append(self.above, above)
        self.floor_of = np.append(self.floor_of, len(self.top) + group)
        self.top, self.usual = np.append(self.top, top), np.append(self.usual, usual)

    @cached_property
    def dear(self) -> Floats:
        """How many units of each price there are at the start beyond what is free."""
        return self.brings + self.here.received(len(self.most))

    @property
    def competes(self) -> NDArray[np.bool_]:
        """Whether units cost something anyway, and less in some places than in others, by floor."""
        return np.asarray(np.bincount(self.floor_of, self.arriving, len(self.top)) > 0)

    @property
    def joins(self) -> bool:
        """Whether what containers cost hangs together by some floor that is neither nothing nor its largest value."""
        return bool(self.competes.any() or ((self.below > 0) & (self.top > 0)[self.floor_of]).any())

    def of_some(self, some: NDArray[np.bool_]) -> Prices:
        """Return the prices of some objects only, with as large a share of what is free, in all, as they have."""
        fewer = copy(self)
        fewer.__dict__.pop("dear", None)
        fewer.here, fewer.there = self.here.only(some), self.there.only(some)
        number, floors = len(self.most), len(self.top)
        units, kept = self.here.received(number), fewer.here.received(number)
        share = np.full(number, some.mean())
        np.divide(kept, units, out=share, where=units > 0)
        fewer.below, fewer.above = share * self.below, share * self.above
        free = share * np.maximum(0.0, -self.dear)
        of_units = np.bincount(self.floor_of, kept, floors) / np.maximum(1.0, np.bincount(self.floor_of, units, floors))
        lost = np.bincount(self.floor_of, (of_units[self.floor_of] - share) * self.dear, floors)
        fewer.brings = self.brings * share
        fewer.brings += (lost / np.maximum(1.0, np.bincount(self.floor_of, free, floors)))[self.floor_of] * free
        return fewer

    def misfit(self, price: Floats) -> Floats:
        """Return what each hinge costs beyond what its price says, as amounts are whole.

        Between two amounts that there can be, a hinge is as good as a straight line: of m max(0, u - e) with a and b
        from e to these, what is above μ (u - e) is at least μ a at the lower one, and (m - μ) b at the upper one.
        """
        return np.minimum(price * self.below, (self.most - price) * self.above)

    def lowest(self, floor: Floats) -> Floats:
        """Return the lowest value of each price."""
        return np.maximum(0.0, floor[self.floor_of] - self.arriving)

    def balance(self, price: Floats, floor: Floats) -> Floats:
        """Return what each object pays more for where it began than elsewhere."""
        return self.stay + self.here.paid(price, self.objects) - self.away - self.there.paid(floor, self.objects)

    def value(self, price: Floats, floor: Floats) -> float:
        """Return the bound of these prices, less what rounding can lose."""
        brought, elsewhere = price * self.brings, self.away + self.there.paid(floor, self.objects)
        total = self._constant + float(brought.sum()) + float(elsewhere.sum())
        misfit = float(self.misfit(price).sum())
        total += float(np.minimum(0.0, self.balance(price, floor)).sum()) + misfit
        size = self._size + float(np.abs(brought).sum() + np.abs(elsewhere).sum()) + misfit
        size += float(self.here.paid(price, self.objects).sum())
        return total - 4 * SAFETY * size


def _between(free: Floats, weight: IntArray) -> tuple[Floats, Floats]:
    """Return how far what is free is above the last, and below the next, multiple of what all weights are multiples of.

    Where floating point does not tell, it is no way at all.
    """
    step = float(np.gcd.reduce(weight)) or 1.0
    part = np.mod(free, step)
    lost = 2.0**-48 * (np.abs(free) + step)
    return np.maximum(0.0, part - lost), np.maximum(0.0, step - part - lost)


def _compete(hinges: Hinges, tally: Tally, weight: Floats) -> bool:
    """Whether hinges over the same amounts are in each place where these cost something, by how much they differ."""
    by_cell = np.broadcast_to(weight, (tally.groups, tally.items)).ravel()
    return bool(
        tally.family is Family.AFTER
        and tally.dynamic is None
        and _same(hinges.tally, tally)
        and counted_everywhere(tally, hinges.key).all()
        and (by_cell >= 0).all()
        and np.ptp(by_cell[hinges.key]) > 0
    )


def _same(one: Tally, other: Tally) -> bool:
    """Whether two static tallies count the same."""
    return (one.groups, one.items) == (other.groups, other.items) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("item_of", "group", "member", "weight")
    )


@dataclass(frozen=True, eq=False)
class Members:
    """Who counts ``units`` of which price."""

    who: IntArray
    of: IntArray
    units: Floats

    def received(self, prices: int) -> Floats:
        """Return how many units each price gets."""
        return np.bincount(self.of, self.units, prices).astype(np.float64)

    def only(self, some: NDArray[np.bool_]) -> Members:
        """Return those of some objects."""
        kept = some[self.who]
        return Members(self.who[kept], self.of[kept], self.units[kept])

    @staticmethod
    def none() -> Members:
        """Return no members."""
        return Members(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

    def and_also(self, who: IntArray, of: IntArray, units: NDArray[np.generic]) -> Members:
        """Return these and more members."""
        return Members(np.append(self.who, who), np.append(self.of, of), np.append(self.units, units))

    def paid(self, price: Floats, objects: int) -> Floats:
        """Return what each object pays."""
        return np.bincount(self.who, self.units * price[self.of], objects).astype(np.float64)


__all__ = ["Members", "Prices"]
