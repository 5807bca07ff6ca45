"""`rebalance nightly` and `rebalance history`: what they print, and with which exit code they end."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from rebalancer.cli.history import _tables, sparkline
from rebalancer.engines.base import Answer, Status
from rebalancer.jobs.trends import trends
from tests.cli.commands import parsed, run
from tests.jobs.fleet import CROWDED, Fleet
from tests.solver import engines

COUNT = {"type": ["integer", "null"]}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}
REPORT = {
    "type": "object",
    "properties": {
        "job": {"const": "fleet"},
        "run": COUNT,
        "outcome": {"type": "string"},
        "exit_code": {"type": "integer"},
        "reasons": {"type": "array", "items": {"type": "string"}},
        "guard": {"type": ["string", "null"]},
        "started": TIME,
        "finished": TIME,
        "seconds": {"type": "number"},
        "snapshot": {
            "type": ["object", "null"],
            "properties": {"taken": TIME, "accepted": {"type": "boolean"}, "sizes": {"type": "object"}},
            "required": ["taken", "accepted", "sizes"],
            "additionalProperties": False,
        },
        "status": {"enum": ["OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNKNOWN", None]},
        "interrupted": {"type": "boolean"},
        "objective": {"type": "array", "items": {"required": ["tuple_pos", "initial", "final", "bound"]}},
        "broken": {"type": "object", "properties": {"initial": COUNT, "final": COUNT}},
        "constraints": {"type": "array", "items": {"required": ["name", "initial_broken", "final_broken"]}},
        "plan": {"type": ["string", "null"]},
        "errors": {"type": "array", "items": {"required": ["file", "line", "column", "code", "message"]}},
        **dict.fromkeys(("cooled_down", "kept_from", "moves", "moved_objects", "waves", "staged", "blocked"), COUNT),
        "trimmed_from": COUNT,
    },
    "additionalProperties": False,
}  # fmt: skip
REPORT["required"] = sorted(set(REPORT["properties"]) - {"errors"})  # type: ignore[call-overload]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    engines.use(monkeypatch, engines.enumerated)
    return Fleet(tmp_path)


def test_a_night_as_json(fleet: Fleet) -> None:
    result = run("nightly", fleet.path, "--json")
    assert result.exit_code == 0, result.output
    data = parsed(result)
    jsonschema.validate(data, REPORT)
    assert (data["outcome"], data["moves"], data["plan"]) == (
        "planned", 1, str((fleet.folder / "plans" / "latest").resolve()),
    )  # fmt: skip
    assert "INFO rebalancer.jobs.run: run 1 of the job 'fleet' begins" in result.stderr


def test_a_night_as_text(fleet: Fleet) -> None:
    result = run("nightly", fleet.path, "--quiet")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "planned: 1 step in 1 wave, 1 object move"
    assert lines[1] == "objective 0: 10,050 → 0 (no assignment is below 0)"
    assert lines[-1] == f"the plan is in {(fleet.folder / 'plans' / 'latest').resolve()}"
    assert result.stderr == ""
    lines = run("nightly", fleet.path, "--quiet").stdout.splitlines()
    assert lines[:2] == [
        "kept: 1 step in 1 wave, 1 object move",
        "the plan of run 1 still holds, and nothing better was found",
    ]


def test_what_stays_broken_is_named(fleet: Fleet) -> None:
    fleet.tasks({"t0": "h0"}, t0=50)
    result = run("nightly", fleet.path, "--quiet")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (3, "nothing to do")
    assert "still broken: fits" in result.stdout


def test_a_search_that_found_nothing_in_time_says_so(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, lambda model, request: Answer(Status.FEASIBLE, model.problem.initial, (None,), None, "-"))
    result = run("nightly", fleet.path)
    lines = result.stdout.splitlines()
    assert (result.exit_code, lines[0], lines[-1]) == (3, "nothing better was found", "still broken: fits")
    assert lines[1].startswith("fits stays broken: the search ended after 0 s, before it found anything better")
    assert "run 1 ends: nothing better was found" in result.stderr
    assert "nothing to do" not in result.output
    assert "fits stays broken: the search ended" in run("history", fleet.path).stdout
    assert parsed(run("nightly", fleet.path, "--json"))["reasons"] == lines[1:2]


def test_a_refusal(fleet: Fleet) -> None:
    fleet.job(guards={"max_moves": 0})
    result = run("nightly", fleet.path)
    assert (result.exit_code, result.stdout) == (8, "")
    assert "ERROR rebalancer.jobs.run: refused: the plan has 1 step; max_moves allows 0" in result.stderr
    data = parsed(run("nightly", fleet.path, "--json"))
    jsonschema.validate(data, REPORT)
    assert (data["outcome"], data["guard"], data["plan"]) == ("refused", "max_moves", None)


def test_checking_a_job(fleet: Fleet) -> None:
    """With tonight's snapshot, and without a trace."""
    before = sorted(path.name for path in fleet.folder.iterdir())
    result = run("check", fleet.path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{fleet.path} is valid\n")
    assert parsed(run("check", fleet.path, "--json"))["objects"] == len(CROWDED)
    fleet.job(guards={"max_move": 3}, snapshot={"tables": {"tasks": {"file": "tasks.csv"}}})
    assert "did you mean 'max_moves'?" in run("check", fleet.path).stderr
    fleet.job(snapshot={"tables": {"tasks": {"file": "tasks.csv"}}})
    assert "has no table 'tasks'; did you mean 'task'?" in run("check", fleet.path).stderr
    assert sorted(path.name for path in fleet.folder.iterdir()) == before


def test_verifying_from_another_folder(fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names in a plan are relative to where the job ran; another job of that name may be in the current folder."""
    monkeypatch.chdir(fleet.folder)
    assert run("nightly", "job.yaml").exit_code == 0
    plan = fleet.folder / "plans" / "latest"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for other in (None, "scenario: nothing.yaml\nhistory: sqlite:///other.db\n"):
        if other is not None:
            (elsewhere / "job.yaml").write_text(other, encoding="utf-8")
        result = run("verify", plan)
        assert (result.exit_code, result.stdout) == (0, "VALID: 1 step to do, 0 done, 0 not valid\n")
    fleet.tasks(CROWDED | {"t9": "h2"})
    assert run("verify", plan).stdout.endswith("'tasks.csv' has changed since the plan was made\n")


def test_bad_input_of_the_job(fleet: Fleet) -> None:
    fleet.job(guards={"max_movs": 1})
    result = run("nightly", fleet.path)
    assert result.exit_code == 2
    assert re.match(rf"{fleet.path}:\d+:\d+: error\[.*did you mean 'max_moves'\?", result.stderr)
    data = parsed(run("nightly", fleet.path, "--json"))
    assert [error["file"] for error in data["errors"]] == [str(fleet.path)]


def test_bad_input_of_the_snapshot(fleet: Fleet) -> None:
    fleet.tasks(CROWDED | {"t9": "h9"})
    result = run("nightly", fleet.path, "--quiet")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"{fleet.folder / 'tasks.csv'}:6:4: error[unknown-name]: {_message(fleet)}"
    ]  # fmt: skip


def _message(fleet: Fleet) -> str:
    result = run("nightly", fleet.path, "--quiet", "--json", "--log", "json")
    data = parsed(result)
    jsonschema.validate(data, REPORT)
    (error,) = data["errors"]
    assert (error["line"], error["column"]) == (6, 4)
    (line,) = map(json.loads, result.stderr.splitlines())
    assert (line["level"], line["code"], line["line"], line["run"]) == ("error", "unknown-name", 6, data["run"])
    return str(error["message"])


def test_json_lines(fleet: Fleet) -> None:
    result = run("nightly", fleet.path, "--log", "json")
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert {line["job"] for line in lines} == {"fleet"}
    assert {line["run"] for line in lines} == {1}
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)


def test_an_internal_error(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, lambda model, request: 1 / 0)  # type: ignore[arg-type, return-value]
    result = run("nightly", fleet.path, "--json")
    assert result.exit_code == 1
    assert parsed(result)["errors"][0]["code"] == "internal"
    assert "Traceback" in run("nightly", fleet.path, "--debug").stderr


def test_accepting_a_smaller_snapshot(fleet: Fleet) -> None:
    run("nightly", fleet.path)
    fleet.tasks({"t0": "h0"})
    assert run("nightly", fleet.path).exit_code == 8
    assert run("nightly", fleet.path, "--accept-shrunk").exit_code == 0
    assert run("nightly", fleet.path).exit_code == 0


def test_the_history_as_json(fleet: Fleet) -> None:
    fleet.run()
    fleet.run(1)
    data = parsed(run("history", fleet.path, "--json"))
    assert sorted(data) == ["constraints", "jobs", "objectives", "runs"]
    assert data["jobs"] == ["fleet"]
    assert [(row["run"], row["outcome"], row["kept_from"]) for row in data["runs"]] == [
        (2, "kept", 1), (1, "planned", None),
    ]  # fmt: skip
    assert [(row["tuple_pos"], row["initial"], row["final"]) for row in data["objectives"]] == [
        (0, [10050, 10050], [0, 0]), (1, [0, 0], [1, 1]),
    ]  # fmt: skip
    assert [(row["name"], row["broken_initial"], row["broken_final"]) for row in data["constraints"]] == [
        ("fits", 2, 0)
    ]
    url = f"sqlite:///{fleet.folder / 'history.db'}"
    assert [row["run"] for row in parsed(run("history", url, "--runs", 1, "--json"))["runs"]] == [2]
    objects = parsed(run("history", url, "--job", "fleet", "--objects", "--json"))["objects"]
    assert [(row["moves"], row["plans"]) for row in objects] == [(1, 1)]


def test_the_history_as_text(fleet: Fleet) -> None:
    first = fleet.run()
    fleet.tasks({"t0": "h0"})
    fleet.run(1)
    lines = run("history", fleet.path, "--objects").stdout.splitlines()
    assert lines[0] == "runs"
    assert lines[1].split() == ["run", "started", "outcome", "moves", "waves", "broken", "objective", "seconds", "why"]
    assert lines[2].split()[:4] == ["2", f"{fleet.clock(1)():%Y-%m-%d}", f"{fleet.clock(1)():%H:%M}", "refused"]
    assert "rows of task fell from 4 to 1" in lines[2]
    row = re.split(r"  +", lines[3].strip())
    assert row == ["1", f"{first.started:%Y-%m-%d %H:%M}", "planned", "1", "1", "1 → 0", "10050 → 0", "0"]
    at = lines.index("objective")
    assert [re.split(r"  +", line.strip()) for line in lines[at + 2 : at + 4]] == [
        ["0", "▁", "0", "0", "0"], ["1", "▁", "1", "1", "1"],
    ]  # fmt: skip
    assert "most often broken" in lines
    assert "moved most" in lines


def test_a_narrow_terminal_is_enough_for_the_runs(fleet: Fleet) -> None:
    fleet.run()
    found = trends(fleet.history, None, 20, None)
    wide, narrow = (_tables(found, False, True, narrow)[0] for narrow in (False, True))
    assert set(wide.columns) - set(narrow.columns) == {">waves", ">seconds"}
    assert [row[:3] for row in narrow.rows] == [row[:3] for row in wide.rows]
    assert all(len(row) == len(narrow.columns) for row in narrow.rows)


def test_a_terminal_shows_the_beginning_of_a_long_reason(fleet: Fleet) -> None:
    weights = {f"t{number}": "many" for number in range(60)}
    fleet.scenario(dimensions={"cpu": {"task": weights}})
    fleet.run()
    found = trends(fleet.history, None, 20, None)
    assert len(found.runs[0]["reason"]) > 1_000
    note = _tables(found, False, True, False)[0].note
    assert note.startswith("run 1: dimension 'cpu' of task 't0': expected a number, got 'many'")
    assert len(note) < 250


def test_since(fleet: Fleet) -> None:
    fleet.run()
    assert run("history", fleet.path, "--since", "1d").stdout.startswith("runs\n")
    assert run("history", fleet.path, "--since", "1ms").stdout == "no runs\n"


def test_no_history(fleet: Fleet) -> None:
    result = run("history", fleet.path)
    assert result.exit_code == 2
    assert "error[no-history]: there is no history yet" in result.stderr
    assert not (fleet.folder / "history.db").exists()


def test_another_job(fleet: Fleet) -> None:
    fleet.run()
    result = run("history", f"sqlite:///{fleet.folder / 'history.db'}", "--job", "fleed")
    assert result.exit_code == 2
    assert "unknown job 'fleed'; did you mean 'fleet'?" in result.stderr
    assert run("history", fleet.path, "--job", "fleed").exit_code == 2


def test_a_url_whose_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    result = run("history", "postgresql+psycopg://rb:${NO_SUCH_VARIABLE}@127.0.0.1/history")
    assert result.exit_code == 2
    assert "the environment variable 'NO_SUCH_VARIABLE' is not set" in result.stderr


@pytest.mark.parametrize(
    ("values", "bars"), [([1.0], "▁"), ([2.0, 2.0], "▁▁"), ([0.0, 7.0, 3.4], "▁█▄"), ([-1.0, 1.0, 0.99], "▁██")]
)
def test_bars(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars
