"""The lock of a job: held for as long as its process lives, and not a moment longer."""

import json
import re
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rebalancer.jobs.lock import Holder, JobLock, LockHeld
from rebalancer.jobs.times import spoken
from rebalancer.problem import InputError

#: Takes a lock, says so, and waits for its end.
HOLDING = """
import sys
from rebalancer.jobs.lock import JobLock
with JobLock(sys.argv[1], "web"):
    print("locked", flush=True)
    sys.stdin.read()
"""


def holding(path: Path) -> "subprocess.Popen[str]":
    """Return a process that holds a lock."""
    command = [sys.executable, "-c", HOLDING, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    return process


def test_a_second_run_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "web.lock"
    with JobLock(str(path), "web"):
        content = json.loads(path.read_text(encoding="utf-8"))
        earlier = (datetime.now(UTC) - timedelta(hours=2, minutes=5)).isoformat()
        path.write_text(json.dumps(content | {"user": "ops", "host": "box", "pid": 17, "since": earlier}), "utf-8")
        with pytest.raises(LockHeld) as caught, JobLock(str(path), "web"):
            pass
    message = f"another run is under way: the lock '{path}' is held by ops@box (pid 17) for 2 h 5 min"
    assert str(caught.value) == message
    with JobLock(str(path), "web"):
        pass


def test_the_holder_signs_while_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "web.lock"
    with JobLock(str(path), "web"):
        holder = Holder(**json.loads(path.read_text(encoding="utf-8")))
        assert holder.job == "web"
        assert re.fullmatch(r".+@.+ \(pid \d+\)", str(holder))
    assert path.read_text(encoding="utf-8") == ""


def test_a_killed_holder_locks_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "web.lock"
    process = holding(path)
    with pytest.raises(LockHeld) as caught, JobLock(str(path), "web"):
        pass
    assert caught.value.holder is not None
    assert caught.value.holder.pid == process.pid
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    assert json.loads(path.read_text(encoding="utf-8"))["pid"] == process.pid, "it had no time to tidy up"
    with JobLock(str(path), "web"):
        pass


def test_waiting_for_the_other_to_end(tmp_path: Path) -> None:
    path = tmp_path / "web.lock"
    process = holding(path)
    got = threading.Event()

    def take() -> None:
        with JobLock(str(path), "web", wait=60):
            got.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert process.stdin is not None
    process.stdin.close()
    process.wait(60)
    thread.join(60)
    assert got.is_set()


def test_waiting_ends_with_an_interrupt(tmp_path: Path) -> None:
    path = str(tmp_path / "web.lock")
    stop = threading.Event()
    stop.set()
    with JobLock(path, "web"), pytest.raises(KeyboardInterrupt), JobLock(path, "web", wait=60, stop=stop):
        pass


def test_a_holder_that_has_not_signed_yet(tmp_path: Path) -> None:
    path = tmp_path / "web.lock"
    with JobLock(str(path), "web"):
        path.write_text("", encoding="utf-8")
        with pytest.raises(LockHeld, match="held by a process that has just started"), JobLock(str(path), "web"):
            pass


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    path = tmp_path / "no" / "such" / "folder" / "web.lock"
    with pytest.raises(InputError, match=r"cannot write to .*: No such file or directory"), JobLock(str(path), "web"):
        pass


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-3, "0 s"), (0.4, "0 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (3607, "1 h"),
     (7500, "2 h 5 min"), (86400, "1 d"), (90000, "1 d 1 h"), (180000, "2 d 2 h")],
)  # fmt: skip
def test_spans_in_words(seconds: float, words: str) -> None:
    assert spoken(seconds) == words
