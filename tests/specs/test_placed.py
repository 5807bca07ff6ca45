from __future__ import annotations

from rebalancer.problem import ProblemBuilder
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint, Policy
from rebalancer.specs.placed import PlacedSpec
from tests.specs.worlds import broken, codes, faults, feasible, placed, table, world


def test_one_component_per_object() -> None:
    assert broken(world(), PlacedSpec()) == (1, 1)
    assert broken(world(), PlacedSpec(), {"a": None, "b": None}) == (3, 3)
    assert broken(world(), PlacedSpec(), {"d": "h3"}) == (0, 0)


def test_what_is_placed_stays_placed() -> None:
    assert not feasible(world(), PlacedSpec(), {"a": None, "d": "h0"})
    assert feasible(world(), PlacedSpec(), {"a": "h3"})
    assert feasible(world(), PlacedSpec(), {"a": None}, "SOFT")
    assert not feasible(world(), PlacedSpec(), {}, "HARD")


def test_it_is_implied() -> None:
    model = compile_model(world(), [], [])
    assert [(entry.name, entry.policy, entry.implicit) for entry in model.constraints] == [("placed", "DEFAULT", True)]
    assert model.evaluate(model.problem.initial).objective.tolist() == [10100]
    assert model.evaluate(placed(model.problem, {"d": "h0"})).objective.tolist() == [0]
    assert model.evaluate(placed(model.problem, {"a": None})).worsened == ("placed",)


def test_stating_it_replaces_it() -> None:
    model = compile_model(world(), [], [Constraint(PlacedSpec(objects=["a"]), policy=Policy.HARD)])
    assert len(model.constraints) == 1
    assert model.evaluate(placed(model.problem, {"b": None})).feasible
    assert not model.evaluate(placed(model.problem, {"a": None})).feasible


def test_unknown_objects() -> None:
    assert codes(faults(world(), PlacedSpec(objects=["a", "zz"]), "constraint")) == [("unknown-name", "1")]


def test_cells_are_by_object() -> None:
    assert [row[1] for row in table(world(), PlacedSpec()) if row[4]] == ["d"]


def test_containers_may_be_called_placed() -> None:
    builder = ProblemBuilder("task", "placed")
    builder.set_assignment({"h0": ["a"], "h1": ["b"]}, ["c"])
    model = compile_model(builder.build(), [], [])
    assert model.evaluate(model.problem.initial).broken_components.tolist() == [1]  # only c is in no container
