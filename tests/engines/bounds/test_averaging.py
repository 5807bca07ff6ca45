"""The averaging bound is a lower bound: nothing that can be reached is below it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import (
    BalanceSpec,
    CapacitySpec,
    CapacityWithGroupPresenceSpec,
    Filter,
    Limit,
    MinimizeContainersSpec,
    PlacedSpec,
    Rebalancer,
)
from rebalancer.engines.bounds import lower_bounds
from rebalancer.engines.cpsat.candidates import every_pair, pruned
from rebalancer.engines.cpsat.totals import averaging_bound
from rebalancer.model import CellValues, GoalCells, Model, ModelBuilder, Param, Reduce, assemble, evaluate_cells
from tests.examples import examples
from tests.property.problems import every_assignment, every_feasible, models, worlds

FACTORS = st.sampled_from([1, 2, 3, -1, -2])


def lowest(model: Model, cells: Reduce, placed_only: bool) -> int:
    """Return the least that a sum is at any assignment."""
    reachable = [choice for choice in every_assignment(model.problem) if not placed_only or (choice >= 0).all()]
    return min(
        int(evaluate_cells(CellValues(model.problem, choice), cells).integers.dense()[0, 0]) for choice in reachable
    )


@examples(60)
@given(st.data())
def test_sums_of_hinges_squares_and_steps_never_cost_less(data: st.DataObject) -> None:
    problem = data.draw(worlds(4, 3))
    builder = ModelBuilder(problem)
    partition = data.draw(st.sampled_from([None, "job"]))
    tally = builder.tally(
        data.draw(st.sampled_from(["host", "rack"])),
        data.draw(st.sampled_from(["cpu", "", "net"])),
        partition=partition,
    )
    shape = tally.groups * tally.items
    offers = [Fraction(data.draw(st.integers(-6, 6)), 2) for _ in range(shape)]
    const = Param.of(np.array(offers, object).reshape(tally.groups, tally.items))
    x = [(tally, data.draw(FACTORS))]
    curve = data.draw(st.sampled_from([builder.square, builder.hinge, builder.step]))
    curved = curve(builder.linear(x, const))
    weights = [Fraction(data.draw(st.sampled_from([0, 1, 1, 2, 5]))) for _ in range(shape)]
    total = builder.total(curved, Param.of(np.array(weights, object).reshape(tally.groups, tally.items)))
    model = assemble(builder, [], [])
    literals = every_pair(model)
    placed_only = data.draw(st.booleans())
    if placed_only:
        literals = literals.without(literals.container < 0)
    assert isinstance(total, Reduce)
    bound = averaging_bound(model, literals, total)
    if bound is not None:
        assert bound <= lowest(model, total, placed_only)


@examples(60)
@given(models(objects=4, containers=3))
def test_sums_in_random_models_never_cost_less(model: Model) -> None:
    literals = pruned(model, every_pair(model))
    if (literals.per_object == 0).any():
        return
    feasible = list(every_feasible(model))
    for cells in model.graph:
        bound = averaging_bound(model, literals, cells) if isinstance(cells, Reduce) else None
        if bound is not None and feasible:
            reached = (evaluate_cells(values, cells).integers for values in feasible)
            assert bound <= min(int(grid.dense()[0, 0]) for grid in reached)


def test_it_is_the_perfectly_spread_load() -> None:
    """Six units on three hosts that bear one each: three are too many, and squares are at least 3 · 2².

    Where hosts bear nothing, each unit costs at least what it does on the cheapest one.
    """
    from rebalancer.problem import ProblemBuilder

    world = ProblemBuilder("task", "host")
    world.set_assignment({"h0": [f"t{number}" for number in range(6)], "h1": [], "h2": []})
    builder = ModelBuilder(world.build())
    tally = builder.tally("host")
    hinges = builder.total(builder.hinge(builder.linear([(tally, 1)], -1)))
    squares = builder.total(builder.square(tally))
    straight = builder.total(builder.hinge(tally), Param.of(np.array([[3, 1, 2]], object)))
    model = assemble(builder, [], [])
    literals = every_pair(model)
    placed = literals.without(literals.container < 0)
    assert isinstance(hinges, Reduce)
    assert isinstance(squares, Reduce)
    assert isinstance(straight, Reduce)
    assert averaging_bound(model, placed, hinges) == 3
    assert averaging_bound(model, placed, squares) == 12
    assert averaging_bound(model, placed, straight) == 6 * 1
    assert averaging_bound(model, literals, hinges) is None


def test_what_a_group_costs_is_a_whole_number() -> None:
    """Three jobs of four on three hosts: squares of 2, 1 and 1 each, 6, not 16/3."""
    from rebalancer.problem import ProblemBuilder

    world = ProblemBuilder("task", "host")
    jobs = {job: [f"{job}{number}" for number in range(4)] for job in "abc"}
    world.set_assignment({"h0": jobs["a"] + jobs["b"] + jobs["c"], "h1": [], "h2": []})
    world.add_partition("job", jobs)
    builder = ModelBuilder(world.build())
    squares = builder.total(builder.square(builder.tally("host", partition="job")))
    model = assemble(builder, [], [])
    literals = every_pair(model)
    assert isinstance(squares, Reduce)
    assert averaging_bound(model, literals.without(literals.container < 0), squares) == 3 * 6


def test_each_group_is_spread_by_itself() -> None:
    """Six of one job and three of another on three hosts: 3 · 2² and 3 · 1².

    Hosts bear one of each, and what is beyond is dear on one host or another: three of the first job are, and cost 2
    each on the host that is cheapest for it. Of the second none is.
    """
    from rebalancer.problem import ProblemBuilder

    world = ProblemBuilder("task", "host")
    jobs = {"a": [f"a{number}" for number in range(6)], "b": [f"b{number}" for number in range(3)]}
    world.set_assignment({"h0": jobs["b"] + jobs["a"], "h1": [], "h2": []})
    world.add_partition("job", jobs)
    builder = ModelBuilder(world.build())
    tally = builder.tally("host", partition="job")
    squares = builder.total(builder.square(tally))
    prices = Param.of(np.array([[7, 2, 3], [1, 1, 9]], object))
    hinges = builder.total(builder.hinge(builder.linear([(tally, 1)], -1)), prices)
    model = assemble(builder, [], [])
    literals = every_pair(model)
    placed = literals.without(literals.container < 0)
    assert isinstance(squares, Reduce)
    assert isinstance(hinges, Reduce)
    assert averaging_bound(model, placed, squares) == 12 + 3
    assert averaging_bound(model, placed, hinges) == 3 * 2 + 0


@pytest.mark.parametrize(
    ("rooms", "least"), [((8, 4, 4, 4), 2), ((4, 4, 4, 4), 3), ((5, 5, 5, 12), 1), ((11, 4, 4, 4), 2)]
)
def test_a_load_fills_so_many_containers(rooms: tuple[int, ...], least: int) -> None:
    """Twelve units: the largest containers that hold them are the fewest."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{number}": [f"t{number}", f"u{number}"] for number in range(3)} | {"h3": []})
    solver.add_object_dimension("cpu", {f"{kind}{number}": 2 for kind in "tu" for number in range(3)})
    solver.add_container_dimension("cpu", {f"h{number}": room for number, room in enumerate(rooms)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="cpu"))
    solver.add_goal(MinimizeContainersSpec(scope="host", dimension="cpu"))
    model = solver.model
    assert np.ceil(model.real(0, lower_bounds(model)[0]) - 1e-6) == least
    assert solver.solve("cpsat", 20.0).objective["final"].tolist() == [least]


@pytest.mark.parametrize(("limited", "least"), [(True, 2), (False, 1)])
def test_containers_in_use_hold_the_memory_of_all_whatever_is_counted_of_them(limited: bool, least: int) -> None:
    """Six tasks of two units each, on hosts of eight: two are enough; one is where nothing is limited."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{number}": [f"t{number}", f"u{number}"] for number in range(3)} | {"h3": []})
    solver.add_object_dimension("memory", {f"{kind}{number}": 2 for kind in "tu" for number in range(3)})
    solver.add_container_dimension("memory", {f"h{number}": 8 for number in range(4)})
    if limited:
        solver.add_constraint(CapacitySpec(scope="host", dimension="memory"))
    solver.add_goal(MinimizeContainersSpec(scope="host", dimension="task_count"))
    model = solver.model
    assert np.ceil(model.real(0, lower_bounds(model)[0]) - 1e-6) == least
    assert solver.solve("cpsat", 20.0).objective["final"].tolist() == [least]


@examples(60)
@given(st.data())
def test_what_is_there_without_what_is_counted_tells_nothing(data: st.DataObject) -> None:
    """Limits on one amount bound steps of another only where the one is nowhere without the other."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": ["t2", "t3"], "h2": []})
    for name, sizes in (("memory", [1, 2, 3, 4]), ("port", [0, 0, 1, 2, 3])):
        solver.add_object_dimension(name, {f"t{n}": data.draw(st.sampled_from(sizes)) for n in range(4)})
    solver.add_container_dimension("memory", {f"h{n}": data.draw(st.integers(4, 12)) for n in range(3)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="memory"))
    solver.add_goal(MinimizeContainersSpec(scope="host", dimension=data.draw(st.sampled_from(["port", "task_count"]))))
    model = solver.model
    reachable = [values.assignment for values in every_feasible(model)]
    if reachable:
        assert lower_bounds(model)[0] <= min(model.evaluate(assignment).integers[0] for assignment in reachable)


@pytest.mark.parametrize("formula", ["IDEAL", "LINEAR"])
@pytest.mark.parametrize("unit", [1, 2**40 + 1])
def test_amounts_in_bytes_are_bounded_as_those_in_gigabytes_are(formula: str, unit: int) -> None:
    """3, 1, 2 and 2 split evenly: there the bound of a square is what is reached, whatever the unit."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": ["t2", "t3"]})
    solver.add_object_dimension("memory", {f"t{n}": size * unit for n, size in enumerate((3, 1, 2, 2))})
    solver.add_container_dimension("memory", {"h0": 8 * unit, "h1": 8 * unit})
    solver.add_constraint(PlacedSpec())
    solver.add_goal(BalanceSpec(scope="host", dimension="memory", formula=formula, upper_bound=0.25))
    model = solver.model
    reached = min(float(model.evaluate(values.assignment).objective[0]) for values in every_feasible(model))
    bound = model.real(0, lower_bounds(model)[0])
    assert reached > 0
    assert reached * 0.999 <= bound <= reached


def test_who_is_in_no_counted_group_adds_nothing_to_a_sum() -> None:
    """Of one task of three there is one, wherever it is: 1 and not 3."""
    solver = Rebalancer(object_name="task", container_name="host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": ["t2"]})
    solver.add_scope("fleet", {"all": ["h0", "h1"]})
    solver.add_partition("job", {"counted": ["t0"], "other": ["t1", "t2"]})
    charged = CapacityWithGroupPresenceSpec(
        scope="fleet",
        partition_name="job",
        dimension="task_count",
        group_to_presence_weight=0,
        scope_item_to_limit=Limit(type="ABSOLUTE", global_limit=0),
        group_filter=Filter(type="GROUP", items_whitelist=["counted"]),
    )
    solver.add_goal(charged)
    assert lower_bounds(solver.model) == [1]


def test_what_was_there_is_a_number_of_its_own_where_there_is_one_item() -> None:
    """Of what weighs -5 and -7, -12 may leave the only rack that there is."""
    solver = Rebalancer(object_name="task", container_name="host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": []})
    solver.add_object_dimension("ballast", {"t0": -5, "t1": -7})
    solver.add_scope("rack", {"r0": ["h0"]})
    builder = ModelBuilder(solver.problem)
    gone = builder.amount("rack", "ballast", "OLD")
    model = assemble(builder, [GoalCells("gone", "any", Fraction(1), 0, gone)], [])
    assert lower_bounds(model) == [-12]
