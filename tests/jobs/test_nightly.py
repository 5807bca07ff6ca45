"""Nights in a row: what is planned, kept, or left alone, and what history and metrics say of it."""

import logging
from pathlib import Path

import pytest
from sqlalchemy import select

from rebalancer.engines.base import Answer, Request, Status
from rebalancer.exits import Exit
from rebalancer.jobs import history_tables as tables
from rebalancer.jobs.outcome import Outcome
from rebalancer.model import Model
from tests.jobs.fleet import CROWDED, Fleet
from tests.solver import engines


@pytest.fixture(autouse=True)
def enumerating(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, engines.enumerated)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path, output={"format": "mv-task {object} {source} {destination}"}, metrics="web.prom")


def outcomes(fleet: Fleet) -> list[str]:
    return [row["outcome"] for row in fleet.history.rows(select(tables.runs.c.outcome).order_by(tables.runs.c.id))]


def test_the_first_night(fleet: Fleet) -> None:
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.run) == (Outcome.PLANNED, Exit.DONE, 1)
    assert (report.moves, report.moved_objects, report.waves, report.staged, report.blocked) == (1, 1, 1, 0, 0)
    assert (report.broken("initial"), report.broken("final"), report.status) == (1, 0, "OPTIMAL")
    # Position 0 is the fix-it goal: 100 per unit of relative violation (30 of 20), and 10000 for being broken.
    assert [(row["initial"], row["final"]) for row in report.objective] == [(10050, 0), (0, 1)]
    assert report.sizes == {"rows of task": 4, "rows of host": 3, "objects": 4, "containers": 3}
    names = ["assignment.csv", "moves.csv", "plan.csv", "plan.json", "plan.md", "plan.sh", "result.json"]
    assert report.plan_folder is not None
    assert sorted(path.name for path in Path(report.plan_folder).iterdir()) == names
    assert list(map(str, fleet.plan()["inputs"]))[:2] == [str(fleet.path), str(fleet.folder / "scenario.yaml")]
    assert (Path(report.plan_folder) / "plan.sh").read_text(encoding="utf-8").startswith("mv-task t")
    step = fleet.plan()["steps"][0]
    moves = fleet.history.rows(select(tables.moves))
    expected = {"run": 1, "number": 1, "step": "s1", "wave": 1} | {
        key: step[key] for key in ("object", "source", "destination")
    }
    assert moves == [expected]
    run = fleet.history.rows(select(tables.runs))[0]
    assert (run["started"], run["finished"]) == (fleet.first_night, fleet.first_night)
    assert (run["sizes"], run["plan_folder"]) == (report.sizes, report.plan_folder)
    assert 'outcome="planned"} 1' in (fleet.folder / "web.prom").read_text(encoding="utf-8")


def test_a_plan_that_still_holds_is_kept(fleet: Fleet) -> None:
    first = fleet.run()
    before = fleet.plans
    second = fleet.run(1)
    assert (second.outcome, second.exit_code, second.kept_from) == (Outcome.KEPT, Exit.DONE, 1)
    assert (second.plan_folder, second.moves, second.waves) == (first.plan_folder, 1, 1)
    assert [row["final"] for row in second.objective] == [0, 1]
    assert fleet.plans == before
    third = fleet.run(2)
    assert (third.outcome, third.kept_from) == (Outcome.KEPT, 1)
    assert outcomes(fleet) == ["planned", "kept", "kept"]


def test_after_it_is_carried_out_there_is_nothing_to_do(fleet: Fleet) -> None:
    fleet.run()
    fleet.carry_out()
    report = fleet.run(1)
    assert (report.outcome, report.exit_code, report.moves, report.plan_folder) == (
        Outcome.NOTHING_TO_DO, Exit.DONE, 0, None,
    )  # fmt: skip
    assert [(row["initial"], row["final"]) for row in report.objective] == [(0, 0), (0, 0)]
    assert "latest" in fleet.plans, "it is done, which is no reason to hide it"


def test_what_is_left_of_a_plan_is_kept(fleet: Fleet) -> None:
    fleet.tasks({"t0": "h0", "t1": "h0", "t2": "h0", "t3": "h0"})
    assert fleet.run().moves == 2
    fleet.carry_out(most=1)
    report = fleet.run(1)
    assert (report.outcome, report.moves, report.moved_objects) == (Outcome.KEPT, 1, 1)


def test_a_better_answer_replaces_the_plan(fleet: Fleet) -> None:
    fleet.tasks({"t0": "h0", "t1": "h0", "t2": "h0", "t3": "h0"})
    first = fleet.run()
    fleet.hosts("h0", "h1", "h2", h0=30)  # now one move will do
    report = fleet.run(1)
    assert (report.outcome, report.moves) == (Outcome.PLANNED, 1)
    assert report.plan_folder != first.plan_folder
    assert len(fleet.plan()["steps"]) == 1


def test_a_plan_that_does_not_hold_any_more_is_replaced(fleet: Fleet) -> None:
    fleet.run()
    moved = fleet.plan()["steps"][0]["object"]
    elsewhere = {name: host for name, host in CROWDED.items() if name != moved}  # the task is gone
    fleet.tasks({**elsewhere, "t4": "h0"})
    report = fleet.run(1)
    assert (report.outcome, report.moves) == (Outcome.PLANNED, 1)


def test_latest_leads_to_no_plan_that_does_not_hold_any_more(fleet: Fleet) -> None:
    fleet.run()
    step = fleet.plan()["steps"][0]
    other = ({"h0", "h1", "h2"} - {step["source"], step["destination"]}).pop()
    fleet.tasks(CROWDED | {step["object"]: other})
    report = fleet.run(1)
    assert report.outcome is Outcome.NOTHING_TO_DO
    assert len([name for name in fleet.plans if name[0] != "."]) == 1, "the plan stays, only the link goes"
    assert "latest" not in fleet.plans


def test_something_stays_broken(fleet: Fleet) -> None:
    fleet.tasks({"t0": "h0", "t1": "h0", "t2": "h0"}, t0=50)  # it fits nowhere
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.broken("final")) == (Outcome.PLANNED, Exit.BROKEN, 1)
    fleet.carry_out()
    report = fleet.run(1)
    assert (report.outcome, report.exit_code) == (Outcome.NOTHING_TO_DO, Exit.BROKEN)


def test_a_search_without_time_is_not_called_nothing_to_do(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(model: Model, request: Request) -> Answer:
        return Answer(Status.FEASIBLE, model.problem.initial, (None,) * model.positions, None, "late")

    engines.use(monkeypatch, late)
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.status) == (Outcome.NOTHING_TO_DO, Exit.BROKEN, "FEASIBLE")
    assert report.words == "nothing better was found"
    assert len(report.reasons) == 1
    assert report.reasons[0].startswith(
        "fits stays broken: the search ended after 0 s, before it found anything better"
    )
    fleet.tasks({"t0": "h0"})
    report = fleet.run(1, accept_shrunk=True)
    assert (report.exit_code, report.words) == (Exit.DONE, "nothing better was found")
    assert report.reasons[0].startswith("the search ended after 0 s, before it found anything better")


def test_what_is_proven_is_called_nothing_to_do(fleet: Fleet) -> None:
    fleet.tasks({"t0": "h0"}, t0=50)
    report = fleet.run()
    assert (report.words, report.status) == ("nothing to do", "OPTIMAL")
    assert report.reasons == ("fits stays broken: it is proven that no assignment is better",)
    fleet.tasks({"t0": "h0"})
    report = fleet.run(1)
    assert (report.words, report.reasons, report.status) == ("nothing to do", (), "OPTIMAL")


def test_blocked_moves_are_no_success(fleet: Fleet) -> None:
    """Two full hosts would have to swap, and nothing has room for a third."""
    fleet.hosts("h0", "h1", h0=10, h1=10)
    fleet.tasks({"a": "h0", "b": "h1"})
    fleet.swapping()
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.blocked) == (Outcome.NOT_WORTH_IT, Exit.BROKEN, 2)
    assert report.reasons == (
        "2 moves are blocked, and without them nothing is gained",
        "a cannot get to h1: fits on h1: needs 10, 0 free",
        "b cannot get to h0: fits on h0: needs 10, 0 free",
    )
    assert fleet.plans == [".job"]


def test_a_plan_with_blocked_moves_is_kept_too(fleet: Fleet) -> None:
    """The swap gets nowhere tonight either; c is all that can move."""
    fleet.hosts("h0", "h1", "h2", "h3", h0=10, h1=10, h2=1, h3=1)
    fleet.tasks({"a": "h0", "b": "h1", "c": "h2"}, c=1)
    wishes = [{"object_name": name, "scope_item_name": host, "affinity": 1} for name, host in
              (("a", "h1"), ("b", "h0"), ("c", "h3"))]  # fmt: skip
    fleet.scenario(goals=[{"assignment_affinities": {"scope": "host", "affinities": wishes}}], plan={"staging": False})
    first = fleet.run()
    assert (first.outcome, first.moves, first.blocked) == (Outcome.PLANNED, 1, 2)
    report = fleet.run(1)
    assert (report.outcome, report.exit_code, report.plan_folder) == (Outcome.KEPT, Exit.BROKEN, first.plan_folder)
    assert (report.moves, report.blocked) == (1, 2)


def test_no_solution(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    fleet.tasks({"t0": "h0"}, t0=50)
    fleet.scenario(constraints=[{"capacity": {"scope": "host", "dimension": "memory"}, "policy": "HARD"}])
    report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.INFEASIBLE, Exit.INFEASIBLE)
    assert report.reasons == ("no assignment holds every constraint",)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert said == ["infeasible: no assignment holds every constraint"]
    assert (outcomes(fleet), fleet.plans) == (["infeasible"], [".job"])


def test_only_so_many_plans_stay(fleet: Fleet) -> None:
    fleet.job(output={"keep": 2})
    for day in range(4):
        fleet.tasks(CROWDED | {f"extra{day}": "h0"})  # so that no plan holds for two nights
        assert fleet.run(day).outcome is Outcome.PLANNED
    assert len([name for name in fleet.plans if name[0] != "."]) == 3, "two plans, and the link"


def test_a_history_of_another_place(fleet: Fleet, tmp_path: Path) -> None:
    """The whole folder is moved between two nights: the plan is found where it is now."""
    fleet.run()
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("job.yaml", "scenario.yaml", "tasks.csv", "hosts.csv", "history.db", "plans"):
        (tmp_path / name).rename(moved / name)
    fleet.folder, fleet.path = moved, moved / "job.yaml"
    report = fleet.run(1)
    assert (report.outcome, Path(report.plan_folder or "").parent) == (Outcome.KEPT, moved / "plans")
