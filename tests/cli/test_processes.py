"""The command in a process of its own: signals, pipes, purity of stdout."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import BROKEN, ROOT, SCENARIO, process, written

#: Waits in short turns: a signal that comes just before a wait is heard only when that is over.
WAITING = 'assert any(request.stop.wait(0.05) for _ in range(2400)), "nobody stopped it"'

#: An engine that reports an improvement, then searches until it is told to stop.
ENDLESS = f"""
import numpy as np
from rebalancer import engines
from rebalancer.engines.base import Answer, Progress, Status

class Endless:
    name = "endless"

    def solve(self, model, request):
        request.on_progress(Progress(0.1, 0, 1.0, None, None))
        {WAITING}
        return Answer(Status.FEASIBLE, np.array([1, 0, 0], np.int32), (None,) * model.positions, None, "endless")

engines.get = lambda name: Endless()
"""

#: A scenario that takes long to read.
SLOW = """
import sys, threading
from rebalancer.cli import solve

def slow(path):
    print("reading", file=sys.stderr, flush=True)
    [threading.Event().wait(0.05) for _ in range(2400)]

solve.read_scenario = slow
"""

#: An engine that does not listen.
DEAF = ENDLESS.replace("request.stop.wait", "__import__('threading').Event().wait")


#: An engine whose terminal closes while it searches: the system says so, and then the shell that ends.
HUNG_UP_TWICE = ENDLESS.replace(
    WAITING,
    "import os, signal\n        " + "os.kill(os.getpid(), signal.SIGHUP)\n        " * 2,
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_the_best_so_far(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "out"
    running = process("solve", written(tmp_path, SCENARIO), "--json", "-o", folder, program=ENDLESS)
    wait_for("position 0  objective 1", running)
    running.send_signal(number)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    data = json.loads(out)
    assert (data["status"], len(data["moves"])) == ("FEASIBLE", 1)
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == data


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_search_of_a_plan(tmp_path: Path, number: int) -> None:
    running = process("plan", written(tmp_path, SCENARIO), "--json", "-o", tmp_path / "out", program=ENDLESS)
    wait_for("position 0  objective 1", running)
    running.send_signal(number)
    out, _ = running.communicate(timeout=60)
    assert (running.returncode, len(json.loads(out)["steps"])) == (0, 1)


#: Moves that are never ordered.
STUCK = (
    ENDLESS.replace(WAITING, "pass")
    + """
import threading
from rebalancer import plan

plan.plan_moves = lambda *arguments: [threading.Event().wait(0.05) for _ in range(2400)]
"""
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_moves_are_ordered_gives_up(tmp_path: Path, number: int) -> None:
    running = process("plan", written(tmp_path, SCENARIO), "--json", "-o", tmp_path / "out", program=STUCK)
    wait_for("ordering 1 move", running)
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err.split()[-1]) == (130, "", "interrupted")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_before_there_is_an_answer_a_signal_gives_up(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "out"
    running = process("solve", written(tmp_path, SCENARIO), "--json", "-o", folder, program=SLOW)
    wait_for("reading", running)
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert not folder.exists()


#: A signal that comes while something is imported.
EARLY = """
import signal, sys

class Early:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal({number})

sys.meta_path.insert(0, Early)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("module", ["click", "numpy", "rebalancer.cli.solve", "rebalancer.solver"])
def test_a_signal_while_the_command_is_loaded_gives_up(tmp_path: Path, number: int, module: str) -> None:
    program = EARLY.format(module=module, number=int(number))
    running = process("solve", written(tmp_path, SCENARIO), "--json", "-o", tmp_path / "out", program=program)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err.split()) == (130, "", ["interrupted"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_import_swallows_a_signal(tmp_path: Path, number: int) -> None:
    """As one does that tries whether something is there, or that is in the middle of taking or freeing its lock."""
    trying = EARLY.replace("signal.raise", "with contextlib.suppress(BaseException): signal.raise")
    program = "import contextlib" + trying.format(module="rebalancer.solver", number=int(number))
    running = process("solve", written(tmp_path, SCENARIO), "--json", "-o", tmp_path / "out", program=program)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err.split()) == (130, "", ["interrupted"])
    assert not (tmp_path / "out").exists()


def test_a_terminal_that_closes_says_so_twice_and_means_it_once(tmp_path: Path) -> None:
    running = process("solve", written(tmp_path, SCENARIO), "--json", program=HUNG_UP_TWICE)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, json.loads(out)["status"]) == (0, "FEASIBLE"), err


def test_nohup_is_heeded(tmp_path: Path) -> None:
    program = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)" + HUNG_UP_TWICE
    running = process("solve", written(tmp_path, SCENARIO), "--json", program=program)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, json.loads(out)["status"]) == (0, "FEASIBLE"), err
    assert "stopping" not in err


def test_a_second_interrupt_gives_up(tmp_path: Path) -> None:
    running = process("solve", written(tmp_path, SCENARIO), "-o", tmp_path / "out", program=DEAF)
    wait_for("position 0", running)
    running.send_signal(signal.SIGINT)
    wait_for("interrupt again to give up", running)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_the_real_engine(tmp_path: Path) -> None:
    running = process("solve", written(tmp_path, SCENARIO), "--json", "--time-limit", "60s")
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    data = json.loads(out)
    assert data["status"] == "OPTIMAL"
    assert len(data["moves"]) == 1
    assert "objective" in err, "one line per improvement"


def test_quiet_is_quiet(tmp_path: Path) -> None:
    running = process("solve", written(tmp_path, SCENARIO), "--quiet", "--json")
    out, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (0, "")
    assert json.loads(out)["status"] == "OPTIMAL"


def test_a_reader_that_leaves_is_no_traceback() -> None:
    running = process("schema")
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    assert "Traceback" not in running.stderr.read()
    running.wait(timeout=60)


def test_a_name_that_stdout_cannot_encode(tmp_path: Path) -> None:
    path = written(tmp_path, SCENARIO.replace("t0", "\u8868"))
    running = process("solve", path, "--quiet", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    _, err = running.communicate(timeout=120)
    assert running.returncode == 0, err


def wait_for(text: str, running: "subprocess.Popen[str]") -> None:
    """Read stderr up to the line that holds a text."""
    assert running.stderr is not None
    for line in running.stderr:
        if text in line:
            return
    raise AssertionError(f"the command ended without {text!r}")


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("options", [["--quiet"], ["--quiet", "--json"], ["--no-such-option", "--json"]], ids=" ".join)
def test_a_full_disk_behind_stdout_is_one_line(tmp_path: Path, options: list[str]) -> None:
    path = written(tmp_path, SCENARIO)
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rebalancer.cli", "solve", path, *options],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error[unwritable-output]: cannot write to standard output: No space left on device\n"


#: How a shell leaves standard error to the command, and what its last words are.
LOST = {"closed": "2>&-", "full": "2>/dev/full", "left": "2> >(head -n 1 >/dev/null)"}


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("how", LOST.values(), ids=LOST.keys())
@pytest.mark.parametrize("options", [[], ["-v"]], ids=["progress", "log"])
def test_a_stderr_that_cannot_be_written_to_costs_no_answer(tmp_path: Path, how: str, options: list[str]) -> None:
    path, folder = written(tmp_path, SCENARIO), tmp_path / "out"
    command = f'"$@" {how}'
    verb = [sys.executable, "-m", "rebalancer.cli", "solve", path, "--json", "-o", folder, *options]
    done = subprocess.run(
        ["bash", "-c", command, "bash", *map(str, verb)], stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0
    assert json.loads(done.stdout) == json.loads((folder / "result.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
@pytest.mark.parametrize(("scenario", "code"), [(SCENARIO, 0), (BROKEN, 3)], ids=["done", "broken"])
def test_a_reader_that_leaves_changes_no_exit_code(
    tmp_path: Path, scenario: str, code: int, options: list[str]
) -> None:
    folder = tmp_path / "out"
    running = process("solve", written(tmp_path, scenario), "--quiet", "-o", folder, *options)
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == ""
    assert running.wait(timeout=60) == code
    assert (folder / "result.json").exists()


def test_the_end_waits_for_no_thread() -> None:
    busy = "import threading\nthreading.Thread(target=threading.Event().wait).start()"
    command = process("specs", "capacity", program=busy)
    shown, problems = command.communicate(timeout=60)
    assert (command.returncode, problems) == (0, "")
    assert "capacity" in shown
