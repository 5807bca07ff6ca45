"""Snapshots: where the rows come from, what was read, when it was taken, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rebalancer.jobs.job import read_job
from rebalancer.jobs.snapshot import Snapshot, snapshot_refusals, take_snapshot
from rebalancer.problem import UNPLACED, Fault, InputError
from tests.cli.commands import parsed, run
from tests.scenario.tables import write_parquet, write_sqlite

RULES = """\
object: task
container: host
tables:
  task: {file: tasks.csv, key: task, container: host, dimensions: [cpu]}
  host: {file: hosts.csv, key: host, dimensions: [cpu]}
constraints:
  - capacity: {scope: host, dimension: cpu}
    name: fits
solve: {time_limit: 20s, workers: 1}
plan: {max_in_flight: 7, staging: false}
"""
TASKS = {"task": ["t0", "t1", "t2"], "host": ["h0", "h0", None], "cpu": [1, 2, 3]}
JOB = "scenario: rules/scenario.yaml\n"
NOW = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


def world(folder: Path, job: str = JOB) -> Path:
    """Write a scenario with tables of yesterday, tables of tonight, and a job; return the job file."""
    rules, tonight = folder / "rules", folder / "tonight"
    rules.mkdir()
    tonight.mkdir()
    (rules / "scenario.yaml").write_text(RULES)
    (rules / "tasks.csv").write_text("task,host,cpu\nold0,h0,1\n")
    (rules / "hosts.csv").write_text("host,cpu\nh0,10\nh1,10\n")
    (tonight / "tasks.csv").write_text("task,host,cpu\nt0,h0,1\nt1,h0,2\nt2,,3\n")
    write_parquet(tonight / "tasks.parquet", TASKS)
    write_sqlite(tonight / "inventory.db", tasks=TASKS, seen={"at": ["2026-11-21 01:30:00"], "odd": [None]})
    return written(folder, job)


def written(folder: Path, job: str) -> Path:
    path = folder / "job.yaml"
    path.write_text(job, encoding="utf-8")
    return path


def taken(path: Path) -> Snapshot:
    return take_snapshot(read_job(path))


def faults_of(path: Path) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        taken(path)
    return list(caught.value.faults)


def dated(path: Path, moment: datetime) -> None:
    os.utime(path, (moment.timestamp(), moment.timestamp()))


# -- sources ----------------------------------------------------------------------------------------------------------

DATABASE = "sqlite:///tonight/inventory.db"


@pytest.mark.parametrize(
    "source",
    [
        "{file: tonight/tasks.csv}",
        "{file: tonight/tasks.parquet}",
        f"{{query: select * from tasks, url: {DATABASE!r}}}",
        "[{query: select * from tasks}]",
    ],
)
def test_tonights_table_takes_the_place_of_the_scenarios(tmp_path: Path, source: str) -> None:
    path = world(tmp_path, f"{JOB}snapshot:\n  tables:\n    task: {source}\n  url: {DATABASE}\n")
    snapshot = taken(path)
    problem = snapshot.scenario.problem
    assert list(problem.objects) == ["t0", "t1", "t2"]
    assert problem.initial.tolist() == [0, 0, UNPLACED]
    assert problem.dimension("cpu").values[:, 0].tolist() == [1, 2, 3]
    assert snapshot.sizes == {"rows of task": 3, "rows of host": 2, "objects": 3, "containers": 2}
    assert str(tmp_path / "rules" / "tasks.csv") not in snapshot.files


def test_without_a_snapshot_the_scenario_says_all(tmp_path: Path) -> None:
    snapshot = taken(world(tmp_path))
    assert list(snapshot.scenario.problem.objects) == ["old0"]
    files = [
        tmp_path / "job.yaml",
        *(tmp_path / "rules" / name for name in ("scenario.yaml", "tasks.csv", "hosts.csv")),
    ]
    assert snapshot.files == tuple(map(str, files))
    assert snapshot.inputs == {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_inputs_name_files_and_queries_with_their_digests(tmp_path: Path) -> None:
    path = world(tmp_path, f"{JOB}snapshot:\n  tables: {{task: {{query: select * from tasks}}}}\n  url: {DATABASE}\n")
    first = taken(path)
    assert set(first.inputs) == {*first.files, f"{DATABASE}#task"}
    with sqlite3.connect(tmp_path / "tonight" / "inventory.db") as connection:
        connection.execute("update tasks set cpu = 4 where task = 't0'")
    connection.close()
    again = taken(path).inputs
    assert {name for name in again if again[name] != first.inputs[name]} == {f"{DATABASE}#task"}


def test_a_table_that_jobs_always_name_needs_no_source_in_the_scenario(tmp_path: Path) -> None:
    path = world(tmp_path, f"{JOB}snapshot: {{tables: {{task: {{file: tonight/tasks.csv}}}}}}\n")
    (tmp_path / "rules" / "scenario.yaml").write_text(RULES.replace("file: tasks.csv, ", ""))
    assert list(taken(path).scenario.problem.objects) == ["t0", "t1", "t2"]
    with pytest.raises(InputError, match="missing field 'file'"):
        taken(written(tmp_path, JOB))


def test_lists_of_tables_are_replaced_one_by_one(tmp_path: Path) -> None:
    one = "{file: tasks.csv, key: task, container: host, dimensions: [cpu]}"
    path = world(tmp_path, f"{JOB}snapshot:\n  tables: {{task: [{{file: tonight/tasks.csv}}, {{file: more.csv}}]}}\n")
    (tmp_path / "rules" / "scenario.yaml").write_text(RULES.replace(one, f"[{one}, {one}]"))
    (tmp_path / "more.csv").write_text("task,host,cpu\nt3,h1,4\n")
    snapshot = taken(path)
    assert list(snapshot.scenario.problem.objects) == ["t0", "t1", "t2", "t3"]
    assert snapshot.rows["rows of task"] == 4
    written(tmp_path, f"{JOB}snapshot:\n  tables: {{task: {{file: tonight/tasks.csv}}}}\n")
    (fault,) = faults_of(path)
    assert (fault.file, fault.line, fault.code) == (str(path), 3, "wrong-value")
    assert "has 2 tables of 'task', this states 1 table" in fault.message


def test_solve_and_plan_of_the_job_go_over_those_of_the_scenario(tmp_path: Path) -> None:
    scenario = taken(world(tmp_path, f"{JOB}solve: {{workers: 4}}\nplan: {{max_in_flight: 50}}\n")).scenario
    assert (scenario.solve.time_limit, scenario.solve.workers, scenario.solve.engine) == (20, 4, "auto")
    assert (scenario.plan.max_in_flight, scenario.plan.staging) == (50, False)


# -- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "line", "code", "message"),
    [
        ("snapshot:\n  tables:\n    tsk: {file: a.csv}\n", 4, "unknown-name", "no table 'tsk'; did you mean 'task'?"),
        ("snapshot:\n  tables:\n    task: {file: tonight/task.csv}\n", 4, "missing-file", "'tonight/tasks.csv'?"),
        ("snapshot:\n  tables:\n    task: {file: tonight/inventory.db}\n", 4, "unknown-format", ".csv or .parquet"),
        ("snapshot:\n  tables:\n    task: {query: select 1}\n  url: sqlite:///no.db\n", 5, "missing-file", "'no.db'"),
        ("snapshot:\n  tables:\n    task: {query: select * from taks}\n  url: DB\n", 4, "unknown-name", "'tasks'?"),
        ("snapshot:\n  taken: {query: select * from taks}\n  url: DB\n", 3, "unknown-name", "did you mean 'tasks'?"),
        ("snapshot:\n  taken: {query: select * from tasks}\n  url: DB\n", 3, "wrong-value", "3 rows of 3 columns"),
        ("snapshot:\n  taken: {query: select at from seen where 0}\n  url: DB\n", 3, "wrong-value", "returns no row"),
        ("snapshot:\n  taken: {query: select odd from seen}\n  url: DB\n", 3, "wrong-value", "returns nothing"),
        ("snapshot:\n  taken: {file: tonight/tasks.csv}\n", 3, "wrong-value", "expected a time such as"),
        ("snapshot:\n  taken: {file: tonight/stamp}\n", 3, "missing-file", "'tonight/stamp' does not exist"),
        ("plan:\n  max_per_group: {jbo: 2}\n", 3, "unknown-name", "unknown partition 'jbo'"),
    ],
)  # fmt: skip
def test_a_fault_stands_in_the_job_file(tmp_path: Path, section: str, line: int, code: str, message: str) -> None:
    path = world(tmp_path, JOB + section.replace("DB", DATABASE))
    faults = faults_of(path)
    assert len(faults) == 1, "\n".join(map(str, faults))
    assert (faults[0].file, faults[0].line, faults[0].code) == (str(path), line, code)
    assert message in faults[0].message


def test_a_missing_column_stands_in_the_scenario_that_names_it(tmp_path: Path) -> None:
    path = world(tmp_path, f"{JOB}snapshot: {{tables: {{task: {{file: tonight/tasks.csv}}}}}}\n")
    (tmp_path / "tonight" / "tasks.csv").write_text("task,hots,cpu\nt0,h0,1\n")
    (fault,) = faults_of(path)
    assert (fault.file, fault.line, fault.code) == (str(tmp_path / "rules" / "scenario.yaml"), 4, "missing-column")
    assert "'tonight/tasks.csv' has no column 'host'; did you mean 'hots'?" in fault.message


# -- when it was taken ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-11-21T02:00:00Z\n", NOW),
        ("2026-11-21T03:00:00+01:00", NOW),
        ("2026-11-21 02:00", NOW),
        ("2026-11-21", NOW.replace(hour=0)),
        ("1795226400\n", NOW),
    ],
)
def test_a_file_says_when(tmp_path: Path, stamp: str, expected: datetime) -> None:
    path = world(tmp_path, f"{JOB}snapshot: {{taken: {{file: stamp.txt}}}}\n")
    (tmp_path / "stamp.txt").write_text(stamp)
    assert taken(path).taken == expected


@pytest.mark.parametrize("column", ["at", "1795224600", "1795224600.0", "'2026-11-21T02:30:00+01:00'"])
def test_a_query_says_when(tmp_path: Path, column: str) -> None:
    section = f'snapshot:\n  taken: {{query: "select {column} from seen"}}\n  url: {DATABASE}\n'
    assert taken(world(tmp_path, JOB + section)).taken == NOW - timedelta(minutes=30)


def test_otherwise_the_oldest_file_of_the_snapshot_says_when(tmp_path: Path) -> None:
    path = world(tmp_path, f"{JOB}snapshot: {{tables: {{task: {{file: tonight/tasks.csv}}}}}}\n")
    for name, hours in (("rules/scenario.yaml", 99), ("rules/hosts.csv", 50), ("tonight/tasks.csv", 3)):
        dated(tmp_path / name, NOW - timedelta(hours=hours))
    dated(tmp_path / "rules" / "tasks.csv", NOW)
    assert taken(path).taken == NOW - timedelta(hours=3)
    assert taken(written(tmp_path, JOB)).taken == NOW - timedelta(hours=50)


def test_a_database_is_of_now(tmp_path: Path) -> None:
    path = world(tmp_path, f"{JOB}snapshot:\n  tables: {{task: {{query: select * from tasks}}}}\n  url: {DATABASE}\n")
    dated(tmp_path / "rules" / "hosts.csv", NOW)
    before = datetime.now(UTC)
    assert before <= taken(path).taken <= datetime.now(UTC)


# -- what is refused --------------------------------------------------------------------------------------------------


def refusals(
    folder: Path, section: str, now: datetime = NOW, before: Mapping[str, int] | None = None, age: float = 0
) -> list[str]:
    path = world(folder, f"{JOB}snapshot: {{tables: {{task: {{file: tonight/tasks.csv}}}}{section}}}\n")
    dated(folder / "tonight" / "tasks.csv", now - timedelta(hours=age))
    job = read_job(path)
    return snapshot_refusals(job, take_snapshot(job), now, before)


@pytest.mark.parametrize(("age", "refused"), [(5.9, False), (6, False), (6.1, True), (100, True)])
def test_an_old_snapshot_is_refused(tmp_path: Path, age: float, refused: bool) -> None:
    reasons = refusals(tmp_path, ", max_age: 6h", age=age)
    assert len(reasons) == refused
    assert all("max_age allows 6 h" in reason for reason in reasons)


def test_without_max_age_no_snapshot_is_too_old(tmp_path: Path) -> None:
    assert refusals(tmp_path, "", age=24 * 365) == []


@pytest.mark.parametrize(("minutes", "refused"), [(4, False), (6, True)])
def test_a_snapshot_from_the_future_is_refused(tmp_path: Path, minutes: int, refused: bool) -> None:
    reasons = refusals(tmp_path, "", age=-minutes / 60)
    assert len(reasons) == refused
    assert all("from the future" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("section", "before", "about"),
    [
        ("", {"rows of task": 3, "objects": 3, "containers": 2}, []),
        ("", None, []),
        ("", {"objects": 2, "rows of task": 1}, []),
        ("", {"objects": 4}, ["objects fell from 4 to 3 (25 % fewer)"]),
        (", max_shrink: 25%", {"objects": 4}, []),
        (", max_shrink: 24.9%", {"objects": 4}, ["objects"]),
        (", max_shrink: 0", {"objects": 4, "rows of task": 4, "containers": 2}, ["objects", "rows of task"]),
        (", max_shrink: 100%", {"objects": 4000}, []),
        ("", {"rows of host": 4, "containers": 4}, ["rows of host", "containers"]),
        ("", {"rows of rack": 4}, []),
        ("", {"objects": 0}, []),
    ],
)
def test_a_shrunk_snapshot_is_refused(
    tmp_path: Path, section: str, before: dict[str, int] | None, about: list[str]
) -> None:
    reasons = refusals(tmp_path, section, before=before)
    assert len(reasons) == len(about)
    assert all(reason.startswith(start) for reason, start in zip(reasons, about, strict=True))


def test_ten_percent_may_go_unless_the_job_says_otherwise(tmp_path: Path) -> None:
    path = world(tmp_path)
    (tmp_path / "rules" / "tasks.csv").write_text("task,host,cpu\n" + "".join(f"t{n},h0,0\n" for n in range(90)))
    job = read_job(path)
    snapshot = take_snapshot(job)
    assert snapshot_refusals(job, snapshot, datetime.now(UTC), {"objects": 100}) == []
    assert len(snapshot_refusals(job, snapshot, datetime.now(UTC), {"objects": 101})) == 1


# -- Kubernetes -------------------------------------------------------------------------------------------------------

CLUSTER = "snapshot: {kubernetes: {nodes: nodes.json, pods: pods.json}}\n"


def cluster(folder: Path, job: str = CLUSTER) -> Path:
    def listed(kind: str, items: list[dict[str, Any]]) -> str:
        return json.dumps({"items": [{"kind": kind, **item} for item in items]})

    allocatable = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    nodes = [{"metadata": {"name": f"n{n}"}, "status": {"allocatable": allocatable}} for n in range(2)]
    pods = [
        {
            "metadata": {"name": f"p{n}", "labels": {"app": "web"}},
            "spec": {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": "500m"}}}]},
        }
        for n in range(3)
    ]
    (folder / "nodes.json").write_text(listed("Node", nodes))
    (folder / "pods.json").write_text(listed("Pod", pods))
    return written(folder, job)


def test_a_cluster_is_a_snapshot(tmp_path: Path) -> None:
    snapshot = taken(cluster(tmp_path))
    problem = snapshot.scenario.problem
    assert list(problem.objects) == ["default/p0", "default/p1", "default/p2"]
    assert list(problem.containers) == ["n0", "n1"]
    assert snapshot.sizes == {"rows of pod": 3, "rows of node": 2, "objects": 3, "containers": 2}
    assert snapshot.files == tuple(str(tmp_path / name) for name in ("job.yaml", "nodes.json", "pods.json"))
    assert list(snapshot.inputs) == list(snapshot.files)


def test_the_age_of_a_cluster_is_that_of_its_oldest_file(tmp_path: Path) -> None:
    path = cluster(tmp_path)
    dated(tmp_path / "nodes.json", NOW)
    assert taken(path).taken == NOW


def test_the_rules_of_a_job_are_included_in_its_cluster(tmp_path: Path) -> None:
    path = cluster(tmp_path, f"scenario: rules.yaml\n{CLUSTER}solve: {{workers: 3}}\n")
    (tmp_path / "rules.yaml").write_text(
        "goals:\n  - balance: {scope: node, dimension: cpu}\n    name: even\nplan: {max_in_flight: 2}\n"
    )
    snapshot = taken(path)
    assert {goal.name for goal in snapshot.scenario.goals} == {"even", "moves"}
    assert (snapshot.scenario.plan.max_in_flight, snapshot.scenario.solve.workers) == (2, 3)
    assert snapshot.files[1] == str(tmp_path / "rules.yaml")


@pytest.mark.parametrize(
    ("rules", "place", "message"),
    [
        ("goals:\n  - balance: {scope: nod, dimension: cpu}\n", "rules.yaml:2:", "did you mean 'node'?"),
        ("assignment: {n0: []}\n", "rules.yaml:1:", "an included file may hold constraints, goals"),
        (None, "job.yaml:1:", "'rules.yaml' does not exist"),
    ],
)
def test_a_fault_of_those_rules_stands_there(tmp_path: Path, rules: str | None, place: str, message: str) -> None:
    path = cluster(tmp_path, f"scenario: rules.yaml\n{CLUSTER}")
    if rules is not None:
        (tmp_path / "rules.yaml").write_text(rules)
    (fault,) = faults_of(path)
    assert f"{fault.file}:{fault.line}:".endswith(f"/{place}")
    assert message in fault.message


def test_faults_of_a_cluster(tmp_path: Path) -> None:
    path = cluster(tmp_path)
    (tmp_path / "pods.json").write_text('{"items": [')
    (fault,) = faults_of(path)
    assert (fault.file, fault.code) == (str(tmp_path / "pods.json"), "json-syntax")
    (tmp_path / "pods.json").unlink()
    (tmp_path / "nodes.json").unlink()
    assert [(fault.file, fault.line, fault.code) for fault in faults_of(path)] == [(str(path), 1, "missing-file")] * 2


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("spec", [1]), ("spec", {"containers": 3}), ("spec", {"nodeName": ["n0"]}), ("metadata", {"name": 3})],
)
def test_a_pod_that_kubernetes_would_not_write_is_a_fault(tmp_path: Path, field: str, wrong: Any) -> None:
    path = cluster(tmp_path)
    content = json.loads((tmp_path / "pods.json").read_text())
    content["items"][1][field] = wrong
    (tmp_path / "pods.json").write_text(json.dumps(content))
    (fault,) = faults_of(path)
    assert (fault.file, fault.code) == (str(tmp_path / "pods.json"), "kubernetes-object")


def test_what_cannot_be_read_in_a_cluster_is_no_fault_of_a_file_that_is_gone(tmp_path: Path) -> None:
    path = cluster(tmp_path)
    odd = {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}
    content = json.loads((tmp_path / "pods.json").read_text())
    content["items"][0]["spec"].update(odd)
    (tmp_path / "pods.json").write_text(json.dumps(content))
    faults = faults_of(path)
    assert {fault.file for fault in faults} == {str(tmp_path / "pods.json")}


# -- plans ------------------------------------------------------------------------------------------------------------


def test_a_plan_is_verified_against_the_snapshot_of_now(tmp_path: Path) -> None:
    """A plan whose first input is a job is replayed in the state that the job finds now."""
    path = world(tmp_path, f"{JOB}snapshot: {{tables: {{task: {{query: select * from tasks, url: '{DATABASE}'}}}}}}\n")
    snapshot = taken(path)
    assert run("plan", tmp_path / "rules" / "scenario.yaml", "-o", tmp_path / "out").exit_code == 0
    plan = tmp_path / "out" / "plan.json"
    content = json.loads(plan.read_text())
    content["inputs"] = snapshot.inputs
    plan.write_text(json.dumps(content))
    assert parsed(run("verify", plan, "--json"))["reasons"] == []
    with sqlite3.connect(tmp_path / "tonight" / "inventory.db") as connection:
        connection.execute("update tasks set host = 'h1'")
    connection.close()
    assert parsed(run("verify", plan, "--json"))["reasons"] == [
        f"'{DATABASE}#task' has changed since the plan was made"
    ]
