"""Runs that end badly: recorded, nothing half-written, and the next night runs."""

import json
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from rebalancer.engines.base import Answer, Request, Status
from rebalancer.exits import Exit
from rebalancer.jobs import history_tables as tables
from rebalancer.jobs import run as run_module
from rebalancer.jobs.deadline import Deadline
from rebalancer.jobs.history import History
from rebalancer.jobs.outcome import Outcome, Report
from rebalancer.model import Model
from rebalancer.plan.read import Verdict
from rebalancer.problem import Fault, InputError
from tests.cli import test_processes
from tests.cli.commands import process
from tests.cli.test_processes import wait_for
from tests.jobs.fleet import CROWDED, Fleet
from tests.solver import engines

#: Says when the search has begun, then lets it run until somebody ends it.
SEARCHING = "searching, for"

#: Engines that search until they are told to stop, or do not listen: t0 goes to h1.
ENDLESS, DEAF = (text.replace("[1, 0, 0]", "[1, 0, 0, 1]") for text in (test_processes.ENDLESS, test_processes.DEAF))

#: Answers at once, and never gets beyond a given place.
KILLED = (
    ENDLESS.replace(test_processes.WAITING, "pass")
    + """
import os, signal
from rebalancer.jobs.folders import PlanFolder
from rebalancer.jobs.history import History

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

"""
)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    engines.use(monkeypatch, engines.enumerated)
    return Fleet(tmp_path, metrics="web.prom")


def rows(fleet: Fleet) -> list[dict[str, Any]]:
    return fleet.history.rows(select(tables.runs).order_by(tables.runs.c.id))


def interrupted_in(stage: str) -> str:
    """Return a run that finds its answer at once, and gets a signal when it comes to a stage of the night."""
    answers = ENDLESS.replace(test_processes.WAITING, "pass")
    return f"""{answers}
import os, signal
from rebalancer.jobs import night

def interrupted(*arguments, work=night.{stage}):
    os.kill(os.getpid(), signal.SIGTERM)
    return work(*arguments)

night.{stage} = interrupted
"""


def outcomes(fleet: Fleet) -> list[str]:
    return [row["outcome"] for row in rows(fleet)]


def metric(fleet: Fleet, name: str) -> float | None:
    for line in (fleet.folder / "web.prom").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"rebalancer_{name}{{") and (name != "outcome" or line.endswith(" 1")):
            return float(line.split()[-1])
    return None


def left(fleet: Fleet) -> list[str]:
    return [name for name in fleet.plans if name.endswith(".partial")]


def test_a_faulty_snapshot(fleet: Fleet) -> None:
    fleet.run()
    success = metric(fleet, "last_success_timestamp_seconds")
    fleet.tasks(CROWDED | {"t9": "h9"})
    report = fleet.run(1)
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, Exit.BAD_INPUT)
    assert [(fault.file, fault.line) for fault in report.faults] == [(str(fleet.folder / "tasks.csv"), 6)]
    assert rows(fleet)[1]["reason"] == report.faults[0].message
    assert (metric(fleet, "exit_code"), metric(fleet, "last_success_timestamp_seconds")) == (2, success)
    fleet.tasks(CROWDED)
    assert fleet.run(2).outcome is Outcome.KEPT


def test_output_that_cannot_be_written(fleet: Fleet) -> None:
    (fleet.folder / "plans").write_text("not a folder", encoding="utf-8")
    report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, Exit.BAD_INPUT)
    assert "cannot write to" in report.reasons[0]
    assert report.sizes is None, "this is found out before the work is done"
    (fleet.folder / "plans").unlink()
    assert fleet.run(1).outcome is Outcome.PLANNED


def test_metrics_that_cannot_be_written(fleet: Fleet) -> None:
    fleet.job(metrics="job.yaml/web.prom")
    report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, Exit.BAD_INPUT)
    assert outcomes(fleet) == ["failed"]


def test_a_database_that_is_away(fleet: Fleet) -> None:
    fleet.job(metrics="web.prom", history="sqlite:///no/such/folder/history.db")
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.run) == (Outcome.FAILED, Exit.BAD_INPUT, None)
    assert report.faults[0].code == "unreachable-history"
    assert "unable to open database file" in report.reasons[0]
    assert not (fleet.folder / "plans").exists()
    assert metric(fleet, "exit_code") == 2


def fails_once(monkeypatch: pytest.MonkeyPatch, name: str, when: Callable[..., bool]) -> None:
    """Let a method of the history fail the first time that its arguments are such."""
    method = getattr(History, name)
    failed: list[bool] = []

    def call(self: History, *arguments: Any) -> Any:
        if when(*arguments) and not failed:
            failed.append(True)
            raise InputError([Fault("unreachable-history", "the database is gone")])
        return method(self, *arguments)

    monkeypatch.setattr(History, name, call)


def test_a_database_that_goes_away_before_the_plan_is_recorded(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_once(monkeypatch, "record", lambda report, *_: report.outcome is Outcome.WRITING)
    report = fleet.run()
    assert (report.outcome, report.exit_code, report.plan_folder) == (Outcome.FAILED, Exit.BAD_INPUT, None)
    assert fleet.plans == [".job"]
    assert outcomes(fleet) == ["failed"]
    assert fleet.run(1).outcome is Outcome.PLANNED


def test_a_database_that_goes_away_after_the_plan_is_there(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_once(monkeypatch, "confirm", lambda *_: True)
    report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.PLANNED, Exit.DONE)
    assert outcomes(fleet) == ["writing"]
    assert fleet.run(1).outcome is Outcome.KEPT
    assert outcomes(fleet) == ["planned", "kept"]


def test_a_plan_that_cannot_be_put_in_its_place(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", full)
        report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, Exit.BAD_INPUT)
    assert (fleet.plans, outcomes(fleet)) == ([".job"], ["failed"])
    assert "No space left on device" in rows(fleet)[0]["reason"]
    assert fleet.history.rows(select(tables.moves)) == fleet.history.rows(select(tables.objectives)) == []
    assert (report.moves, rows(fleet)[0]["moves"], metric(fleet, "moves")) == (None, None, None)
    assert fleet.run(1).outcome is Outcome.PLANNED


def test_a_plan_that_does_not_pass_its_verification(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = Verdict("STALE", [], [], {"s1": "wave 1: fits does not hold"}, {}, {}, [])
    monkeypatch.setattr(run_module, "verify_plan", lambda *_: stale)
    report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, Exit.STALE)
    assert report.reasons == ("the plan as it was written does not hold: wave 1: fits does not hold",)
    assert (fleet.plans, outcomes(fleet)) == ([".job"], ["failed"])


def test_a_defect_is_recorded_and_raised(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> None:
        raise RuntimeError("a defect")

    engines.use(monkeypatch, wrong)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="a defect"):
        fleet.run()
    row = rows(fleet)[0]
    assert (row["outcome"], row["exit_code"], row["reason"]) == ("failed", 1, "internal error: RuntimeError: a defect")
    assert metric(fleet, "exit_code") == 1


def test_a_run_that_cannot_be_recorded_says_so(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fleet.hosts("h0", h0=100)  # nothing to do
    fleet.tasks({"t0": "h0"})

    def away(self: History, report: Report, moves: object = ()) -> None:
        raise InputError([Fault("unreachable-history", "the database is gone")])

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
        patched.setattr(History, "record", away)
        report = fleet.run()
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, Exit.BAD_INPUT)
    assert "the run could not be recorded: the database is gone" in caplog.text
    fleet.run(1)
    assert outcomes(fleet) == ["died", "nothing_to_do"]


def nightly(fleet: Fleet, program: str, *options: str) -> "subprocess.Popen[str]":
    return process("nightly", fleet.path, *options, program=program)


def killed(fleet: Fleet, place: str) -> None:
    """Run the job in a process that is killed when it gets to a place."""
    running = nightly(fleet, KILLED + place)
    _, err = running.communicate(timeout=120)
    assert running.returncode == -signal.SIGKILL, err


def test_killed_while_it_searches(fleet: Fleet) -> None:
    running = nightly(fleet, ENDLESS)
    wait_for(SEARCHING, running)
    running.kill()
    running.communicate(timeout=60)
    assert outcomes(fleet) == ["running"]
    assert fleet.run().outcome is Outcome.PLANNED
    died = rows(fleet)[0]
    assert (died["outcome"], died["reason"]) == ("died", f"{died['process']} did not finish")
    assert f"(pid {running.pid})" in died["process"]


@pytest.mark.parametrize(
    ("place", "before", "after"),
    [
        ("History.record = die", "running", "died"),  # the plan is written, but hidden
        ("PlanFolder.place = die", "writing", "died"),  # … and recorded
        ("PlanFolder.point = die", "writing", "planned"),  # … and in its place, but for the link
        ("History.confirm = die", "writing", "planned"),  # … and the link points to it
    ],
)
def test_killed_while_it_writes(fleet: Fleet, place: str, before: str, after: str) -> None:
    killed(fleet, place)
    assert outcomes(fleet) == [before]
    assert bool(left(fleet)) == (after == "died")
    report = fleet.run()
    assert report.outcome is (Outcome.KEPT if after == "planned" else Outcome.PLANNED)
    assert outcomes(fleet) == [after, report.outcome.value]
    assert left(fleet) == []
    assert len(fleet.plan()["steps"]) == 1
    assert len([name for name in fleet.plans if name[0] != "."]) == 2, "one plan, and the link"


def test_the_lock_of_a_living_run(fleet: Fleet) -> None:
    running = nightly(fleet, ENDLESS)
    wait_for(SEARCHING, running)
    second = nightly(fleet, ENDLESS, "--json", "--log", "json")
    out, err = second.communicate(timeout=60)
    assert second.returncode == Exit.LOCKED
    answer = json.loads(out)
    assert (answer["outcome"], answer["holder"]["pid"]) == ("locked", running.pid)
    assert f"(pid {running.pid}) for " in json.loads(err.splitlines()[-1])["message"]
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=60)
    assert running.returncode == 0
    assert outcomes(fleet) == ["planned"], "who is kept out leaves no trace"


def test_a_signal_ends_the_search_and_not_the_run(fleet: Fleet) -> None:
    running = nightly(fleet, ENDLESS, "--json")
    wait_for(SEARCHING, running)
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    answer = json.loads(out)
    assert (answer["outcome"], answer["interrupted"], answer["moves"]) == ("planned", True, 1)


def test_a_signal_before_the_search_ends_the_run(fleet: Fleet) -> None:
    """There is nothing to keep, and a large snapshot takes its time."""
    running = nightly(fleet, interrupted_in("take_snapshot"))
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err.split()[-1]) == (130, "", "interrupted")
    assert (outcomes(fleet), SEARCHING in err) == (["interrupted"], False)
    assert fleet.run().outcome is Outcome.PLANNED


def test_a_signal_while_moves_are_ordered_says_that_they_are_planned(fleet: Fleet) -> None:
    running = nightly(fleet, interrupted_in("draft_moves"))
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert "what was found so far is planned; interrupt again to give up" in err
    assert outcomes(fleet) == ["planned"]


def test_a_second_signal_ends_the_run(fleet: Fleet) -> None:
    running = nightly(fleet, DEAF, "--log", "json")
    wait_for(SEARCHING, running)
    running.send_signal(signal.SIGTERM)
    wait_for("interrupt again to give up", running)
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    for line in err.splitlines():
        assert json.loads(line)["run"] == 1
    assert (outcomes(fleet), fleet.plans) == (["interrupted"], [".job"])
    assert fleet.run().outcome is Outcome.PLANNED


def test_the_deadline_ends_what_would_never_end(fleet: Fleet) -> None:
    """The search does not listen: it gets what is left of the deadline, and then the run is over."""
    fleet.job(guards={"deadline": "2s"}, metrics="web.prom")
    running = nightly(fleet, DEAF, "--json")
    out, err = running.communicate(timeout=60)
    assert running.returncode == Exit.REFUSED, err
    answer = json.loads(out)
    assert (answer["outcome"], answer["guard"]) == ("refused", "deadline")
    assert (outcomes(fleet), metric(fleet, "exit_code")) == (["refused"], 8)


def test_a_search_that_listens_keeps_the_deadline(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever counts work and not time is stopped by the clock all the same; that is no interrupt."""

    def answer(model: Model, request: Request) -> Answer:
        assert request.stop.wait(60)
        return engines.enumerated(model, request)

    engines.use(monkeypatch, answer)
    monkeypatch.setattr(Deadline, "for_search", lambda self: 0.01)
    fleet.job(guards={"deadline": "10m"}, solve={"deterministic": True})
    report = fleet.run()
    assert (report.outcome, report.interrupted) == (Outcome.PLANNED, False)


def test_a_signal_before_anything_is_found(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there is nothing to do is not known: the plan of the night before is left alone."""
    fleet.run()
    moved = fleet.plan()["steps"][0]["object"]
    fleet.tasks({"t8" if name == moved else name: host for name, host in CROWDED.items()})
    stop = threading.Event()

    def answer(model: Model, request: Request) -> Answer:
        stop.set()
        return Answer(Status.FEASIBLE, model.problem.initial, (None,) * model.positions, None, "slow")

    engines.use(monkeypatch, answer)
    with pytest.raises(KeyboardInterrupt):
        fleet.run(1, stop=stop)
    assert outcomes(fleet) == ["planned", "interrupted"]
    assert "latest" in fleet.plans


def test_a_signal_before_any_solution_is_found(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.scenario(constraints=[{"capacity": {"scope": "host", "dimension": "memory"}, "policy": "HARD"}])
    stop = threading.Event()

    def answer(model: Model, request: Request) -> Answer:
        stop.set()
        return Answer(Status.UNKNOWN, None, (None,) * model.positions, None, "slow")

    engines.use(monkeypatch, answer)
    with pytest.raises(KeyboardInterrupt):
        fleet.run(stop=stop)
    assert outcomes(fleet) == ["interrupted"]


def test_a_defect_is_a_line_of_the_log_as_well(fleet: Fleet) -> None:
    defect = ENDLESS.replace(test_processes.WAITING, 'raise RuntimeError("a defect")')
    running = nightly(fleet, defect, "--log", "json", "--json")
    out, err = running.communicate(timeout=60)
    assert running.returncode == Exit.INTERNAL
    last = [json.loads(line) for line in err.splitlines()][-1]
    assert (last["code"], last["message"]) == ("internal", "internal error: RuntimeError: a defect")
    assert last["exception"].startswith("Traceback")
    assert [fault["code"] for fault in json.loads(out)["errors"]] == ["internal"]


def test_stopping_from_another_thread(fleet: Fleet) -> None:
    stop = threading.Event()
    stop.set()
    report = fleet.run(stop=stop)
    assert report.interrupted


def test_thousands_of_faults_are_a_reason_of_bounded_length(fleet: Fleet) -> None:
    lines = "".join(f"t{number},h0,many\n" for number in range(3_000))
    (fleet.folder / "tasks.csv").write_text("task,host,memory\n" + lines, encoding="utf-8")
    weights = {f"t{number}": "many" for number in range(3_000)}
    fleet.scenario(dimensions={"cpu": {"task": weights}})
    report = fleet.run()
    assert report.exit_code == 2
    assert len(report.faults) > 3_000
    assert any("2,900 more like these" in reason for reason in report.reasons)
    assert len(rows(fleet)[-1]["reason"]) < 20_000
