"""Fenzo: the tables of its constraints page, and what the code does differently."""

from typing import Any

import pytest

from rebalancer import InputError
from rebalancer.dialects.fenzo import Fenzo, host_fitness, parse, weighted_average
from tests.dialects.problems import goes, holds, solver_of, where

GROUPS = {color: {"group": color} for color in ("red", "green", "blue")}


def coloured(red: int, green: int, blue: int, new: str | None = None, **fields: Any) -> Any:
    """Return a solver for co-tasks on hosts of three groups and a new one, with one constraint for all."""
    homes = {"red": red, "green": green, "blue": blue}
    tasks: dict[str, str | None] = {f"{host}{n}": host for host, count in homes.items() for n in range(count)}
    tasks["new"] = new
    balanced = {"type": "BalancedHostAttrConstraint", "attribute": "group", "expectedValues": 3}
    kind = fields.pop("kind", "hard")
    return solver_of(Fenzo.model_validate({kind: [balanced], **fields}), GROUPS, tasks)


@pytest.mark.parametrize(("counts", "success"), [((1, 1, 1), True), ((1, 1, 2), False), ((3, 1, 2), True)])
def test_the_three_scenarios_of_the_page_add_a_blue_task(counts: tuple[int, int, int], success: bool) -> None:
    assert ("blue" in goes(coloured(*counts), "new")) is success


def test_scenario_3_as_a_whole_may_not_become_more_uneven() -> None:
    solver = coloured(3, 1, 2)
    start = {name: name.rstrip("0123456789") for name in solver.problem.objects if name != "new"}
    assert not solver.evaluate({**start, "new": "blue"}).worsened
    assert solver.evaluate({**start, "new": "red"}).worsened


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("documented", {"red": 0, "green": 2 / 3, "blue": 1 / 3}),
        ("implemented", {"red": 0.5, "green": 5 / 6, "blue": 2 / 3}),
    ],
)
def test_soft_fitness_of_scenario_3(formula: str, expected: dict[str, float]) -> None:
    solver = coloured(3, 1, 2, kind="soft", soft_balance=formula)
    scores = {host: sum(solver.check_placement("new", host).scores.values()) for host in GROUPS}
    assert scores == pytest.approx(expected)


def test_soft_balance_evens_out() -> None:
    solver = coloured(0, 0, 0, kind="soft")
    solver.set_assignment({host: [] for host in GROUPS}, [f"t{n}" for n in range(6)])
    found = list(where(solver).values())
    assert sorted(map(found.count, GROUPS)) == [2, 2, 2]


def test_an_exclusive_host_keeps_everybody_away() -> None:
    statement = Fenzo.model_validate({"tasks": ["x"], "hard": [{"type": "ExclusiveHostConstraint"}]})
    solver = solver_of(statement, {"h1": {}, "h2": {}}, {"x": "h1", "y": None})
    assert goes(solver, "y") == ["h2"]
    assert not holds(solver, {"x": "h1", "y": "h1"})


def test_each_task_may_want_another_value() -> None:
    wants = {"type": "HostAttrValueConstraint", "attribute": "group", "values": {"a": "red", "b": "blue"}}
    solver = solver_of(Fenzo.model_validate({"tasks": ["a", "b"], "hard": [wants]}), GROUPS, dict.fromkeys("ab"))
    assert where(solver) == {"a": "red", "b": "blue"}


def test_three_tasks_that_want_other_zones_are_all_placed_when_that_is_soft() -> None:
    unique = {"type": "AsSoftConstraint", "of": {"type": "UniqueHostAttrConstraint", "attribute": "group"}}
    hosts = {name: GROUPS[name] for name in ("red", "blue")}
    found = where(solver_of(Fenzo.model_validate({"soft": [unique]}), hosts, dict.fromkeys("abc")))
    assert set(found.values()) == {"red", "blue"}


def test_co_tasks_that_do_not_exist_do_no_harm() -> None:
    unique = {"type": "UniqueHostAttrConstraint", "coTasks": ["a", "nobody"]}
    solver = solver_of(Fenzo.model_validate({"tasks": ["b"], "hard": [unique]}), GROUPS, {"a": "red", "b": None})
    assert goes(solver, "b") == ["green", "blue"]


def test_mixing_scores() -> None:
    assert host_fitness([1.0, 0.0], 0.5) == pytest.approx(0.5)
    assert host_fitness([1.0], 1.0, "implemented", resource_sets=1.0) == pytest.approx(1.0)
    assert host_fitness([1.0], 0.0, "implemented") is None


def test_a_weighted_average_is_nothing_where_a_part_is() -> None:
    assert weighted_average([(0.5, 0.5), (0.5, 1.0)]) == pytest.approx(0.75)
    assert weighted_average([(0.9, 1.0), (0.1, 0.0)]) == 0.0
    with pytest.raises(ValueError, match=r"add up to 1, not to 0\.8"):
        weighted_average([(0.5, 1.0), (0.3, 1.0)])


def test_mistakes() -> None:
    problem = coloured(1, 1, 1).problem
    with pytest.raises(InputError, match="needs 'expected_values'"):
        parse(problem, hard=[{"type": "BalancedHostAttrConstraint", "attribute": "group"}])
    with pytest.raises(InputError, match="has no 'value'"):
        parse(problem, hard=[{"type": "ExclusiveHostConstraint", "value": "x"}])
    with pytest.raises(InputError, match="expected 0 or more, got -1"):
        parse(problem, soft=[{"type": "UniqueHostAttrConstraint", "weight": -1}])
    with pytest.raises(InputError, match=r"unknown task 'nex'.*'new'"):
        parse(problem, tasks=["nex"], hard=[])


def test_a_value_for_a_task_that_is_not_there_is_a_warning() -> None:
    wanted = {"type": "HostAttrValueConstraint", "attribute": "group", "values": {"nwe": "red"}}
    translation = parse(coloured(1, 0, 0).problem, tasks=["new"], hard=[wanted])
    assert [(one.code, one.path, one.suggestion) for one in translation.warnings] == [
        ("unknown-name", ("hard", 0, "values", "nwe"), "new")
    ]
