from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from rebalancer import AssignmentAffinitiesSpec, PlacedSpec, Rebalancer
from rebalancer.problem import Problem
from rebalancer.specs.minimize_movement import MinimizeMovementSpec
from tests.specs.worlds import broken, builder, codes, faults, feasible, goal, settled, warnings, world


@pytest.mark.parametrize(
    ("fields", "moves", "expected"),
    [
        ({}, {"a": "h1"}, 0.001 / 4),
        ({"magic_scaling": False}, {"a": "h1", "c": "h3"}, 2 / 4),
        ({"do_not_normalize": True}, {"a": "h1", "c": "h3"}, 2),
        ({"do_not_normalize": True, "dimension": "cpu"}, {"a": "h1", "c": "h3", "f": "h3"}, 5),
        ({"do_not_normalize": True, "dimension": "cpu", "allowance": 2}, {"a": "h1", "c": "h3"}, 3),
        ({"do_not_normalize": True, "dimension": "cpu", "allowance": 6}, {"a": "h1", "c": "h3"}, 0),
        ({"magic_scaling": False, "dimension": "cpu"}, {"a": "h1"}, 1 / 2 / 4),
        ({"magic_scaling": False, "dimension": "cpu"}, {"e": "h0"}, 3 / 4 / 4),
        ({"dimension": "cpu"}, {"e": "h0"}, 0.001 * 3 / 4 / 4),
        ({"scope": "rack", "do_not_normalize": True}, {"a": "h1"}, 0),
        ({"scope": "rack", "do_not_normalize": True}, {"a": "h3"}, 1),
        ({"scope": "rack", "magic_scaling": False, "dimension": "cpu"}, {"e": "h0"}, 3 / 10 / 2),
        ({"scope": "rack", "magic_scaling": False, "dimension": "cpu"}, {"e": "h3"}, 3 / 2),
        ({"do_not_normalize": True, "dimension": "vec"}, {"a": "h1", "b": "h1"}, 5),
        ({"do_not_normalize": True, "dimension": "io"}, {"a": "h1"}, 5),
        ({"do_not_normalize": True, "dimension": "net"}, {"a": "h1"}, -2),
    ],
)
def test_what_moves_costs(fields: dict[str, Any], moves: Mapping[str, str | None], expected: float) -> None:
    spec = MinimizeMovementSpec(**fields)
    assert goal(world(), spec) == 0
    assert goal(world(), spec, moves) == pytest.approx(expected, abs=1e-12)


def test_placing_is_no_movement_and_taking_out_is() -> None:
    for dimension in ("", "cpu", "vec"):
        spec = MinimizeMovementSpec(do_not_normalize=True, dimension=dimension)
        assert goal(world(), spec, {"d": "h1"}) == 0
        assert goal(world(), spec, {"c": None}) == {"": 1, "cpu": 4, "vec": 4}[dimension]
    assert goal(world(), MinimizeMovementSpec(dimension="cpu", magic_scaling=False), {"c": None}) == pytest.approx(
        4 / 4
    )


def test_out_of_the_scope_is_one_place() -> None:
    spec = MinimizeMovementSpec(scope="rack", do_not_normalize=True, dimension="cpu")
    assert goal(settled(), spec, {"d": None}) == 0
    assert goal(settled(), spec, {"d": "h0"}) == 8
    assert goal(world(), spec, {"a": None}) == 1


def test_as_a_constraint_nothing_may_move() -> None:
    assert broken(world(), MinimizeMovementSpec(do_not_normalize=True), {"a": "h1", "d": "h1"}) == (1, 1)
    assert broken(world(), MinimizeMovementSpec(), {"a": "h1"}) == (pytest.approx(0.001 / 4), 1)
    assert not feasible(world(), MinimizeMovementSpec(), {"a": "h1"})
    assert feasible(world(), MinimizeMovementSpec(), {"d": "h1"})


def test_as_a_constraint_an_allowance_is_a_budget() -> None:
    spec = MinimizeMovementSpec(do_not_normalize=True, allowance=1.5)
    assert feasible(world(), spec, {"a": "h1"})
    assert not feasible(world(), spec, {"a": "h1", "b": "h1"})
    assert broken(world(), spec, {"a": "h1", "b": "h1"}) == (0.5, 1)


def test_as_a_constraint_amounts_below_0_go_only_where_all_items_count_alike() -> None:
    """Their sum may be anything: of -1/12 + 1/13 - ... nobody could tell exactly whether it is above 0."""

    def world_of(capacities: Mapping[str, int]) -> Problem:
        out = builder()
        out.add_scope_dimension("net", "host", capacities, default=1)
        return out.build()

    alike, different = world_of({}), world_of({"h0": 12, "h1": 13})
    spec = MinimizeMovementSpec(dimension="net", magic_scaling=False)
    assert codes(faults(different, spec, "constraint")) == [("negative-value", "dimension")]
    assert codes(faults(alike, spec, "constraint")) == []
    assert broken(alike, spec, {"a": "h1"}) == (0, 0)  # -2
    assert broken(alike, spec, {"b": "h1"}) == (pytest.approx(1 / 4), 1)
    assert codes(faults(different, MinimizeMovementSpec(dimension="net", do_not_normalize=True), "constraint")) == []
    assert goal(different, spec, {"a": "h1"}) == pytest.approx(-2 / 13 / 4)
    assert codes(faults(different, MinimizeMovementSpec(dimension="io", scope="rackk"), "constraint")) == [
        ("unknown-name", "scope")
    ]


def test_as_a_constraint_what_an_amount_depends_on_makes_no_difference() -> None:
    """A dynamic amount in a large item counts by itself, as a plain one does: 2 of 10^13 is more than nothing."""
    out = builder()
    out.add_dynamic_object_dimension("load", "host", {"h1": {"a": 2}, "h2": {"b": 3 * 10**6}})
    out.add_scope_dimension("load", "host", {"h0": 7, "h1": 10**13, "h2": 3, "h3": 999_983})
    spec = MinimizeMovementSpec(dimension="load", magic_scaling=False)
    assert broken(out.build(), spec, {"a": "h1"}) == (pytest.approx(2 / 10**13 / 4, rel=1e-12), 1)


def test_items_without_capacity() -> None:
    out = builder()
    out.add_object_dimension("mem", {"a": 2, "b": 6})
    out.add_scope_dimension("mem", "host", {"h0": 4, "h1": 0, "h2": 1, "h3": 2})
    problem = out.build()
    spec = MinimizeMovementSpec(dimension="mem", magic_scaling=False)
    assert goal(problem, spec, {"a": "h1", "b": "h3"}) == pytest.approx(6 / 2 / 4)
    assert broken(problem, spec, {"a": "h1"}) == (pytest.approx(2 / 4), 1)
    assert warnings(problem, spec) == ["zero-capacity"]


def test_faults() -> None:
    assert codes(faults(world(), MinimizeMovementSpec(allowance=1))) == [("unsupported-field", "allowance")]
    assert codes(faults(world(), MinimizeMovementSpec(allowance=-1, do_not_normalize=True))) == [
        ("out-of-range", "allowance")
    ]
    assert codes(faults(world(), MinimizeMovementSpec(scope="rackk"))) == [("unknown-name", "scope")]


def test_bytes_are_told_apart() -> None:
    """Going out costs a unit as much as all of an item's capacity, which must not round away what moves cost."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{host}": [f"t{host}{n}" for n in range(40)] for host in range(3)})
    solver.add_object_dimension("memory", {f"t{host}{n}": 2**30 + n for host in range(3) for n in range(40)})
    solver.add_container_dimension("memory", {f"h{host}": 2**36 for host in range(3)})
    solver.add_goal(MinimizeMovementSpec(dimension="memory", magic_scaling=False))
    (position,) = solver.model.tuple_positions
    moved = solver.model.problem.initial.copy()
    moved[5] = 1
    score = solver.model.evaluate(moved)
    assert score.objective[0] == pytest.approx((2**30 + 5) / 2**36 / 3, rel=1e-9)
    assert float(score.integers[0] * position.objective.unit) == pytest.approx(score.objective[0], rel=1e-6)
    assert position.epsilon < 1e-6 * score.objective[0]
    moved[5] = -1  # breaks what is implied, and costs all the same
    assert solver.model.evaluate(moved).goals[0] == pytest.approx((2**30 + 5) / 3, rel=1e-9)
    solver.add_constraint(PlacedSpec(), policy="SOFT")
    moved[5], moved[6] = 1, -1
    score = solver.model.evaluate(moved)
    assert score.feasible
    assert score.goals[0] == pytest.approx((2**30 + 6) / 3 + (2**30 + 5) / 2**36 / 3, rel=1e-12)


@pytest.mark.parametrize("fields", [{}, {"do_not_normalize": True}, {"do_not_normalize": True, "allowance": 2}])
@pytest.mark.parametrize("sizes", [(2 * 10**15, 10**15 + 1), (10**15, 0.001), (3 * 10**15, 0.25), (2**60, 2, 3)])
def test_as_a_limit_it_holds_to_the_unit_however_much_there_is(
    fields: dict[str, Any], sizes: tuple[float, ...]
) -> None:
    solver = Rebalancer("task", "host")
    names = [f"t{n}" for n in range(len(sizes))]
    solver.set_assignment({"h0": names, "h1": []})
    solver.add_object_dimension("memory", dict(zip(names, sizes, strict=True)))
    solver.add_constraint(MinimizeMovementSpec(dimension="memory", **fields), policy="HARD")
    for places in product(range(2), repeat=len(sizes)):
        moved = sum(size for size, place in zip(sizes, places, strict=True) if place)
        score = solver.model.evaluate(np.array(places, np.int32))
        assert score.feasible == (moved <= fields.get("allowance", 0))
    start = solver.evaluate()
    assert not start.worsened
    assert start.constraints["final_violation"].tolist() == [0]
    assert solver.solve("cpsat", time_limit=30, workers=1).status == "OPTIMAL"


def test_what_is_broken_by_nothing_costs_nothing() -> None:
    """Four hundred volumes, 4 PB together, none of which moves."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": [f"t{n}" for n in range(400)], "h1": []})
    solver.add_object_dimension("memory", {f"t{n}": 10**13 + n for n in range(400)})
    solver.add_constraint(MinimizeMovementSpec(dimension="memory"), invalid_state=7)
    assert solver.evaluate().objective["final"].tolist() == [0]


@pytest.mark.parametrize("engine", ["cpsat", "local_search"])
def test_a_constraint_sees_what_is_next_to_nothing_beside_what_else_could_move(engine: str) -> None:
    """0.001 of 10^6 arriving in 7 is 1/7000, a third of a thousandth of which is the violation; 7·10^8 could arrive."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["large"], "h1": ["small"], "h2": []})
    solver.add_object_dimension("disk", {"large": 7 * 10**8, "small": 0.001})
    solver.add_container_dimension("disk", {"h0": 3 * 10**6, "h1": 10**6, "h2": 7})
    solver.add_constraint(MinimizeMovementSpec(dimension="disk"), name="stay", policy="HARD")
    wish = {"object_name": "small", "scope_item_name": "h2", "affinity": 1}
    solver.add_goal(AssignmentAffinitiesSpec(affinities=[wish]))
    moved = solver.evaluate({"large": "h0", "small": "h2"})
    assert moved.constraints["final_violation"].tolist() == [pytest.approx(1 / 21e6)]
    assert moved.worsened == ("stay",)
    assert not len(solver.solve(engine, time_limit=30, iterations=2000, workers=1).moves)


def test_what_is_taken_out_breaks_a_normalised_constraint() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"], "h1": []}, unassigned=["b"])
    solver.add_container_dimension("task_count", {"h0": 2, "h1": 4})
    solver.add_constraint(MinimizeMovementSpec(magic_scaling=False), name="stay")
    taken_out = solver.evaluate({"a": None, "b": "h1"})
    assert taken_out.constraints["final_violation"].tolist()[0] == 0.5
