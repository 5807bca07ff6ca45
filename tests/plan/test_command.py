"""`rebalance plan` and `rebalance verify`, their files, and what they say of a newer state."""

import json
import math
import shlex
from datetime import datetime, timedelta
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


def test_one_step_is_one_step(tmp_path: Path) -> None:
    text = "assignment: {h0: [a], h1: []}\ngoals:\n  - to_free: {containers: [h0]}\n"
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    code, out, _ = run("plan", str(tmp_path / "scenario.yaml"), "-o", str(tmp_path / "out"))
    assert (code, out.splitlines()[0].partition(" (")[0]) == (0, "COMPLETE: 1 step in 1 wave")


def test_what_stays_broken_is_said(tmp_path: Path) -> None:
    """Nothing moves, which is not to say that nothing would have to."""
    text = "assignment: {h0: [a, b], h1: [c, d]}\ndimensions: {n: {object: {default: 1}, container: {default: 1}}}\n"
    rules = ("fits", "DEFAULT"), ("soft", "SOFT")
    text += "constraints:\n" + "".join(
        f"  - capacity: {{scope: container, dimension: n}}\n    name: {name}\n    policy: {policy}\n"
        for name, policy in rules
    )
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    code, out, _ = run("plan", str(tmp_path / "scenario.yaml"), "-o", str(tmp_path / "out"))
    assert (code, out.splitlines()[1]) == (3, "still broken: fits")
    summary = (tmp_path / "out" / "plan.md").read_text(encoding="utf-8")
    assert "Nothing moves." in summary
    assert "| Still broken at the end | fits |" in summary


def test_the_published_schema_is_up_to_date() -> None:
    published = (ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8")
    assert json.loads(published) == json_schema()


@pytest.mark.parametrize(
    ("places", "code", "verdict", "valid", "done"),
    [
        ({}, 0, "VALID", ["s1", "s2", "s3"], []),
        ({"a": "h3"}, 0, "VALID", ["s2", "s3"], ["s1"]),
        ({"a": "h1", "b": "h0"}, 0, "VALID", [], ["s1", "s2", "s3"]),
        ({"b": "h2"}, 7, "PARTIAL", ["s1", "s3"], []),  # where b was there is room for a
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


def test_all_that_was_edited_wrongly_in_a_plan_is_told_at_once(planned: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = planned
    plan = json.loads((folder / "out" / "plan.json").read_text(encoding="utf-8"))
    last, first_back = plan["steps"][-1], plan["rollback"]["steps"][0]
    last["after_wave"] = last["wave"]
    first_back |= {"undoes": "s99", "after": ["r98"]}
    plan["caps"] = {"max_in_flight": -1, "max_in_fligt": 2}
    plan["staging"] = [{"object": "t", "container": "h", "step": "s97", "until": last["id"]}]
    excess = {"constraint": "fits", "item": None, "group": None, "first_wave": 2, "last_wave": 1, "amount": 0.5}
    plan["excess"] = [{**excess, "in_flight": "at_end"}]
    (folder / "edited.json").write_text(json.dumps(plan), encoding="utf-8")
    code, _, err = run("verify", str(folder / "edited.json"))
    assert code == 2
    where = f"{folder / 'edited.json'}: error[bad-plan]: "
    assert err.splitlines() == [
        f"{where}unknown field 'max_in_fligt' of caps; did you mean 'max_in_flight'?",
        f"{where}max_in_flight: out of range: expected 0 or more, got -1",
        f"{where}step '{last['id']}' of wave {last['wave']} waits for wave {last['wave']}, which is no earlier one",
        f"{where}step 'r1' waits for 'r98', which is no step",
        f"{where}'t' waits from 's97' to '{last['id']}': 's97' is no step",
        f"{where}what 'fits' exceeds ends in wave 1, before it begins",
        f"{where}step 'r1' undoes 's99', which is no step",
    ]


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("waves", "count"), -1, "waves.count: Input should be greater than or equal to 0"),
        (("totals", "blocked"), -1, "totals.blocked: "),
        (("peaks", 0, "objective", 0), math.nan, "NaN is no number"),
        (("peaks", 0, "amounts", "x"), math.inf, "Infinity is no number"),
        (("peaks", 0, "wave"), 0, "peaks.0.wave: "),
        (("steps", 0, "wave"), 10**30, "steps.0.wave: "),
        (("steps", 0, "after_wave"), 0, "steps.0.after_wave: "),
        (("rollback", "waves"), -1, "rollback.waves: "),
        (("expires",), "tomorrow", "expires: 'tomorrow' is no time"),
    ],
)
def test_numbers_that_no_plan_has_are_told(
    planned: tuple[Path, dict[str, Any]], where: tuple[Any, ...], value: Any, message: str
) -> None:
    folder, _ = planned
    plan = json.loads((folder / "out" / "plan.json").read_text(encoding="utf-8"))
    part = plan
    for step in where[:-1]:
        part = part[step]
    part[where[-1]] = value
    (folder / "edited.json").write_text(json.dumps(plan), encoding="utf-8")
    code, _, err = run("verify", str(folder / "edited.json"))
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "too much is nested"),
        ("[]", "error[bad-plan]"),
        ('{"version": 1}', "steps: Field required"),
        ('{"version": 1, "version": 1}', "error[duplicate-key]: the key 'version' stands twice"),
        ('{"caps": {"max_in_flight": 1, "max_in_flight": 9}}', "the key 'max_in_flight' stands twice"),
        (None, "cannot read"),
    ],
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


def test_a_plan_that_expires(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    code, out, _ = run(
        "plan", str(tmp_path / "scenario.yaml"), "-o", str(tmp_path / "out"), "--json", "--expires", "12h"
    )
    content = json.loads(out)
    moments = [datetime.fromisoformat(content[name]) for name in ("created", "expires")]
    assert (code, moments[1] - moments[0]) == (0, timedelta(hours=12))
    assert run("verify", str(tmp_path / "out"))[0] == 0
    content["expires"] = content["created"] = "2026-01-01T00:00:00+00:00"
    (tmp_path / "out" / "plan.json").write_text(json.dumps(content), encoding="utf-8")
    code, out, _ = run("verify", str(tmp_path / "out"))
    assert code == 7
    assert out.startswith("STALE: 0 steps to do, 0 done, 3 not valid\n")
    assert "the plan expired at 2026-01-01T00:00:00+00:00" in out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"expires": "tomorrow"}, "expires: 'tomorrow' is no time"),
        ({"expires": "2026-01-01T00:00:00"}, "with its zone"),
        ({"steps": [{"id": "s1", "object": "a", "source": "h0", "destination": "h3", "wave": 1, "after": ["s1"]}]},
         "in no earlier wave"),
    ],
)  # fmt: skip
def test_a_plan_that_contradicts_itself_is_bad_input(
    planned: tuple[Path, dict[str, Any]], change: dict[str, Any], message: str
) -> None:
    folder, content = planned
    path = folder / "out" / "plan.json"
    path.write_text(json.dumps(content | change), encoding="utf-8")
    code, _, err = run("verify", str(path))
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("x|y", r"x\|y"),
        ("<script>", r"\<script>"),
        ("a*b*", r"a\*b\*"),
        ("`x`[y](z)", r"\`x\`\[y](z)"),
        ("&lt;", r"\&lt;"),
        ("a&b_c", "a&b_c"),
        ("__x", r"\_\_x"),
    ],
)
def test_names_cannot_break_out_of_the_summary(tmp_path: Path, name: str, shown: str) -> None:
    text = (
        SCENARIO.replace("[a]", f"['{name}']")
        .replace("{a: 10,", f"{{'{name}': 10,")
        .replace("object_name: a,", f"object_name: '{name}',")
    )
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    assert run("plan", str(tmp_path / "scenario.yaml"), "-o", str(tmp_path / "out"))[0] == 0
    summary = (tmp_path / "out" / "plan.md").read_text(encoding="utf-8")
    assert f"| 1 | s1 | {shown} | h0 | h3 |" in summary
    assert f"| {tmp_path / 'scenario.yaml'} |" in summary


def test_what_it_does_is_told_unless_it_is_to_be_quiet(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    command = ("plan", str(tmp_path / "scenario.yaml"), "-o", str(tmp_path / "out"), "--json")
    code, out, err = run(*command)
    assert (code, json.loads(out)["status"]) == (0, "COMPLETE")
    lines = err.splitlines()
    assert all("position 0  objective " in line for line in lines[:-1])
    assert lines[0] != lines[-1] == "ordering 2 moves, and the way back"
    code, out, err = run(*command, "--quiet")
    assert (code, json.loads(out)["status"], err) == (0, "COMPLETE", "")
