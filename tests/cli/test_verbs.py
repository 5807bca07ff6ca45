"""`rebalance check`, `evaluate`, `schema`, `import`, and what all verbs share."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.commands import BROKEN, ROOT, SCENARIO, parsed, run, written

DATA = ROOT / "tests" / "data" / "roadef"


def test_check_says_what_is_there(tmp_path: Path) -> None:
    path = written(tmp_path, SCENARIO)
    result = run("check", path)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"{path} is valid"
    assert "task         3" in lines
    assert "constraints  fits (DEFAULT)" in lines
    assert "goals        moves (weight 1, position 0)" in lines


def test_check_as_json(tmp_path: Path) -> None:
    data = parsed(run("check", written(tmp_path, SCENARIO + "unassigned: [t3]\n"), "--json"))
    assert (data["errors"], data["warnings"]) == ([], [])
    assert (data["objects"], data["containers"], data["unplaced"]) == (4, 2, 1)
    assert data["scopes"] == {"host": 2, "placed": 2}
    assert data["constraints"] == [{"name": "fits", "spec": "capacity", "policy": "DEFAULT"}]


def crowd_of_faults(count: int) -> str:
    """Return a scenario in which so many weights are no numbers, and the last line names an unknown dimension."""
    weights = "".join(f"      t{number}: many\n" for number in range(count))
    tasks = ", ".join(f"t{number}" for number in range(count))
    return (
        f"object: task\ncontainer: host\nassignment:\n  h0: [{tasks}]\ndimensions:\n  memory:\n    task:\n{weights}"
        "constraints:\n  - capacity: {scope: host, dimension: memroy}\n"
    )


def test_thousands_of_faults_of_a_sort_do_not_hide_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, crowd_of_faults(3_000))
    result = run("check", path)
    lines = result.stderr.splitlines()
    assert (result.exit_code, len(lines)) == (2, 102)
    assert all(f"{path}:{8 + number}:" in lines[number] for number in range(100))
    assert lines[100] == f"{path}:108:13: error[more-faults]: 2,900 more like these: wrong-type"
    assert "unknown dimension 'memroy'" in lines[101]
    assert len(parsed(run("check", path, "--json"))["errors"]) == 3_001


def test_a_hundred_faults_of_a_sort_are_all_told(tmp_path: Path) -> None:
    lines = run("check", written(tmp_path, crowd_of_faults(100))).stderr.splitlines()
    assert len(lines) == 101
    assert sum("error[wrong-type]" in line for line in lines) == 100


def test_warnings_are_located(tmp_path: Path) -> None:
    path = written(tmp_path, SCENARIO.replace("host: {h0: 20, h1: 20}", "host: {h0: 30}"))
    result = run("check", path)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"{path}:")
    assert " warning[" in result.stderr
    assert parsed(run("check", path, "--json"))["warnings"][0]["line"]


@pytest.mark.parametrize("verb", ["check", "evaluate", "solve"])
def test_bad_input_is_located_all_at_once(tmp_path: Path, verb: str) -> None:
    text = SCENARIO.replace("dimension: memory", "dimension: memroy").replace("task_count", "tsak_count")
    path = written(tmp_path, text)
    result = run(verb, path)
    assert (result.exit_code, result.stdout) == (2, "")
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{path}:") and " error[unknown-name]: " in line for line in lines)
    as_json = run(verb, path, "--json")
    errors = parsed(as_json)["errors"]
    assert (as_json.exit_code, as_json.stderr) == (2, "")
    assert [(error["line"], error["value"], error["suggestion"]) for error in errors] == [
        (11, "memroy", "memory"),
        (14, "tsak_count", "task_count"),
    ]


@pytest.mark.parametrize("verb", ["check", "evaluate", "solve"])
def test_a_scenario_that_cannot_be_read(tmp_path: Path, verb: str) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.yaml", tmp_path, binary):
        result = run(verb, path)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        assert " error[" in result.stderr
        assert str(path) in result.stderr
        assert parsed(run(verb, path, "--json"))["errors"]


def test_evaluate_scores_the_initial_assignment(tmp_path: Path) -> None:
    result = run("evaluate", written(tmp_path, SCENARIO))
    assert result.exit_code == 0
    assert result.stdout.startswith("broken: fits\n")
    assert "moves" in result.stdout


def test_evaluate_scores_another_assignment(tmp_path: Path) -> None:
    table = written(tmp_path, "note,task,host\n-,t0,h1\n-,t1,h0\n-,t2,h0\n", "other.csv")
    path = written(tmp_path, SCENARIO)
    data = parsed(run("evaluate", path, "--assignment", table, "--json"))
    assert list(data) == ["objective", "goals", "constraints", "worsened"]
    assert data["constraints"][0]["initial_violation"] == 0.5
    assert data["constraints"][0]["final_violation"] == 0
    assert data["objective"][0]["bound"] is None
    assert "nothing is broken" in run("evaluate", path, "--assignment", table).stdout


def test_evaluate_returns_0_where_something_is_broken(tmp_path: Path) -> None:
    table = written(tmp_path, "task,host\nt0,h1\nt1,h1\nt2,h1\n", "other.csv")
    result = run("evaluate", written(tmp_path, BROKEN), "--assignment", table)
    assert result.exit_code == 0
    assert "not allowed, because it gets worse: fits" in result.stdout


def test_an_empty_container_is_unplaced(tmp_path: Path) -> None:
    table = written(tmp_path, "task,host\nt0,h0\nt1,h0\nt2,h0\nt3,\n", "other.csv")
    path = written(tmp_path, SCENARIO + "unassigned: [t3]\n")
    data = parsed(run("evaluate", path, "--assignment", table, "--json"))
    assert data["constraints"][-1] == {
        "name": "placed",
        "spec": "placed",
        "policy": "DEFAULT",
        "initial_violation": 1.0,
        "final_violation": 1.0,
    }


def test_schema_is_a_schema_that_scenarios_keep() -> None:
    schema = parsed(run("schema"))
    jsonschema.validators.validator_for(schema).check_schema(schema)
    assert parsed(run("schema", "--json")) == schema


def test_import_makes_a_scenario(tmp_path: Path) -> None:
    files = DATA / "model_a1_1.txt", DATA / "assignment_a1_1.txt"
    folder = tmp_path / "a1_1"
    result = run("import", "google-machine-reassignment", *files, "-o", folder)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"wrote {folder}/scenario.yaml; next: rebalance solve {folder}/scenario.yaml\n"
    assert run("check", folder / "scenario.yaml").exit_code == 0
    again = run("import", "google-machine-reassignment", *files, "-o", folder, "--json")
    assert (again.exit_code, parsed(again)["errors"][0]["code"]) == (2, "not-empty")
    overwritten = run("import", "google-machine-reassignment", *files, "-o", folder, "--overwrite", "--json")
    assert parsed(overwritten) == {"scenario": f"{folder}/scenario.yaml"}


def test_import_of_what_is_not_there(tmp_path: Path) -> None:
    result = run("import", "google-machine-reassignment", tmp_path / "m", tmp_path / "a", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()
    unwritable = written(tmp_path, "x", "file") / "out"
    files = DATA / "model_a1_1.txt", DATA / "assignment_a1_1.txt"
    assert run("import", "google-machine-reassignment", *files, "-o", unwritable).exit_code == 2


def test_help_names_every_verb() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for verb in ("check", "evaluate", "solve", "schema", "import"):
        assert f"\n  {verb} " in result.stdout
        assert run(verb, "--help").exit_code == 0


def test_version() -> None:
    import rebalancer

    assert run("--version").stdout == f"rebalance {rebalancer.__version__}\n"


def test_an_unknown_verb_has_a_suggestion() -> None:
    result = run("slove")
    assert result.exit_code == 2
    assert "Did you mean 'solve'?" in result.stderr
    assert run().exit_code == 2
    (error,) = json.loads(run("slove", "--json").stdout)["errors"]
    assert error["code"] == "usage"


def test_what_an_option_means_is_not_taken_from_behind_two_dashes() -> None:
    result = run("check", "--", "--json")
    assert (result.exit_code, result.stdout) == (2, "")


def test_help_keeps_the_lines_of_the_exit_codes() -> None:
    text = run("--help").stdout
    assert "\\b" not in text
    assert "  3  done, but some constraint stays broken\n" in text


@pytest.mark.parametrize("options", [["solve", "-o", ""], ["solve", "--start", ""], ["evaluate", "--assignment", ""]])
def test_an_empty_path_is_bad_usage(tmp_path: Path, options: list[str]) -> None:
    verb, *rest = options
    result = run(verb, written(tmp_path, SCENARIO), *rest)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected a path, got nothing" in result.stderr


def test_check_says_which_weights_drown(tmp_path: Path) -> None:
    heavy = SCENARIO + "  - balance: {scope: host, dimension: memory}\n    name: even\n    weight: 1e25\n"
    data = parsed(run("check", written(tmp_path, heavy), "--json"))
    said = [warning["message"] for warning in data["warnings"]]
    assert any("differences of goal 'moves' below" in message for message in said)
    assert not any("'placed'" in message for message in said), "nothing is unplaced"


def test_check_says_where_weights_that_drown_stand_beside_an_include(tmp_path: Path) -> None:
    even = "  - balance: {scope: host, dimension: memory}\n    weight: 1e25\n"
    (tmp_path / "more.yaml").write_text("goals:\n" + even, encoding="utf-8")
    heavy = "include: [more.yaml]\n" + SCENARIO + even
    data = parsed(run("check", written(tmp_path, heavy), "--json"))
    at = next(warning for warning in data["warnings"] if "goal 'moves'" in warning["message"])
    line = heavy.splitlines()[at["line"] - 1]
    assert "minimize_movement" in line or "weight: " in line
    assert at["line"] < len(heavy.splitlines()), "the last line is the other goal's weight"


def test_the_end_of_a_file_is_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise EOFError("Ran out of input")

    monkeypatch.setattr("rebalancer.cli.check.read_scenario_or_job", fail)
    result = run("check", "scenario.yaml")
    assert result.exit_code == 1
    assert "error[internal]: internal error: EOFError: Ran out of input" in result.stderr
