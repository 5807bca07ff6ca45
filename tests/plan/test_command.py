"""`rebalance plan` and `rebalance verify`, their files, and what they say of a newer state."""

import json
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from rebalancer.cli import main
from rebalancer.plan.schema import json_schema

ROOT = Path(__file__).parents[2]
SCENARIO = """\
object: task
container: host
assignment: {h0: [a], h1: [b], h2: [c d], h3: []}
dimensions:
  mem: {task: {a: 10, b: 10, c d: 1}, host: {default: 10}}
constraints:
  - capacity: {scope: host, dimension: mem}
    in_flight: always
goals:
  - assignment_affinities:
      scope: host
      affinities:
        - {object_name: a, scope_item_name: h1, affinity: 1}
        - {object_name: b, scope_item_name: h0, affinity: 1}
        - {object_name: c d, scope_item_name: h2, affinity: 2}
plan: {max_in_flight: 3}
"""


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    (tmp_path / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    code, out, _ = run(
        "plan", str(tmp_path / "scenario.yaml"), "-o", str(tmp_path / "out"), "--json", "--format",
        "mv-task {object} '--from={source}' {destination}",
    )  # fmt: skip
    assert code == 0
    return tmp_path, json.loads(out)


def state(folder: Path, **places: str) -> str:
    rows = {"a": "h0", "b": "h1", "c d": "h2"} | places
    path = folder / "now.csv"
    path.write_text("task,host\n" + "".join(f"{task},{host}\n" for task, host in rows.items()), encoding="utf-8")
    return str(path)


def test_the_files_of_a_plan(planned: tuple[Path, dict[str, Any]]) -> None:
    folder, content = planned
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["plan.csv", "plan.json", "plan.md", "plan.sh"]
    assert json.loads((folder / "out" / "plan.json").read_text(encoding="utf-8")) == content
    jsonschema.validate(content, json_schema())
    assert [(row["object"], row["destination"]) for row in content["steps"]] == [("a", "h3"), ("b", "h0"), ("a", "h1")]
    assert list(content["inputs"]) == [str(folder / "scenario.yaml")]
    assert content["caps"] == {"max_in_flight": 3}
    lines = (folder / "out" / "plan.sh").read_text(encoding="utf-8").splitlines()
    assert shlex.split(lines[0]) == ["mv-task", "a", "--from=h0", "h3"]
    assert "| 2 | s2 | b | h1 | h0 | s1 |" in (folder / "out" / "plan.md").read_text(encoding="utf-8")


def test_the_published_schema_is_up_to_date() -> None:
    published = (ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8")
    assert json.loads(published) == json_schema()


@pytest.mark.parametrize(
    ("places", "code", "verdict", "valid", "done"),
    [
        ({}, 0, "VALID", ["s1", "s2", "s3"], []),
        ({"a": "h3"}, 0, "VALID", ["s2", "s3"], ["s1"]),
        ({"a": "h1", "b": "h0"}, 0, "VALID", [], ["s1", "s2", "s3"]),
        ({"b": "h2"}, 7, "PARTIAL", ["s1"], []),
        ({"a": "h2", "b": "h2"}, 7, "STALE", [], []),
        ({"c d": "h3"}, 7, "STALE", [], []),  # there is no room for what should wait there
    ],
)
def test_verifying_against_a_state(
    planned: tuple[Path, dict[str, Any]], places: dict[str, str], code: int, verdict: str, valid: list[str],
    done: list[str],
) -> None:  # fmt: skip
    folder, _ = planned
    found, out, _ = run("verify", str(folder / "out"), "--state", state(folder, **places), "--json")
    answer = json.loads(out)
    assert (found, answer["verdict"], answer["valid"], answer["done"]) == (code, verdict, valid, done)
    assert len(answer["valid"]) + len(answer["done"]) + len(answer["invalid"]) == 3
    assert all(one["reason"] for one in answer["invalid"])


def test_a_changed_input_is_said(planned: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = planned
    (folder / "scenario.yaml").write_text(SCENARIO + "# changed\n", encoding="utf-8")
    code, out, _ = run("verify", str(folder / "out" / "plan.json"))
    assert code == 0
    assert "has changed since the plan was made" in out


def test_a_result_is_planned_without_solving(planned: tuple[Path, dict[str, Any]]) -> None:
    folder, content = planned
    (folder / "result").mkdir()
    (folder / "result" / "assignment.csv").write_text("task,host\na,h1\nb,h0\nc d,h2\n", encoding="utf-8")
    code, out, _ = run(
        "plan", str(folder / "scenario.yaml"), "--result", str(folder / "result"), "-o", str(folder / "2"), "--json"
    )
    assert (code, json.loads(out)["steps"]) == (0, content["steps"])


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("x {objct}", "did you mean '{object}'"),
        ("x {object!r}", "placeholders stand alone"),
        ("x {object", "cannot be read"),
        ("x 'y", "cannot be read"),
        ("", "the template is empty"),
    ],
)
def test_a_faulty_template_writes_nothing(tmp_path: Path, template: str, message: str) -> None:
    (tmp_path / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    code, _, err = run("plan", str(tmp_path / "scenario.yaml"), "-o", str(tmp_path / "out"), "--format", template)
    assert code == 2
    assert message in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "no JSON"), ("[]", "error[bad-plan]"), ('{"version": 1}', "steps: Field required"), (None, "cannot read")],
)
def test_what_is_no_plan_is_bad_input(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    code, _, err = run("verify", str(path))
    assert code == 2
    assert message in err


def test_faults_of_the_plan_section_have_their_place(tmp_path: Path) -> None:
    text = SCENARIO.replace(
        "max_in_flight: 3", "max_in_fligt: 3, max_amount: {mme: 1}, max_in_per_container: {values: {h9: 1}}"
    )
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    code, out, _ = run("check", str(tmp_path / "scenario.yaml"), "--json")
    found = [(one["line"], one["suggestion"]) for one in json.loads(out)["errors"]]
    assert code == 2
    assert sorted(found, key=str) == sorted([(16, "max_in_flight"), (16, "mem"), (16, None)], key=str)
