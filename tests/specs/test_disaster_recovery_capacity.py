"""By hand: primaries p on h0 and q on h1; p is backed by x on h1, then y on h2; q by y."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer import Rebalancer
from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs.disaster_recovery_capacity import DisasterRecoveryCapacitySpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table


def site() -> Problem:
    out = ProblemBuilder("task", "host")
    out.set_assignment({"h0": ["p"], "h1": ["q", "x"], "h2": ["y", "idle"], "h3": []})
    out.add_object_dimension("cpu", {"p": 4, "q": 3, "x": 4, "y": 5, "idle": 100})
    out.add_object_dimension("vec", {"p": [4, 0], "q": [3, 0], "x": [0, 4], "y": [1, 1]})
    for dimension in ("cpu", "vec"):
        out.add_scope_dimension(dimension, "host", {"h0": 4, "h1": 4, "h2": 4, "h3": 4})
    out.add_scope("rack", {"r0": ["h0", "h1"], "r1": ["h2"]})
    out.add_dynamic_object_dimension("io", "host", {"h0": {"p": 2}, "h1": {"x": 9}}, default=1)
    return out.build()


CHAINS = {"p": ["x", "y"], "q": ["y"]}


def spec(**fields: Any) -> DisasterRecoveryCapacitySpec:
    return DisasterRecoveryCapacitySpec(
        **{"scope": "host", "dimension": "cpu", "primary_to_set_of_secondary_objects": CHAINS, **fields}
    )


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, (3 + 4 - 4) / 4 + (5 - 4) / 4),  # h0 fails: x takes over on h1; h1 fails: y on h2
        ({"shared_disaster_groups": [["h0", "h1"]]}, {}, (5 + 5 - 4) / 4),  # x is lost, y takes over for both
        ({"shared_disaster_groups": [["h0", "h1"], ["h1", "h2"]]}, {}, (10 - 4) / 4),
        ({"shared_disaster_groups": [["h0", "h1", "h2", "h3"]]}, {}, 0),
        ({}, {"x": "h0"}, (10 - 4) / 4 - 5 / 4),  # x fails with p, y takes over for p or for q, never for both
        ({}, {"x": None}, 1 / 4),  # x is nowhere: it passes on to y
        ({}, {"p": None}, 1 / 4),
        ({}, {"y": None}, 3 / 4),
        ({"primary_to_set_of_secondary_objects": {}}, {}, 0),
        ({"primary_to_set_of_secondary_objects": {"idle": []}}, {}, 96 / 4),
        ({"dimension": "vec"}, {}, 0),  # 3 + 0 and 0 + 4 on h1
        ({"dimension": "io"}, {}, 1 + 0 + 9 + 0),  # no capacity stated: 1 each; p weighs 2, q 1, x 9
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str | None], expected: float) -> None:
    assert goal(site(), spec(**fields), moves) == pytest.approx(expected)


def test_a_secondary_outside_the_scope_takes_over_there() -> None:
    """With x on h3, which is in no rack, nobody of r0 or r1 takes over for p."""
    rack = spec(scope="rack", primary_to_set_of_secondary_objects={"p": ["x", "y"]})
    assert goal(site(), rack) == pytest.approx((4 - 1) + (5 - 1))  # x fails with p, y takes over
    assert goal(site(), rack, {"x": "h3"}) == pytest.approx(4 - 1)


def test_constraint_has_one_component_per_item() -> None:
    assert broken(site(), spec()) == (1, 2)
    assert table(site(), spec())[1] == ("h1", None, 7, 4, 0.75)
    assert not feasible(site(), spec(), {"q": "h0"})
    assert feasible(site(), spec(), {"x": "h3", "y": "h3"}) is False
    assert feasible(site(), spec(), {"x": "h3"})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"primary_to_set_of_secondary_objects": {"p": ["x", "x"]}}, [("duplicate-secondary", "1")]),
        ({"primary_to_set_of_secondary_objects": {"z": ["x"]}}, [("unknown-name", "z")]),
        ({"primary_to_set_of_secondary_objects": {"p": ["z"]}}, [("unknown-name", "0")]),
        ({"shared_disaster_groups": [["h0"], ["h9"]]}, [("unknown-name", "0")]),
        ({"scope": "rack", "dimension": "io"}, [("dynamic-dimension", "dimension")]),
    ],
)
def test_faults(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert codes(faults(site(), spec(**fields))) == expected


def test_amounts_that_are_next_to_nothing_beside_what_is_offered_can_be_solved() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"], "h1": ["b"]})
    solver.add_object_dimension("mem", {"a": 1e-6, "b": 1e-6})
    solver.add_container_dimension("mem", {"h0": 1e13, "h1": 1e13})
    chain = {"primary_to_set_of_secondary_objects": {"a": ["b"]}}
    solver.add_constraint(DisasterRecoveryCapacitySpec(scope="host", dimension="mem", **chain), policy="HARD")
    solution = solver.solve("cpsat", time_limit=30, workers=1)
    assert solution.status == "OPTIMAL"
    assert solution.assignment.to_dict() == {"a": "h0", "b": "h1"}
