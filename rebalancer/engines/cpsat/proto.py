"""A CP-SAT model filled in bulk: constraints go straight into the protocol buffer, from arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.engines.cpsat.rows import Rows
from rebalancer.problem.numbers import IntArray

#: CP-SAT's own infinity for one side of a constraint.
INFINITE = 2**62
_CHUNK = 4096


class BulkModel:
    """A CP-SAT model under construction.

    Attributes
    ----------
    proto : CpModelProto
        OR-tools' protocol buffer. It is taken from where `cp_model` has it: that module imports pandas, which would be
        a third of what the command takes for a small scenario.
    """

    def __init__(self) -> None:
        from ortools.sat.python.cp_model_helper import CpModelProto

        self.proto: Any = CpModelProto()

    def copy(self) -> BulkModel:
        """Return a model of its own that is the same."""
        other = BulkModel()
        other.proto.copy_from(self.proto)
        return other

    def add_booleans(self, count: int) -> None:
        """Append 0/1 variables; whole chunks are merged at once, which is ten times faster than adding one by one."""
        from ortools.sat.python.cp_model_helper import CpModelProto

        def chunk(size: int) -> Any:
            part = CpModelProto()
            for _ in range(size):
                part.variables.add().domain.extend((0, 1))
            return part

        if count >= _CHUNK:
            block = chunk(_CHUNK)
            for _ in range(count // _CHUNK):
                self.proto.merge_from(block)
        rest = chunk(count % _CHUNK)
        self.proto.merge_from(rest)

    def add_integers(self, low: IntArray, high: IntArray) -> None:
        """Append integer variables with these bounds."""
        variables = self.proto.variables
        for bounds in zip(low.tolist(), high.tolist(), strict=True):
            variables.add().domain.extend(bounds)

    def restrict(self, variable: int, values: IntArray) -> None:
        """Leave a variable only some values, in ascending order."""
        domain = self.proto.variables[variable].domain
        gaps = np.flatnonzero(np.diff(values) > 1)  # what is adjacent must be one interval
        domain.clear()
        domain.extend(np.stack([values[np.append(0, gaps + 1)], values[np.append(gaps, -1)]], axis=1).ravel())

    def bound(self, variables: NDArray[np.intp], low: IntArray, high: IntArray) -> None:
        """Give variables whose values are an interval another one."""
        every = self.proto.variables
        for variable, least, most in zip(variables.tolist(), low.tolist(), high.tolist(), strict=True):
            domain = every[variable].domain
            domain[0], domain[1] = least, most

    def exactly_one(self, start: IntArray) -> None:
        """Demand exactly one of the variables start[i] … start[i + 1] - 1, for every i."""
        add = self.proto.constraints.add
        bounds = start.tolist()
        for first, last in pairwise(bounds):
            add().exactly_one.literals.extend(range(first, last))

    def linear(
        self,
        rows: Rows,
        low: IntArray,
        high: IntArray,
        enforce: IntArray | None = None,
        extra: IntArray | None = None,
        factor: IntArray | None = None,
    ) -> None:
        """Demand ``low <= Σ (+ factor · extra variable) <= high`` of every row's variables (its constant is not added).

        Parameters
        ----------
        enforce : int64 array, optional
            A literal per row (negative: negated, as in the protocol buffer) under which the demand holds.
        extra, factor : int64 arrays, optional
            One more variable per row, and its coefficient.
        """
        add = self.proto.constraints.add
        start = rows.start.tolist()
        var, coef = rows.var, rows.coef
        extras = None if extra is None else extra.tolist()
        factors = None if factor is None else factor.tolist()
        literals = None if enforce is None else enforce.tolist()
        for row, (least, most) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            constraint = add()
            if literals is not None:
                constraint.enforcement_literal.append(literals[row])
            body = constraint.linear
            first, last = start[row], start[row + 1]
            body.vars.extend(var[first:last])
            body.coeffs.extend(coef[first:last])
            if extras is not None and factors is not None:
                body.vars.append(extras[row])
                body.coeffs.append(factors[row])
            body.domain.extend((max(least, -INFINITE), min(most, INFINITE)))

    def linear_of(
        self,
        var: IntArray | list[int],
        coef: IntArray | list[int],
        low: int,
        high: int,
        enforce: int | None = None,
    ) -> None:
        """Demand one linear constraint, under a literal if one is given."""
        constraint = self.proto.constraints.add()
        if enforce is not None:
            constraint.enforcement_literal.append(enforce)
        body = constraint.linear
        body.vars.extend(var)
        body.coeffs.extend(coef)
        body.domain.extend((max(low, -INFINITE), min(high, INFINITE)))

    def largest(self, target: int, sources: list[tuple[IntArray, IntArray, int]], sign: int) -> None:
        """Demand that ``target`` is the largest (sign 1) or smallest (sign -1) of linear forms.

        A form is (variables, coefficients, constant).
        """
        body = self.proto.constraints.add().lin_max
        body.target.vars.append(target)
        body.target.coeffs.append(sign)
        for var, coef, const in sources:
            expression = body.exprs.add()
            expression.vars.extend(var)
            expression.coeffs.extend(sign * coef)
            expression.offset = sign * const

    def product(self, target: int, factors: list[tuple[IntArray, IntArray, int]]) -> None:
        """Demand that ``target`` is the product of linear forms of at most one variable each.

        A form is (variables, coefficients, constant).
        """
        body = self.proto.constraints.add().int_prod
        body.target.vars.append(target)
        body.target.coeffs.append(1)
        for var, coef, const in factors:
            expression = body.exprs.add()
            expression.vars.extend(var)
            expression.coeffs.extend(coef)
            expression.offset = const

    def minimize(
        self,
        var: IntArray,
        coef: IntArray,
        const: int = 0,
        unit: float = 1.0,
        within: tuple[int, int] | None = None,
    ) -> None:
        """Set the objective to a linear form.

        What CP-SAT reports of it, and what its relative gap is taken of, is ``unit * (form + const)``.

        Parameters
        ----------
        within : (int, int), optional
            Only solutions whose form is between these, both included, are of interest.
        """
        self.proto.clear_objective()
        objective = self.proto.objective
        objective.vars.extend(var)
        objective.coeffs.extend(coef)
        objective.offset = const
        objective.scaling_factor = unit
        if within is not None:
            self.within(*within)

    def within(self, low: int, high: int) -> None:
        """Leave the objective's form only what is between two values."""
        domain = self.proto.objective.domain
        domain.clear()
        domain.extend((max(low, -INFINITE), min(high, INFINITE)))

    def hint(self, variables: NDArray[np.intp], values: IntArray) -> None:
        """Hint some variables, in place of earlier hints."""
        self.proto.clear_solution_hint()
        self.proto.solution_hint.vars.extend(variables)
        self.proto.solution_hint.values.extend(values)
