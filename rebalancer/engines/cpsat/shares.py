"""A lower bound from parts of the containers: what each part costs at least by itself, added up.

An objective is at least a sum of terms that belong to one part each, such as the overload of a host or that an object
has left its rack. Minimised over a part alone, under the constraints that speak of nothing else, these take integers
into account, where the linear relaxation of the whole has half an object leave: where limits per rack force most
moves, the sum is often the optimum.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.encode import Encoding
from rebalancer.engines.cpsat.proto import BulkModel
from rebalancer.engines.cpsat.rows import Rows
from rebalancer.engines.cpsat.run import solve

#: Of variables: nothing of any part, things of several parts.
_NONE, _SEVERAL = -1, -2
#: What the terms of a part may add up to.
_ROOM = 2**60


def bound_by_parts(
    encoding: Encoding, objective: Rows, item_of: NDArray[np.int32], request: Request, budget: Budget
) -> int | None:
    """Return a proven lower bound of an objective; None where there was no time.

    Parameters
    ----------
    encoding : Encoding
    objective : Rows
        One row.
    item_of : int32 array, containers
        The part that each container is in; -1: none.
    """
    parts = _Parts(encoding, item_of)
    constant, terms = parts.expanded(objective)
    numbers = np.unique(item_of[item_of >= 0]).tolist()
    total = constant
    for turn, part in enumerate(numbers):
        own = {variable: coef for variable, coef in terms.items() if parts.of[variable] == part}
        least = parts.least(part, own, request, budget.part(budget.remaining / (len(numbers) - turn)))
        if least is None:
            return None
        total += least
    return math.ceil(total)


class _Parts:
    """A model's variables and constraints by the part that they belong to.

    Parameters
    ----------
    encoding : Encoding
    item_of : int32 array, containers
    """

    def __init__(self, encoding: Encoding, item_of: NDArray[np.int32]) -> None:
        proto: Any = encoding.bulk.proto
        self.domains = [list(variable.domain) for variable in proto.variables]
        literals = np.append(item_of, _NONE)[encoding.literals.container].tolist()
        self.of: list[int] = literals + [_NONE] * (len(self.domains) - len(literals))
        self.object = encoding.literals.object.tolist()
        self.rows: list[tuple[list[int], list[int], list[int], list[int]]] = []
        self.defining: dict[int, list[int]] = defaultdict(list)
        for constraint in proto.constraints:
            if not constraint.has_linear():  # to ask any other for its linear part would make it linear
                continue
            body = constraint.linear
            if len(body.vars):
                row = list(body.vars), list(body.coeffs), list(body.domain), list(constraint.enforcement_literal)
                self.rows.append(row)
        # every variable is made of those before it
        by_last = sorted(range(len(self.rows)), key=lambda index: max(self.rows[index][0]))
        for index in by_last:
            variables, _, _, enforced = self.rows[index]
            last = max(variables)
            self.defining[last].append(index)
            if last >= len(literals):
                others = {self.of[v] for v in variables if v != last} | {self.of[v] for v in _positive(enforced)}
                found = (others | {self.of[last]}) - {_NONE}
                self.of[last] = next(iter(found)) if len(found) == 1 else _SEVERAL if found else _NONE
        self.part_of_row = [self._part(*row) for row in self.rows]

    def _part(self, variables: list[int], _coefs: list[int], _domain: list[int], enforced: list[int]) -> int:
        found = {self.of[v] for v in variables} | {self.of[v] for v in _positive(enforced)}
        return found.pop() if len(found) == 1 else _SEVERAL

    def expanded(self, objective: Rows) -> tuple[Fraction, dict[int, Fraction]]:
        """Return what an objective is at least: a constant, and terms of variables of one part each."""
        constant = Fraction(int(objective.const.dense()[0, 0]))
        open_: dict[int, Fraction] = defaultdict(Fraction)
        for variable, coef in zip(objective.var.tolist(), objective.coef.tolist(), strict=True):
            open_[variable] += coef
        terms: dict[int, Fraction] = {}
        while open_:
            variable = max(open_)
            coef = open_.pop(variable)
            row = self._from_below(variable) if self.of[variable] < 0 and coef > 0 else None
            if self.of[variable] >= 0:
                terms[variable] = coef
            elif row is None:
                domain = self.domains[variable]
                constant += coef * (domain[0] if coef > 0 else domain[-1])
            else:
                variables, coefs, domain, _ = self.rows[row]
                factor = -coefs[variables.index(variable)]
                constant -= coef * Fraction(domain[-1], factor)
                for other, weight in zip(variables, coefs, strict=True):
                    if other != variable:
                        open_[other] += coef * Fraction(weight, factor)
        return constant, terms

    def _from_below(self, variable: int) -> int | None:
        """Return a row that says what a variable is at least, of those before it."""
        for index in self.defining[variable]:
            variables, coefs, domain, enforced = self.rows[index]
            if len(variables) > 1 and not enforced and domain[-1] < _ROOM and coefs[variables.index(variable)] < 0:
                return index
        return None

    def least(self, part: int, terms: dict[int, Fraction], request: Request, budget: Budget) -> Fraction | None:
        """Return a proven lower bound of the terms of a part; None where there was no time for one."""
        rows = [row for row, of in zip(self.rows, self.part_of_row, strict=True) if of == part]
        used = sorted({v for row in rows for v in (*row[0], *_positive(row[3]))} | set(terms))
        number = {variable: index for index, variable in enumerate(used)}
        most = sum(abs(coef) * max(map(abs, self.domains[variable])) for variable, coef in terms.items())
        if not most:
            return Fraction(0)
        scale = Fraction(_ROOM) / most if most > _ROOM else Fraction(max(1, int(_ROOM / most)))
        model = BulkModel()
        for variable in used:
            model.proto.variables.add().domain.extend(self.domains[variable])
        for variables, coefs, domain, enforced in rows:
            constraint = model.proto.constraints.add()
            constraint.enforcement_literal.extend(number[v] if v >= 0 else -number[-v - 1] - 1 for v in enforced)
            constraint.linear.vars.extend(number[v] for v in variables)
            constraint.linear.coeffs.extend(coefs)
            constraint.linear.domain.extend(domain)
        mine: dict[int, list[int]] = defaultdict(list)
        for variable in used:
            if variable < len(self.object):
                mine[self.object[variable]].append(number[variable])
        for literals in mine.values():
            if len(literals) > 1:
                model.proto.constraints.add().at_most_one.literals.extend(literals)
        # rounded down, which makes less of whatever a variable is above its least value
        weights = [math.floor(coef * scale) for coef in terms.values()]
        model.minimize(np.array([number[v] for v in terms], np.int64), np.array(weights, np.int64))
        outcome = solve(model, request, budget)
        if outcome.bound is None:
            return None
        least = Fraction(outcome.bound) / scale
        for (variable, coef), weight in zip(terms.items(), weights, strict=True):
            least += (coef - weight / scale) * self.domains[variable][0]
        return least


def _positive(literals: list[int]) -> list[int]:
    return [literal if literal >= 0 else -literal - 1 for literal in literals]


__all__ = ["bound_by_parts"]
