"""`rebalance specs`: the catalogue and its pages."""

from __future__ import annotations

import io

import jsonschema
import pytest
from rich.console import Console

from rebalancer.report.page import show
from rebalancer.specs import registry
from tests.cli.commands import ROOT, parsed, run


def test_it_lists_every_spec_with_its_use_and_purpose() -> None:
    result = run("specs")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{len(registry.BUILT_IN)} specs")
    assert [line.split()[0] for line in lines[2:]] == sorted(registry.BUILT_IN)
    (capacity,) = (line for line in lines if line.startswith("capacity "))
    assert capacity.split(maxsplit=1)[1].startswith("goal, constraint  Bound the amount")


def test_the_list_as_json() -> None:
    specs = {spec["key"]: spec for spec in parsed(run("specs", "--json"))["specs"]}
    assert list(specs) == sorted(registry.BUILT_IN)
    assert specs["avoid_moving"] == {
        "key": "avoid_moving",
        "class": "rebalancer.specs.avoid_moving:AvoidMovingSpec",
        "goal": False,
        "constraint": True,
        "purpose": "Keep given objects in their containers.",
    }


@pytest.mark.parametrize("name", ["to_free", "toFree", "toFreeSpec", "ToFreeSpec", "to_free_spec"])
def test_it_shows_a_page_under_any_spelling(name: str) -> None:
    result = run("specs", name)
    page = (ROOT / "docs" / "reference" / "specs" / "to_free.md").read_text(encoding="utf-8")
    assert (result.exit_code, result.stdout, result.stderr) == (0, page, "")


def test_a_page_in_a_pipe_has_no_links_that_lead_nowhere() -> None:
    assert "minimize_movement and avoid_moving" in run("specs", "placed").stdout


def test_a_page_as_json() -> None:
    data = parsed(run("specs", "groupCount", "--json"))
    assert (data["key"], data["goal"], data["constraint"]) == ("group_count", True, True)
    assert data["page"].startswith("# group_count\n")
    validator = jsonschema.Draft7Validator(data["schema"])
    assert not list(validator.iter_errors({"scope": "host", "partition": "job", "limit": {"globalLimit": 2}}))
    assert list(validator.iter_errors({"scope": "host", "partition": "job", "limmit": 2}))


@pytest.mark.parametrize("key", registry.BUILT_IN)
def test_the_schema_of_every_spec_is_one(key: str) -> None:
    jsonschema.Draft7Validator.check_schema(parsed(run("specs", key, "--json"))["schema"])


def test_an_unknown_name_is_bad_input() -> None:
    result = run("specs", "GroupCuntSpec")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error[unknown-spec]: unknown spec 'GroupCuntSpec'; did you mean 'group_count'?\n"
    (error,) = parsed(run("specs", "groop_count", "--json"))["errors"]
    assert (error["code"], error["suggestion"]) == ("unknown-spec", "group_count")
    assert "`rebalance specs` lists them" in run("specs", "xyzzy").stderr


def test_names_in_a_drawn_page_are_folded_not_cut() -> None:
    stream = io.StringIO()
    name = "ignore_upper_bound_for_ideal_with_abs_or_rel_bound_types"
    page = f"# x\n\n| parameter | type | meaning |\n|---|---|---|\n| `{name}` | {'text ' * 9}| {'more ' * 9}|\n"
    show(page, Console(file=stream, width=60, force_terminal=True, color_system=None))
    lines = stream.getvalue().splitlines()
    assert "…" not in stream.getvalue()
    assert name in "".join(line[1:].split("  ")[0].strip() for line in lines[2:])
