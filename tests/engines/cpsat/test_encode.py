"""What the encoding leaves each variable."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.model import CellValues, Function, GoalCells, Map, ModelBuilder, assemble, evaluate_cells
from rebalancer.problem import ProblemBuilder


@pytest.mark.parametrize("fine", [Fraction(999999937, 2**31 - 1), Fraction(-1000000009, 10**9 + 7)])
def test_quotients_of_few_numbers_have_no_other_values(fine: Fraction) -> None:
    """0 to 3 objects in each place are 4 numbers, however large the integers that stand for them are."""
    world = ProblemBuilder("task", "host")
    world.set_assignment({"h0": ["a", "b", "c"], "h1": []})
    builder = ModelBuilder(world.build())
    builder.raised(builder.linear([(builder.amount("host"), fine)], -fine), Fraction(1, 2**34))
    raised = next(cells for cells in builder.cells if isinstance(cells, Map) and cells.function is Function.RAISE)
    model = assemble(builder, [GoalCells("goal", "any", Fraction(-1), 0, builder.total(raised))], [])
    encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
    first = next(auxiliary.first for auxiliary in encoding.auxiliaries if auxiliary.cells is raised)
    places = [np.array([0] * stay + [1] * (3 - stay), np.int32) for stay in range(4)]
    values = [evaluate_cells(CellValues(model.problem, place), raised).integers.dense()[0, 0] for place in places]
    assert list(encoding.bulk.proto.variables[first].domain) == np.repeat(sorted(values), 2).tolist()


@pytest.mark.parametrize("over", [Fraction(1, 3), Fraction(7, 5), Fraction(2)])
def test_hinges_count_in_the_steps_of_their_rows(over: Fraction) -> None:
    """What is over a threshold grows object by object, however fine the unit: nothing else need be said to CP-SAT."""
    fine = Fraction(999999937, 2**31 - 1)
    world = ProblemBuilder("task", "host")
    world.set_assignment({"h0": ["a", "b", "c"], "h1": []})
    builder = ModelBuilder(world.build())
    hinge = builder.hinge(builder.linear([(builder.amount("host"), fine)], -over * fine))
    model = assemble(builder, [GoalCells("goal", "any", Fraction(1), 0, builder.total(hinge))], [])
    encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
    linear = [constraint.linear for constraint in encoding.bulk.proto.constraints if constraint.has_linear()]
    placed = [row for row in linear if min(row.vars) < encoding.literals.count]
    assert {abs(coef) for row in placed for coef in row.coeffs} == {1}
    counts = [auxiliary for auxiliary in encoding.auxiliaries if auxiliary.unit is not None]
    assert [list(encoding.bulk.proto.variables[one.first].domain) for one in counts] == [[0, 3 - over.__floor__()]]
