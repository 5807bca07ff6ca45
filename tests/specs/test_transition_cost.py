from __future__ import annotations

import pytest

from rebalancer.problem import Problem, ProblemBuilder
from rebalancer.specs.transition_cost import TransitionCostSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, world

HOSTS = {"h0": {"h1": 2, "h3": 0.5}, "h1": {"h0": 7}}


def test_goal_looks_up_source_and_destination() -> None:
    spec = TransitionCostSpec(costs=HOSTS)
    assert goal(world(), spec) == 0
    assert goal(world(), spec, {"a": "h1"}) == 2
    assert goal(world(), spec, {"a": "h1", "b": "h3", "c": "h0"}) == 9.5
    assert goal(world(), spec, {"a": "h2", "e": "h0"}) == 0
    assert goal(world(), TransitionCostSpec(costs=HOSTS, default=10), {"a": "h2", "b": "h1"}) == 12


def test_amounts_multiply() -> None:
    assert goal(world(), TransitionCostSpec(costs=HOSTS, dimension="cpu"), {"b": "h3", "c": "h0"}) == 1 + 28
    assert goal(world(), TransitionCostSpec(costs=HOSTS, dimension="io"), {"a": "h1"}) == 10  # 5 at the destination


def test_moves_within_an_item_cost_what_is_said_of_it() -> None:
    racks = {"r0": {"r0": 1, "r1": 5}}
    spec = TransitionCostSpec(scope="rack", costs=racks, default=9)
    assert goal(world(), spec) == 0
    assert goal(world(), spec, {"a": "h1"}) == 1
    assert goal(world(), spec, {"a": "h1", "c": "h0", "b": "h2", "e": "h0"}) == 1 + 1 + 5 + 9
    dynamic = TransitionCostSpec(scope="rack", costs=racks, dimension="io")
    assert goal(world(), dynamic) == 0
    assert goal(world(), dynamic, {"a": "h1"}) == 5


def test_unplaced_and_outside_cost_nothing() -> None:
    spec = TransitionCostSpec(scope="rack", costs={"r0": {"r0": 1}}, default=9)
    assert goal(world(), spec, {"d": "h0", "a": "h3", "c": None}) == 0


def test_constraint_allows_the_allowance() -> None:
    spec = TransitionCostSpec(costs=HOSTS, allowance=3)
    assert broken(world(), spec, {"a": "h1"}) == (0, 0)
    assert broken(world(), spec, {"a": "h1", "b": "h1"}) == (1, 1)
    assert goal(world(), spec, {"a": "h1", "b": "h1"}) == 1
    assert goal(world(), spec, {"a": "h1"}) == 0


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"costs": {"h9": {}}}, ("unknown-name", "h9")),
        ({"costs": {"h0": {"h9": 1}}}, ("unknown-name", "h9")),
        ({"costs": {}, "dimension": "vec"}, ("vector-dimension", "dimension")),
        ({"costs": {}, "allowance": -1}, ("out-of-range", "allowance")),
    ],
)
def test_faults(fields: dict[str, object], expected: tuple[str, str]) -> None:
    assert codes(faults(world(), TransitionCostSpec(**fields))) == [expected]


def test_an_empty_table_costs_nothing() -> None:
    assert goal(world(), TransitionCostSpec(costs={}), {"a": "h1"}) == 0
    assert goal(world(), TransitionCostSpec(costs={"h0": {}}, default=1), {"a": "h1"}) == 1


def test_costs_beyond_64_bits_are_held_in_a_coarser_unit() -> None:
    """10^13 at 10^6 each, less what is free; the other task counts a trillionth of it."""
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a"], "h1": ["b"], "h2": []})
    builder.add_scope("rack", {"r0": ["h0", "h1"], "r1": ["h2"]})
    builder.add_object_dimension("mem", {"a": 10**13, "b": 10})
    problem = builder.build()
    spec = TransitionCostSpec(scope="rack", costs={"r0": {"r0": 10**6}}, dimension="mem", allowance=0.5)
    error = 1e4
    assert goal(problem, spec) == pytest.approx(0, abs=error)
    assert goal(problem, spec, {"a": "h1"}) == pytest.approx(1e19, abs=error)
    assert goal(problem, spec, {"a": "h2"}) == pytest.approx(0, abs=error)
    assert goal(problem, spec, {"a": "h1", "b": "h0"}) == pytest.approx(1e19 + 1e7, abs=error)


LARGE = 28_967_296_199_403_095  # above 2^54: doubles are 4 apart


def large() -> Problem:
    """One large and one small task on two hosts of a zone, and a zone without hosts."""
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["big", "small"], "h1": []})
    builder.add_scope("zone", {"z0": [], "z1": ["h0", "h1"]})
    builder.add_object_dimension("mem", {"big": LARGE, "small": 2})
    return builder.build()


@pytest.mark.parametrize("cost", [1, 0.3])
def test_little_that_moves_within_an_item_is_seen_beside_much_that_stays(cost: float) -> None:
    spec = TransitionCostSpec(scope="zone", dimension="mem", costs={"z1": {"z0": 0, "z1": cost}})
    assert broken(large(), spec) == (0, 0)
    assert broken(large(), spec, {"small": "h1"}) == (pytest.approx(2 * cost), 1)
    assert broken(large(), spec, {"big": "h1"}) == (pytest.approx(LARGE * cost), 1)
    assert not feasible(large(), spec, {"small": "h1"})
    assert goal(large(), spec) == 0
    assert goal(large(), spec, {"small": "h1"}) == pytest.approx(2 * cost)


def test_what_large_amounts_may_cost_between_items_holds_to_the_unit() -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["big", "small"], "h1": []})
    builder.add_object_dimension("mem", {"big": LARGE, "small": 2})
    fields = {"dimension": "mem", "costs": {"h0": {"h1": 3}}}
    assert broken(builder.build(), TransitionCostSpec(allowance=3 * LARGE, **fields), {"big": "h1"})[1] == 0
    assert broken(builder.build(), TransitionCostSpec(allowance=3 * LARGE - 1, **fields), {"big": "h1"})[1] == 1
