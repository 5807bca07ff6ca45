"""Plans over random problems with any spec: safe wave by wave, whichever of the moves in flight arrive first."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import CapacitySpec, Rebalancer
from rebalancer.model import Model
from rebalancer.model.evaluate import CellValues, evaluate_cells
from rebalancer.plan import PlanOptions, make_plan
from rebalancer.plan.flight import ALWAYS, AT_END, moment
from rebalancer.plan.steps import Steps
from rebalancer.plan.verify import Replay, replay
from rebalancer.plan.waiting import Waiting
from tests.examples import examples
from tests.property.problems import every_assignment, models


@st.composite
def journeys(draw: st.DrawFn) -> tuple[Model, np.ndarray]:
    """A model, and an assignment that breaks nothing that has to hold."""
    model = draw(models(4, 3))
    options = every_assignment(model.problem)
    tried = [options[at] for at in draw(st.lists(st.integers(0, len(options) - 1), min_size=8, max_size=8))]
    return model, next((end for end in tried if model.evaluate(end).feasible), model.problem.initial)


def worst(model: Model, now: np.ndarray, ends: list[np.ndarray], when: tuple[str, ...]) -> list[str]:
    """Which hard cells are worse than at either end, and positive."""
    values = [CellValues(model.problem, place) for place in (now, *ends)]
    found = []
    for hard in model.hard:
        own = moment(model.constraints[hard.constraint].in_flight, hard, {})
        level, *known = (evaluate_cells(value, hard.cells).integers.dense() for value in values)
        if own in when and (level > np.maximum(np.maximum(*known), 0)).any():
            found.append(model.constraints[hard.constraint].name)
    return found


def follow(model: Model, start: np.ndarray, steps: Steps, ends: list[np.ndarray]) -> np.ndarray:
    now = start.copy()
    for wave in range(steps.waves):
        rows = steps.in_wave(wave)
        assert (now[steps.who[rows]] == steps.source[rows]).all()
        for arrived in itertools.product([False, True], repeat=len(rows)):
            partly = now.copy()
            mine = rows[np.array(arrived, np.bool_)]
            partly[steps.who[mine]] = steps.destination[mine]
            assert not worst(model, partly, ends, (ALWAYS,))
        now[steps.who[rows]] = steps.destination[rows]
        assert not worst(model, now, ends, (ALWAYS, "between_waves"))
    return now


@pytest.mark.parametrize("staging", [True, False])
@examples(60)
@given(drawn=journeys())
def test_a_plan_over_any_spec_is_safe_and_comes_back(staging: bool, drawn: tuple[Model, np.ndarray]) -> None:
    model, end = drawn
    start = model.problem.initial
    plan = make_plan(model, start, end, PlanOptions(staging=staging))
    reached = follow(model, start, plan.steps, [start, plan.steps.end(start)])
    left = {model.problem.objects[at] for at in np.flatnonzero(reached != end).tolist()}
    assert left == {blocked.object for blocked in plan.blocked}
    assert all(blocked.reasons for blocked in plan.blocked)
    assert (follow(model, reached, plan.rollback, [reached, start]) == start).all()
    assert AT_END not in {excess.in_flight for excess in plan.excess}
    # what is counted only where something changes is the same as everything evaluated in every wave
    for steps, place in ((plan.steps, start), (plan.rollback, reached)):
        local, whole = (replay(model, place, steps, plan.options, whole=how) for how in (False, True))
        assert (local.problems, set(local.excess)) == (whole.problems, set(whole.excess)) == ([], set(whole.excess))


@examples(60)
@given(drawn=journeys(), data=st.data())
def test_both_ways_of_recounting_find_the_same_faults(drawn: tuple[Model, np.ndarray], data: st.DataObject) -> None:
    model, _ = drawn
    start = model.problem.initial
    containers = len(model.problem.containers)
    end = np.array([data.draw(st.integers(0, containers - 1)) for _ in start], np.int32)
    who = np.flatnonzero(start != end).astype(np.int64)
    wave = np.sort(np.array([data.draw(st.integers(0, 2)) for _ in who], np.int64))
    wave = np.unique(wave, return_inverse=True)[1].astype(np.int64)
    nobody = np.empty(0, np.int64)
    steps = Steps(who, start[who], end[who], wave, Waiting(nobody, nobody, np.full(len(who), -1)))
    options = PlanOptions(max_in_flight=2)
    local, whole = (replay(model, start, steps, options, start, whole=how) for how in (False, True))
    assert first_faults(local) == first_faults(whole)
    assert set(local.excess) == set(whole.excess)


def first_faults(report: Replay) -> dict[str, int]:
    """Of everything that does not hold, the first wave: what stays as it is may be said again, or not."""
    found: dict[str, int] = {}
    for wave, message in report.problems:
        found.setdefault(message.partition(" does not hold")[0], wave)
    return found


@pytest.mark.parametrize("whole", [False, True])
def test_what_has_to_hold_at_the_end_is_judged_also_where_the_last_wave_changes_nothing(whole: bool) -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"], "h1": ["b"], "h2": ["c"], "h3": []})
    solver.add_object_dimension("mem", {"a": 10, "b": 10, "c": 10})
    solver.add_container_dimension("mem", {}, default=10)
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), name="fits", in_flight="at_end")
    start, nobody = solver.model.problem.initial, np.empty(0, np.int64)
    who, wave = np.array([0, 2]), np.array([0, 1])  # a joins b in the first wave; c goes where nobody is
    steps = Steps(who, start[who], np.array([1, 3], np.int32), wave, Waiting(nobody, nobody, np.full(2, -1)))
    report = replay(solver.model, start, steps, PlanOptions(), start, whole=whole)
    assert report.problems == [(2, "fits on h1 does not hold at the end")]
