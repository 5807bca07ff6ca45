"""`--deterministic`: the same answer on every run, whatever order sets have and however many workers there are."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"

#: Hash seed and workers of each process.
RUNS = (("0", 1), ("1", 2), ("2", 1))
ENGINES = ("local_search", "neighbourhood", "auto", "cpsat")

#: Solves every (scenario, engine, options) on the command line as `rebalance solve` does, and prints what comes out.
PROGRAM = """
import io, json, sys
from contextlib import redirect_stdout, suppress
from rebalancer.cli import main

for scenario, engine, options in json.loads(sys.argv[1]):
    out = io.StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        main(["solve", scenario, "--engine", engine, "--json", "--quiet", *options])
    answer = json.loads(out.getvalue())
    answer.pop("seconds")
    print(json.dumps(answer))
"""


def fleet(folder: Path, tasks: int, hosts: int) -> Path:
    """Write a scenario: capacities, at most so many of a job on a host and in a rack, balance, few moves."""
    rng = random.Random(tasks)
    names = [f"h{number}" for number in range(hosts)]
    contents: dict[str, list[str]] = {name: [] for name in names}
    for number in range(tasks):
        contents[names[min(rng.randrange(hosts), rng.randrange(hosts))]].append(f"t{number}")
    use = {dimension: {f"t{number}": rng.randrange(1, 97) for number in range(tasks)} for dimension in ("cpu", "mem")}
    room = {dimension: {name: 80 * tasks // hosts + rng.randrange(90) for name in names} for dimension in use}
    one, two = ({"type": "ABSOLUTE", "global_limit": most} for most in (1, 2))
    scenario: dict[str, Any] = {
        "object": "task",
        "container": "host",
        "assignment": contents,
        "dimensions": {dimension: {"task": use[dimension], "host": room[dimension]} for dimension in use},
        "scopes": {"rack": {f"r{rack}": names[rack::5] for rack in range(5)}},
        "partitions": {
            "job": {f"j{first}": [f"t{n}" for n in range(first, min(first + 4, tasks))] for first in range(0, tasks, 4)}
        },
        "constraints": [
            {"capacity": {"scope": "host", "dimension": "cpu"}},
            {"capacity": {"scope": "host", "dimension": "mem"}},
            {"group_count": {"scope": "host", "partition": "job", "limit": one}},
            {"group_count": {"scope": "rack", "partition": "job", "limit": two}},
        ],
        "goals": [
            {"balance": {"scope": "host", "dimension": "cpu"}},
            {"balance": {"scope": "host", "dimension": "mem"}},
            {"minimize_movement": {"scope": "host", "dimension": "cpu"}, "tuple_pos": 1},
        ],
    }
    path = folder / f"fleet{tasks}.yaml"
    path.write_text(json.dumps(scenario), encoding="utf-8")  # which YAML is a superset of
    return path


def cases(folder: Path) -> list[tuple[str, str, list[str]]]:
    """Return what to solve: scenario, engine, and how long by counted work."""
    mid, large = fleet(folder, 200, 20), fleet(folder, 1_000, 105)  # the larger one is more than CP-SAT can close
    work = ["--deterministic-time", "0.5s"]
    rounds = ["--deterministic", "--iterations", "6", "--seed", "7"]
    every = [
        (str(scenario), engine, options)
        for scenario, options in (
            (mid, work),
            (SCENARIOS / "already-broken" / "scenario.yaml", work),
            (SCENARIOS / "three-languages" / "scenario.yaml", rounds),
        )
        for engine in ENGINES
    ]
    return [*every, (str(large), "auto", ["--deterministic-time", "1.5s"])]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """What each run answers, by scenario and engine."""
    asked = cases(tmp_path_factory.mktemp("fleets"))
    running = []
    for hashes, workers in RUNS:
        given = [(scenario, engine, [*options, "--workers", str(workers)]) for scenario, engine, options in asked]
        environment = os.environ | {"PYTHONHASHSEED": hashes, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PROGRAM, json.dumps(given)]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, env=environment, cwd=ROOT, text=True, stdout=pipe, stderr=pipe))
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for process in running:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        lines = [json.loads(line) for line in out.splitlines()]
        for (scenario, engine, _), answer in zip(asked, lines, strict=True):
            found.setdefault((Path(scenario).parent.name + "/" + Path(scenario).stem, engine), []).append(answer)
    return found


def test_answers_are_the_same(answers: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    assert len(answers) == 3 * len(ENGINES) + 1
    for case, (first, *others) in answers.items():
        assert first["status"] in ("OPTIMAL", "FEASIBLE"), case
        assert len(others) == len(RUNS) - 1
        for other in others:
            assert other == first, case


def test_something_was_searched(answers: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    for case, (first, *_) in answers.items():
        assert first["moves"], case
        before, after = ([row[when] for row in first["objective"]] for when in ("initial", "final"))
        assert after < before, case
