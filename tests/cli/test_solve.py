"""`rebalance solve`: results, files, exit codes."""

import csv
import json
import os
import time
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from rebalancer.cli import process
from rebalancer.engines.base import Answer, Request, Status
from rebalancer.model import Model
from tests.cli.commands import BROKEN, INFEASIBLE, SCENARIO, parsed, run, written
from tests.solver import engines

NUMBER = {"type": "number"}
UNKNOWN = {"type": ["number", "null"]}
NAME = {"type": "string"}


def table(**columns: object) -> dict[str, object]:
    row = {"type": "object", "properties": columns, "required": list(columns), "additionalProperties": False}
    return {"type": "array", "items": row}


RESULT = {
    "type": "object",
    "properties": {
        "status": {"enum": ["OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNKNOWN"]},
        "engine": NAME,
        "seconds": NUMBER,
        "seed": {"type": "integer"},
        "reason": {"type": ["string", "null"]},
        "objective": table(tuple_pos={"type": "integer"}, initial=NUMBER, final=NUMBER, bound=UNKNOWN, gap=UNKNOWN),
        "goals": table(
            name=NAME, spec=NAME, weight=NUMBER, tuple_pos={"type": "integer"}, initial=NUMBER, final=NUMBER
        ),
        "constraints": table(name=NAME, spec=NAME, policy=NAME, initial_violation=NUMBER, final_violation=NUMBER),
        "moves": table(object=NAME, source={"type": ["string", "null"]}, destination={"type": ["string", "null"]}),
        "assignment": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
    },
    "required": ["status", "engine", "seconds", "seed", "objective", "goals", "constraints", "moves", "assignment"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def enumerating(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, engines.enumerated)


def answering(
    monkeypatch: pytest.MonkeyPatch, status: Status, assignment: list[int] | None, *bounds: int | None
) -> None:
    placed = None if assignment is None else np.array(assignment, np.int32)
    engines.use(monkeypatch, lambda model, request: Answer(status, placed, bounds, None, "scripted"))


def test_json_is_the_one_thing_on_stdout(tmp_path: Path) -> None:
    result = run("solve", written(tmp_path, SCENARIO), "--json", "--seed", 5)
    assert result.exit_code == 0, result.output
    data = parsed(result)
    jsonschema.validate(data, RESULT)
    assert (data["status"], data["seed"], len(data["moves"])) == ("OPTIMAL", 5, 1)
    assert data["objective"][0]["gap"] == 0


def test_files_are_what_was_found(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "deeper"
    result = run("solve", written(tmp_path, SCENARIO), "-o", folder, "--json")
    assert sorted(path.name for path in folder.iterdir()) == ["assignment.csv", "moves.csv", "result.json"]
    data = parsed(result)
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == data
    with (folder / "assignment.csv").open(encoding="utf-8", newline="") as file:
        assert {row["task"]: row["host"] for row in csv.DictReader(file)} == data["assignment"]
    with (folder / "moves.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == data["moves"]
    assert (folder / "result.json").stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_results_as_text(tmp_path: Path) -> None:
    result = run("solve", written(tmp_path, SCENARIO), "-o", tmp_path / "out")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("OPTIMAL  proven: no assignment is better · 1 move · ")
    assert lines[-1] == f"assignment.csv, moves.csv and result.json are in {tmp_path / 'out'}"


@pytest.mark.parametrize(
    ("text", "status", "code"), [(SCENARIO, "OPTIMAL", 0), (BROKEN, "OPTIMAL", 3), (INFEASIBLE, "INFEASIBLE", 4)]
)
def test_exit_codes(tmp_path: Path, text: str, status: str, code: int) -> None:
    result = run("solve", written(tmp_path, text), "--json")
    assert (result.exit_code, parsed(result)["status"]) == (code, status)


def test_soft_constraints_do_not_count(tmp_path: Path) -> None:
    assert run("solve", written(tmp_path, BROKEN.replace("name: fits", "name: fits\n    policy: SOFT"))).exit_code == 0


def test_nothing_found_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Status.UNKNOWN, None)
    result = run("solve", written(tmp_path, INFEASIBLE), "-o", tmp_path / "out")
    assert result.exit_code == 5
    assert result.stdout.startswith("UNKNOWN  no assignment was found in time")
    assert (tmp_path / "out" / "moves.csv").read_text(encoding="utf-8") == "object,source,destination\n"


def test_an_internal_error_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Status.OPTIMAL, None)
    path = written(tmp_path, SCENARIO)
    result = run("solve", path, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error[internal]: internal error: InternalError: scripted reports OPTIMAL without")
    assert "--debug" in result.stderr
    assert not (tmp_path / "out").exists()
    assert parsed(run("solve", path, "--json"))["errors"][0]["code"] == "internal"
    assert "Traceback" in run("solve", path, "--debug").stderr


def test_options_reach_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Request] = []

    def answer(model: Model, request: Request) -> Answer:
        seen.append(request)
        return engines.enumerated(model, request)

    engines.use(monkeypatch, answer)
    path = written(tmp_path, SCENARIO + "solve: {time_limit: 5m, seed: 3, workers: 1, gap: 0.5}\n")
    start = written(tmp_path, "host,task\nh1,t0\nh0,t1\nh0,t2\n", "start.csv")
    run("solve", path)
    options = ("--time-limit", "1m30s", "--gap", "1%", "--seed", 9, "--workers", 4, "--deterministic", "--start", start)
    assert run("solve", path, *options).exit_code == 0
    of_file, of_options = seen
    assert (of_file.time_limit, of_file.gap, of_file.seed, of_file.workers) == (300.0, 0.5, 3, 1)
    assert (of_options.time_limit, of_options.gap, of_options.seed, of_options.workers) == (90.0, 0.01, 9, 4)
    assert (of_file.deterministic, of_options.deterministic) == (False, True)
    assert of_options.start is not None
    assert of_options.start.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "options",
    [
        *(["--time-limit", value] for value in ("0s", "-1s", "5 apples", "1h-", "")),
        *(["--gap", value] for value in ("-1", "nan", "x%")),
        *(["--seed", value] for value in ("-1", "1.5", "2147483648")),
        ["--workers", "0"],
        ["--engine", "cpsta"],
        ["--no-such-option"],
        ["extra"],
    ],
)
def test_bad_options_are_bad_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    monkeypatch.undo()  # the real list of engines
    path = written(tmp_path, SCENARIO)
    result = run("solve", path, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    as_json = run("solve", path, *options, "--json")
    assert as_json.exit_code == 2
    (error,) = parsed(as_json)["errors"]
    assert set(error) == {"file", "line", "column", "code", "message", "value", "suggestion"}


def test_an_output_that_cannot_be_is_found_before_solving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(model: Model, request: Request) -> Answer:
        raise AssertionError("nothing was to be solved")

    engines.use(monkeypatch, answer)
    scenario = written(tmp_path, SCENARIO)
    for target in (scenario, scenario / "out"):
        result = run("solve", scenario, "-o", target)
        assert result.exit_code == 2
        assert "error[unwritable-output]" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir(mode=0o555)
    assert run("solve", written(tmp_path, SCENARIO), "-o", folder).exit_code == 2


def test_bad_input_makes_no_folder(tmp_path: Path) -> None:
    result = run(
        "solve", written(tmp_path, SCENARIO.replace("dimension: memory", "dimension: memroy")), "-o", tmp_path / "out"
    )
    assert result.exit_code == 2
    assert "did you mean 'memory'?" in result.stderr
    assert not (tmp_path / "out").exists()


def test_files_appear_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    path = written(tmp_path, SCENARIO)
    assert run("solve", path, "-o", folder).exit_code == 0
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("solve", path, "-o", folder, "--seed", 1)
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_result_can_be_a_start(tmp_path: Path) -> None:
    path = written(tmp_path, SCENARIO)
    run("solve", path, "-o", tmp_path / "out")
    result = run("solve", path, "--start", tmp_path / "out" / "assignment.csv", "--json")
    assert parsed(result)["status"] == "OPTIMAL"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("task,host\nt0,h0\nt1,h9\nt2,h0\n", "start.csv:3:4: error[unknown-name]: unknown host 'h9'"),
        ("host,task\nh0,t0\nh0,t1\nh0,tt\nh0,t2\n", "start.csv:4:4: error[unknown-name]: unknown task 'tt'"),
        (
            "task,host\nt0,h0\nt1,h0\nt0,h1\nt2,h0\n",
            "start.csv:4:1: error[duplicate-object]: task 't0' is listed 2 times",
        ),
        ("task,host\nt0,h0\n", "start.csv:1:1: error[missing-object]: the assignment lacks 't1', 't2'"),
        ("task,hsot\nt0,h0\n", "start.csv:1:1: error[missing-column]: there is no column 'host'; is it 'hsot'?"),
        ("task,host\nt0\n", "start.csv:2:1: error[csv-syntax]: this row has 1 field"),
        ("", "start.csv:1:1: error[empty-file]"),
        (None, "start.csv: error[missing-file]: "),
    ],
)
def test_a_bad_start_is_located(tmp_path: Path, table: str | None, message: str) -> None:
    start = tmp_path / "start.csv"
    if table is not None:
        written(tmp_path, table, "start.csv")
    result = run("solve", written(tmp_path, SCENARIO), "--start", start)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{tmp_path}{os.sep}{message}"), result.stderr


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_limits_reach_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []

    def answer(model: Model, request: Request) -> Answer:
        asked.append(request)
        return engines.enumerated(model, request)

    engines.use(monkeypatch, answer)
    path = written(tmp_path, SCENARIO + "solve: {iterations: 7, target: 2.5, patience: 3s, time_limit: 9s}\n")
    assert run("solve", path).exit_code == 0
    options = ("--iterations", 9, "--target", "0.1", "--patience", "1m", "--deterministic-time", "5s")
    assert run("solve", path, *options).exit_code == 0
    limits = [(r.time_limit, r.deterministic, r.iterations, r.patience, r.target) for r in asked]
    assert limits == [(9.0, False, 7, 3.0, (Fraction(5, 2),)), (5.0, True, 9, 60.0, (Fraction(1, 10),))]
    assert run("solve", path, "--target", "1,x").exit_code == 2
    assert "target has 9 numbers" in run("solve", path, "--target", "1,2,3,4,5,6,7,8,9").stderr


@pytest.mark.parametrize("options", [["--workers", "99999999999"], ["--iterations", "1" + 23 * "0"]], ids=" ".join)
def test_nonsense_is_bad_input(tmp_path: Path, options: list[str]) -> None:
    result = run("solve", written(tmp_path, SCENARIO), *options)
    assert result.exit_code == 2
    assert f"error[out-of-range]: {options[0][2:]} must be " in result.stderr


@pytest.mark.parametrize("verb", ["solve", "plan"])
def test_time_counts_from_the_start_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    seen: list[Request] = []

    def answer(model: Model, request: Request) -> Answer:
        seen.append(request)
        return Answer(Status.FEASIBLE, np.array([1, 0, 0], np.int32), (None,) * model.positions, None, "scripted")

    engines.use(monkeypatch, answer)
    start = time.monotonic() - 1000
    monkeypatch.setattr(process, "_began", start)
    path = written(tmp_path, SCENARIO)
    assert run(verb, path, "-o", tmp_path / "out", "--time-limit", "4000s").exit_code == 0
    assert run(verb, path, "-o", tmp_path / "late", "--time-limit", "1000s").exit_code == 0
    monkeypatch.setattr(process, "_began", None)
    before = time.monotonic()
    assert run(verb, path, "-o", tmp_path / "again", "--time-limit", "2000s").exit_code == 0
    assert seen[0].began == start
    assert 2900 < seen[0].remaining < 3000
    assert 400 < seen[1].remaining <= 500, "half of it is for the search"
    assert seen[2].began >= before, "in a process of somebody else from the call"
