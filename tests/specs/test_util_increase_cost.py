"""By hand: utilizations 3/4, 4/2, 3/10 and 0/4; d weighs 8."""

from __future__ import annotations

from typing import Any

import pytest

from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs.util_increase_cost import UtilIncreaseCostSpec
from tests.specs.worlds import builder, codes, compiled, faults, goal, settled, warnings, world


def spec(**fields: Any) -> UtilIncreaseCostSpec:
    return UtilIncreaseCostSpec(**{"scope": "host", "dimension": "cpu", **fields})


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {}, 0),
        ({}, {"d": "h3"}, 2 / 4),
        ({}, {"c": "h0"}, 1 / 4),
        ({"lower_bound": 1}, {"c": "h0"}, 0.75 / 4),
        ({"lower_bound": 2}, {"c": "h0"}, 0),
        ({"squares": True}, {"c": "h0"}, (1.75**2 - 0.75**2) / 4),
        ({"squares": True, "lower_bound": 1}, {"c": "h0", "d": "h1"}, ((1.75**2 - 1) + (16 - 4)) / 4),
        ({"squares": True}, {}, 0),
        ({"filter": {"items_whitelist": ["h0", "h1"]}}, {"c": "h0"}, 1 / 2),
        ({"filter": {"items_whitelist": []}}, {"c": "h0"}, 0),
        ({"scope": "rack"}, {"e": "h0"}, 0.3 / 2),
    ],
)
def test_goal(fields: dict[str, Any], moves: dict[str, str], expected: float) -> None:
    assert goal(world(), spec(**fields), moves) == pytest.approx(expected)


def test_what_is_equal_costs_exactly_nothing() -> None:
    model = compiled(settled(), spec(squares=True, lower_bound=0.1))
    assert model.evaluate(model.problem.initial).integers[0] == 0


def zero() -> Problem:
    out = builder()
    out.add_object_dimension("gpu", {"a": 1, "c": 2})
    out.add_scope_dimension("gpu", "host", {"h0": 2, "h1": 0, "h2": 1, "h3": 0})
    return out.build()


def test_items_without_capacity_are_left_out() -> None:
    assert goal(zero(), spec(dimension="gpu"), {"a": "h2"}) == pytest.approx(1 / 2)
    assert goal(zero(), spec(dimension="gpu", filter={"items_whitelist": ["h1"]}), {"a": "h1"}) == 0
    assert warnings(zero(), spec(dimension="gpu")) == ["zero-capacity"]


def test_a_move_in_progress_is_measured_from_where_it_comes() -> None:
    going = world().moving({world().objects.index["c"]: world().containers.index["h0"]})
    assert goal(going, spec()) == pytest.approx(1 / 4)


def test_faults() -> None:
    assert codes(faults(world(), spec(dimension=""))) == [("unknown-name", "dimension")]


@pytest.mark.parametrize("squares", [False, True])
def test_levels_of_vast_containers_leave_digits_for_small_ones(squares: bool) -> None:
    """A million times what h0 offers is 8 · 10^6, of h1 it is 9 · 10^18, and all there is are 10^7."""
    out = ProblemBuilder("task", "host")
    out.set_assignment({"h0": [], "h1": ["a"]})
    out.add_object_dimension("cpu", {"a": 10**7 + 1})
    out.add_scope_dimension("cpu", "host", {"h0": 8, "h1": 9184414685202})
    used, level = (10**7 + 1) / 8, 10**6
    expected = (used**2 - level**2 if squares else used - level) / 2
    found = goal(out.build(), spec(lower_bound=level, squares=squares), {"a": "h0"})
    assert found == pytest.approx(expected, rel=1e-12)
