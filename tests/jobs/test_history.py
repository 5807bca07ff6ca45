"""The history: what goes in comes out, and what is not a history is told from one that is away."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import mssql, mysql, postgresql, sqlite

from rebalancer.exits import Exit
from rebalancer.jobs import history_tables as tables
from rebalancer.jobs.history import History
from rebalancer.jobs.outcome import Outcome, Report
from rebalancer.jobs.trends import jobs_of, trends
from rebalancer.problem import InputError

BEGUN = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(f"sqlite:///{tmp_path / 'history.db'}")


def step(number: int, name: str, source: str | None, destination: str | None, wave: int = 1) -> dict[str, Any]:
    return {"id": f"s{number}", "object": name, "source": source, "destination": destination, "wave": wave,
            "after": [], "reason": "moves"}  # fmt: skip


def night(
    history: History, day: float, steps: list[dict[str, Any]] | None = None, job: str = "web", **facts: Any
) -> Report:
    """Record a run."""
    moment = BEGUN + timedelta(days=day)
    run = history.begin(job, moment, "ops@box (pid 7)")
    report = Report(job, moment, run=run, finished=moment + timedelta(seconds=30), outcome=Outcome.PLANNED,
                    exit_code=Exit.DONE, plan_folder=f"/plans/{run}")  # fmt: skip
    report = replace(report, **facts)
    history.record(report, steps or [])
    return report


def fault(error: pytest.ExceptionInfo[InputError]) -> tuple[str, str]:
    (one,) = error.value.faults
    return one.code, one.message


def test_everything_of_a_run(history: History) -> None:
    objective = ({"tuple_pos": 0, "initial": 5.5, "final": 1.5, "bound": None, "gap": None},)
    row = {"name": "fits", "spec": "capacity", "policy": "DEFAULT", "initial_violation": 0.5, "final_violation": 0.0,
           "initial_broken": 2, "final_broken": 0}  # fmt: skip
    steps = [step(1, "a", None, "h1"), step(2, "b", "h1", "h2", 2)]
    report = night(history, 0, steps, objective=objective, constraints=(row,), reasons=("one", "two"), moves=2, waves=2,
                   sizes={"objects": 3}, snapshot_taken=BEGUN - timedelta(hours=1), status="OPTIMAL")  # fmt: skip
    (found,) = trends(history, "web", 10).runs
    assert found == {
        "run": report.run, "job": "web", "started": "2026-11-21T02:30:00Z", "finished": "2026-11-21T02:30:30Z",
        "seconds": 30, "snapshot_taken": "2026-11-21T01:30:00Z", "plan": "/plans/1", "outcome": "planned",
        "exit_code": 0, "reason": "one; two", "guard": None, "status": "OPTIMAL", "moves": 2, "moved_objects": None,
        "waves": 2, "staged": None, "blocked": None, "broken_initial": 1, "broken_final": 0, "kept_from": None,
        "objective": [{"tuple_pos": 0, "initial": 5.5, "final": 1.5, "bound": None}],
    }  # fmt: skip
    assert history.rows(select(tables.constraints)) == [{"run": 1, "number": 1, **row}]
    assert [tuple(one.values()) for one in history.rows(select(tables.moves).order_by("number"))] == [
        (1, 1, "s1", "a", None, "h1", 1),
        (1, 2, "s2", "b", "h1", "h2", 2),
    ]


def test_times_are_utc_whatever_they_come_in(history: History) -> None:
    elsewhere = timezone(timedelta(hours=9))
    history.begin("web", BEGUN.astimezone(elsewhere), "ops@box (pid 7)")
    (row,) = history.rows(select(tables.runs.c.started))
    assert (row["started"], row["started"].utcoffset()) == (BEGUN, timedelta(0))


def test_more_moves_than_one_statement_holds(history: History) -> None:
    steps = [step(number, f"t{number}", "h0", "h1") for number in range(1, 25_001)]
    night(history, 0, steps)
    rows = history.rows(select(tables.moves.c.number, tables.moves.c.step, tables.moves.c.object).order_by("number"))
    assert [tuple(row.values()) for row in rows] == [
        (number, f"s{number}", f"t{number}") for number in range(1, 25_001)
    ]


def test_a_run_is_recorded_at_once_or_not_at_all(history: History) -> None:
    run = history.begin("web", BEGUN, "ops@box (pid 7)")
    twice = ({"tuple_pos": 0, "initial": 1.0, "final": 1.0, "bound": None},) * 2
    report = Report("web", BEGUN, run=run, finished=BEGUN, outcome=Outcome.PLANNED, objective=twice)
    with pytest.raises(InputError, match="UNIQUE constraint failed"):
        history.record(report, [step(1, "a", "h0", "h1")])
    (row,) = history.rows(select(tables.runs.c.outcome, tables.runs.c.finished))
    assert (row["outcome"], row["finished"]) == ("running", None)
    assert history.rows(select(tables.moves)) == history.rows(select(tables.objectives)) == []


def test_settling_runs_that_never_ended(history: History) -> None:
    mine = [history.begin("web", BEGUN, "ops@box (pid 7)") for _ in range(3)]
    other = history.begin("db", BEGUN, "ops@box (pid 8)")
    for run, folder in ((mine[1], "/plans/there"), (mine[2], "/plans/gone")):
        history.record(Report("web", BEGUN, run=run, finished=BEGUN, outcome=Outcome.WRITING, plan_folder=folder))
    settled = history.repair("web", lambda folder: folder == "/plans/there")
    assert settled == [(mine[0], Outcome.DIED), (mine[1], Outcome.PLANNED), (mine[2], Outcome.DIED)]
    found = {row["id"]: row for row in history.rows(select(tables.runs))}
    assert [found[run]["outcome"] for run in (*mine, other)] == ["died", "planned", "died", "running"]
    assert found[mine[2]]["plan_folder"] is None
    assert history.last_plan("web") == (mine[1], "/plans/there")
    assert history.repair("web", lambda folder: True) == []


def test_what_the_next_run_asks(history: History) -> None:
    assert (history.last_sizes("web"), history.last_plan("web"), history.last_success("web")) == (None, None, None)
    night(history, 0, sizes={"objects": 10}, accepted=True)
    night(history, 1, sizes={"objects": 4}, accepted=False, outcome=Outcome.REFUSED, plan_folder=None)
    night(history, 2, sizes={"objects": 99}, accepted=True, job="db")
    assert history.last_sizes("web") == {"objects": 10}
    assert history.last_plan("web") == (1, "/plans/1")
    assert history.last_success("web") == BEGUN + timedelta(seconds=30)


def test_where_plans_sent_objects(history: History) -> None:
    night(history, 0, [step(1, "a", "h0", "h1"), step(2, "old", "h0", "h1")])
    night(history, 1, [step(1, "a", "h1", "h2"), step(2, "b", "h0", "h3"), step(3, "b", "h3", "h1")])
    night(history, 1, [step(1, "c", "h0", "h3"), step(2, "c", "h3", "h0"), step(3, "new", None, "h1")])
    night(history, 1, [step(1, "never", "h0", "h1")], outcome=Outcome.DIED)
    night(history, 1, [step(1, "others", "h0", "h1")], job="db")
    assert history.sent_since("web", BEGUN + timedelta(hours=12)) == {"a": "h2", "b": "h1", "new": "h1"}
    assert history.sent_since("web", BEGUN - timedelta(hours=1))["old"] == "h1"
    night(history, 2, outcome=Outcome.KEPT, kept_from=1)
    assert history.sent_since("web", BEGUN + timedelta(hours=36)) == {"a": "h1", "old": "h1"}


def test_trends(history: History) -> None:
    def value(final: float) -> tuple[dict[str, Any], ...]:
        return ({"tuple_pos": 0, "initial": 9.0, "final": final, "bound": None},)

    def broken(before: int, after: int, name: str = "fits") -> dict[str, Any]:
        return {"name": name, "spec": "capacity", "policy": "HARD", "initial_violation": 1.0, "final_violation": 1.0,
                "initial_broken": before, "final_broken": after}  # fmt: skip

    night(history, 0, [step(1, "a", "h0", "h1")], objective=value(3))
    night(history, 1, [step(1, "a", "h1", "h2"), step(2, "b", "h0", "h1"), step(3, "b", "h1", "h2")],
          objective=value(2), constraints=(broken(1, 0), broken(0, 0, "never")))  # fmt: skip
    night(history, 2, objective=value(1), constraints=(broken(2, 2), broken(1, 0, "once")))
    night(history, 2, job="db", outcome=Outcome.FAILED)
    found = trends(history, "web", 10)
    assert [row["run"] for row in found.runs] == [3, 2, 1]
    assert found.objectives == [
        {"job": "web", "tuple_pos": 0, "run": [1, 2, 3], "initial": [9, 9, 9], "final": [3, 2, 1], "bound": [None] * 3}
    ]
    assert [(row["name"], row["broken_initial"], row["broken_final"]) for row in found.constraints] == [
        ("fits", 2, 1), ("once", 1, 0),
    ]  # fmt: skip
    assert [(row["object"], row["moves"], row["plans"]) for row in found.objects] == [("a", 2, 2), ("b", 2, 1)]
    assert [row["run"] for row in trends(history, "web", 2).runs] == [3, 2]
    assert [row["run"] for row in trends(history, None, 9, BEGUN + timedelta(hours=30)).runs] == [4, 3]
    assert jobs_of(history) == ["db", "web"]


def test_reading_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with pytest.raises(InputError) as caught:
        History(f"sqlite:///{path}", create=False)
    assert fault(caught) == ("no-history", f"there is no history yet: '{path}' does not exist")
    assert not path.exists()
    sqlite3.connect(path).execute("create table mine (x)")
    with pytest.raises(InputError, match="there is no history in sqlite:"):
        History(f"sqlite:///{path}", create=False)


def test_a_history_of_a_newer_version(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"
    History(url)
    with sqlite3.connect(tmp_path / "history.db") as connection:
        connection.execute("update rebalancer_schema set version = 99")
    with pytest.raises(InputError) as caught:
        History(url)
    code, message = fault(caught)
    assert code == "newer-history"
    assert "has version 99, this rebalancer knows version 1" in message


def test_tables_that_a_killed_run_did_not_get_to_are_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"
    with sqlite3.connect(tmp_path / "history.db") as connection:
        connection.execute("create table rebalancer_schema (version integer not null primary key)")
    with pytest.raises(InputError, match="there is no history in"):
        History(url, create=False)
    history = History(url)
    night(history, 0, [step(1, "a", "h0", "h1")])
    assert History(url, create=False).last_plan("web") == (1, "/plans/1")


def test_jobs_that_begin_their_history_at_the_same_moment(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"
    together = Barrier(4)

    def begin(job: str) -> int:
        together.wait(60)
        return History(url).begin(job, BEGUN, "ops@box (pid 7)")

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(begin, "abcd")) == [1, 2, 3, 4]


@pytest.mark.parametrize("database", [mysql, mssql, postgresql, sqlite])
def test_databases_that_index_short_texts_only_hold_a_history(database: Any) -> None:
    for table in tables.metadata.tables.values():
        indexed = [*table.primary_key.columns, *(column for index in table.indexes for column in index.columns)]
        for column in indexed:
            assert str(column.type.compile(database.dialect())) not in ("TEXT", "VARCHAR(max)"), column


def test_a_run_that_is_taken_back_kept_no_plan(history: History) -> None:
    night(history, 0)
    report = night(history, 1, outcome=Outcome.KEPT, kept_from=1, moves=3)
    assert report.run is not None
    history.withdraw(report.run, Outcome.FAILED, "the disk is full", 2)
    row = trends(history, "web", 1).runs[0]
    assert (row["outcome"], row["kept_from"], row["moves"], row["plan"]) == ("failed", None, None, None)


def test_a_clock_that_is_set_back(history: History) -> None:
    report = night(history, 0, finished=BEGUN - timedelta(hours=1), snapshot_taken=BEGUN + timedelta(seconds=2))
    assert (report.seconds, report.snapshot_age, trends(history, "web", 1).runs[0]["seconds"]) == (0, 0, 0)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_text("no database" * 100, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        History(f"sqlite:///{tmp_path / 'history.db'}")
    assert fault(caught)[0] == "unreachable-history"
    assert fault(caught)[1].endswith("cannot be used: file is not a database")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("update rebalancer_objectives set final = 'abc'", "final is 'abc'"),
        ("update rebalancer_runs set started = 'yesterday'", "'yesterday'"),
        ("update rebalancer_runs set sizes = '{'", "double quotes"),
        ("update rebalancer_runs set moves = 'many'", "moves is 'many'"),
        ("update rebalancer_runs set moves = -5", "moves is -5"),
        ("update rebalancer_runs set moves = 2.5", "moves is 2.5"),
        ("update rebalancer_objectives set final = 9e999", "final is inf"),
        ("update rebalancer_runs set outcome = 'splendid'", "outcome is 'splendid'"),
        ("update rebalancer_runs set reason = x'ff'", "reason is b'\\xff'"),
    ],
)
def test_what_somebody_else_has_written_there(tmp_path: Path, history: History, change: str, said: str) -> None:
    night(history, 0, objective=({"tuple_pos": 0, "initial": 9.0, "final": 3.0, "bound": None},))
    with sqlite3.connect(tmp_path / "history.db") as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(InputError) as error:
        trends(history, None, 20)
    code, message = fault(error)
    assert code == "unreadable-history"
    assert "holds what no run has written" in message
    assert said in message


def test_no_message_holds_a_password() -> None:
    for url in (
        "postgresql+psycopg://rb:hunter2@127.0.0.1:1/history",
        "nosuch+driver://rb:hunter2@127.0.0.1/history",
        "mysql+nosuch://rb:hunter2@127.0.0.1/history",
    ):
        with pytest.raises(InputError) as caught:
            History(url)
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None
