"""What people read about nightly jobs is what happens: the guide, the scenario `nightly`, the examples to copy."""

import configparser
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from csv import reader
from pathlib import Path
from typing import Any

import pytest
import yaml

from rebalancer.jobs.job import read_job
from tests.cli.commands import ROOT, parsed, run
from tests.support.pages import alike, follow

GUIDE = ROOT / "docs" / "guide" / "first-nightly-job.md"
NIGHTLY = ROOT / "scenarios" / "nightly"
DEPLOY = NIGHTLY / "deploy"
#: Commands that show which of several equally good plans it is: as long as the page says, but perhaps another one.
EQUALS = ("cat plans/latest/plan.", 'grep "^|')


def compared(page: Path) -> list[str]:
    """Do what a page says in the current folder, compare what it shows, and return the commands."""
    done = []
    for command, printed in follow(page, "/srv/fleet"):
        done.append(command.line)
        if command.output is None:
            continue
        if command.line.startswith(EQUALS):
            assert len(printed.splitlines()) == len(command.output.splitlines()), command.line
        else:
            assert alike(printed) == alike(command.output), command.line
        if "inventory" not in command.line and Path("inventory/tasks.csv").exists():
            as_database(Path("inventory"), Path("inventory.db"))
    return done


def as_database(folder: Path, file: Path) -> None:
    """Write the tables of an inventory into a database, with when they were seen."""
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        for path in folder.glob("*.csv"):
            with path.open(encoding="utf-8", newline="") as opened:
                head, *rows = reader(opened)
            connection.execute(f"create table {path.stem} ({', '.join(head)}, seen_at default current_timestamp)")
            marks = ", ".join("?" * len(head))
            values = [[value or None for value in row] for row in rows]
            connection.executemany(f"insert into {path.stem} ({', '.join(head)}) values ({marks})", values)


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INVENTORY_URL", "sqlite:///inventory.db")
    done = compared(GUIDE)
    assert len([line for line in done if line.startswith("rebalance nightly")]) == 4


def test_two_nights_in_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(NIGHTLY, folder)
    monkeypatch.chdir(folder)
    compared(NIGHTLY / "README.md")
    runs = parsed(run("history", "job.yaml", "--json", "--objects"))
    assert [(row["outcome"], row["exit_code"]) for row in reversed(runs["runs"])] == [
        ("planned", 0), ("kept", 0), ("planned", 0), ("refused", 8),
    ]  # fmt: skip
    plans = [yaml.safe_load((path / "plan.json").read_text("utf-8")) for path in sorted(Path("plans").glob("2*"))]
    first, second = ({step["object"] for step in plan["steps"] if step["wave"] <= last}
                     for plan, last in zip(plans, (1, 99), strict=True))  # fmt: skip
    assert first, "the first wave is carried out"
    assert not first & second, "what has just moved stays"
    assert "wiki-6" in second, "what has no host gets one"


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((DEPLOY / name).read_text(encoding="utf-8"))
    return parser


def command_of(line: str) -> list[str]:
    """Return the arguments of a command line that calls `rebalance`."""
    words = shlex.split(line)
    assert words[0] == "/opt/rebalancer/bin/rebalance"
    return words[1:]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a job that has nothing to do, as the current one."""
    (tmp_path / "scenario.yaml").write_text("container: host\nassignment: {h0: [a]}\n", encoding="utf-8")
    (tmp_path / "job.yaml").write_text("scenario: scenario.yaml\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_systemd_units(fleet: Path) -> None:
    service, timer = unit("rebalance-nightly@.service"), unit("rebalance-nightly@.timer")
    assert run(*command_of(service["Service"]["ExecStart"])).exit_code == 0
    assert service["Service"]["SuccessExitStatus"] == "3"
    assert timer["Timer"]["OnCalendar"] == "*-*-* 02:00:00"


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """Where systemd is at hand; what only it knows are the names of its settings."""
    checker = shutil.which("systemd-analyze")
    for name in ("rebalance-nightly@.service", "rebalance-nightly@.timer"):
        text = (DEPLOY / name).read_text(encoding="utf-8").replace("/opt/rebalancer/bin/rebalance", sys.executable)
        assert sys.executable in text or name.endswith(".timer")
        (tmp_path / name.replace("@.", "@fleet.")).write_text(text, encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    if checker is not None:
        names = [str(tmp_path / f"rebalance-nightly@fleet.{kind}") for kind in ("service", "timer")]
        done = subprocess.run([checker, "verify", *names], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_cron_line(fleet: Path) -> None:
    (line,) = re.findall(r"^\d.*", (DEPLOY / "rebalance-nightly.cron").read_text(encoding="utf-8"), re.MULTILINE)
    *times, user, command = line.split(None, 6)
    assert (times, user) == (["0", "2", "*", "*", "*"], "rebalancer")
    change, _, call = command.partition(" && ")
    assert change == "cd /srv/fleet"
    assert run(*command_of(call)).exit_code == 0
    assert "%" not in line, "cron takes it for the end of the line"


def test_the_manifests_of_kubernetes(tmp_path: Path) -> None:
    """Its job runs: on the cluster of another scenario, with the same rights and volumes as files."""
    documents: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "cronjob.yaml").read_text(encoding="utf-8")))
    kinds = {document["kind"]: document for document in documents}
    cron = kinds["CronJob"]["spec"]
    pod = cron["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for part in (container, *pod["initContainers"]) for mount in part["volumeMounts"]} == volumes
    for name, text in kinds["ConfigMap"]["data"].items():
        here = {"/snapshot": str(tmp_path / "snapshot"), "/data": str(tmp_path / "data")}
        here["max_moved_fraction: 5%"] = "max_moved_fraction: 50%"  # this cluster has eight pods
        for there, what in here.items():
            text = text.replace(there, what)
        (tmp_path / name).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "scenarios" / "kubernetes-snapshot" / "snapshot", tmp_path / "snapshot")
    for file in (tmp_path / "snapshot").iterdir():
        # Twice the cpu of the snapshot: there everything is full, and nothing could swap.
        file.write_text(file.read_text("utf-8").replace('"cpu": "2"', '"cpu": "4"'), "utf-8")
    (tmp_path / "data").mkdir()
    job = read_job(tmp_path / "job.yaml")
    assert cron["jobTemplate"]["spec"]["activeDeadlineSeconds"] > (job.guards.deadline or 0)
    assert (container["command"][0], container["command"][2]) == ("rebalance", "/config/job.yaml")
    arguments = [word.replace("/config", str(tmp_path)) for word in container["command"][1:]]
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    assert parsed(done)["outcome"] == "planned"
    written = {path.name for path in (tmp_path / "data").iterdir()}
    assert written == {"plans", "history.db", "cluster.lock"}, "all that must last is on the volume"


def test_the_alerts_watch_metrics_that_there_are(fleet: Path) -> None:
    (fleet / "job.yaml").write_text("scenario: scenario.yaml\nmetrics: web.prom\n", encoding="utf-8")
    assert run("nightly", "job.yaml").exit_code == 0
    written = (fleet / "web.prom").read_text(encoding="utf-8")
    (group,) = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    watched = {name for rule in group["rules"] for name in re.findall(r"rebalancer_\w+", rule["expr"])}
    assert len(watched) == 4
    for name in watched:
        assert f"\n{name}{{" in written
