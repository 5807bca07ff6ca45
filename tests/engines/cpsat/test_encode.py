"""What the encoding leaves each variable."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rebalancer import CapacitySpec, Rebalancer
from rebalancer.engines.base import Request, Status
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.engine import CpsatEngine
from rebalancer.engines.cpsat.rows import RowAlgebra
from rebalancer.model import CellValues, Function, GoalCells, Grid, Map, ModelBuilder, assemble, evaluate_cells
from rebalancer.problem import InputError, ProblemBuilder
from tests.engines.worlds import crowded


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


def test_rows_that_would_overflow_are_read_through_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-SAT counts all placements of an object, though one is true: where that is too much, nothing else changes."""
    model = crowded(9, 3)
    sizes, answers = [], []
    for room in (2.0**61, 0.0):
        monkeypatch.setattr("rebalancer.engines.cpsat.encode._ROOM", room)
        encoding = encode(model, all_candidates(model), CellValues(model.problem, model.problem.initial))
        sizes.append(encoding.algebra.variables)
        answer = CpsatEngine().solve(model, Request(time_limit=60.0, workers=1))
        assert answer.status is Status.OPTIMAL
        assert answer.assignment is not None
        answers.append(model.evaluate(answer.assignment).integers)
    assert sizes[1] > sizes[0]
    assert answers[1] == answers[0]


def test_magnitude_counts_every_placement() -> None:
    world = ProblemBuilder("task", "host")
    world.set_assignment({"h0": ["a", "b"], "h1": [], "h2": []})
    builder = ModelBuilder(world.build())
    total = builder.total(builder.linear([(builder.amount("host"), Fraction(5))], Fraction(0)))
    model = assemble(builder, [GoalCells("goal", "any", Fraction(1), 0, total)], [])
    literals = all_candidates(model)
    algebra = RowAlgebra(literals)
    extra = algebra.new_variables(np.array([-7]), np.array([3]))
    var = np.append(np.arange(literals.count), extra)
    row = algebra.collect(1, 1, np.zeros(len(var), np.int64), var, np.full(len(var), -2), Grid.constant(1, 1, 0))
    assert algebra.magnitude(row) == 2 * literals.count + 2 * 7


def test_what_cpsat_cannot_hold_is_said_before_it_is_asked() -> None:
    """Twelve hosts that each may have 10^18 too much: 1.2 * 10^19 together, and 2^63 are 9.2 * 10^18."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], **{f"h{n}": [] for n in range(1, 12)}})
    solver.add_object_dimension("bytes", {"t0": 10**18, "t1": 1})
    solver.add_container_dimension("bytes", {f"h{n}": 5 for n in range(12)})
    solver.add_goal(CapacitySpec(scope="host", dimension="bytes"), name="room")
    with pytest.raises(InputError, match="the amounts of 'room' are too large for CP-SAT"):
        solver.solve("cpsat", time_limit=30, workers=1)
