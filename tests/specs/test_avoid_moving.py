from __future__ import annotations

from rebalancer.specs.avoid_moving import AvoidMovingSpec
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint
from rebalancer.specs.moves_in_progress import MovesInProgressSpec
from tests.specs.worlds import broken, codes, compiled, faults, feasible, placed, world


def test_one_component_counts_who_moved() -> None:
    spec = AvoidMovingSpec(objects=["a", "c", "e", "a"])
    assert broken(world(), spec) == (0, 0)
    assert broken(world(), spec, {"a": "h1", "b": "h3"}) == (1, 1)
    assert broken(world(), spec, {"a": "h1", "c": None, "e": "h3"}) == (3, 1)


def test_what_starts_unplaced_is_left_out() -> None:
    assert broken(world(), AvoidMovingSpec(objects=["d"]), {"d": "h0"}) == (0, 0)
    assert broken(world(), AvoidMovingSpec(objects=[]), {"a": "h3"}) == (0, 0)


def test_what_is_in_progress_is_left_out() -> None:
    entries = [
        Constraint(AvoidMovingSpec(objects=["a", "b"])),
        Constraint(MovesInProgressSpec(moves=[{"obj_name": "a", "to_container": "h3"}])),
    ]
    model = compile_model(world(), [], entries)
    assert model.evaluate(model.problem.initial).violations[0] == 0
    assert model.evaluate(placed(model.problem, {"b": "h3"})).violations[0] == 1


def test_policy_counts() -> None:
    spec = AvoidMovingSpec(objects=["a", "b"])
    assert not feasible(world(), spec, {"a": "h1"})
    assert not feasible(world(), spec, {"a": "h1"}, "HARD")
    assert feasible(world(), spec, {"a": "h1", "b": "h1"}, "SOFT")
    model = compiled(world(), spec, "constraint", "SOFT")
    assert model.evaluate(placed(model.problem, {"a": "h1", "b": "h1"})).objective[0] - 10100 == 10000 + 2 * 100


def test_unknown_objects() -> None:
    assert codes(faults(world(), AvoidMovingSpec(objects=["a", "zzz"]), "constraint")) == [("unknown-name", "1")]
