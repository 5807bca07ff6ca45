from __future__ import annotations

import pytest

from rebalancer.model import Model
from rebalancer.specs.capacity import CapacitySpec
from rebalancer.specs.compiler import compile_model
from rebalancer.specs.entries import Constraint, Goal, Policy, check_entries
from rebalancer.specs.minimize_movement import MinimizeMovementSpec
from rebalancer.specs.moves_in_progress import MovesInProgressSpec
from rebalancer.specs.to_free import ToFreeSpec
from tests.specs.worlds import codes, faults, placed, world


def going(**moves: str) -> MovesInProgressSpec:
    return MovesInProgressSpec.model_validate(
        {"moves": [{"objName": name, "toContainer": to} for name, to in moves.items()]}
    )


def with_moves(*goals: Goal, policy: str = "DEFAULT", **moves: str) -> Model:
    return compile_model(world(), list(goals), [Constraint(going(**moves), policy=Policy(policy))])


def test_objects_stand_at_their_destination() -> None:
    model = with_moves(a="h3", d="h1")
    problem = model.problem
    assert problem.initial[problem.objects.index["a"]] == problem.containers.index["h3"]
    assert problem.origin[problem.objects.index["a"]] == problem.containers.index["h0"]
    assert model.evaluate(problem.initial).feasible


@pytest.mark.parametrize("policy", ["DEFAULT", "HARD", "SOFT"])
def test_they_stay_there_whatever_the_policy(policy: str) -> None:
    model = with_moves(a="h3", c="h2", policy=policy)
    for moves, missing in (({"a": "h0"}, 1), ({"a": None, "c": "h1"}, 2), ({}, 0)):
        score = model.evaluate(placed(model.problem, moves))
        assert score.violations[0] == missing
        assert score.broken_components[0] == min(1, missing)
        assert score.feasible == (missing == 0)
        assert score.objective[0] == 10100  # d is unplaced; facts cost nothing


def test_the_source_remembers() -> None:
    definitions = {
        "AFTER": (2, 4, 3, 1),
        "DURING": (3, 4, 3, 1),
        "NEW": (0, 0, 0, 1),
        "OLD": (1, 0, 0, 0),
        "MOVED_DATA": (1, 0, 0, 1),
    }
    for definition, amounts in definitions.items():
        for host, amount in zip(("h0", "h1", "h2", "h3"), amounts, strict=True):
            limit = {"type": "ABSOLUTE", "global_limit": 0}
            spec = CapacitySpec(
                scope="host",
                dimension="cpu",
                definition=definition,
                limit=limit,
                filter={"items_whitelist": [host]},
                use_legacy_formula=False,
            )
            model = compile_model(world(), [Goal(spec)], [Constraint(going(a="h3"))])
            capacity = {"h0": 4, "h1": 2, "h2": 10, "h3": 4}[host]
            assert model.evaluate(model.problem.initial).goals[0] == pytest.approx(amount / capacity), (
                definition,
                host,
            )


def test_they_are_movement_that_has_begun() -> None:
    model = with_moves(Goal(MinimizeMovementSpec(do_not_normalize=True)), a="h3", d="h1")
    assert model.evaluate(model.problem.initial).goals[0] == 1  # a; d was nowhere
    assert model.evaluate(placed(model.problem, {"b": "h3"})).goals[0] == 2


def test_arriving_in_a_container_to_free_is_broken_from_the_start() -> None:
    model = compile_model(world(), [], [Constraint(ToFreeSpec(containers=["h3"])), Constraint(going(a="h3"))])
    start = model.evaluate(model.problem.initial)
    assert (start.violations[0], start.broken_components[0]) == (2, 2)
    assert start.feasible


def test_two_destinations_are_a_fault() -> None:
    twice = [{"obj_name": "a", "to_container": "h1"}, {"obj_name": "b", "to_container": "h1"}]
    found = faults(world(), MovesInProgressSpec(moves=[*twice, {"obj_name": "a", "to_container": "h2"}]), "constraint")
    assert codes(found) == [("two-destinations", "to_container")]
    assert found[0].path[1:3] == ("moves", 2)
    assert not faults(world(), MovesInProgressSpec(moves=[*twice, *twice]), "constraint")


def test_two_statements_must_agree() -> None:
    def check(*specs: MovesInProgressSpec) -> list[tuple[str, str]]:
        return codes(list(check_entries(world(), [], [Constraint(spec) for spec in specs])))

    assert check(going(a="h3"), going(a="h2")) == [("two-destinations", "to_container")]
    assert check(going(a="h3"), going(a="h3", b="h2")) == []


def test_unknown_names() -> None:
    assert codes(faults(world(), going(zz="h0", a="h8"), "constraint")) == [
        ("unknown-name", "obj_name"),
        ("unknown-name", "to_container"),
    ]


def test_no_moves_are_no_component() -> None:
    model = with_moves()
    assert model.constraints[0].components == ()
    assert model.evaluate(model.problem.initial).feasible
