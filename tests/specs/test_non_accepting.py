from __future__ import annotations

from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint
from rebalancer.specs.moves_in_progress import MovesInProgressSpec
from rebalancer.specs.non_accepting import NonAcceptingSpec
from tests.specs.worlds import broken, codes, faults, feasible, placed, table, world


def test_one_component_per_item_counts_arrivals() -> None:
    spec = NonAcceptingSpec(scope="host", items=["h0", "h3"])
    assert broken(world(), spec) == (0, 0)
    assert broken(world(), spec, {"c": "h0", "e": "h0", "f": "h3", "a": "h1"}) == (3, 2)


def test_moving_inside_an_item_is_no_arrival() -> None:
    spec = NonAcceptingSpec(scope="rack", items=["r0"])
    assert broken(world(), spec, {"a": "h1"}) == (0, 0)
    assert broken(world(), spec, {"e": "h1"}) == (1, 1)


def test_placing_is_an_arrival_and_leaving_is_none() -> None:
    spec = NonAcceptingSpec(scope="host", items=["h0", "h0"])
    assert broken(world(), spec, {"d": "h0"}) == (1, 1)
    assert broken(world(), spec, {"a": None, "b": "h3"}) == (0, 0)


def test_it_is_hard_unless_soft() -> None:
    spec = NonAcceptingSpec(scope="host", items=["h0"])
    assert not feasible(world(), spec, {"d": "h0"})
    assert feasible(world(), spec, {"d": "h0"}, "SOFT")


def test_a_move_in_progress_breaks_it_from_the_start() -> None:
    entries = [
        Constraint(NonAcceptingSpec(scope="host", items=["h3"])),
        Constraint(MovesInProgressSpec(moves=[{"obj_name": "a", "to_container": "h3"}])),
    ]
    model = compile_model(world(), [], entries)
    start = model.evaluate(model.problem.initial)
    assert start.feasible
    assert (start.violations[0], start.broken_components[0]) == (1, 1)
    assert not model.evaluate(placed(model.problem, {"b": "h3"})).feasible


def test_no_items_and_wrong_items() -> None:
    assert broken(world(), NonAcceptingSpec(scope="host", items=[]), {"d": "h0"}) == (0, 0)
    assert codes(faults(world(), NonAcceptingSpec(scope="rack", items=["h0"]), "constraint")) == [("unknown-name", "0")]


def test_cells_are_by_item() -> None:
    spec = NonAcceptingSpec(scope="host", items=["h3", "h1"])
    assert table(world(), spec, {"d": "h3"}) == [("h1", None, 0, 0, 0), ("h3", None, 1, 0, 1)]
