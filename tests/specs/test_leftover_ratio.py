from __future__ import annotations

import pytest

from rebalancer import Rebalancer
from rebalancer.problem import Problem
from rebalancer.specs.leftover_ratio import LeftoverRatioSpec
from tests.specs.worlds import broken, builder, codes, faults, goal


def world() -> Problem:
    """Free cpu: h0 4 − 3 = 1, h1 2 − 4 = −2, h2 10 − 3 = 7, h3 4. Free disk: h0 1.5, h1 5, h2 0, h3 1 (not stated)."""
    world = builder()
    world.add_object_dimension("disk", {"a": 0.5, "e": 3})
    world.add_scope_dimension("disk", "host", {"h0": 2, "h1": 5, "h2": 3})
    return world.build()


def spec(**fields: object) -> LeftoverRatioSpec:
    return LeftoverRatioSpec(**({"scope": "host", "dimension": "cpu", "other_dimension": "disk"} | fields))


def test_goal_is_what_is_missing_of_the_other() -> None:
    assert goal(world(), spec()) == 7 + 3
    assert goal(world(), spec(target=2)) == 0.5 + 14 + 7
    assert goal(world(), spec(target=0.5)) == 3.5 + 1
    assert goal(world(), spec(dimension="disk", other_dimension="cpu")) == 0.5 + 7
    assert goal(world(), spec(), {"e": "h3"}) == 10 - 3 + 1 + 2  # h2: 10 − 3; h3: 1 − (−2)


def test_a_target_without_a_short_decimal_is_exact() -> None:
    from fractions import Fraction

    third = spec(target=Fraction(1, 3))
    assert abs(goal(world(), third) - (7 / 3 + 1 / 3)) < 1e-12


def test_constraint_has_a_component_per_item() -> None:
    assert broken(world(), spec()) == (10, 2)
    assert broken(world(), spec(filter={"items_blacklist": ["h2"]})) == (3, 1)
    assert broken(world(), spec(filter={"items_whitelist": []})) == (0, 0)
    assert goal(world(), spec(filter={"items_whitelist": []})) == 0


def test_counts_and_dynamic_dimensions() -> None:
    assert goal(world(), spec(dimension="", filter={"items_whitelist": ["h3"]})) == 0  # 1 − 1
    assert goal(world(), spec(other_dimension="io", filter={"items_whitelist": ["h2"]})) == 7 + 1  # free io: 1 − 2
    assert codes(faults(world(), spec(dimension="vec"))) == [("vector-dimension", "dimension")]
    assert codes(faults(world(), spec(other_dimension="vec"))) == [("vector-dimension", "other_dimension")]
    assert codes(faults(world(), spec(other_dimension="dsk"))) == [("unknown-name", "other_dimension")]


@pytest.mark.parametrize("engine", ["cpsat", "local_search", "neighbourhood"])
def test_what_is_next_to_nothing_beside_the_other_can_be_solved(engine: str) -> None:
    """Of 10^13 and of 10^-6: 10^13 are left free on each host, less four millionths, wherever the two tasks are."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"], "h1": ["b"]})
    solver.add_object_dimension("mem", {"a": 10**13, "b": 10**13})
    solver.add_object_dimension("cpu", {"a": 1e-6, "b": 1e-6})
    solver.add_container_dimension("mem", {"h0": 2 * 10**13, "h1": 2 * 10**13})
    solver.add_container_dimension("cpu", {"h0": 4e-6, "h1": 4e-6})
    solver.add_goal(spec(dimension="mem", other_dimension="cpu"))
    solution = solver.solve(engine, time_limit=30, iterations=4, workers=1)
    assert solution.objective["final"].tolist() == [pytest.approx(2e13, rel=1e-12)]
