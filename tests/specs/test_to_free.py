from __future__ import annotations

import pytest

from rebalancer import Rebalancer
from rebalancer.specs.to_free import ToFreeSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, world


def test_goal_is_what_is_left() -> None:
    assert goal(world(), ToFreeSpec(containers=["h0", "h2"])) == 4
    assert goal(world(), ToFreeSpec(containers=["h0", "h2"], dimension="cpu")) == 6
    assert goal(world(), ToFreeSpec(containers=["h0", "h2"], dimension="cpu"), {"e": "h3", "d": "h0"}) == 11
    assert goal(world(), ToFreeSpec(containers=["h0", "h0"])) == 2


def test_goal_may_count_occupied_containers() -> None:
    spec = ToFreeSpec(containers=["h0", "h1", "h2", "h3"], dimension="cpu", formula="MINIMIZE_OCCUPIED_CONTAINERS")
    assert goal(world(), spec) == 3
    assert goal(world(), spec, {"e": "h1"}) == 2  # f stays, but weighs nothing


def test_constraint_has_two_components_per_container() -> None:
    spec = ToFreeSpec(containers=["h0", "h3"], dimension="cpu")
    assert broken(world(), spec) == (3, 1)
    assert broken(world(), spec, {"a": "h3", "c": "h0"}) == (6 + 4 + 1 + 1, 4)


def test_nothing_may_arrive_while_it_is_emptied() -> None:
    spec = ToFreeSpec(containers=["h2"])
    assert not feasible(world(), spec, {"a": "h2", "e": "h3", "f": "h3"})
    assert feasible(world(), spec, {"e": "h3"})
    assert not feasible(world(), spec, {"d": "h2"})


def test_no_containers_is_nothing_to_do() -> None:
    assert goal(world(), ToFreeSpec(containers=[])) == 0
    assert goal(world(), ToFreeSpec(containers=[], formula="MINIMIZE_OCCUPIED_CONTAINERS")) == 0
    assert broken(world(), ToFreeSpec(containers=[])) == (0, 0)


@pytest.mark.parametrize(
    ("fields", "kind", "expected"),
    [
        ({"dimension": "vec"}, "goal", ("vector-dimension", "dimension")),
        ({"dimension": "vec"}, "constraint", ("vector-dimension", "dimension")),
        ({"dimension": "net", "formula": "MINIMIZE_OCCUPIED_CONTAINERS"}, "goal", ("negative-value", "dimension")),
        ({"dimension": "io", "formula": "MINIMIZE_OCCUPIED_CONTAINERS"}, "goal", ("dynamic-dimension", "dimension")),
        ({"formula": "MINIMIZE_OCCUPIED_CONTAINERS"}, "constraint", ("unsupported-field", "formula")),
        ({"dimension": "cpuu"}, "goal", ("unknown-name", "dimension")),
    ],
)
def test_faults(fields: dict[str, str], kind: str, expected: tuple[str, str]) -> None:
    assert codes(faults(world(), ToFreeSpec(containers=["h0"], **fields), kind)) == [expected]


def test_unknown_containers_are_named() -> None:
    found = faults(world(), ToFreeSpec(containers=["h0", "h9"]))
    assert [fault.path for fault in found] == [("to_free", "containers", 1)]
    assert "'h9'" in found[0].message


def test_total_takes_dynamic_and_negative_dimensions() -> None:
    assert goal(world(), ToFreeSpec(containers=["h0"], dimension="io")) == 4
    assert goal(world(), ToFreeSpec(containers=["h0"], dimension="io"), {"c": "h0"}) == 5
    assert goal(world(), ToFreeSpec(containers=["h0"], dimension="net")) == -1


@pytest.mark.parametrize("engine", ["cpsat", "local_search", "neighbourhood"])
def test_without_containers_it_holds_in_every_engine(engine: str) -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"], "h1": []})
    solver.add_constraint(ToFreeSpec(containers=()))
    solver.add_goal(ToFreeSpec(containers=("h0",)))
    solution = solver.solve(engine, time_limit=30, iterations=4, workers=1)
    assert solution.assignment.to_dict() == {"a": "h1"}
