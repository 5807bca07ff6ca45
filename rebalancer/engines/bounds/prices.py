"""A lower bound from prices: what is too much must go or stay too much, and either costs something.

Where an objective is at least a weighted sum of amounts and of hinges over amounts, any price μ between 0 and the
weight per unit of a hinge gives

    Σ_k W_k max(0, s_k U_k + c_k)  >=  Σ_k μ_k (U_k + c_k / s_k)

which is linear in where objects are. So each object pays for where it began (μ there, less what staying saves), or for
somewhere else at the least (a move, and the lowest μ). The smaller of both, added up, is a lower bound whatever the
prices are (Lagrangian duality). The best prices are those of a linear program: parts of objects go, to the best place
that there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.bounds.averaging import SAFETY
from rebalancer.engines.bounds.terms import Floats, Hinges, Ints, Terms
from rebalancer.model import Family, Model, Tally
from rebalancer.problem import UNPLACED


class Prices:
    """What objects pay for where they began, and elsewhere at least, by price.

    Parameters
    ----------
    model : Model
    terms : Terms
    placed : bool array, objects
    """

    def __init__(self, model: Model, terms: Terms, placed: NDArray[np.bool_]) -> None:
        problem = model.problem
        self._placed, self._objects = placed, len(problem.objects)
        self._place = np.where(problem.origin == UNPLACED, len(problem.containers), problem.origin)
        self._constant, self._size = terms.constant, terms.size
        #: What linear terms cost each object where it began, and elsewhere at the least.
        self._stay, self._away = np.zeros(self._objects), np.zeros(self._objects)
        for tally, weight in terms.amounts:
            self._add_amounts(tally, weight)
        #: By price: the largest, what a unit of it brings whatever moves, and the floor that it does not go below.
        self._most = self._brings = np.zeros(0)
        self._floor_of = np.zeros(0, np.int64)
        #: By floor: the largest, and what a unit of it brings while no price is at its largest.
        self._top = self._excess = np.zeros(0)
        #: Where objects began, and wherever else they surely count: who, which price or floor, and how many units.
        self._here = self._there = _Members.none()
        for hinges in terms.hinges:
            self._add_hinges(hinges)

    def _add_amounts(self, tally: Tally, weight: Floats) -> None:
        """Note what a weighted tally costs each object."""
        weight = np.broadcast_to(weight, (tally.groups, tally.items))
        member, place = tally.member, self._place[tally.member]
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
            self._pay(member, stay, np.where(nowhere, np.minimum(0.0, away), away))
            return
        elif (weight == weight[:, :1]).all():
            factor = weight[tally.group, 0]
            rows = np.arange(len(member))
            stay = np.where(item >= 0, factor * tally.weight_at(rows, place, self._objects), 0.0)
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
        low = np.full(self._objects, float(dynamic.default))
        high = low.copy()
        who, item = dynamic.key % max(1, self._objects), dynamic.key // max(1, self._objects)
        known = tally.dynamic_item[tally.dynamic_item >= 0]
        others = np.bincount(known, minlength=int(item.max(initial=0)) + 1)[item]
        listed = others > (tally.dynamic_item[self._place[who]] == item)
        np.minimum.at(low, who[listed], dynamic.value[listed])
        np.maximum.at(high, who[listed], dynamic.value[listed])
        return low, high

    def _pay(self, member: Ints, stay: Floats, away: Floats) -> None:
        self._stay += np.bincount(member, stay, self._objects)
        self._away += np.bincount(member, away, self._objects)
        self._size += float(np.abs(stay).sum() + np.abs(away).sum())

    def _add_hinges(self, hinges: Hinges) -> None:
        """Add the prices of some hinges, and a floor for each group: what it costs to be anywhere at all.

        That is more than nothing where all containers count, and are too full on average.
        """
        tally = hinges.tally
        group = hinges.key // tally.items
        most, brings = hinges.weight * hinges.slope, hinges.const / hinges.slope
        priced = np.zeros((tally.groups, tally.items), bool)
        priced.ravel()[hinges.key] = True
        everywhere = priced[:, np.unique(tally.item_of[:-1])].all(axis=1) & bool((tally.item_of[:-1] >= 0).all())
        surely = np.where(self._placed[tally.member], tally.weight, 0).astype(np.float64)
        excess = np.bincount(tally.group, surely, tally.groups) + np.bincount(group, brings, tally.groups)
        top = np.full(tally.groups, np.inf)
        np.minimum.at(top, group, most)
        top = np.where(everywhere & (excess > 0), top, 0.0)
        number = np.full(tally.groups * tally.items, -1)
        number[hinges.key] = len(self._most) + np.arange(len(hinges.key))
        item = tally.item_of[self._place[tally.member]]
        at = np.where(item >= 0, number[tally.group * tally.items + item], -1)
        here, there = at >= 0, (top > 0)[tally.group]
        self._here = self._here.and_also(tally.member[here], at[here], tally.weight[here])
        self._there = self._there.and_also(tally.member[there], len(self._top) + tally.group[there], surely[there])
        self._most, self._brings = np.append(self._most, most), np.append(self._brings, brings)
        self._floor_of = np.append(self._floor_of, len(self._top) + group)
        self._top, self._excess = np.append(self._top, top), np.append(self._excess, excess)

    def best(self, seconds: float, interrupter: Any = None) -> tuple[Floats, Floats]:
        """Return the best prices and floors, by linear programming; zeros where there was no time.

        One variable for each price where there may be too much at the start (elsewhere the floor is best), for each
        floor, and for what each object there saves by going: at most what staying costs more, and at least nothing.
        """
        from ortools.math_opt import model_pb2
        from ortools.math_opt.python import mathopt

        dear = self._brings + self._here.received(len(self._most)) > 0
        number = np.where(dear, np.cumsum(dear) - 1, dear.sum() + self._floor_of)
        floors = dear.sum() + np.arange(len(self._top))
        people = np.unique(self._here.who[dear[self._here.of]])
        if not len(people):
            return self._top[self._floor_of], self._top
        row = np.full(self._objects, -1)
        row[people] = np.arange(len(people))
        saving = dear.sum() + len(floors) + np.arange(len(people))
        count = int(dear.sum()) + len(floors) + len(people)
        bounded = np.flatnonzero(dear & (self._top > 0)[self._floor_of])
        rows = len(people) + np.arange(len(bounded))
        matrix = _summed(
            (np.arange(len(people)), saving, np.ones(len(people))),
            (row[self._here.who], number[self._here.of], -self._here.units),
            (row[self._there.who], floors[self._there.of], self._there.units),
            (rows, number[bounded], -np.ones(len(bounded))),
            (rows, floors[self._floor_of[bounded]], np.ones(len(bounded))),
        )
        brings = np.bincount(number, self._brings, count)
        brings[floors] += self._there.received(len(floors))
        brings[saving] = 1.0
        limits = np.append((self._stay - self._away)[people], np.zeros(len(rows)))
        model = model_pb2.ModelProto()
        model.variables.ids.extend(range(count))
        model.variables.lower_bounds.extend(np.where(np.arange(count) < saving[0], 0.0, -np.inf).tolist())
        model.variables.upper_bounds.extend(np.concatenate([self._most[dear], self._top, 0.0 * saving]).tolist())
        model.variables.integers.extend([False] * count)
        model.objective.maximize = True
        model.objective.linear_coefficients.ids.extend(range(count))
        model.objective.linear_coefficients.values.extend(brings.tolist())
        model.linear_constraints.ids.extend(range(len(limits)))
        model.linear_constraints.lower_bounds.extend([-np.inf] * len(limits))
        model.linear_constraints.upper_bounds.extend(limits.tolist())
        for name, values in zip(("row_ids", "column_ids", "coefficients"), matrix, strict=True):
            getattr(model.linear_constraint_matrix, name).extend(values.tolist())
        program = mathopt.Model.from_model_proto(model)
        settings = mathopt.SolveParameters(threads=1, presolve=mathopt.Emphasis.OFF)  # takes a third of the time
        if np.isfinite(seconds):
            settings.time_limit = timedelta(seconds=seconds)
        result = mathopt.solve(program, mathopt.SolverType.GLOP, params=settings, interrupter=interrupter)
        if not result.has_primal_feasible_solution():
            return 0.0 * self._most, 0.0 * self._top
        found = np.array(result.variable_values(list(program.variables())))
        floor = found[floors].clip(0.0, self._top)
        return np.clip(found[number], floor[self._floor_of], self._most), floor

    def bound(self, seconds: float, interrupter: Any = None) -> float:
        """Return the bound of the best prices."""
        return self.value(*self.best(seconds, interrupter))

    def _balance(self, price: Floats, floor: Floats) -> Floats:
        """Return what each object pays more for where it began than elsewhere."""
        return self._stay + self._here.paid(price, self._objects) - self._away - self._there.paid(floor, self._objects)

    def value(self, price: Floats, floor: Floats) -> float:
        """Return the bound of these prices, less what rounding can lose."""
        brought, elsewhere = price * self._brings, self._away + self._there.paid(floor, self._objects)
        total = self._constant + float(brought.sum()) + float(elsewhere.sum())
        total += float(np.minimum(0.0, self._balance(price, floor)).sum())
        size = self._size + float(np.abs(brought).sum() + np.abs(elsewhere).sum())
        size += float(self._here.paid(price, self._objects).sum())
        return total - 4 * SAFETY * size


@dataclass(frozen=True, eq=False)
class _Members:
    """Who counts ``units`` of which price."""

    who: Ints
    of: Ints
    units: Floats

    def received(self, prices: int) -> Floats:
        """Return how many units each price gets."""
        return np.bincount(self.of, self.units, prices).astype(np.float64)

    @staticmethod
    def none() -> _Members:
        """Return no members."""
        return _Members(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

    def and_also(self, who: Ints, of: Ints, units: NDArray[np.generic]) -> _Members:
        """Return these and more members."""
        return _Members(np.append(self.who, who), np.append(self.of, of), np.append(self.units, units))

    def paid(self, price: Floats, objects: int) -> Floats:
        """Return what each object pays."""
        return np.bincount(self.who, self.units * price[self.of], objects).astype(np.float64)


def _summed(*parts: tuple[Ints, Ints, Floats]) -> tuple[Ints, Ints, Floats]:
    """Return the entries of a matrix, given by row (-1: nowhere), column and value; those of one place are added up."""
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    row, column, value = row[row >= 0], column[row >= 0], value[row >= 0]
    wide = int(column.max(initial=0)) + 1
    place, entry = np.unique(row * wide + column, return_inverse=True)
    return place // wide, place % wide, np.bincount(entry, value, len(place)).astype(np.float64)


__all__ = ["Prices"]
