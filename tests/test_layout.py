"""Adding a spec means one file, one registry line, one reference page: whichever is forgotten is named here."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import rebalancer
from rebalancer.specs import registry
from rebalancer.specs.base import Spec

ROOT = Path(__file__).parents[1]
SPECS = ROOT / "rebalancer" / "specs"
PAGES = ROOT / "docs" / "reference" / "specs"
#: Modules of the package that are no specs.
MACHINERY = {"__init__", "base", "entries", "fields", "registry"}


@pytest.mark.parametrize("key", registry.BUILT_IN)
def test_a_registered_spec_has_its_module(key: str) -> None:
    module, _, name = registry.BUILT_IN[key].partition(":")
    assert module == f"rebalancer.specs.{key}", (
        f"{key} is registered as {module}: one file per spec, named like its key"
    )
    spec = getattr(import_module(module), name)
    assert issubclass(spec, Spec)
    assert spec.key == key, f"{name}.key is '{spec.key}', the registry says '{key}'"
    assert registry.canonical_key(name) == key, f"the class of '{key}' is called {name}"
    assert spec.is_goal() or spec.is_constraint() or spec.prepare is not Spec.prepare, f"{name} does nothing"
    assert spec.__doc__, f"{name} has no docstring"
    undocumented = [field for field, info in spec.model_fields.items() if not info.description]
    assert not undocumented, f"{name}: no description of {undocumented}"


@pytest.mark.parametrize("key", registry.BUILT_IN)
def test_a_registered_spec_has_its_reference_page(key: str) -> None:
    page = PAGES / f"{key}.md"
    assert page.is_file(), f"docs/reference/specs/{key}.md is missing"
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {key}\n"), f"{page.name} does not start with '# {key}'"
    spec = registry.get(key)
    unmentioned = [field for field in spec.model_fields if field != "name" and f"`{field}`" not in text]
    assert not unmentioned, f"{page.name} does not mention {unmentioned}"
    assert "```yaml" in text, f"{page.name} has no example"


def test_a_spec_module_is_registered() -> None:
    used = {path.stem for path in SPECS.glob("*.py")} - MACHINERY
    defining = {name for name in used if defines_a_spec(SPECS / f"{name}.py")}
    assert defining <= set(registry.BUILT_IN), f"not in BUILT_IN: {sorted(defining - set(registry.BUILT_IN))}"


def test_a_reference_page_belongs_to_a_spec() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")}
    assert pages <= set(registry.BUILT_IN), f"pages without a spec: {sorted(pages - set(registry.BUILT_IN))}"


def test_type_checkers_see_every_spec() -> None:
    source = Path(rebalancer.__file__).read_text(encoding="utf-8")
    for target in registry.BUILT_IN.values():
        module, _, name = target.partition(":")
        line = f"from {module} import {name} as {name}"
        assert line in source, f"rebalancer/__init__.py, under TYPE_CHECKING, lacks: {line}"
        assert getattr(rebalancer, name).__name__ == name


def test_every_public_name_is_exported() -> None:
    for name in dir(rebalancer):
        assert getattr(rebalancer, name) is not None


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "scenarios").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not broken, "\n".join(broken)


def defines_a_spec(path: Path) -> bool:
    """Return whether a module has a class with a spec key."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                target = line.target if isinstance(line, ast.AnnAssign) else None
                if isinstance(target, ast.Name) and target.id == "key":
                    return True
                if isinstance(line, ast.Assign) and any(
                    isinstance(t, ast.Name) and t.id == "key" for t in line.targets
                ):
                    return True
    return False
