"""A job file: what it means, and every mistake in it at its place, none with a password."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rebalancer.jobs.job import Job, is_job, read_job
from rebalancer.jobs.schema import json_schema
from rebalancer.problem import Fault, InputError
from tests.cli.commands import SCENARIO, parsed, run

ROOT = Path(__file__).parents[2]

JOB = """\
name: web fleet
scenario: rules/scenario.yaml
snapshot:
  tables:
    task: {file: inventory/tasks.csv}
    host: {query: "select * from hosts", url: "sqlite:///inventory.db"}
  url: ${INVENTORY_URL}
  taken: {query: select max(seen) from hosts}
  max_age: 6h
  max_shrink: 12.5%
solve: {time_limit: 10m, workers: 4}
plan: {max_in_flight: 50}
guards:
  max_moves: 500
  max_moved_fraction: 0.05
  when_exceeded: trim
  min_gain: 1%
  cool_down: 1d
  deadline: 45m
output: {folder: out/plans, keep: 30, format: 'mv-task {object} {source} {destination}'}
history: sqlite:///state/history.db
metrics: /var/lib/metrics/rebalancer.prom
lock: fleet.lock
"""
SECRET = "ge%40heim"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INVENTORY_URL", f"postgresql://bob:{SECRET}@db/x")


def written(folder: Path, text: str, name: str = "job.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, name: str = "job.yaml") -> Job:
    return read_job(written(folder, text, name))


def faults_of(folder: Path, text: str) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    faults = list(caught.value.faults)
    assert all(fault.file == str(folder / "job.yaml") and fault.line and fault.column for fault in faults)
    assert SECRET not in str(caught.value)
    return faults


# -- what it means ----------------------------------------------------------------------------------------------------


def test_everything_that_a_job_may_say(tmp_path: Path) -> None:
    job = read(tmp_path, JOB)
    assert job.name == "web fleet"
    assert job.scenario == str(tmp_path / "rules" / "scenario.yaml")
    assert job.snapshot.max_age == 6 * 3600
    assert job.snapshot.max_shrink == Fraction(1, 8)
    assert (job.solve.time_limit, job.solve.workers) == (600, 4)
    assert job.solve.model_fields_set == {"time_limit", "workers"}
    assert job.plan is not None
    assert job.plan.max_in_flight == 50
    guards = job.guards
    assert (guards.max_moves, guards.max_moved_fraction, guards.when_exceeded) == (500, Fraction(1, 20), "trim")
    assert (guards.min_gain, guards.cool_down, guards.deadline) == (Fraction(1, 100), 86400, 2700)
    assert (job.output.folder, job.output.keep) == (str(tmp_path / "out" / "plans"), 30)
    assert job.history == f"sqlite:///{tmp_path}/state/history.db"
    assert (job.metrics, job.lock) == ("/var/lib/metrics/rebalancer.prom", str(tmp_path / "fleet.lock"))
    assert SECRET not in repr(job)


def test_what_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "scenario: scenario.yaml\nguards:\nsnapshot:\n", "web.yaml")
    monkeypatch.chdir(tmp_path)
    job = read_job("web.yaml")
    assert (job.name, job.scenario, job.lock, job.metrics) == ("web", "scenario.yaml", "web.lock", None)
    assert job.history == f"sqlite:///{tmp_path}/history.db"
    assert (job.output.folder, job.output.keep, job.output.format) == ("plans", None, None)
    assert job.snapshot.max_shrink == Fraction(1, 10)
    assert (job.plan, job.snapshot.max_age, job.guards.max_moves, job.guards.deadline) == (None, None, None, None)


def test_the_url_of_the_history_comes_from_the_environment(tmp_path: Path) -> None:
    assert read(tmp_path, "scenario: s.yaml\nhistory: ${INVENTORY_URL}\n").history == os.environ["INVENTORY_URL"]


# -- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "at", "code", "message"),
    [
        ("guards:", "gaurds:", 13, "gaurds", "unknown-field", "did you mean 'guards'?"),
        ("max_moves", "max_move", 14, "max_move", "unknown-field", "did you mean 'max_moves'?"),
        ("max_moves: 500", "max_moves: 0.5", 14, "0.5", "wrong-type", "expected a whole number, got 0.5"),
        ("max_moves: 500", "max_moves: -1", 14, "-1", "out-of-range", "expected 0 or more, got -1"),
        ("0.05", "5", 15, "5", "out-of-range", "a share between 0 and 1 (or 0% and 100%), got 5"),
        ("0.05", "many%", 15, "many%", "wrong-type", "or a percentage such as 10%, got 'many%'"),
        ("12.5%", "101%", 10, "101%", "out-of-range", "a share between 0 and 1"),
        ("trim", "trimm", 16, "trimm", "unknown-value", "did you mean 'trim'?"),
        ("min_gain: 1%", "min_gain: -1%", 17, "-1%", "out-of-range", "0 or more"),
        ("1d", "1x", 18, "1x", "wrong-type", "expected a duration such as 60s, 5m or 1h30m, got '1x'"),
        ("45m", "0", 19, "0", "wrong-type", "a duration above zero"),
        ("keep: 30", "keep: 0", 20, "0", "out-of-range", "1 or more"),
        ("{object}", "{task}", 20, "'mv-task", "unknown-placeholder", "unknown placeholder '{task}'"),
        ("folder: out/plans", 'folder: ""', 20, '""', "empty-name", "folder: expected a path, got nothing"),
        ("sqlite:///state/history.db", "'sqlite://'", 21, "'sqlite", "wrong-value", "gone before the next night"),
        ("rebalancer.prom", "rebalancer.txt", 22, "/var", "wrong-value", "the name must end in '.prom'"),
        ("sqlite:///state/history.db", "history.db", 21, "history.db", "wrong-value", "no URL of a database"),
        ("${INVENTORY_URL}", "${INVENTROY_URL}", 7, "${", "unset-variable", "'INVENTROY_URL' is not set"),
        ("${INVENTORY_URL}", f"mysql://bob:{SECRET}@db:port/x", 7, "mysql", "wrong-value", "no URL of a database"),
        ("name: web fleet", "name: ''", 1, "''", "wrong-type", "a name that can be printed on one line"),
        ("name: web fleet", f"name: {'a' * 256}", 1, "aaa", "wrong-type", "at most 255 characters, got one of 256"),
        ("scenario: rules/scenario.yaml", "scenario: [a]", 2, "scenario", "wrong-type", "got a list"),
        ("file: inventory/tasks.csv", "fiel: inventory/tasks.csv", 5, "fiel", "unknown-field", "did you mean 'file'?"),
        ("{file: inventory/tasks.csv}", "{}", 5, "task", "missing-field", "'file' or 'query' of table 'task'"),
        ("{file: i", "{query: select 1, file: i", 5, "select", "unsupported-field", "from a file or from a query"),
        ("{file: inventory/tasks.csv}", "{file: a.csv, url: sqlite://}", 5, "sqlite", "unsupported-field", "no 'url'"),
        ("  url: ${INVENTORY_URL}\n", "", 7, "select", "missing-field", "missing field 'url' of 'taken'"),
        ("solve: {", "solve: {engine: fast, ", 11, "fast", "unknown-value", "unknown value 'fast'"),
        ("max_in_flight: 50", "max_inflight: 50", 12, "max_inflight", "unknown-field", "did you mean 'max_in_flight'?"),
        ("  max_age", "  kubernetes: {nodes: a, pods: b}\n  max_age", 4, "tables", "unsupported-field", "either"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_fault_at_its_place(
    tmp_path: Path, old: str, new: str, line: int, at: str, code: str, message: str
) -> None:
    assert old in JOB
    text = JOB.replace(old, new, 1)
    faults = faults_of(tmp_path, text)
    assert len(faults) == 1, "\n".join(map(str, faults))
    assert (faults[0].line, faults[0].code) == (line, code)
    assert message in faults[0].message
    if code != "missing-field":
        assert faults[0].column == text.splitlines()[line - 1].index(at) + 1


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    text = (
        "scenari: s.yaml\nguards: {max_moves: x}\noutput: {keep: y, format: ''}\nhistory: ${UNSET}\nmetrics:\n  - a\n"
    )
    assert [fault.line for fault in faults_of(tmp_path, text)] == [1, 2, 3, 3, 4, 5]


def test_a_scenario_is_no_job(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, "container: host\nassignment: {h0: [a]}\nsolve: {time_limit: 5s}\n")
    assert fault.message == "this is a scenario, not a job; a job names it: 'scenario: job.yaml'"


def test_a_job_needs_a_scenario_or_a_cluster(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, "name: a\n")
    assert (fault.code, fault.message) == ("missing-field", "missing field 'scenario' of the job")
    assert read(tmp_path, "snapshot: {kubernetes: {nodes: n.json, pods: p.json}}\n").scenario is None


@pytest.mark.parametrize("text", ["", "- a\n", "name: [", "\tname: a\n", "just text\n"])
def test_what_is_no_job_is_one_fault(tmp_path: Path, text: str) -> None:
    assert len(faults_of(tmp_path, text)) == 1


def test_a_job_that_is_not_there(tmp_path: Path) -> None:
    written(tmp_path, JOB)
    with pytest.raises(InputError, match=re.escape("did you mean")):
        read_job(tmp_path / "jib.yaml")


def test_a_job_is_told_from_a_scenario(tmp_path: Path) -> None:
    assert is_job(str(written(tmp_path, JOB)))
    assert is_job(str(written(tmp_path, "scenario: a.yaml\nsolve: {}\n")))
    for text in (SCENARIO, "", "[", "solve: {}\n"):
        assert not is_job(str(written(tmp_path, text)))
    assert not is_job(str(tmp_path / "nowhere.yaml"))


# -- the schema -------------------------------------------------------------------------------------------------------


def errors(text: str) -> list[Any]:
    return list(jsonschema.Draft7Validator(json_schema()).iter_errors(yaml.safe_load(text)))


def test_the_schema_accepts_jobs_and_finds_typos() -> None:
    jsonschema.Draft7Validator.check_schema(json_schema())
    assert not errors(JOB)
    assert not errors("scenario: a.yaml\nguards: {max_moved_fraction: 5%, min_gain: 0.1}\n")
    for wrong in ("gaurds: {}", "guards: {when_exceeded: trimm}", "snapshot: {tables: {a: {file: a, query: b}}}",
                  "output: {keep: many}", "solve: {engine: fast}"):  # fmt: skip
        assert errors(wrong), wrong


@pytest.mark.parametrize("kind", ["scenario", "job", "plan"])
def test_the_command_prints_the_published_schemas(kind: str) -> None:
    published = json.loads((ROOT / "docs" / f"{kind}.schema.json").read_text(encoding="utf-8"))
    assert parsed(run("schema", kind)) == published


def test_an_unknown_kind_of_schema_is_bad_usage() -> None:
    result = run("schema", "jbo")
    assert result.exit_code == 2
    assert "did you mean 'job'?" in result.stderr


def test_every_field_of_a_job_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "nightly-jobs.md").read_text(encoding="utf-8")
    for section in ("SnapshotOptions", "Guards", "Output", "Taken", "KubernetesFiles"):
        for field in json_schema()["definitions"][section]["properties"]:
            assert re.search(rf"\| `[\w.]*\b{field}` \|", page), f"{section}.{field}"
