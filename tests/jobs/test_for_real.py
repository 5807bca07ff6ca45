"""What can go wrong at night, made to go wrong for real: full disks, locks, databases that are away, kills.

Each time the command runs with the real engine, in a process of its own on the night that goes wrong. It has to end
with the right exit code and one clear line, the plan of the night before has to stay as it was, and the next night has
to run.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from rebalancer.jobs import history_tables as tables
from rebalancer.jobs.lock import Holder
from tests.cli.commands import parsed, process, run
from tests.cli.test_processes import wait_for
from tests.jobs.fleet import CROWDED, Fleet
from tests.jobs.test_lock import holding

#: Says when the search has begun.
SEARCHING = "searching, for"
#: Writes half of plan.json, says so, and waits for its end.
HALF_WRITTEN = """
import json, sys
from rebalancer.plan import formats

def half(stream, content):
    text = json.dumps(content)
    stream.write(text[:len(text) // 2])
    stream.flush()
    print("half of it is written", file=sys.stderr, flush=True)
    sys.stdin.read()

formats.write_json = half
"""


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines that say what is wrong."""
        return [line for line in self.err.splitlines() if "error[" in line or " ERROR " in line]


def nightly(fleet: Fleet, *options: str, program: str | None = None) -> Ended:
    """Run the job in a process of its own."""
    running = process("nightly", fleet.path, "--quiet", *options, program=program)
    out, err = running.communicate(timeout=120)
    assert "Traceback" not in err
    return Ended(running.returncode, out, err)


def good_night(fleet: Fleet) -> dict[str, Any]:
    """Run the job in this process, and return what it reports."""
    done = run("nightly", fleet.path, "--quiet", "--json")
    assert done.exit_code == 0, done.stderr
    return parsed(done)


def outcomes(fleet: Fleet) -> list[str]:
    return [row["outcome"] for row in fleet.history.rows(select(tables.runs).order_by(tables.runs.c.id))]


def contents(folder: Path) -> dict[str, str]:
    """Return all that can be seen in a folder of plans: each file with what it holds, each link with where it leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_text(encoding="utf-8")
    return found


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """A fleet with a plan of last night, of one step; tonight another host is too full."""
    fleet = Fleet(tmp_path)
    good_night(fleet)
    assert len(fleet.plan()["steps"]) == 1
    fleet.tasks(CROWDED | {"t4": "h1", "t5": "h1"})
    return fleet


def recovers(fleet: Fleet, before: dict[str, str]) -> None:
    """Check that last night's plan is as it was, and that the next night makes a new one."""
    assert contents(fleet.folder / "plans") == before
    assert good_night(fleet)["outcome"] == "planned"
    assert len(fleet.plan()["steps"]) == 2
    assert not [name for name in fleet.plans if name.endswith(".partial")]


def test_the_lock_of_a_living_process(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    lock = Path(fleet.read().lock)
    holder = holding(lock)
    signed = json.loads(lock.read_text(encoding="utf-8"))
    since = (datetime.now(UTC) - timedelta(hours=3)).isoformat()
    lock.write_text(json.dumps(signed | {"since": since}), encoding="utf-8")
    done = nightly(fleet)
    assert (done.code, done.out) == (6, "")
    (line,) = done.err.splitlines()
    assert line.startswith("error[locked]: another run is under way")
    assert f"is held by {Holder(**signed)} for 3 h" in line
    assert outcomes(fleet) == ["planned"]
    holder.kill()
    holder.communicate()
    recovers(fleet, before)


def test_half_an_inventory(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    whole = (fleet.folder / "tasks.csv").read_text(encoding="utf-8")
    (fleet.folder / "tasks.csv").write_text("".join(whole.splitlines(keepends=True)[:3]), encoding="utf-8")
    done = nightly(fleet)
    assert (done.code, done.out) == (8, "")
    (line,) = done.errors
    assert "rows of task fell from 4 to 2 (50 % fewer) since the last accepted run; max_shrink allows 10 %" in line
    (fleet.folder / "tasks.csv").write_text(whole, encoding="utf-8")
    recovers(fleet, before)
    assert outcomes(fleet) == ["planned", "refused", "planned"]


def test_an_export_that_ends_in_the_middle_of_a_line(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    whole = (fleet.folder / "tasks.csv").read_text(encoding="utf-8")
    (fleet.folder / "tasks.csv").write_text(whole[:-4], encoding="utf-8")
    done = nightly(fleet)
    assert (done.code, done.out) == (2, "")
    (line,) = done.errors
    assert line.startswith(f"{fleet.folder / 'tasks.csv'}:7:")
    (fleet.folder / "tasks.csv").write_text(whole, encoding="utf-8")
    recovers(fleet, before)


@pytest.mark.parametrize("size", [2_000, 60_000])
def test_files_that_may_not_grow(tmp_path: Path, size: int) -> None:
    """With 2,000 bytes the history cannot be written, with 60,000 the plan cannot: its objects have long names."""
    fleet = Fleet(tmp_path)
    tasks = {f"{'t' * 600}{number}": "h0" for number in range(80)}
    fleet.tasks(tasks, **dict.fromkeys(tasks, 1))
    fleet.hosts("h0", "h1", h0=20, h1=70)
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    done = nightly(fleet, program=limit)
    assert (done.code, done.out) == (2, "")
    (line,) = done.errors
    if size == 2_000:
        assert "error[unreachable-history]: the history in sqlite:///" in line
        assert not (tmp_path / "plans").exists()
    else:
        assert "error[unwritable-output]: cannot write to" in line
        assert "File too large" in line
        assert (fleet.plans, outcomes(fleet)) == ([".job"], ["failed"])
    good_night(fleet)
    assert len(fleet.plan()["steps"]) == 60


@contextmanager
def small_disk(path: Path, size: str = "64k") -> Iterator[bool]:
    """A small disk at a path; False where this process may not mount one."""
    path.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "rebalancer-test", str(path)]
    mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(path)], check=True)


def fill(path: Path) -> None:
    """Fill a disk to the last byte."""
    with path.open("wb", buffering=0) as file:
        size = 4096
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2


@pytest.mark.parametrize("free", [0, 4096, 16384])
def test_a_full_disk_for_plans(fleet: Fleet, free: int) -> None:
    """Where there is nothing left, where the folder can be made, and where half of the files find room."""
    fleet.job(output={"folder": "disk/plans"})
    with small_disk(fleet.folder / "disk") as mounted:
        if not mounted:
            pytest.skip("only root may mount a small disk; files that may not grow are tested above all the same")
        filler = fleet.folder / "disk" / "filler"
        fill(filler)
        os.truncate(filler, filler.stat().st_size - free)
        done = nightly(fleet)
        assert (done.code, done.out) == (2, "")
        (line,) = done.errors
        assert "error[unwritable-output]: cannot write to" in line
        assert "No space left on device" in line
        assert outcomes(fleet) == ["planned", "failed"]
        seen = {str(path.relative_to(filler.parent)) for path in filler.parent.rglob("*") if path.is_file()}
        assert seen <= {"filler", "plans/.job"}
        filler.unlink()
        good_night(fleet)
        assert (fleet.folder / "disk" / "plans" / "latest" / "plan.json").is_file()


def test_a_full_disk_for_everything(fleet: Fleet) -> None:
    """The history is on the full disk too, so that nothing of the night can be noted there."""
    fleet.job(output={"folder": "disk/plans"}, history="sqlite:///disk/history.db", metrics="disk/web.prom",
              lock="disk/web.lock")  # fmt: skip
    with small_disk(fleet.folder / "disk", "256k") as mounted:
        if not mounted:
            pytest.skip("only root may mount a small disk; files that may not grow are tested above all the same")
        fill(fleet.folder / "disk" / "filler")
        done = nightly(fleet)
        assert (done.code, done.out) == (2, "")
        assert done.errors
        assert {path.name for path in (fleet.folder / "disk").iterdir()} <= {"filler", "web.lock", "history.db"}
        (fleet.folder / "disk" / "filler").unlink()
        assert good_night(fleet)["outcome"] == "planned"


def test_a_folder_that_takes_no_plans(fleet: Fleet) -> None:
    """Read-only: a disk that is, for root; by its permissions for everybody else."""
    plans = fleet.folder / "disk"
    fleet.job(output={"folder": "disk"})
    with small_disk(plans) as mounted:
        if mounted:
            subprocess.run(["mount", "-o", "remount,ro", str(plans)], check=True)
        else:
            plans.chmod(0o555)
        done = nightly(fleet)
        if mounted:
            subprocess.run(["mount", "-o", "remount,rw", str(plans)], check=True)
        else:
            plans.chmod(0o755)
        assert (done.code, done.out) == (2, "")
        (line,) = done.errors
        assert "error[unwritable-output]: cannot write to" in line
        assert ("Read-only file system" if mounted else "Permission denied") in line
        assert outcomes(fleet) == ["planned", "failed"]
        assert list(plans.iterdir()) == []
        assert good_night(fleet)["outcome"] == "planned"


def test_a_history_that_somebody_else_keeps_locked(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    fleet.job(history="sqlite:///history.db?timeout=0.1")
    with closing(sqlite3.connect(fleet.folder / "history.db")) as other:
        other.execute("begin exclusive")
        done = nightly(fleet)
    assert (done.code, done.out) == (2, "")
    (line,) = done.errors
    assert "error[unreachable-history]: the history in sqlite:///" in line
    assert "database is locked" in line
    recovers(fleet, before)


def test_a_history_that_is_none(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    kept = (fleet.folder / "history.db").read_bytes()
    (fleet.folder / "history.db").write_bytes(b"this is no database" * 100)
    done = nightly(fleet)
    assert (done.code, done.out) == (2, "")
    (line,) = done.errors
    assert line.endswith("cannot be used: file is not a database")
    (fleet.folder / "history.db").write_bytes(kept)
    recovers(fleet, before)


def test_an_inventory_that_is_away(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    fleet.job(snapshot={"url": "sqlite:///inventory.db", "tables": {"task": {"query": "select * from tasks"}}})
    done = nightly(fleet)
    assert (done.code, done.out) == (2, "")
    (line,) = done.errors
    assert line.startswith(f"{fleet.path}:")
    assert "inventory.db" in line
    assert not (fleet.folder / "inventory.db").exists(), "asking makes no database"
    assert outcomes(fleet) == ["planned", "failed"]
    fleet.job()
    recovers(fleet, before)


def test_killed_while_it_searches(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    running = process("nightly", fleet.path)
    wait_for(SEARCHING, running)
    running.kill()
    running.communicate(timeout=60)
    assert running.returncode == -signal.SIGKILL
    recovers(fleet, before)
    assert outcomes(fleet) == ["planned", "died", "planned"]


def test_killed_while_it_writes(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    command = [sys.executable, "-c", f"{HALF_WRITTEN}\nfrom rebalancer.cli import main\nmain()", "nightly"]
    running = subprocess.Popen(
        [*command, str(fleet.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for("half of it is written", running)
    (hidden,) = [name for name in fleet.plans if name.endswith(".partial")]
    assert not (fleet.folder / "plans" / hidden / "plan.json").exists(), "a file has its name when it is complete"
    running.kill()
    running.communicate(timeout=60)
    visible = {name: text for name, text in contents(fleet.folder / "plans").items() if not name.startswith(hidden)}
    assert visible == before
    good_night(fleet)
    assert outcomes(fleet) == ["planned", "died", "planned"]
    assert hidden not in fleet.plans


def tampered(fleet: Fleet, text: str) -> dict[str, Any]:
    """Change the plan that `latest` leads to, and run the job on what it was made for."""
    fleet.tasks(CROWDED)
    (fleet.folder / "plans" / "latest" / "plan.json").write_text(text, encoding="utf-8")
    report = good_night(fleet)
    assert run("verify", fleet.folder / "plans" / "latest").exit_code == 0
    return report


def test_a_plan_of_which_half_is_gone(fleet: Fleet) -> None:
    text = (fleet.folder / "plans" / "latest" / "plan.json").read_text(encoding="utf-8")
    assert tampered(fleet, text[: len(text) // 2])["outcome"] == "planned"
    assert len(fleet.plan()["steps"]) == 1


@pytest.mark.parametrize(
    "change",
    [{"destination": "h0"}, {"destination": "h9"}, {"object": "t9"}, {"source": "h1"}, {"wave": -1}, {"after": ["s7"]}],
    ids=lambda change: next(iter(change)),
)
def test_a_plan_that_somebody_has_changed(fleet: Fleet, change: dict[str, Any]) -> None:
    content = fleet.plan()
    content["steps"][0].update(change)
    assert tampered(fleet, json.dumps(content))["outcome"] == "planned"
    assert len(fleet.plan()["steps"]) == 1


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
def test_other_time_zones(fleet: Fleet, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no time zone is in UTC, wherever the machine thinks that it is."""
    stamp = fleet.folder / "stamp.txt"
    stamp.write_text(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}\n", encoding="utf-8")
    fleet.job(snapshot={"taken": {"file": "stamp.txt"}, "max_age": "1h"})
    began = datetime.now(UTC).replace(microsecond=0)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", zone)
        time.tzset()
        answer = good_night(fleet)
        runs = parsed(run("history", fleet.path, "--json", "--since", "1h"))["runs"]
    time.tzset()
    named = datetime.strptime(Path(answer["plan"]).name[:20], "%Y-%m-%dT%H-%M-%SZ").replace(tzinfo=UTC)
    assert began <= named <= datetime.now(UTC)
    assert datetime.fromisoformat(answer["started"]) >= began
    assert len(runs) == 2


def test_a_clock_that_is_ahead(fleet: Fleet) -> None:
    before = contents(fleet.folder / "plans")
    ahead = datetime.now(UTC).timestamp() + 7230
    for name in ("tasks.csv", "hosts.csv"):
        os.utime(fleet.folder / name, (ahead, ahead))
    done = nightly(fleet)
    assert (done.code, done.out) == (8, "")
    (line,) = done.errors
    assert "the snapshot is from the future" in line
    assert "2 h ahead of this machine's clock" in line
    for name in ("tasks.csv", "hosts.csv"):
        os.utime(fleet.folder / name)
    recovers(fleet, before)
