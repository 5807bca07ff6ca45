"""By hand: cpu 3, 4, 3 (and 8 where d is placed) over capacities 4, 2, 10, 4."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from rebalancer.problem import ProblemBuilder
from rebalancer.specs.balance import BalanceSpec
from tests.specs.worlds import builder, codes, compiled, faults, goal, placed, settled, warnings, world

T = 1.2625  # the mean of 0.75, 2, 0.3 and 2


def balance(**fields: Any) -> BalanceSpec:
    return BalanceSpec(**{"scope": "host", "dimension": "cpu", **fields})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 2 * (2 - T) / 4),
        ({"bound_type": "ABSOLUTE", "upper_bound": 0.5}, 2 * (2 - T - 0.5) / 4),
        ({"bound_type": "RELATIVE", "upper_bound": 0.5}, (0.75 - T / 2 + 2 * (2 - T / 2)) / 4),
        ({"bound_type": "RELATIVE_UTIL", "upper_bound": 0.5}, (0.25 + 1.5 + 1.5) / 4),
        ({"soft_upper_bound": 1.9}, 0.2 / 4),
        ({"soft_upper_bound": 0.1}, 2 * (2 - T) / 4),
        ({"use_legacy_average": True}, 2 * 1.1 / 4),
        ({"formula": "SQUARES"}, 2 * (4 - T * T) / 4),
        ({"formula": "SQUARES", "bound_type": "ABSOLUTE", "upper_bound": -3}, (0.75**2 + 4 + 0.09 + 4) / 4),
        ({"formula": "MAX"}, 2 - T),
        ({"formula": "MAX", "upper_bound": 3}, 0),
        ({"formula": "IDEAL"}, (0.75**2 * 4 + 4 * 2 + 0.09 * 10 + 4 * 4) / 5),
        ({"formula": "IDEAL", "bound_type": "RELATIVE_UTIL"}, 3 * (2 + 4) / 5),
        ({"formula": "IDEAL", "ignore_upper_bound_for_ideal_with_abs_or_rel_bound_types": False}, (4 - T * T) * 6 / 5),
        (
            {"formula": "RELATIVE_UTIL_VARIANCE", "bound_type": "RELATIVE_UTIL", "upper_bound": 0.5},
            0.0625 + 4.5 - 3.25**2 / 4,
        ),
        ({"formula": "LEGACY", "fix_average_to_initial": True}, (2 / 0.9 - 1) * (1 + 2 * 0.001 / 4)),
        ({"filter": {"items_whitelist": ["h0", "h1"]}}, (2 - 1.375) / 2),
        ({"filter": {"items_whitelist": []}}, 0),
        (
            {
                "filter": {"items_whitelist": ["h0", "h1"]},
                "fix_average_to_initial": True,
                "include_in_initial_average": ["h3"],
            },
            (2 - 4.75 / 3) / 2,
        ),
        ({"filter": {"items_whitelist": ["h0", "h1"]}, "include_in_initial_average": ["h3"]}, (2 - 1.375) / 2),
        ({"definition": "NEW"}, 0),
        ({"definition": "OLD", "formula": "IDEAL"}, 0),
        ({"definition": "DURING"}, 2 * (2 - T) / 4),
    ],
)
def test_at_the_start(fields: dict[str, Any], expected: float) -> None:
    assert goal(settled(), balance(**fields)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (2 - T) / 4),  # 0.75 2 1.1 0 against the average of the start
        ({"formula": "SQUARES"}, (4 - T * T) / 4),
        ({"definition": "DURING"}, (2 * (2 - (0.75 + 2 + 1.1 + 2) / 4)) / 4),
        ({"definition": "NEW"}, (0.8 - 0.2) / 4),
        ({"definition": "OLD"}, (2 - 0.5) / 4),
        ({"definition": "NEW", "fix_average_to_initial": True}, 0.8 / 4),
        ({"definition": "NEW", "bound_type": "RELATIVE_UTIL", "upper_bound": 0.3, "formula": "MAX"}, 0.5),
        ({"definition": "NEW", "formula": "SQUARES"}, (0.64 - 0.04) / 4),
        ({"definition": "NEW", "formula": "SQUARES", "soft_upper_bound": 0.5}, (0.64 - 0.25) / 4),
        (
            {
                "definition": "NEW",
                "formula": "IDEAL",
                "ignore_upper_bound_for_ideal_with_abs_or_rel_bound_types": False,
            },
            (0.64 - 0.04) * 2,
        ),
    ],
)
def test_after_moving_d_to_h2(fields: dict[str, Any], expected: float) -> None:
    assert goal(settled(), balance(**fields), {"d": "h2"}) == pytest.approx(expected, abs=1e-9)


def test_the_average_moves_while_objects_are_to_be_placed() -> None:
    assert goal(world(), balance()) == pytest.approx((2 - 0.7625) / 4)
    assert goal(world(), balance(), {"d": "h3"}) == pytest.approx(2 * (2 - T) / 4)
    assert goal(world(), balance(fix_average_to_initial=True), {"d": "h3"}) == pytest.approx(2 * (2 - 0.7625) / 4)
    assert goal(world(), balance(formula="SQUARES"), {"d": "h3"}) == pytest.approx(2 * (4 - T * T) / 4)


def test_the_average_moves_where_containers_are_outside() -> None:
    spec = balance(scope="rack")
    assert goal(settled(), spec) == pytest.approx((0.7 - 0.65) / 2)
    assert goal(settled(), spec, {"d": "h0"}) == pytest.approx((1.5 - 1.05) / 2)


def test_a_load_above_an_average_of_nothing_pays() -> None:
    out = builder(unplaced=False)
    out.add_object_dimension("late", {"a": 0})
    spec = balance(dimension="net", definition="NEW", fix_average_to_initial=True)
    assert goal(out.build(), spec, {"b": "h1"}) == pytest.approx(1 / 4)


def test_items_without_capacity_are_left_out_and_the_average_moves() -> None:
    out = builder(unplaced=False)
    out.add_object_dimension("mem", {"a": 2, "b": 2, "c": 3, "d": 9})
    out.add_scope_dimension("mem", "host", {"h0": 4, "h1": 2, "h2": 1, "h3": 0})
    problem = out.build()
    spec = balance(dimension="mem")
    assert goal(problem, spec) == pytest.approx((1 - 2.5 / 3 + 1.5 - 2.5 / 3) / 3)
    assert goal(problem, spec, {"d": "h0"}) == pytest.approx((13 / 4 - (13 / 4 + 1.5) / 3) / 3)
    assert "zero-capacity" in warnings(problem, spec)


def test_nothing_left_is_nothing() -> None:
    out = builder()
    out.add_object_dimension("mem", {"a": 2})
    out.add_scope_dimension("mem", "host", {}, default=0)
    for formula in ("LINEAR", "SQUARES", "MAX", "IDEAL", "RELATIVE_UTIL_VARIANCE"):
        assert goal(out.build(), balance(dimension="mem", formula=formula)) == 0


def test_vectors_take_the_largest_component() -> None:
    assert goal(settled(), balance(dimension="vec", formula="MAX", bound_type="RELATIVE_UTIL", upper_bound=2)) == 5
    assert goal(settled(), balance(dimension="vec"), {}) == pytest.approx((5 - 4 + 7 - 4) / 4)


def test_dynamic_dimensions_weigh_by_place() -> None:
    spec = balance(dimension="io", formula="MAX", bound_type="RELATIVE_UTIL", upper_bound=0)
    assert goal(settled(), spec) == 4  # a and b on h0
    assert goal(settled(), spec, {"c": "h2"}) == 9


def test_negative_amounts_count_as_nothing_in_squares() -> None:
    spec = balance(dimension="net", formula="SQUARES", bound_type="RELATIVE_UTIL", upper_bound=0)
    assert goal(settled(), spec) == 0  # h0 has -1
    assert goal(settled(), spec, {"b": "h1"}) == pytest.approx(1 / 4)
    assert goal(settled(), balance(dimension="net", formula="IDEAL"), {"b": "h1"}) == 5


def test_legacy_without_load_is_a_constant() -> None:
    out = builder(unplaced=False)
    out.add_object_dimension("idle", {"a": 0})
    spec = balance(dimension="idle", formula="LEGACY", fix_average_to_initial=True, upper_bound=1.25)
    assert goal(out.build(), spec) == -1.25


def test_what_objects_use_on_average() -> None:
    """On average 1.5 on h0 and h2, 4 on h1, 0 on h3: 1.75 in the mean, whatever the capacities."""
    spec = balance(balance_metric="CAPACITY_PER_ITEM")
    assert goal(world(), spec) == pytest.approx((4 - 1.75) / 4)
    assert goal(world(), spec, {"b": "h1"}) == pytest.approx((3 - 1.375) / 4 + (1.5 - 1.375) / 4)
    top = balance(balance_metric="CAPACITY_PER_ITEM", formula="MAX", bound_type="RELATIVE_UTIL", upper_bound=1)
    assert goal(world(), top) == pytest.approx(3)
    by_itself = balance(balance_metric="CAPACITY_PER_ITEM", capacity_per_item_count_dimension="cpu")
    assert goal(world(), by_itself) == pytest.approx(3 * 0.25 / 4)
    assert warnings(world(), balance(balance_metric="CAPACITY_PER_ITEM", use_legacy_average=True)) == ["no-effect"]


@pytest.mark.parametrize(
    ("fields", "start", "moved"),
    [
        # on average 1.5, 4, 1.5, 0 at the start, in the mean 1.75; then (b and f to h1) 1, 2, 3, 0, in the mean 1.5
        ({}, (16 - 1.75**2) / 4, (4 - 1.5**2 + 9 - 1.5**2) / 4),
        ({"upper_bound": 0.5}, (2 * 1.5**2 + 16 - 3 * 0.875**2) / 4, (1 + 4 + 9 - 3 * 0.75**2) / 4),
        ({"bound_type": "ABSOLUTE", "upper_bound": 1}, (16 - 2.75**2) / 4, (9 - 2.5**2) / 4),
        ({"bound_type": "ABSOLUTE", "upper_bound": -2}, (2 * 1.5**2 + 16) / 4, (1 + 4 + 9) / 4),
        ({"bound_type": "RELATIVE_UTIL", "upper_bound": 2}, (16 - 4) / 4, (9 - 4) / 4),
        ({"soft_upper_bound": 2.5}, (16 - 2.5**2) / 4, (9 - 2.5**2) / 4),
        # U/max(1, U): 1, 1, 1, 0
        ({"capacity_per_item_count_dimension": "cpu"}, 3 * (1 - 0.75**2) / 4, 3 * (1 - 0.75**2) / 4),
        # e and f were on h2, c on h1, a and b on h0: b counts twice, and f, which weighs nothing
        ({"definition": "DURING"}, (16 - 1.75**2) / 4, (2**2 - 1.25**2 + 2 * (1.5**2 - 1.25**2)) / 4),
        ({"definition": "NEW"}, 0, (1 - 0.25**2) / 4),
    ],
)
def test_squares_of_what_objects_use_on_average(fields: dict[str, Any], start: float, moved: float) -> None:
    spec = balance(balance_metric="CAPACITY_PER_ITEM", formula="SQUARES", **fields)
    assert goal(world(), spec) == pytest.approx(start)
    assert goal(world(), spec, {"b": "h1", "f": "h1"}) == pytest.approx(moved)


@pytest.mark.parametrize(
    ("fields", "start", "moved"),
    [
        # above the mean of 1.75 (1.5) there are 2.25 (0.5 and 1.5)
        ({}, 2.25**2 - 2.25**2 / 4, 0.25 + 2.25 - 4 / 4),
        (
            {"bound_type": "ABSOLUTE", "upper_bound": -1},
            2 * 0.5625 + 3.25**2 - 4.75**2 / 4,
            0.25 + 2.25 + 6.25 - 4.5**2 / 4,
        ),
        ({"bound_type": "RELATIVE_UTIL", "upper_bound": 0}, 2 * 2.25 + 16 - 7**2 / 4, 1 + 4 + 9 - 6**2 / 4),
        ({"bound_type": "RELATIVE_UTIL", "upper_bound": 1}, 2 * 0.25 + 9 - 4**2 / 4, 1 + 4 - 3**2 / 4),
        ({"bound_type": "RELATIVE_UTIL", "upper_bound": 4}, 0, 0),
        ({"bound_type": "RELATIVE_UTIL", "upper_bound": 0, "capacity_per_item_count_dimension": "cpu"}, 0.75, 0.75),
        ({"filter": {"items_whitelist": ["h0", "h1"]}}, 1.25**2 / 2, 0.25 / 2),  # 1.5 and 4; 1 and 2
    ],
)
def test_variance_of_what_objects_use_on_average(fields: dict[str, Any], start: float, moved: float) -> None:
    spec = balance(balance_metric="CAPACITY_PER_ITEM", formula="RELATIVE_UTIL_VARIANCE", **fields)
    assert goal(world(), spec) == pytest.approx(start)
    assert goal(world(), spec, {"b": "h1", "f": "h1"}) == pytest.approx(moved)


def test_averages_of_thirds_are_exact() -> None:
    """Three objects use 10 in all: that is not above 10/3, by no rounding whatever."""
    problem = settled()
    spec = balance(
        balance_metric="CAPACITY_PER_ITEM",
        formula="SQUARES",
        bound_type="RELATIVE_UTIL",
        upper_bound=Fraction(10, 3),
    )
    model = compiled(problem, spec)
    thirds = placed(problem, {"a": "h2", "b": "h0", "d": "h0", "f": "h0", "c": "h1", "e": "h3"})
    score = model.evaluate(thirds)
    assert score.integers[0] * model.tuple_positions[0].objective.unit == (16 - Fraction(100, 9)) / 4  # c alone
    assert model.epsilon[0] == 0


def test_thresholds_are_exact() -> None:
    problem = settled()
    model = compiled(problem, balance(bound_type="RELATIVE_UTIL", upper_bound=Fraction(2)))
    assert model.evaluate(problem.initial).goals[0] == 0
    assert model.evaluate(problem.initial).integers[0] == 0


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"balance_metric": "CAPACITY_PER_ITEM", "formula": "IDEAL"}, [("unsupported-field", "formula")]),
        (
            {"balance_metric": "CAPACITY_PER_ITEM", "capacity_per_item_count_dimension": "vec"},
            [("vector-dimension", "capacity_per_item_count_dimension")],
        ),
        ({"capacity_per_item_count_dimension": "cpu"}, [("unsupported-field", "capacity_per_item_count_dimension")]),
        ({"formula": "LEGACY"}, [("unsupported-field", "fix_average_to_initial")]),
        (
            {
                "formula": "LEGACY",
                "bound_type": "ABSOLUTE",
                "definition": "NEW",
                "soft_upper_bound": 0,
                "include_in_initial_average": ["h0"],
            },
            [
                ("unsupported-field", name)
                for name in (
                    "bound_type",
                    "definition",
                    "fix_average_to_initial",
                    "soft_upper_bound",
                    "include_in_initial_average",
                )
            ],
        ),
        ({"dimension": "cpuu"}, [("unknown-name", "dimension")]),
        ({"dimension": ""}, [("unknown-name", "dimension")]),
        ({"include_in_initial_average": ["r0"]}, [("unknown-name", "0")]),
        ({"filter": {"items_whitelist": [], "items_blacklist": []}}, [("both-filters", "items_blacklist")]),
        ({"filter": {"type": "GROUP"}}, [("filter-type", "type")]),
    ],
)
def test_faults(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert codes(faults(world(), balance(**fields))) == expected


def test_it_is_no_constraint() -> None:
    assert [fault.code for fault in faults(world(), balance(), "constraint")] == ["wrong-kind"]


def test_other_definitions_are_refused() -> None:
    with pytest.raises(ValidationError, match="AFTER"):
        balance(definition="STAYED")


def test_a_soft_bound_that_does_nothing_is_noted() -> None:
    assert warnings(world(), balance(formula="IDEAL", soft_upper_bound=1)) == ["no-effect"]


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"bound_type": "ABSOLUTE"}, lambda u, t: (u - t - 1) / 3),
        ({}, lambda u, t: (u - t) / 3),
        ({"formula": "MAX"}, lambda u, t: u - t),
        ({"formula": "SQUARES"}, lambda u, t: (u * u - t * t) / 3),
        ({"formula": "RELATIVE_UTIL_VARIANCE"}, lambda u, t: (u - t) ** 2 * 2 / 3),
        (
            {"formula": "IDEAL", "ignore_upper_bound_for_ideal_with_abs_or_rel_bound_types": False},
            lambda u, t: (u * u - t * t) * 8 / (Fraction(8 + 9184414685202 + 2) / 3),
        ),
    ],
)
def test_thresholds_of_vast_containers_leave_digits_for_small_ones(
    fields: dict[str, Any], expected: Callable[[Fraction, Fraction], Fraction], moving: bool
) -> None:
    """10^12 on a host of 8 beside one of 9 · 10^12, whose threshold is 10^11 times all there is."""
    out = ProblemBuilder("task", "host")
    out.set_assignment({"h0": ["a"], "h1": ["c"], "h2": [], **({"none": []} if moving else {})})
    out.add_object_dimension("cpu", {"a": 10**12, "c": 1})
    offered = {"h0": 8, "h1": 9184414685202, "h2": 2}
    out.add_scope_dimension("cpu", "host", {**offered, **({"none": 0} if moving else {})})
    used = Fraction(10**12, 8)
    average = (used + Fraction(1, 9184414685202)) / 3  # of no fourth host: what has no capacity takes no part
    assert goal(out.build(), balance(**fields)) == pytest.approx(float(expected(used, average)), rel=1e-12)
