"""The hint from an assignment is a solution: all variables but the helpers of special cells."""

from __future__ import annotations

from hypothesis import given

from rebalancer import MinimizeSquaresSpec, Rebalancer
from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.run import solve
from rebalancer.model import Cells, CellValues, Function, Gathering, Map, Model, Product, Ratio, Reduce
from tests.examples import examples
from tests.property.problems import every_feasible, models


def _is_ordered(cells: Cells) -> bool:
    ordered = (Gathering.NTH_LARGEST, Gathering.ALL_BUT_LARGEST)
    return (isinstance(cells, Reduce) and cells.how in ordered) or (
        isinstance(cells, Map) and cells.function is Function.MOD
    )


def test_squares_that_are_to_be_large_are_hinted_whole() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": ["c"], "h2": []})
    solver.add_object_dimension("cpu", {"a": 2, "b": 3, "c": 4})
    solver.add_goal(MinimizeSquaresSpec(scope="host", dimension="cpu"), weight=-1.0)
    model = solver.model
    values = CellValues(model.problem, model.problem.initial)
    encoding = encode(model, all_candidates(model), values)
    encoding.hint_from(values)
    hint = encoding.bulk.proto.solution_hint
    assert list(hint.vars) == list(range(len(encoding.bulk.proto.variables)))
    encoding.bulk.minimize(encoding.objectives[0].var, encoding.objectives[0].coef)
    outcome = solve(encoding.bulk, Request(workers=1), Budget(10.0), fix_variables_to_their_hinted_value=True)
    assert outcome.status == "OPTIMAL"
    constant = int(encoding.objectives[0].const.dense()[0, 0])
    assert outcome.objective + constant == model.evaluate(model.problem.initial).integers[0]


@examples(60)
@given(models(objects=3, containers=3))
def test_what_is_hinted_is_a_solution_of_the_same_worth(model: Model) -> None:
    literals = all_candidates(model)
    feasible = [values.assignment for values in every_feasible(model)]
    if not feasible:
        return
    first, last = feasible[0], feasible[-1]
    encoding = encode(model, literals, CellValues(model.problem, first))
    encoding.hint_from(CellValues(model.problem, last))
    special = any(isinstance(cells, Product | Ratio) or _is_ordered(cells) for cells in model.graph)
    hint = encoding.bulk.proto.solution_hint
    assert special or list(hint.vars) == list(range(len(encoding.bulk.proto.variables)))
    score = model.evaluate(last)
    for position, rows in enumerate(encoding.objectives):
        constant = int(rows.const.dense()[0, 0])
        encoding.bulk.minimize(rows.var, rows.coef)
        request = Request(workers=1)
        outcome = solve(encoding.bulk, request, Budget(10.0), fix_variables_to_their_hinted_value=True)
        assert outcome.status == "OPTIMAL", position
        assert outcome.objective + constant == score.integers[position]
