"""Tables in CSV, SQLite and a real PostgreSQL server are the same problem; what goes wrong there is one error."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Engine, make_url

from rebalancer.jobs.job import read_job
from rebalancer.jobs.snapshot import take_snapshot
from rebalancer.problem import Fault, InputError
from rebalancer.scenario.reader import load
from tests.cli.commands import run
from tests.scenario.tables import facts, scenario, write_csv, write_sqlite

TASKS: dict[str, list[Any]] = {
    "task": [17, 18, 19, 20],
    "host": ["a", "ö'1", None, "a"],
    "cpu": [Decimal("0.1"), Decimal("0.2"), Decimal("1234567.000001"), Decimal("3")],
    "job": ["x", None, "", 'say "hi"'],
    "app": ["100%", "a:b", None, "{x}"],
}
HOSTS: dict[str, list[Any]] = {"host": ["a", "ö'1"], "cores": [16, 8], "rack": ["r0", None]}
CREATE = """
create table tasks (task bigint primary key, host text, cpu numeric(20, 6), job varchar(20), app text);
create table hosts (host text, cores smallint, rack text)
"""
FROM_POSTGRES = (
    'url: "${INVENTORY_URL}", query: "select * from tasks order by task"',
    'url: "${INVENTORY_URL}", query: "select * from hosts order by host"',
)


@pytest.fixture
def inventory(engine: Engine, schema: str, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Return a database with the tables, whose URL is in the environment."""
    with engine.begin() as connection:
        for statement in CREATE.split(";"):
            connection.exec_driver_sql(statement)
        for table, columns in (("tasks", TASKS), ("hosts", HOSTS)):
            marks = ", ".join(["%s"] * len(columns))
            rows = [tuple(row) for row in zip(*columns.values(), strict=True)]
            connection.exec_driver_sql(f"insert into {table} values ({marks})", rows)
    monkeypatch.setenv("INVENTORY_URL", schema)
    return engine


def written(folder: Path, text: str) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults_of(path: Path) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        load(path)
    return list(caught.value.faults)


def test_csv_sqlite_and_postgresql_are_the_same_problem(tmp_path: Path, inventory: Engine) -> None:
    write_csv(tmp_path / "tasks.csv", TASKS)
    write_csv(tmp_path / "hosts.csv", HOSTS)
    write_sqlite(tmp_path / "inventory.db", tasks=TASKS, hosts=HOSTS)
    from_csv = facts(load(written(tmp_path, scenario("file: tasks.csv", "file: hosts.csv"))).problem)
    from_sqlite = scenario(*(source.replace("${INVENTORY_URL}", "sqlite:///inventory.db") for source in FROM_POSTGRES))
    assert facts(load(written(tmp_path, from_sqlite)).problem) == from_csv
    assert facts(load(written(tmp_path, scenario(*FROM_POSTGRES))).problem) == from_csv
    assert from_csv["objects"] == ["17", "18", "19", "20"]
    assert from_csv["initial"] == ["a", "ö'1", None, "a"]


def test_values_of_every_kind(tmp_path: Path, inventory: Engine) -> None:
    own = uuid.UUID("12345678-1234-5678-1234-567812345678")
    query = (
        f"select '{own}'::uuid as task, 7::numeric(9, 0) as host, 0.1::real as cpu, 'x'::varchar as job, "
        "'{\"a\": 1}'::jsonb as app"
    )
    hosts = 'url: "${INVENTORY_URL}", query: "select 7 as host, 2.5::float8 as cores, null as rack"'
    text = scenario(f'url: "${{INVENTORY_URL}}", query: {json.dumps(query)}', hosts)
    found = facts(load(written(tmp_path, text)).problem)
    assert (found["objects"], found["initial"]) == ([str(own)], ["7"])
    assert [float(value) for value in found["used"]["cpu"]] == [0.1]
    assert found["attributes"]["object", "app"] == {str(own): {"a": 1}}


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "message"),
    [
        ("from tasks", "from taks", 4, "unknown-name", "no table 'taks'; did you mean 'tasks'?"),
        ("* from tasks", "tsk from tasks", 4, "unknown-name", "column 'tsk' that does not exist; did you mean 'task'?"),
        ("* from tasks", "from from tasks", 4, "sql-error", "syntax error"),
        ("* from tasks order by task", "1 / (task - 19) as task from tasks", 4, "sql-error", "division by zero"),
        ("select * from tasks", "with x as (delete from tasks returning *) select * from x", 4, "sql-error", ""),
        ("cores}", "coers}", 5, "missing-column", "did you mean 'cores'?"),
    ],
)  # fmt: skip
def test_faults_have_places_and_no_followers(
    tmp_path: Path, inventory: Engine, old: str, new: str, line: int, code: str, message: str
) -> None:
    faults = faults_of(written(tmp_path, scenario(*FROM_POSTGRES).replace(old, new, 1)))
    assert len(faults) == 1, "\n".join(map(str, faults))
    assert (faults[0].line, faults[0].code) == (line, code)
    assert message in faults[0].message
    with inventory.connect() as connection:
        assert connection.exec_driver_sql("select count(*) from tasks").scalar() == 4


@pytest.mark.parametrize("part", ["password", "port", "database"])
def test_a_server_that_cannot_be_used_is_one_error_without_the_password(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    url = make_url(server)
    wrong = url.set(**{part: {"password": "other-secret", "port": 1, "database": "nowhere"}[part]})
    monkeypatch.setenv("INVENTORY_URL", wrong.render_as_string(hide_password=False))
    result = run("check", written(tmp_path, scenario(*FROM_POSTGRES)))
    assert result.exit_code == 2
    assert "error[unreachable-database]: cannot read from 'postgresql+psycopg://" in result.stderr
    for secret in ("other-secret", str(url.password), str(url.password).replace("@", "%40")):
        assert secret not in result.output + result.stderr


def test_tables_are_read_at_one_moment(tmp_path: Path, inventory: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that moves to a new host between the two queries is seen in both, or in neither."""
    from rebalancer.scenario import sources

    read_table = sources.Sources.open

    def meanwhile(self: Any, source: Any, wanted: Any) -> Any:
        found = read_table(self, source, wanted)
        with inventory.begin() as connection:
            connection.exec_driver_sql("insert into hosts values ('new' || (select count(*) from hosts), 1, null)")
            connection.exec_driver_sql("update tasks set host = 'new2' where task = 17")
        return found

    monkeypatch.setattr(sources.Sources, "open", meanwhile)
    assert list(load(written(tmp_path, scenario(*FROM_POSTGRES))).problem.containers) == ["a", "ö'1"]


def test_many_rows_come_in_chunks(tmp_path: Path, inventory: Engine) -> None:
    with inventory.begin() as connection:
        connection.exec_driver_sql(
            "insert into tasks select n, case when mod(n, 2) = 0 then 'a' end, n / 8.0, 'j' || mod(n, 10), null "
            "from generate_series(1000, 200999) as n"
        )
    problem = load(written(tmp_path, scenario(*FROM_POSTGRES))).problem
    assert len(problem.objects) == 200_004
    assert int((problem.initial >= 0).sum()) == 100_003
    assert problem.dimension("cpu").scale == 10**6


def test_a_job_reads_its_snapshot_from_the_server(tmp_path: Path, inventory: Engine, schema: str) -> None:
    written(tmp_path, scenario("", "").replace("{, ", "{"))
    (tmp_path / "job.yaml").write_text(
        "scenario: scenario.yaml\n"
        "snapshot:\n"
        "  tables:\n"
        "    task: {query: select * from tasks order by task}\n"
        "    host: {query: select * from hosts order by host}\n"
        "  url: ${INVENTORY_URL}\n"
        "  taken: {query: \"select timestamptz '2026-11-21 03:00:00+01'\"}\n"
    )
    snapshot = take_snapshot(read_job(tmp_path / "job.yaml"))
    assert snapshot.taken == datetime(2026, 11, 21, 2, tzinfo=UTC)
    assert snapshot.sizes == {"rows of task": 4, "rows of host": 2, "objects": 4, "containers": 2}
    names = list(snapshot.inputs)
    assert names[:2] == [str(tmp_path / "job.yaml"), str(tmp_path / "scenario.yaml")]
    assert [name.rpartition("#")[2] for name in names[2:]] == ["task", "host"]
    password = str(make_url(schema).password)
    assert all(password not in name and "***" in name for name in names[2:])
