"""`rebalance doctor`: what is installed, and kernels compiled ahead of time."""

from __future__ import annotations

import ctypes
import json
import platform
import signal
import threading
from importlib.metadata import version
from pathlib import Path
from typing import cast

import pytest

import rebalancer
from rebalancer.engines.local_search import kept, warm
from tests.cli.commands import parsed, process, run


@pytest.fixture(autouse=True)
def nothing_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the user's folders alone."""
    monkeypatch.setattr(warm, "outdated", list)


def test_it_says_what_is_installed() -> None:
    result = run("doctor", "--json")
    report = parsed(result)
    assert (result.exit_code, report["errors"]) == (0, [])
    assert (report["rebalancer"], report["python"]) == (rebalancer.__version__, platform.python_version())
    assert report["libraries"]["ortools"] == version("ortools")
    assert report["processors"] >= 1
    assert report["kernels"]["folder"] == str(kept.cache_folder())


def test_it_compiles_ahead_of_time_and_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("doctor", "--warm")
    assert result.exit_code == 0
    assert result.stderr.startswith("compiling")
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["kernels"] == "compiled"
    assert lines["rebalancer"] == rebalancer.__version__
    monkeypatch.setattr(kept, "kept", frozenset)
    assert "kernels     not compiled yet; `rebalance doctor --warm` does that" in run("doctor").stdout


def test_no_callback_of_the_compiler_swallows_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def called_back() -> None:
        signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGINT)
        over.wait(30)

    monkeypatch.setattr(warm, "warm", lambda _tell: ctypes.CFUNCTYPE(None)(called_back)())
    result = run("doctor", "--warm")
    over.set()
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "interrupted")


def test_what_is_missing_is_said_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import PackageNotFoundError

    def installed(name: str) -> str:
        if name in ("pyarrow", "ortools"):
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr("rebalancer.cli.doctor.version", installed)
    result = run("doctor")
    assert result.exit_code == 2
    assert "pyarrow     not installed; pip install 'rebalancer-cp[parquet]'" in result.stdout
    assert result.stderr == "error[missing-library]: ortools is not installed; pip install ortools\n"


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    running = process("doctor", "--warm", "--json", REBALANCER_CACHE_DIR=str(tmp_path / "file" / "inside"))
    out, err = running.communicate(timeout=60)
    assert running.returncode == 2, err
    (error,) = json.loads(out)["errors"]
    assert error["code"] == "unwritable-cache"
    assert error["message"].startswith(f"compiled kernels cannot be kept in '{tmp_path}/file/inside/kernels-")
    assert error["message"].endswith("make it writable, or set REBALANCER_CACHE_DIR to a folder that is")
    assert err == "", "nothing was compiled"


def test_a_folder_that_has_everything_need_not_be_writable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "obstacle", lambda: OSError(30, "Read-only file system"))
    monkeypatch.setattr(kept, "kept", lambda: frozenset(warm.ENTRIES))
    assert run("doctor").exit_code == 0
    monkeypatch.setattr(kept, "kept", lambda: frozenset(warm.ENTRIES[1:]))
    result = run("doctor")
    assert result.exit_code == 2
    assert "cannot be kept in" in result.stderr
    assert "Read-only file system" in result.stderr


def test_damaged_kernels_are_not_called_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "damaged", lambda: [Path("a.nbc")])
    result = run("doctor")
    assert result.exit_code == 0
    assert "kernels     damaged (1 of the files); `rebalance doctor --warm` compiles them anew" in result.stdout
    kernels = parsed(run("doctor", "--json"))["kernels"]
    assert (kernels["warm"], kernels["damaged"]) == (False, ["a.nbc"])


def test_a_folder_of_nobody() -> None:
    running = process("doctor", "--warm", REBALANCER_CACHE_DIR="~no-such-user/kernels")
    _, err = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "cannot be kept in '~no-such-user/kernels/kernels-" in err
    assert "nobody knows what home folder '~no-such-user' is" in err
