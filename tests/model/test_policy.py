"""What DEFAULT, HARD and SOFT demand and cost, cell by cell and component by component."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

from rebalancer.model import Component, ConstraintCells, GoalCells, Model, ModelBuilder, Param, assemble
from rebalancer.problem import Problem, ProblemBuilder

#: Two jobs on three hosts; at most 1 of a job per host. h0 is broken by job x (3 of it).
START = {"h0": ["x0", "x1", "x2"], "h1": ["y0"], "h2": []}
By = Literal["cell", "item", "group", "all"]


def world() -> Problem:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment(START)
    builder.add_partition("job", {"x": ["x0", "x1", "x2"], "y": ["y0"]})
    return builder.build()


def model(policy: str, by: By = "item", weight: int = 1, **more: Any) -> Model:
    builder = ModelBuilder(world())
    cells = builder.linear([(builder.amount("host", partition="job"), 1)], -1)
    component = Component(cells, by, Param.constant(weight), **more)
    goal = GoalCells("g", "spec", Fraction(1), 1, builder.total(builder.amount("host", items=np.array([2]))))
    constraint = ConstraintCells("c", "spec", policy, Fraction(100), Fraction(10000), 0, (component,))
    return assemble(builder, [goal], [constraint])


def at(problem: Problem, **moves: str) -> np.ndarray:
    out = problem.initial.copy()
    for name, host in moves.items():
        out[problem.objects.index[name]] = problem.containers.index[host]
    return out


ONE_AWAY = {"x0": "h2"}
ALL_AWAY = {"x0": "h2", "x1": "h1"}
OTHER_ON_H1 = {"x0": "h1", "x1": "h2"}
WORSE_ELSEWHERE = {"x0": "h1", "x1": "h1"}


@pytest.mark.parametrize(
    ("policy", "moves", "feasible", "cost"),
    [
        ("DEFAULT", {}, True, 10200),
        ("DEFAULT", ONE_AWAY, True, 10100),
        ("DEFAULT", ALL_AWAY, True, 0),
        ("DEFAULT", WORSE_ELSEWHERE, False, 0),
        ("HARD", {}, False, 0),
        ("HARD", ONE_AWAY, False, 0),
        ("HARD", OTHER_ON_H1, True, 0),
        ("SOFT", {}, True, 10200),
        ("SOFT", ONE_AWAY, True, 10100),
        ("SOFT", WORSE_ELSEWHERE, True, 10100),
        ("SOFT", OTHER_ON_H1, True, 0),
    ],
)
def test_policies(policy: str, moves: dict[str, str], feasible: bool, cost: int) -> None:
    built = model(policy)
    score = built.evaluate(at(built.problem, **moves))
    assert (score.feasible, score.objective[0]) == (feasible, cost)
    if feasible:
        assert score.integers[0] * built.tuple_positions[0].objective.unit == cost


def test_a_cell_that_holds_stays_hard_in_a_broken_component() -> None:
    built = model("DEFAULT", "all")
    assert not built.evaluate(at(built.problem, x0="h1", x1="h1")).feasible
    assert built.evaluate(at(built.problem, x0="h1")).feasible


def test_a_broken_cell_may_get_better_and_worse_again_but_not_worse_than_at_the_start() -> None:
    built = model("DEFAULT")
    assert built.evaluate(at(built.problem, x0="h2")).feasible
    assert built.evaluate(built.problem.initial).feasible


@pytest.mark.parametrize(("by", "broken"), [("cell", 3), ("item", 3), ("group", 2), ("all", 1)])
def test_flat_penalties_are_paid_by_component(by: By, broken: int) -> None:
    built = model("SOFT", by)
    score = built.evaluate(at(built.problem, x0="h2", x1="h2"))
    assert score.violations[0] == 1
    assert score.broken_components[0] == 1
    both = {"h0": ["x0", "x1"], "h1": ["x2"]}
    spread = at(built.problem, **{name: host for host, names in both.items() for name in names}, y0="h0")
    assert built.evaluate(spread).violations[0] == 1
    builder = ModelBuilder(world())
    cells = builder.linear([(builder.amount("host", partition="job"), 1)])
    part = Component(cells, by)
    plain = assemble(builder, [], [ConstraintCells("c", "s", "SOFT", Fraction(1), Fraction(1000), 0, (part,))])
    score = plain.evaluate(at(plain.problem, x0="h2"))
    assert (score.violations[0], score.broken_components[0]) == (4, broken)
    assert score.objective[0] == 4 + 1000 * broken
    assert score.integers[0] == 4 + 1000 * broken


@pytest.mark.parametrize("policy", ["DEFAULT", "SOFT"])
def test_owners_group_gathered_cells(policy: str) -> None:
    builder = ModelBuilder(world())
    there = builder.gather(builder.amount("host", partition="job"), np.array([0, 1, 0, 1]), np.array([0, 1, 2, 0]))
    part = Component(there, owner=np.array([0, 0, 1, 1]), weight=Param.of([1, 2, 4, 8]))
    built = assemble(builder, [], [ConstraintCells("c", "s", policy, Fraction(1), Fraction(1000), 0, (part,))])
    assert part.count == 2
    score = built.evaluate(built.problem.initial)
    assert (score.violations[0], score.broken_components[0], score.objective[0], score.integers[0]) == (
        3 + 2,
        1,
        1005,
        1005,
    )
    moved = built.evaluate(at(built.problem, x0="h2"))
    assert (moved.violations[0], moved.broken_components[0]) == (2 + 2 + 4, 2)
    assert moved.feasible == (policy == "SOFT")
    assert moved.objective[0] == (1004 if policy == "DEFAULT" else 2008)


def test_only_what_is_broken_at_the_start_pays_under_default() -> None:
    built = model("DEFAULT")
    score = built.evaluate(at(built.problem, x0="h1", x1="h1"))
    assert not score.feasible
    assert (score.violations[0], score.broken_components[0]) == (1, 1)
    assert score.objective[0] == 0


def test_weights_scale_the_violation_but_not_the_state() -> None:
    built = model("SOFT", weight=3)
    score = built.evaluate(built.problem.initial)
    assert (score.violations[0], score.objective[0]) == (6, 10600)


def test_positions_in_between_are_empty() -> None:
    builder = ModelBuilder(world())
    built = assemble(builder, [GoalCells("g", "s", Fraction(1), 2, builder.total(builder.amount("host")))], [])
    assert built.positions == 3
    assert built.evaluate(built.problem.initial).objective.tolist() == [0, 0, 4]


def test_without_anything_there_is_one_position() -> None:
    built = assemble(ModelBuilder(world()), [], [])
    assert built.evaluate(built.problem.initial).objective.tolist() == [0]
    assert built.evaluate(built.problem.initial).integers == (0,)
