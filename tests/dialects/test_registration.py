"""Adding a language means one module, one registry line, one reference page: whichever is forgotten is named here."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

from rebalancer import Rebalancer
from rebalancer.dialects import registry
from rebalancer.dialects.base import Dialect
from rebalancer.scenario.schema import json_schema
from rebalancer.specs import registry as specs

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "rebalancer" / "dialects"
PAGES = ROOT / "docs" / "reference" / "dialects"

every_language = pytest.mark.parametrize("key", registry.BUILT_IN)


@every_language
def test_a_registered_language_has_its_module(key: str) -> None:
    module, _, name = registry.BUILT_IN[key].partition(":")
    assert module == f"rebalancer.dialects.{key}"
    found = getattr(import_module(module), name)
    assert issubclass(found, Dialect)
    assert found.key == key
    assert found.sources, f"{name} does not say which versions it follows"
    assert callable(import_module(module).parse)


@every_language
def test_no_spec_has_the_key_of_a_language(key: str) -> None:
    assert key not in set(specs.keys())


@every_language
def test_every_field_of_a_language_says_what_it_is(key: str) -> None:
    silent = [name for name, info in registry.get(key).model_fields.items() if not info.description]
    assert not silent


@every_language
def test_a_statement_says_something(key: str) -> None:
    with pytest.raises(ValidationError):
        registry.get(key).model_validate({})


@pytest.mark.parametrize("key", ["fenzo", "firmament", "yarn"])
def test_a_statement_without_any_rule_names_the_fields_that_make_some(key: str) -> None:
    language = registry.get(key)
    with pytest.raises(ValidationError, match=f"no rules are stated; they stand in '{language.ruling[0]}', '"):
        language.model_validate({})
    language.model_validate({language.ruling[0]: []})  # none, and that is what was meant


@every_language
def test_a_registered_language_is_in_the_schema(key: str) -> None:
    assert key in json_schema()["definitions"]["Rules"]["properties"]


@every_language
def test_the_example_of_a_page_is_solved(key: str, tmp_path: Path) -> None:
    text = (PAGES / f"{key}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {key}\n")
    for section in ("## Facts", "## What maps to what", "## What differs, and why", "## Example"):
        assert f"\n{section}\n" in text
    (example,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "scenario.yaml"
    file.write_text(example)
    solution = Rebalancer.from_yaml(file).solve(engine="cpsat", time_limit=20)
    assert solution.status.value == "OPTIMAL"
    assert solution.constraints["final_violation"].tolist() == [0.0] * len(solution.constraints)
    assert solution.assignment.notna().all()


def test_a_page_and_a_module_belong_to_a_language() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(registry.BUILT_IN)
    defining = {
        path.stem for path in MODULES.glob("*.py") if re.search(r"^class \w+\(Dialect\)", path.read_text(), re.M)
    }
    assert defining == set(registry.BUILT_IN)
