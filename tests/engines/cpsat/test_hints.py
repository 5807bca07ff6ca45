"""The hint from an assignment is a whole solution: every variable, and all constraints hold."""

from __future__ import annotations

from hypothesis import given, settings

from rebalancer.engines.base import Request
from rebalancer.engines.budget import Budget
from rebalancer.engines.cpsat.candidates import all_candidates
from rebalancer.engines.cpsat.encode import encode
from rebalancer.engines.cpsat.run import solve
from rebalancer.model import CellValues, Model
from tests.property.problems import every_assignment, models


@settings(max_examples=120)
@given(models(objects=3, containers=3))
def test_what_is_hinted_is_a_solution_of_the_same_worth(model: Model) -> None:
    literals = all_candidates(model)
    feasible = [choice for choice in every_assignment(model.problem) if model.evaluate(choice).feasible]
    if not feasible:
        return
    first, last = feasible[0], feasible[-1]
    encoding = encode(model, literals, CellValues(model.problem, first))
    encoding.hint_from(CellValues(model.problem, last))
    hint = encoding.bulk.proto.solution_hint
    assert list(hint.vars) == list(range(len(encoding.bulk.proto.variables)))
    score = model.evaluate(last)
    for position, rows in enumerate(encoding.objectives):
        constant = int(rows.const.dense()[0, 0])
        encoding.bulk.minimize(rows.var, rows.coef)
        request = Request(workers=1)
        outcome = solve(encoding.bulk, request, Budget(10.0), fix_variables_to_their_hinted_value=True)
        assert outcome.status == "OPTIMAL", position
        assert outcome.objective + constant == score.integers[position]
