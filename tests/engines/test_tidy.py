"""Moves that bring nothing are undone, and nothing else is."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import AssignmentAffinitiesSpec, AvoidAssignmentsSpec, Rebalancer
from rebalancer.engines import tidy
from rebalancer.engines.base import Request, Status
from rebalancer.engines.budget import Budget
from rebalancer.engines.finish import finish
from rebalancer.engines.incumbent import Incumbent
from rebalancer.engines.tidy import undo_idle_moves
from rebalancer.model import Model
from tests.engines.worlds import attracted
from tests.examples import examples
from tests.property.problems import every_feasible, models


def test_idle_moves_are_undone() -> None:
    model = attracted(12, 3)
    initial = model.problem.initial
    moved = initial.copy()
    moved[0], moved[3] = initial[1], initial[1]
    kept = undo_idle_moves(model, moved, Budget(10.0))
    before, after = model.evaluate(moved), model.evaluate(kept)
    assert after.feasible
    assert after.integers <= before.integers
    for task in (kept != initial).nonzero()[0].tolist():
        back = kept.copy()
        back[task] = initial[task]
        score = model.evaluate(back)
        assert not score.feasible or score.integers > after.integers
    assert (undo_idle_moves(model, initial, Budget(0.0)) == initial).all()


def test_what_one_return_gains_another_does_not_spend() -> None:
    """Returning t2 gains five, t1 then costs three, and t0 must not return: two of the five would be left."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1", "t2"], "h1": []})
    solver.add_constraint(
        AvoidAssignmentsSpec(scope="host", assignments=[{"object": "t0", "scope_items": ["h0"]}]), policy="HARD"
    )
    liked = [("t0", "h1", 1), ("t1", "h1", 3), ("t2", "h0", 5)]
    affinities = [{"object_name": task, "scope_item_name": host, "affinity": much} for task, host, much in liked]
    solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=affinities))
    kept = undo_idle_moves(solver.model, np.array([1, 1, 1], np.int32), Budget(10.0))
    assert kept.tolist() == [1, 1, 0]


def test_an_answer_keeps_the_targets_that_it_has_reached() -> None:
    """Returning t0 would be better at the first position, which is good enough, and lose what the second has."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": []})
    for position, liked in enumerate([[("t0", "h0", 1), ("t1", "h1", 2)], [("t0", "h1", 5)]]):
        affinities = [{"object_name": task, "scope_item_name": host, "affinity": much} for task, host, much in liked]
        solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=affinities), tuple_pos=position)

    def finished(*target: int) -> tuple[float, ...]:
        incumbent = Incumbent.of(solver.model, Request(target=tuple(map(Fraction, target))))
        assert incumbent.offer(np.array([1, 1], np.int32))
        answer = finish(incumbent, "any").assignment
        assert answer is not None
        return tuple(solver.model.evaluate(answer).objective.tolist())

    assert finished(-2, -5) == (-2, -5)
    assert finished(-3, -5) == (-3, 0), "the first position has not reached its own"
    assert finished(-2) == finished() == (-3, 0)


def test_what_a_position_has_beyond_its_target_pays_for_no_return() -> None:
    """Returning t0 would reach both targets and be worse at the first position: the proof is of another answer."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0"], "h1": []})
    for position, (host, much) in enumerate([("h1", 3), ("h0", 5)]):
        affinities = [{"object_name": "t0", "scope_item_name": host, "affinity": much}]
        solver.add_goal(AssignmentAffinitiesSpec(scope="host", affinities=affinities), tuple_pos=position)
    model = solver.model
    best = model.evaluate(np.array([1], np.int32)).integers
    incumbent = Incumbent.of(model, Request(target=(Fraction(0), Fraction(-5))))
    assert incumbent.offer(np.array([1], np.int32))
    for position, proven in enumerate(best):
        incumbent.raise_bound(position, proven)
    answer = finish(incumbent, "any")
    assert answer.assignment is not None
    assert answer.assignment.tolist() == [1]
    assert (answer.status, answer.bounds) == (Status.OPTIMAL, best)


@pytest.mark.parametrize("together", [1, 100])
@examples(25)
@given(model=models(objects=4, containers=3), data=st.data())
def test_an_answer_stays_feasible_and_gets_no_worse(together: int, model: Model, data: st.DataObject) -> None:
    feasible = [values.assignment for values in every_feasible(model)]
    if not feasible:
        return
    moved = data.draw(st.sampled_from(feasible))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tidy, "_TOGETHER", together)
        kept = undo_idle_moves(model, moved, Budget(60.0))
    after = model.evaluate(kept)
    assert after.feasible
    assert after.integers <= model.evaluate(moved).integers
    assert ((kept == moved) | (kept == model.problem.initial)).all()
