"""`rebalance languages`: the languages of other schedulers and their pages."""

import jsonschema
import pytest

from rebalancer.dialects import registry
from tests.cli.commands import ROOT, parsed, run


def test_it_lists_every_language_with_what_it_follows() -> None:
    result = run("languages")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("6 languages")
    assert [line.split()[0] for line in lines[2:]] == sorted(registry.BUILT_IN)
    (fleet,) = (line for line in lines if line.startswith("fleet "))
    assert "The options of some units of Fleet." in fleet
    assert "fleet 1.0" in fleet


def test_the_list_as_json() -> None:
    languages = {one["key"]: one for one in parsed(run("languages", "--json"))["languages"]}
    assert list(languages) == sorted(registry.BUILT_IN)
    assert languages["marathon"]["class"] == "rebalancer.dialects.marathon:Marathon"
    assert languages["marathon"]["sources"].startswith("Marathon 1.4 to 1.11")


@pytest.mark.parametrize("name", ["marathon", "Marathon"])
def test_it_shows_a_page(name: str) -> None:
    result = run("languages", name)
    page = (ROOT / "docs" / "reference" / "dialects" / "marathon.md").read_text(encoding="utf-8")
    assert (result.exit_code, result.stdout, result.stderr) == (0, page, "")


@pytest.mark.parametrize("key", registry.BUILT_IN)
def test_every_language_as_json_has_its_page_and_schema(key: str) -> None:
    data = parsed(run("languages", key, "--json"))
    assert data["page"].startswith(f"# {key}\n")
    jsonschema.Draft7Validator.check_schema(data["schema"])


def test_an_unknown_name_is_bad_input() -> None:
    result = run("languages", "maraton")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error[unknown-language]: unknown language 'maraton'; did you mean 'marathon'?\n"


def test_a_language_is_no_spec() -> None:
    assert "see `rebalance languages kubernetes`" in run("specs", "kubernetes").stderr
