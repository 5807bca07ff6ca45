"""Running the command in this process and in one of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from rebalancer.cli import main

ROOT = Path(__file__).parents[2]

#: Three tasks of 10 on a host of 20 and none on another: one has to move.
SCENARIO = """\
object: task
container: host
assignment:
  h0: [t0, t1, t2]
  h1: []
dimensions:
  memory:
    task: {default: 10}
    host: {h0: 20, h1: 20}
constraints:
  - capacity: {scope: host, dimension: memory}
    name: fits
goals:
  - minimize_movement: {scope: host, dimension: task_count}
    name: moves
"""

#: The same with a task of 50, which fits nowhere.
BROKEN = SCENARIO.replace("task: {default: 10}", "task: {default: 10, values: {t0: 50}}")
#: … and has to.
INFEASIBLE = BROKEN.replace("name: fits", "name: fits\n    policy: HARD")


def run(*arguments: object) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def written(folder: Path, text: str, name: str = "scenario.yaml") -> Path:
    """Write a scenario and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def parsed(result: Result) -> dict[str, Any]:
    """Return the one JSON object that stdout holds."""
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def process(*arguments: object, program: str | None = None, **variables: str) -> "subprocess.Popen[str]":
    """Start the command in a process of its own; ``program`` is Python that runs first."""
    start = f"{program or ''}\nfrom rebalancer.cli import run\nrun()"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | variables
    return subprocess.Popen(
        [sys.executable, "-c", start, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=ROOT,
    )
