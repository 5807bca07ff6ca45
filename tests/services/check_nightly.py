"""Nights whose inventory and history are both in a PostgreSQL server."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy.engine import Engine, make_url

from rebalancer.jobs.history import History
from tests.cli.commands import parsed, run

RULES = """\
object: task
container: host
tables:
  task: {key: task, container: host, dimensions: [cpu]}
  host: {key: host, dimensions: [cpu]}
constraints:
  - capacity: {scope: host, dimension: cpu}
"""
JOB = """\
scenario: scenario.yaml
snapshot:
  tables:
    task: {query: select * from tasks order by task}
    host: {query: select * from hosts order by host}
  url: ${INVENTORY_URL}
solve: {time_limit: 20s}
history: ${INVENTORY_URL}
"""


@pytest.fixture
def job(tmp_path: Path, engine: Engine, schema: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a job over a fleet of 20 tasks of 1 on a host that takes 18, beside an empty one."""
    with engine.begin() as connection:
        connection.exec_driver_sql("create table tasks as select n as task, 'h0' as host, 1 as cpu "
                                   "from generate_series(1, 20) as n")  # fmt: skip
        connection.exec_driver_sql("create table hosts as select 'h' || n as host, 18 as cpu "
                                   "from generate_series(0, 1) as n")  # fmt: skip
    monkeypatch.setenv("INVENTORY_URL", schema)
    (tmp_path / "scenario.yaml").write_text(RULES)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path / "job.yaml"


def test_a_night_a_half_empty_inventory_and_a_server_that_is_away(
    job: Path, engine: Engine, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("nightly", job, "--json")
    assert first.exit_code == 0, first.stderr
    assert (parsed(first)["outcome"], parsed(first)["moves"]) == ("planned", 2)
    plan = (job.parent / "plans" / "latest" / "plan.json").read_text(encoding="utf-8")
    assert sum("#" in name for name in json.loads(plan)["inputs"]) == 2

    with engine.begin() as connection:
        connection.exec_driver_sql("delete from tasks where task > 17")
    second = run("nightly", job, "--json")
    assert second.exit_code == 8
    assert parsed(second)["reasons"][0].startswith("rows of task fell from 20 to 17 (15 % fewer)")

    away = make_url(schema).set(port=1).render_as_string(hide_password=False)
    monkeypatch.setenv("INVENTORY_URL", away)
    third = run("nightly", job)
    assert third.exit_code == 2
    assert (job.parent / "plans" / "latest" / "plan.json").read_text(encoding="utf-8") == plan

    monkeypatch.setenv("INVENTORY_URL", schema)
    runs = run("history", job)
    assert runs.exit_code == 0
    written = "".join(result.output + result.stderr for result in (first, second, third, runs)) + plan
    password = make_url(schema).password
    assert password is not None
    assert str(password) not in written


def test_a_query_that_never_ends_is_over_at_the_deadline(job: Path) -> None:
    endless = "select task, host, cpu from tasks, pg_sleep(3600)"
    job.write_text(JOB.replace("select * from tasks order by task", f'"{endless}"') + "guards: {deadline: 3s}\n")
    done = run("nightly", job, "--json")
    assert done.exit_code == 8, done.stderr
    assert parsed(done)["guard"] == "deadline"
    job.write_text(JOB)
    assert run("nightly", job).exit_code == 0


def test_jobs_that_begin_their_history_at_the_same_moment(schema: str) -> None:
    together = Barrier(4)

    def begin(name: str) -> int:
        together.wait(60)
        return History(schema).begin(name, datetime.now(UTC), "ops@box (pid 7)")

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(begin, "abcd")) == [1, 2, 3, 4]
