"""Objects leave whole: what the excess of a container costs at least, if j objects go, for the best j.

Prices let parts of objects go. Of a container alone more is known: whoever the j objects are that leave it, leaving
costs them no less than the j whom it costs least, and frees no more of a resource than the j that are largest in it. So

    min_j [ Σ_{i<=j} d_(i)  +  Σ_r s_r max(0, e_r - Σ_{i<=j} w_r(i)) ]

is at most what its excess e_r costs, with d what leaving costs each object, in ascending order, and w_r what each
weighs, in descending order. With one resource, and one price for all, it is exact. The same holds of all resources
together, weighed by their prices, where the objects that are largest in one resource are small in another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.averaging import SAFETY
from rebalancer.engines.bounds.prices import Prices
from rebalancer.engines.opened import Floats
from rebalancer.problem.numbers import IntArray

#: No more resources than this are looked at, counted by group: those that most objects take.
_MOST = 64
#: How many times as much as leaving costs on average what an object takes may cost that is too much.
_STEEP = 1_000.0
_EPSILON = float(np.finfo(np.longdouble).eps)


@dataclass(frozen=True, eq=False)
class Excess:
    """What containers have too much of: one resource.

    Parameters
    ----------
    slope, amount : float64 arrays, one per container
        What a unit too much costs, 0 where there is no limit, and how many there are while nobody leaves.
    weight : float64 array, one per object
        What each object takes of it.
    counted : float64 array, one per container
        What of that is known already.
    """

    slope: Floats
    amount: Floats
    weight: Floats
    counted: Floats

    def eased(self, leaving: float) -> Excess:
        """Return the same at no more than so many times what leaving costs: still a bound.

        What is far steeper, as the repair of a limit is, costs digits, and tells no more than that somebody leaves.
        """
        taken = self.weight[self.weight > 0]
        if not leaving or not len(taken):
            return self
        return replace(self, slope=np.minimum(self.slope, _STEEP * leaving / float(taken.mean())))

    def left(self, place: IntArray) -> NDArray[np.longdouble]:
        """Return what is left to pay when the largest object has left a container, the two largest ones, and so on."""
        freed = -_ascending(-self.weight, place)
        cost = self.slope[place] * np.maximum(0, self.amount[place] - freed)
        return np.asarray(np.maximum(0, cost - self.counted[place]))

    def stays(self) -> Floats:
        """Return what is to pay while nobody leaves."""
        return np.maximum(0.0, self.slope * np.maximum(0.0, self.amount) - self.counted)


def least_costs(
    place: IntArray, dear: Floats, excesses: list[Excess], joint: Excess, containers: int
) -> tuple[Floats, float]:
    """Return what each container costs at least, and by how much rounding may have raised these together.

    Parameters
    ----------
    place : int64 array
        The container of each object, in ascending order.
    dear : float64 array
        What it costs if that object leaves; negative: what it saves.
    excesses : list of Excess
        All of which are paid for.
    joint : Excess
        Of all resources together, in some weighting, at no more than they cost: the largest objects of one resource
        may be small in another.
    """
    size = np.bincount(place, np.abs(dear), containers).astype(np.float64)
    one_by_one, least = np.zeros(len(place), np.longdouble), np.zeros(containers)
    for excess in excesses:
        one_by_one = one_by_one + excess.left(place)
        least += excess.stays()
    for excess in (*excesses, joint):
        size += excess.slope * (np.abs(excess.amount) + np.bincount(place, excess.weight, containers))
    cost = _ascending(dear, place) + np.maximum(one_by_one, joint.left(place))
    np.minimum.at(least, place, cost.astype(np.float64))
    steepest = sum(float(excess.slope.max(initial=0.0) * excess.weight.sum()) for excess in (*excesses, joint))
    lost = 2 * _EPSILON * len(place) * containers * (float(np.abs(dear).sum()) + steepest)
    return least, lost + 2.0**-48 * float(size.sum())


def _ascending(values: Floats, place: IntArray) -> NDArray[np.longdouble]:
    """Return the sums of the least value of each container, of the two least ones, and so on, container by container.

    The n-th entry of a container belongs to any of its objects: those have to be in the order of their containers.
    """
    order = np.lexsort((values, place))
    total = np.cumsum(values[order].astype(np.longdouble))
    before = np.concatenate([np.zeros(1, np.longdouble), total])[np.searchsorted(place, place)]
    return np.asarray(total - before)


def whole_bound(prices: Prices, price: Floats, floor: Floats) -> float:
    """Return the bound where each container costs what its prices say, or what it does if objects leave whole.

    Minus infinity where there is none to be had.
    """
    owner = _owners(prices)
    own = owner >= 0
    families, takers = np.unique(prices.floor_of[prices.here.of[own[prices.here.of]]], return_counts=True)
    if not len(families):
        return -np.inf
    families = families[np.argsort(-takers, kind="stable")[:_MOST]]
    own &= np.isin(prices.floor_of, families)
    bare = np.where(own, prices.lowest(floor), price)
    bought = price - bare
    before, after = prices.balance(bare, floor), prices.balance(price, floor)
    containers = int(prices.place.max()) + 1
    who = np.flatnonzero(np.isin(prices.place, owner[own]))
    who = who[np.argsort(prices.place[who], kind="stable")]
    place = prices.place[who]
    leaving = float(np.abs(before[who]).mean())
    excesses = []
    joint = Excess(np.full(containers, np.inf), np.zeros(containers), np.zeros(len(who)), np.zeros(containers))
    misfit, misfit_after = prices.misfit(bare), prices.misfit(price)
    for family in families.tolist():
        rows = np.flatnonzero(own & (prices.floor_of == family))
        slope, amount, paid, counted = np.zeros((4, containers))
        slope[owner[rows]], amount[owner[rows]] = (prices.most - bare)[rows], prices.dear[rows]
        paid[owner[rows]], counted[owner[rows]] = bought[rows], misfit[rows]
        some = np.isin(prices.here.of, rows)
        weight = np.bincount(prices.here.who[some], prices.here.units[some], prices.objects)[who].astype(float)
        excesses.append(Excess(slope, amount, weight, counted).eased(leaving))
        dearer = paid > 0
        joint.slope[dearer] = np.minimum(joint.slope, np.divide(slope, paid, where=dearer, out=slope.copy()))[dearer]
        joint.amount[:] += paid * amount
        joint.weight[:] += paid[place] * weight
        joint.counted[:] += counted
    joint.slope[np.isinf(joint.slope)] = 0.0
    least, lost = least_costs(place, -before[who], excesses, joint.eased(leaving), containers)
    whole = least + np.bincount(place, np.maximum(0.0, before[who]), containers)
    parts = np.bincount(owner[own], (bought * prices.brings + misfit_after - misfit)[own], containers)
    parts += np.bincount(place, (np.minimum(0.0, after) - np.minimum(0.0, before))[who], containers)
    size = np.abs(bought * prices.brings)[own].sum() + (np.abs(before) + np.abs(after))[who].sum()
    return prices.value(bare, floor) + float(np.maximum(whole, parts).sum()) - lost - 4 * SAFETY * float(size)


def _owners(prices: Prices) -> IntArray:
    """Return the container of each price that only objects of one container pay, and may have to: -1 for the others.

    Those of a rack, for example, are nobody's own: they stay what they are.
    """
    at = prices.place[prices.here.who]
    lowest, highest = np.full(len(prices.most), np.iinfo(np.int64).max), np.full(len(prices.most), -1)
    np.minimum.at(lowest, prices.here.of, at)
    np.maximum.at(highest, prices.here.of, at)
    return np.where((lowest == highest) & (prices.dear > 0), highest, -1)


__all__ = ["Excess", "least_costs", "whole_bound"]
