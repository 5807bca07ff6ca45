"""Adding a spec means one file, one registry line, one reference page: whichever is forgotten is named here."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import rebalancer
from docs import generate
from rebalancer.scenario.schema import json_schema
from rebalancer.specs import parameters, registry
from rebalancer.specs.base import Spec
from tests.property.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
SPECS = ROOT / "rebalancer" / "specs"
PAGES = ROOT / "docs" / "reference" / "specs"
SCHEMA = json_schema()["definitions"]

every_spec = pytest.mark.parametrize("key", registry.BUILT_IN)


@every_spec
def test_a_registered_spec_has_its_module(key: str) -> None:
    module, _, name = registry.BUILT_IN[key].partition(":")
    assert module == f"rebalancer.specs.{key}", (
        f"{key} is registered as {module}: one file per spec, named like its key"
    )
    spec = getattr(import_module(module), name)
    assert issubclass(spec, Spec)
    assert spec.key == key, f"{name}.key is '{spec.key}', the registry says '{key}'"
    assert registry.canonical_key(name) == key, f"the class of '{key}' is called {name}"
    assert spec.is_goal() or spec.is_constraint(), f"{name} is neither a goal nor a constraint"
    assert spec.__doc__, f"{name} has no docstring"


@every_spec
def test_a_registered_spec_describes_its_parameters(key: str) -> None:
    silent = [row.name for row in parameters.parameters(registry.get(key)) if not row.meaning]
    assert not silent, f"{key}: no description of {silent}"
    vague = [row.name for row in parameters.parameters(registry.get(key)) if row.type == "value"]
    assert not vague, f"{key}: rebalancer/specs/parameters.py has no word for the type of {vague}"


@every_spec
def test_a_registered_spec_has_its_reference_page(key: str) -> None:
    page = PAGES / f"{key}.md"
    assert page.is_file(), f"docs/reference/specs/{key}.md is missing"
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {key}\n"), f"{page.name} does not start with '# {key}'"
    assert "\n## Parameters\n" in text, f"{page.name} has no section 'Parameters'"
    assert parameters.HEAD in text, f"{page.name} has no table of parameters that starts with {parameters.HEAD!r}"
    assert len(re.findall(r"^```yaml$", text, re.MULTILINE)) == 1, (
        f"{page.name} needs one example for tests/test_docs.py"
    )
    spec = registry.get(key)
    for kind, fits in (("goal", spec.is_goal()), ("constraint", spec.is_constraint())):
        used = re.search(rf"^{kind}s:\n((?:[ #-].*\n)*)", text, re.MULTILINE)
        example = used is not None and f"- {key}:" in used[1]
        assert example or not fits, f"the example of {page.name} does not use {key} as a {kind}"


@every_spec
def test_a_registered_spec_has_cases(key: str) -> None:
    _, _, name = registry.BUILT_IN[key].partition(":")
    measured = ROOT / "tests" / "data" / "conformance" / "eval" / f"{name}.jsonl"
    by_hand = ROOT / "tests" / "specs" / f"test_{key}.py"
    assert measured.is_file() or by_hand.is_file(), (
        f"{key} has neither measured cases ({measured.relative_to(ROOT)}) nor cases worked out by hand "
        f"({by_hand.relative_to(ROOT)})"
    )


@every_spec
def test_a_registered_spec_is_in_the_schema(key: str) -> None:
    spec = registry.get(key)
    for kind, fits in (("Goal", spec.is_goal()), ("Constraint", spec.is_constraint())):
        assert (key in SCHEMA[kind]["properties"]) is fits, f"{key} in the schema of {kind.lower()}s"


def test_every_registered_spec_is_in_the_random_problems() -> None:
    missing = sorted(set(registry.BUILT_IN) - set(CATALOGUE))
    assert not missing, (
        f"CATALOGUE in tests/property/catalogue.py, which CP-SAT and brute force are compared on, never draws {missing}"
    )


def test_a_spec_module_is_registered() -> None:
    defining = {path.stem for path in SPECS.glob("*.py") if defines_a_spec(path)} - {"base"}
    assert defining <= set(registry.BUILT_IN), f"not in BUILT_IN: {sorted(defining - set(registry.BUILT_IN))}"


def test_a_reference_page_belongs_to_a_spec() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")}
    assert pages <= set(registry.BUILT_IN), f"pages without a spec: {sorted(pages - set(registry.BUILT_IN))}"


@pytest.mark.parametrize(("path", "expected"), generate.outputs().items(), ids=lambda it: getattr(it, "stem", ""))
def test_what_is_generated_is_up_to_date(path: Path, expected: str) -> None:
    assert path.read_text(encoding="utf-8") == expected, f"{path.relative_to(ROOT)} is out of date: make generate"


def test_type_checkers_see_every_spec() -> None:
    tree = ast.parse(Path(rebalancer.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {f"{node.module}:{name.name}" for node in imports for name in node.names if name.asname == name.name}
    missing = set(registry.BUILT_IN.values()) - seen
    assert not missing, f"rebalancer/__init__.py does not import under TYPE_CHECKING: {sorted(missing)}"
    for target in registry.BUILT_IN.values():
        assert getattr(rebalancer, target.partition(":")[2]).key in registry.BUILT_IN


@pytest.mark.parametrize("part", ["engines", "model"])
def test_nothing_below_names_a_spec(part: str) -> None:
    """A spec builds cells and an engine reads cells: no class name and no key of a spec stands in either's code.

    Keys of one word, such as capacity, are words of the language too: they only count as text of their own.
    """
    classes = [target.partition(":")[2] for target in registry.BUILT_IN.values()]
    keys = [key for key in registry.BUILT_IN if "_" in key]
    named = re.compile(rf"\b({'|'.join([*classes, *keys])})\b|rebalancer\.specs\b")
    quoted = re.compile(rf"""["']({"|".join(registry.BUILT_IN)})["']""")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "rebalancer" / part).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (named.search(line) or quoted.search(line))
    ]
    assert not found, "\n".join(found)


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
