"""Every formula in integers is what it says, within the error that it admits, and never outside its range."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import BalanceSpec, CapacitySpec, Rebalancer
from rebalancer.model import (
    METRICS,
    Cells,
    CellValues,
    Function,
    Map,
    ModelBuilder,
    Param,
    Tally,
    evaluate,
    evaluate_cells,
    floats_of,
    grid,
)
from rebalancer.problem import FixedPoint, Problem, ProblemBuilder
from tests.examples import examples
from tests.model.exact import exact, integers

NUMBERS = st.sampled_from(
    [Fraction(n, d) for n in (-3, -1, 0, 1, 2, 7) for d in (1, 2, 3, 7)]
    + [Fraction(10**9 + 7, 3), Fraction(1, 10**9 + 9)]
)
POSITIVE = NUMBERS.filter(lambda value: value > 0)
SMALL = POSITIVE.filter(lambda value: value < 1000)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    hosts, tasks = [f"h{i}" for i in range(draw(st.integers(1, 4)))], [f"t{i}" for i in range(draw(st.integers(0, 6)))]
    contents: dict[str, list[str]] = {host: [] for host in hosts}
    loose = []
    for task in tasks:
        place = draw(st.sampled_from([*hosts, *hosts, None]))
        (loose if place is None else contents[place]).append(task)
    builder = ProblemBuilder("task", "host")
    builder.set_assignment(contents, loose)
    size = draw(st.sampled_from([1, 1, 10**6, 10**12]))
    amounts = st.sampled_from([0, 1, 2, 5, -1, 0.5, 3.25])
    builder.add_object_dimension("cpu", {task: draw(amounts) * size for task in tasks})
    builder.add_object_dimension("vec", {task: [draw(amounts), draw(amounts)] for task in tasks})
    builder.add_dynamic_object_dimension(
        "net", "rack", {"r0": {task: draw(amounts) for task in tasks if draw(st.booleans())}}, draw(amounts)
    )
    racks = [draw(st.sampled_from(["r0", "r1", None])) for _ in hosts]
    builder.add_scope(
        "rack", {rack: [h for h, r in zip(hosts, racks, strict=True) if r == rack] for rack in ("r0", "r1")}
    )
    builder.add_partition("job", {job: [task for task in tasks if draw(st.booleans())] for job in ("j0", "j1", "j2")})
    return builder.build()


@st.composite
def params(draw: st.DrawFn, cells: Cells, values: st.SearchStrategy[Fraction] = NUMBERS) -> Param:
    groups, items = draw(st.sampled_from([(1, 1), (1, cells.items), (cells.groups, 1), (cells.groups, cells.items)]))
    return Param.of([[draw(values) for _ in range(items)] for _ in range(groups)], groups, items)


def grown(draw: st.DrawFn, model: ModelBuilder, cells: Cells) -> Cells:
    """One more formula over cells."""
    kinds: dict[str, Callable[[], Cells]] = {
        "linear": lambda: model.linear([(cells, draw(params(cells)))], draw(params(cells))),
        "two": lambda: model.linear([(cells, draw(NUMBERS)), (model.total(cells), draw(params(cells)))], draw(NUMBERS)),
        "hinge": lambda: model.hinge(model.linear([(cells, draw(params(cells)))], draw(params(cells)))),
        "step": lambda: model.step(cells),
        "square": lambda: model.square(cells),
        "rounded": lambda: model.rounded(cells, 1000),
        "ceil": lambda: model.ceil(cells, draw(params(cells, POSITIVE))),
        "total": lambda: model.total(cells, draw(params(cells))),
        "up": lambda: model.total(model.hinge(cells), draw(params(cells, POSITIVE)), up=True),
        "groups": lambda: model.sum_groups(cells, draw(params(cells))),
        "items": lambda: model.sum_items(cells, draw(params(cells))),
        "largest": lambda: model.largest(cells, smallest=draw(st.booleans())),
        "gather": lambda: model.gather(cells, np.array([0, cells.groups - 1]), np.array([cells.items - 1, 0])),
        "largest_of": lambda: model.largest_of([cells, model.hinge(cells)], smallest=draw(st.booleans())),
        "mod": lambda: model.mod(cells, draw(params(cells, POSITIVE if cells.low >= 0 else SMALL))),
        "product": lambda: model.product(cells, draw(st.sampled_from([cells, model.total(cells)]))),
        "ratio": lambda: model.ratio(cells, model.linear([(model.step(cells), 1)], draw(st.sampled_from([1, 3])))),
        "nth": lambda: model.nth_largest(cells, draw(st.integers(0, 3))),
        "others": lambda: model.all_but_largest(cells, draw(st.integers(0, 2))),
        "spread": lambda: model.spread(cells),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]()


@st.composite
def formulas(draw: st.DrawFn) -> tuple[Problem, ModelBuilder, Cells, np.ndarray]:
    problem = draw(problems())
    model = ModelBuilder(problem)
    scope, metric = draw(st.sampled_from(["host", "rack", "placed"])), draw(st.sampled_from(sorted(METRICS)))
    dimension, partition = draw(st.sampled_from(["cpu", "vec", "net", ""])), draw(st.sampled_from([None, "job"]))
    items = None
    if draw(st.booleans()):
        items = np.array(
            sorted(draw(st.sets(st.integers(0, len(problem.scopes[scope].items) - 1), min_size=1))), np.int64
        )
    cells = model.amount(scope, dimension, metric, partition=partition, items=items)
    for _ in range(draw(st.integers(0, 4))):
        cells = grown(draw, model, cells)
    places = st.integers(-1, len(problem.containers) - 1)
    count = len(problem.objects)
    assignment = np.array(draw(st.lists(places, min_size=count, max_size=count)), np.int32)
    return problem, model, cells, assignment


@given(formulas())
@examples(300)
def test_integers_are_within_their_error_and_range(case: tuple[Problem, ModelBuilder, Cells, np.ndarray]) -> None:
    problem, model, _, assignment = case
    values = CellValues(problem, assignment)
    for cells in model.cells:
        got = evaluate_cells(values, cells)
        known = integers(problem, cells, assignment)
        assert known.shape == (cells.groups, cells.items)
        assert known.min(initial=cells.low) >= cells.low
        assert known.max(initial=cells.high) <= cells.high
        assert sum(abs(value) for value in known.ravel().tolist()) <= model._sums[cells.index]
        true = exact(problem, cells, assignment)
        shown = floats_of(cells, got).dense()
        for group in range(cells.groups):
            for item in range(cells.items):
                assert abs(int(known[group, item]) * cells.unit - true[group][item]) <= cells.error
                assert abs(shown[group, item] - float(true[group][item])) <= 1e-9 * (
                    1 + abs(float(true[group][item]))
                ) + float(cells.error)


@given(formulas())
@examples(150)
def test_sparse_and_dense_agree(case: tuple[Problem, ModelBuilder, Cells, np.ndarray]) -> None:
    problem, model, _, assignment = case
    dense = CellValues(problem, assignment)
    before = [evaluate_cells(dense, cells) for cells in model.cells]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "DENSE_CELLS", 0)
        patch.setattr(evaluate, "DENSE_CELLS", 0)
        sparse = CellValues(problem, assignment)
        for cells, known in zip(model.cells, before, strict=True):
            value = evaluate_cells(sparse, cells)
            assert np.array_equal(value.integers.dense(), known.integers.dense())
            assert np.allclose(floats_of(cells, value).dense(), floats_of(cells, known).dense(), rtol=1e-12, atol=1e-12)


@given(formulas())
@examples(100)
def test_the_start_is_the_initial_assignment(case: tuple[Problem, ModelBuilder, Cells, np.ndarray]) -> None:
    problem, model, cells, _ = case
    assert np.array_equal(model.initial(cells).dense(), integers(problem, cells, problem.initial))


# -- what counts ------------------------------------------------------------------------------------------------------


def world() -> Problem:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a", "b"], "h1": ["c"], "h2": []}, ["d"])
    builder.add_object_dimension("cpu", {"a": 1, "b": 2, "c": 4, "d": 8})
    builder.add_scope("rack", {"r0": ["h0", "h1"], "r1": ["h2"]})
    builder.add_scope("half", {"x": ["h0"]})
    builder.add_dynamic_object_dimension("net", "host", {"h0": {"a": 3}, "h2": {"a": 5, "d": 7}}, default=1)
    return builder.build()


def test_what_is_rounded_up_to_0_is_not_below_it() -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": [], "h1": ["a"]})
    builder.add_object_dimension("mem", {"a": 10**17})
    model = ModelBuilder(builder.build())
    over = model.hinge(model.linear([(model.amount("host", "mem"), 1)], Fraction(-3, 10)))
    values = CellValues(model.problem, model.problem.initial)
    assert floats_of(over, evaluate_cells(values, over)).dense().tolist() == [[0, 1e17]]


#: a moves to h2, c leaves, d arrives in h0
MOVED = np.array([2, 0, -1, 0], np.int32)


@pytest.mark.parametrize(
    ("scope", "metric", "expected"),
    [
        ("host", "AFTER", [10, 0, 1]),
        ("host", "INITIAL", [3, 4, 0]),
        ("host", "STAYED", [2, 0, 0]),
        ("host", "DURING", [11, 4, 1]),
        ("host", "NEW", [8, 0, 1]),
        ("host", "OLD", [1, 4, 0]),
        ("host", "MOVED_DATA", [9, 4, 1]),
        ("rack", "STAYED", [2, 0]),
        ("rack", "NEW", [8, 1]),
        ("rack", "OLD", [5, 0]),
        ("half", "AFTER", [10]),
        ("half", "OLD", [1]),
    ],
)
def test_what_counts_under_each_metric(scope: str, metric: str, expected: list[int]) -> None:
    problem = world()
    cells = ModelBuilder(problem).amount(scope, "cpu", metric)
    assert (integers(problem, cells, MOVED)[0] * cells.unit).tolist() == expected


def test_unplaced_objects_are_an_item_of_the_built_in_scope_only() -> None:
    problem = world()
    model = ModelBuilder(problem)
    assert integers(problem, model.amount("placed", "cpu"), MOVED).tolist() == [[11, 4]]
    assert integers(problem, model.amount("placed", "cpu", "NEW"), MOVED).tolist() == [[8, 4]]


def test_a_dynamic_dimension_weighs_by_place() -> None:
    problem = world()
    model = ModelBuilder(problem)
    assert integers(problem, model.amount("host", "net"), MOVED).tolist() == [[2, 0, 5]]
    assert integers(problem, model.amount("rack", "net"), MOVED).tolist() == [[2, 5]]
    assert integers(problem, model.amount("host", "net", "DURING"), MOVED).tolist() == [[5, 1, 5]]


def test_a_table_of_placements() -> None:
    problem = world()
    model = ModelBuilder(problem)
    scope = problem.scopes["rack"]
    cells = model.located(
        scope.item_of,
        np.array([0, 1, 1, 0]),
        np.array([0, 0, 0, 2]),
        [Fraction(1, 3), Fraction(5), Fraction(-2), Fraction(7)],
    )
    assert integers(problem, cells, MOVED)[0, 0] * cells.unit == 3
    assert integers(problem, cells, problem.initial)[0, 0] * cells.unit == Fraction(22, 3)
    assert (cells.low * cells.unit, cells.high * cells.unit) == (0, 10)
    there = model.at(np.array([0, 3]), np.array([2, 2]))
    assert integers(problem, there, MOVED)[0, 0] == 1


@pytest.mark.parametrize("times", [1, 2**60])
def test_a_table_of_fixed_point_numbers_is_that_of_their_fractions(times: int) -> None:
    """Pairs that occur twice add up, scales are reduced, and what is too large is rounded, all the same."""
    problem = world()
    model = ModelBuilder(problem)
    scope = problem.scopes["rack"]
    items, member = np.array([0, 1, 1, 0]), np.array([0, 0, 0, 2])
    numbers = np.array([2 * times, 1, 3, times])
    as_fractions = model.located(scope.item_of, items, member, [Fraction(number, 4) for number in numbers.tolist()])
    fixed = model.located(scope.item_of, items, member, FixedPoint(numbers, 4))
    assert fixed.unit == as_fractions.unit
    for placement in (MOVED, problem.initial):
        assert integers(problem, fixed, placement)[0, 0] == integers(problem, as_fractions, placement)[0, 0]
    start = integers(problem, fixed, problem.initial)[0, 0] * fixed.unit
    assert start == pytest.approx(Fraction(2 * times + times, 4), rel=1e-12)


def test_equal_tallies_are_made_once() -> None:
    model = ModelBuilder(world())
    first = model.amount("host", "cpu")
    assert model.amount("host", "cpu", items=np.arange(3)) is first
    assert model.amount("host", "cpu", "DURING").inputs[0] is first
    assert model.amount("host", "cpu", items=np.array([0, 2])) is not first


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_thresholds_are_exact() -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a", "b"], "h1": []})
    builder.add_object_dimension("cpu", {"a": 0.1, "b": 0.2})
    problem = builder.build()
    model = ModelBuilder(problem)
    amount = model.amount("host", "cpu")
    assert integers(problem, model.step(model.linear([(amount, 1)], Fraction(-3, 10))), problem.initial).tolist() == [
        [0, 0]
    ]
    just_below = Fraction(3, 10) - Fraction(1, 10**40)
    assert integers(problem, model.step(model.linear([(amount, 1)], -just_below)), problem.initial).tolist() == [[1, 0]]


def test_squares_are_exact_while_they_fit_and_rounded_to_the_nearest_beyond() -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a"], "h1": ["b"]})
    builder.add_object_dimension("cpu", {"a": 2**23 - 1, "b": 2**40 + 12345})
    problem = builder.build()
    model = ModelBuilder(problem)
    small = model.square(model.amount("host", "cpu", items=np.array([0])))
    assert small.error > 0  # everything might be in one place
    exact_cells = model.square(model.at(np.array([0]), np.array([0])))
    assert exact_cells.error == 0
    assert integers(problem, exact_cells, problem.initial).tolist() == [[1]]
    value = integers(problem, small, problem.initial)[0, 0] * small.unit
    assert abs(value - (2**23 - 1) ** 2) <= small.error


@pytest.mark.parametrize(("count", "exactly"), [(6, True), (60, False)])
def test_quotients_are_exact_while_they_fit_and_rounded_to_the_nearest_beyond(count: int, exactly: bool) -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": [f"t{i}" for i in range(count)], "h1": []})
    builder.add_object_dimension("cpu", {f"t{i}": 1 + i % 2 for i in range(count)})
    problem = builder.build()
    model = ModelBuilder(problem)
    at_least_one = model.linear([(model.hinge(model.linear([(model.amount("host"), 1)], -1)), 1)], 1)
    average = model.ratio(model.amount("host", "cpu"), at_least_one)
    assert (average.error == 0) is exactly
    for moved in range(count + 1):  # one after the other to the other host
        assignment = np.array([1] * moved + [0] * (count - moved), np.int32)
        got = integers(problem, average, assignment)[0]
        for value, members in zip(got.tolist(), (range(moved, count), range(moved)), strict=True):
            true = Fraction(sum(1 + i % 2 for i in members), max(1, len(members)))
            assert abs(value * average.unit - true) <= average.error


def test_many_different_capacities_do_not_explode() -> None:
    count = 3000
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({f"h{i}": [f"t{i}"] for i in range(count)})
    problem = builder.build()
    model = ModelBuilder(problem)
    capacities = [Fraction(10**9 + 17 * i * i + i) for i in range(count)]
    used = model.total(model.amount("host"), Param.of([1 / c for c in capacities]))
    got = integers(problem, used, problem.initial)[0, 0] * used.unit
    assert used.unit.denominator.bit_length() < 1000
    assert abs(float(got) - math.fsum(1 / float(c) for c in capacities)) <= float(used.error) + 1e-15
    assert float(used.error) < 1e-9 * float(got)


def test_a_sum_knows_that_an_object_is_in_one_place_only() -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({f"h{i}": [f"t{i}"] for i in range(100)})
    problem = builder.build()
    model = ModelBuilder(problem)
    assert model.total(model.amount("host")).high == 100
    assert model.total(model.hinge(model.linear([(model.amount("host"), 1)], -1))).high == 100
    assert model.total(model.amount("host", metric="NEW")).high <= 200


def test_tallies_beyond_floating_point_have_exact_ranges() -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a", "b", "c"]})
    builder.add_object_dimension("bytes", {"a": 2**60 - 1, "b": 1, "c": 1})
    tally = ModelBuilder(builder.build()).amount("host", "bytes")
    assert isinstance(tally, Tally)
    assert tally.high == 2**60 + 1


@pytest.mark.parametrize("bits", [20, 47, 49, 52, 57])
def test_what_is_counted_in_bytes_holds_to_the_byte(bits: int) -> None:
    """However many petabytes there are."""
    size = 2**bits
    sizes = {"a": 3 * size + 1, "b": 2 * size, "c": 2 * size + 1}
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": ["c"], "h2": []})
    solver.add_object_dimension("bytes", sizes)
    solver.add_container_dimension("bytes", dict.fromkeys(("h0", "h1", "h2"), 5 * size + 1))
    solver.add_constraint(CapacitySpec(scope="host", dimension="bytes", definition="AFTER"), policy="HARD")
    solver.add_goal(BalanceSpec(scope="host", dimension="bytes"))
    model = solver.model
    names, feasible = [str(name) for name in model.problem.objects], []
    for places in product(range(3), repeat=3):
        use = [0, 0, 0]
        for name, place in zip(names, places, strict=True):
            use[place] += sizes[name]
        feasible.append(max(use) <= 5 * size + 1)
        assert model.evaluate(np.array(places, np.int32)).feasible == feasible[-1]
    assert 0 < sum(feasible) < len(feasible)


@pytest.mark.parametrize("bits", [30, 50, 52, 58])
def test_a_single_cell_of_large_amounts_is_told_apart_from_a_limit(bits: int) -> None:
    """One host: what it has less what stays there and less a limit that is no multiple of a unit."""
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a", "b"]}, ["c"])
    builder.add_object_dimension("bytes", {"a": 2**bits, "b": 3, "c": 2**bits + 1})
    problem = builder.build()
    model = ModelBuilder(problem)
    stays = model.tally("host", "bytes", family="STAYED")
    for limit in (Fraction(0), Fraction(2**bits), Fraction(2**bits + 1), Fraction(2 * 2**bits + 1, 2)):
        over = model.linear([(model.amount("host", "bytes"), 1), (stays, -1)], -limit)
        held = model.linear([(model.amount("host", "bytes"), 2), (stays, -1)], -limit)
        for places in product((0, -1), repeat=3):
            a, b, c = (place == 0 for place in places)
            assignment = np.array(places, np.int32)
            for cells, times in ((over, 0), (held, 1)):
                true = times * (2**bits * a + 3 * b) + (times + 1) * (2**bits + 1) * c - limit
                got = int(integers(problem, cells, assignment)[0, 0])
                assert (got > 0) == (true > 0)
                assert abs(got * cells.unit - true) <= cells.error


def test_what_is_rounded_to_nothing_is_no_input() -> None:
    """A trillion times as much of one as of the other: 10^13 in steps of 1, and 10^-6 in steps of 10^-6, times 1/3."""
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a"], "h1": ["b"], "h2": []})
    builder.add_object_dimension("mem", {"a": 10**13, "b": 10**13})
    builder.add_object_dimension("cpu", {"a": 1e-6, "b": 1e-6})
    problem = builder.build()
    model = ModelBuilder(problem)
    mem, cpu = model.amount("host", "mem"), model.amount("host", "cpu")
    cells = model.linear([(mem, Param.of([Fraction(1, 3), 1, 1])), (cpu, 1)])
    assert mem in cells.inputs or cells.inputs[0].inputs == (mem,)
    assert cpu not in cells.inputs
    for places in product((-1, 0, 1, 2), repeat=2):
        assignment = np.array(places, np.int32)
        got = integers(problem, cells, assignment)[0]
        reported = floats_of(cells, evaluate_cells(CellValues(problem, assignment), cells)).dense()[0]
        for host in range(3):
            count = places.count(host)
            true = count * (Fraction(10**13, 1 if host else 3) + Fraction(1, 10**6))
            assert abs(int(got[host]) * cells.unit - true) <= cells.error
            assert abs(Fraction(float(reported[host])) - true) <= cells.error


def test_what_is_rounded_to_nothing_is_told_apart_where_it_stands_alone() -> None:
    """Of amounts of 1 beside a third of 10^20 nothing is left in integers, but all of it in what is reported."""
    model, cells = next_to_nothing()
    assert cells.low == 0 < cells.high
    for places in product((-1, 0, 1), repeat=2):
        assignment = np.array(places, np.int32)
        reported = floats_of(cells, evaluate_cells(CellValues(model.problem, assignment), cells)).dense()[0]
        for host in range(2):
            small, large = (float(place == host) for place in places)
            assert reported[host] == pytest.approx(small + large * (10**20 / 3 if host else 10**20), rel=1e-12)


def test_what_is_always_rounded_to_nothing_keeps_its_error() -> None:
    """max(0, small − large) is 0 in integers, but 1 where the small one is alone: so much are formulas over it off."""
    model, _ = next_to_nothing()
    small, large = model.cells[:2]
    thirds = Param.of([-(10**20), Fraction(-(10**20), 3)])
    excess = model.hinge(model.linear([(small, 1), (large, thirds)]))
    assert excess.high == 0
    assert model.linear([(model.total(excess), Fraction(1, 2))]).error >= Fraction(1, 2)
    assert model.hinge(model.linear([(excess, 1)], -1)).error >= 1


def next_to_nothing() -> tuple[ModelBuilder, Cells]:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["a"], "h1": ["b"]})
    builder.add_object_dimension("small", {"a": 1})
    builder.add_object_dimension("large", {"b": 1})
    model = ModelBuilder(builder.build())
    small, large = model.amount("host", "small"), model.amount("host", "large")
    return model, model.linear([(small, 1), (large, Param.of([10**20, Fraction(10**20, 3)]))])


def test_a_formula_over_nothing_is_its_constant() -> None:
    problem = world()
    model = ModelBuilder(problem)
    cells = model.linear([], Fraction(5, 3))
    assert integers(problem, cells, MOVED)[0, 0] * cells.unit == Fraction(5, 3)
    assert integers(problem, model.linear([]), MOVED).tolist() == [[0]]


def test_unlike_shapes_are_refused() -> None:
    model = ModelBuilder(world())
    with pytest.raises(ValueError, match="cannot be combined"):
        model.linear([(model.amount("host"), 1), (model.amount("rack"), 1)])


def test_a_sum_of_nothing_is_within_its_bounds() -> None:
    """Of 1 or 2 in each of two groups, a third sum adds up nothing: 0."""
    world = ProblemBuilder("task", "host")
    world.set_assignment({"h0": ["a"], "h1": ["b"]})
    world.add_partition("job", {"x": ["a"], "y": ["b"]})
    builder = ModelBuilder(world.build())
    more = builder.linear([(builder.tally("host", partition="job"), 1)], 1)
    sums = builder.regroup(more, np.array([0, 2]), np.array([0, 1]), 3, 2)
    assert (sums.low, sums.high) == (0, 2)
    assert builder.initial(sums).dense().tolist() == [[2, 1], [0, 0], [1, 2]]


def test_a_move_changes_the_distance_from_the_mean_of_two_cells() -> None:
    """A thousand tasks are on each of twenty hosts, all unlike: the mean changes with each move, by next to nothing."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{host}": [f"t{number}" for number in range(host, 20_000, 20)] for host in range(20)})
    builder = ModelBuilder(solver.problem)
    share = [Fraction(1, 3000 + host) for host in range(20)]
    spread = builder.spread(builder.linear([(builder.amount("host"), Param.of(share))]))
    (distances,) = (cells for cells in builder.cells if isinstance(cells, Map) and cells.function is Function.SQUARE)
    start = builder.problem.initial
    moved = start.copy()
    moved[0] = 19
    known = [integers(builder.problem, distances, place) for place in (start, moved)]
    assert start[0] == 0
    assert (known[0] != known[1]).sum() == 2
    values = [count * weight for count, weight in zip(np.bincount(moved).tolist(), share, strict=True)]
    expected = sum(value**2 for value in values) - sum(values) ** 2 / 20
    assert abs(integers(builder.problem, spread, moved)[0, 0] * spread.unit - expected) <= spread.error
