"""What a night may not do by itself."""

import gc
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rebalancer.exits import Exit
from rebalancer.jobs.outcome import Outcome, Report
from tests.jobs.fleet import Fleet
from tests.solver import engines

#: Five tasks of 10 on a host that is to hold 10 only: four have to go.
FULL = {f"t{number}": "h0" for number in range(5)}


@pytest.fixture(autouse=True)
def enumerating(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, engines.enumerated)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def refused(report: Report, guard: str) -> str:
    """Check that a guard refused, and return why."""
    assert (report.outcome, report.exit_code, report.guard) == (Outcome.REFUSED, Exit.REFUSED, guard)
    assert report.plan_folder is None
    return "; ".join(report.reasons)


def full(fleet: Fleet) -> None:
    fleet.tasks(FULL)
    fleet.hosts("h0", "h1", "h2", h0=10)


def wishing(fleet: Fleet, **affinities: float) -> None:
    """State that tasks would rather be on h1, each by so much; being where they are is worth 0."""
    wishes = [{"object_name": name, "scope_item_name": "h1", "affinity": value} for name, value in affinities.items()]
    fleet.scenario(goals=[{"assignment_affinities": {"scope": "host", "affinities": wishes}}])


def test_an_old_snapshot(fleet: Fleet) -> None:
    fleet.job(snapshot={"max_age": "6h"})
    assert fleet.run(0.2).outcome is Outcome.PLANNED
    assert "max_age allows 6 h" in refused(fleet.run(0.3), "snapshot")
    assert "latest" in fleet.plans, "the plan of the last good night stays"


def test_a_shrunken_snapshot(fleet: Fleet) -> None:
    fleet.run()
    fleet.tasks({"t0": "h0", "t1": "h0"})
    for day in (1, 2):  # a refused night is not what the next one is compared with
        assert "rows of task fell from 4 to 2" in refused(fleet.run(day), "snapshot")
    assert fleet.run(3, accept_shrunk=True).outcome is Outcome.NOTHING_TO_DO
    assert fleet.run(4).outcome is Outcome.NOTHING_TO_DO


def test_too_many_steps(fleet: Fleet) -> None:
    full(fleet)
    fleet.job(guards={"max_moves": 3})
    assert refused(fleet.run(), "max_moves") == "the plan has 4 steps; max_moves allows 3"
    fleet.job(guards={"max_moves": 4})
    assert fleet.run(1).moves == 4


def test_too_many_objects(fleet: Fleet) -> None:
    full(fleet)
    fleet.job(guards={"max_moved_fraction": "60%"})
    reason = "the plan moves 4 objects; max_moved_fraction allows 3 (60 % of all)"
    assert refused(fleet.run(), "max_moved_fraction") == reason


@pytest.mark.parametrize(("plan", "moves"), [({}, 3), ({"max_in_flight": 2}, 2), ({"max_in_flight": 1}, 3)])
def test_trimmed_to_whole_waves(fleet: Fleet, plan: dict[str, Any], moves: int) -> None:
    full(fleet)
    fleet.job(guards={"max_moves": 3, "when_exceeded": "trim"}, plan=plan)
    report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.PLANNED, Exit.BROKEN), "h0 is not yet as empty as it must be"
    assert (report.moves, report.moved_objects, report.trimmed_from) == (moves, moves, 4)
    assert report.reasons == (f"only the first {moves} of 4 steps are planned",)
    # Being broken costs 10000, and an excess as large as the average limit, 50 / 3, costs 100.
    excess = 10 * (4 - moves)
    assert [row["final"] for row in report.objective] == [pytest.approx(10000 + 100 * excess / (50 / 3)), moves]
    content = fleet.plan()
    assert (content["totals"]["steps"], len(content["rollback"]["steps"])) == (moves, moves)
    assert len(content["peaks"]) == content["waves"]["count"]
    fleet.carry_out()
    report = fleet.run(1)
    assert (report.outcome, report.exit_code, report.moves) == (Outcome.PLANNED, Exit.DONE, 4 - moves)


def test_a_trimmed_plan_is_kept_too(fleet: Fleet) -> None:
    """What the search finds is better than where the plan ends, but no plan that is allowed gets there."""
    full(fleet)
    fleet.job(guards={"max_moves": 3, "when_exceeded": "trim"})
    first = fleet.run()
    report = fleet.run(1)
    assert (report.outcome, report.exit_code, report.kept_from) == (Outcome.KEPT, Exit.BROKEN, 1)
    assert (report.plan_folder, report.moves, report.trimmed_from) == (first.plan_folder, 3, None)


def test_nothing_is_left_to_trim(fleet: Fleet) -> None:
    fleet.job(guards={"max_moves": 0, "when_exceeded": "trim"})
    assert "no part of it that is allowed gains anything" in refused(fleet.run(), "max_moves")


def test_what_has_to_hold_is_repaired_step_by_step(fleet: Fleet) -> None:
    """HARD constraints are no part of the objective: less broken is better all the same."""
    full(fleet)
    fleet.scenario(constraints=[{"capacity": {"scope": "host", "dimension": "memory"}, "policy": "HARD"}])
    fleet.job(guards={"max_moves": 3, "when_exceeded": "trim"})
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.moves) == (Outcome.PLANNED, Exit.BROKEN, 3)
    fleet.carry_out()
    report = fleet.run(1)
    assert (report.outcome, report.exit_code, report.moves) == (Outcome.PLANNED, Exit.DONE, 1)


def test_a_swap_is_not_cut_in_half(fleet: Fleet) -> None:
    """Two tasks change places through a third host: three steps, and two of them alone help nobody."""
    fleet.hosts("h0", "h1", "h2", h0=10, h1=10, h2=10)
    fleet.tasks({"a": "h0", "b": "h1"})
    fleet.swapping()
    fleet.job(guards={"max_moves": 1, "when_exceeded": "trim"})
    refused(fleet.run(), "max_moves")
    fleet.job(guards={"max_moves": 3})
    assert fleet.run(1).moves == 3


def test_a_gain_too_small(fleet: Fleet) -> None:
    fleet.tasks({"a": "h0", "b": "h1"})
    wishing(fleet, a=1, b=99)  # 99 of the 100 that affinities can give are there already: moving a gains the last one
    fleet.job(guards={"min_gain": "2%"})
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.moves) == (Outcome.NOT_WORTH_IT, Exit.DONE, 0)
    assert report.reasons == ("all that could be gained is 0.0101 of the objective, 0.02 is asked for",)
    assert [row["final"] == row["initial"] for row in report.objective] == [True]
    assert fleet.plans == [".job"]
    fleet.job(guards={"min_gain": "1%"})
    assert fleet.run(1).outcome is Outcome.PLANNED


def test_repairs_are_always_worth_it(fleet: Fleet) -> None:
    fleet.job(guards={"min_gain": 1000})
    assert fleet.run().outcome is Outcome.PLANNED


def test_a_plan_is_kept_unless_the_new_one_gains_enough(fleet: Fleet) -> None:
    fleet.tasks({"a": "h0", "b": "h0", "c": "h0"})
    fleet.hosts("h0", "h1", "h2", h0=100, h1=100)
    wishing(fleet, a=100)
    fleet.job(guards={"min_gain": "5%"})
    assert fleet.run().moves == 1
    wishing(fleet, a=100, b=1)  # 1 % more is not worth another plan
    report = fleet.run(1)
    assert (report.outcome, report.moves) == (Outcome.KEPT, 1)
    wishing(fleet, a=100, c=10)
    report = fleet.run(2)
    assert (report.outcome, report.moves) == (Outcome.PLANNED, 2)


def test_a_plan_that_is_larger_than_tonight_allows_is_not_kept(fleet: Fleet) -> None:
    full(fleet)
    assert fleet.run().moves == 4
    fleet.job(guards={"max_moves": 3, "when_exceeded": "trim"})
    report = fleet.run(1)
    assert (report.outcome, report.moves, report.trimmed_from) == (Outcome.PLANNED, 3, 4)
    fleet.job(guards={"max_moves": 2})
    assert refused(fleet.run(2), "max_moves") == "the plan has 4 steps; max_moves allows 2"
    fleet.job(guards={"max_moves": 4})
    assert fleet.run(3).outcome is Outcome.PLANNED


def test_the_deadline(fleet: Fleet) -> None:
    fleet.job(guards={"deadline": "1ms"})
    gc.disable()  # what is raised in a callback of the collector, which tests have, is lost
    try:
        assert refused(fleet.run(), "deadline") == "the run takes longer than its deadline of 0 s"
    finally:
        gc.enable()
    fleet.job(guards={"deadline": "10m"})
    assert fleet.run(1).outcome is Outcome.PLANNED


def test_what_moved_not_long_ago_stays(fleet: Fleet) -> None:
    fleet.tasks({"a": "h0", "b": "h0"})
    wishing(fleet, a=1)
    fleet.job(guards={"cool_down": "36h"})
    assert fleet.run().moves == 1
    fleet.carry_out()
    to_h0 = [{"object_name": "a", "scope_item_name": "h2", "affinity": 1}]
    fleet.scenario(goals=[{"assignment_affinities": {"scope": "host", "affinities": to_h0}}])
    report = fleet.run(1)
    assert (report.outcome, report.cooled_down) == (Outcome.NOTHING_TO_DO, 1)
    report = fleet.run(2)
    assert (report.outcome, report.cooled_down, report.moves) == (Outcome.PLANNED, 0, 1)


def test_a_plan_that_nobody_carried_out_cools_nothing_down(fleet: Fleet) -> None:
    fleet.tasks({"a": "h0", "b": "h0"})
    wishing(fleet, a=1)
    fleet.job(guards={"cool_down": "36h"})
    fleet.run()
    report = fleet.run(1)
    assert (report.outcome, report.cooled_down) == (Outcome.KEPT, 0)


def test_a_plan_that_was_kept_moved_its_objects_when_it_was_kept(fleet: Fleet) -> None:
    fleet.tasks({"a": "h0", "b": "h0"})
    wishing(fleet, a=1)
    fleet.job(guards={"cool_down": "36h"})
    fleet.run()
    assert fleet.run(1).outcome is Outcome.KEPT
    fleet.carry_out()
    assert fleet.run(2).cooled_down == 1, "two days after the plan was made, one after it was kept"


def test_cool_down_does_not_keep_anything_broken(fleet: Fleet) -> None:
    """Who moved last night stands on a host that has become too small: it has to go again."""
    fleet.job(guards={"cool_down": "7d"})
    fleet.run()
    fleet.carry_out()
    step = fleet.plan()["steps"][0]
    fleet.hosts("h0", "h1", "h2", **{step["destination"]: 5})
    report = fleet.run(1)
    assert (report.outcome, report.exit_code, report.cooled_down) == (Outcome.PLANNED, Exit.DONE, 0)
    assert step["object"] in {row["object"] for row in fleet.plan()["steps"]}


def test_cool_down_is_no_reason_to_find_nothing(fleet: Fleet) -> None:
    """What has to be on a host now, HARD, is the very task that moved last night, to where nothing is broken."""
    fleet.tasks({"a": "h0", "b": "h0"})
    wishing(fleet, a=1)
    fleet.job(guards={"cool_down": "7d"})
    fleet.run()
    fleet.carry_out()
    on_h2 = {"scope": "host", "objects": ["a"], "filter": {"items_whitelist": ["h2"]}}
    fleet.scenario(constraints=[{"coverage": on_h2, "policy": "HARD"}])
    report = fleet.run(1)
    assert (report.outcome, report.exit_code, report.cooled_down) == (Outcome.PLANNED, Exit.DONE, 0)


def test_ages_are_counted_in_the_time_of_the_run(fleet: Fleet) -> None:
    report = fleet.run(2)
    assert report.snapshot_age is not None
    assert abs(timedelta(seconds=report.snapshot_age) - timedelta(days=2)) < timedelta(hours=1)
