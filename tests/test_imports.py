"""Start-up stays cheap: heavy libraries are loaded where they are used, never before."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("ortools", "pandas", "numba", "pyarrow", "matplotlib", "sqlalchemy")

FIRST = str(Path(__file__).parent.parent / "scenarios/first-rebalance/scenario.yaml")

REPORT = "import sys; print(*[name for name in {heavy!r} if name in sys.modules])"


@pytest.mark.parametrize(
    "code",
    [
        "import rebalancer",
        "import rebalancer; rebalancer.__version__; dir(rebalancer)",
        "import rebalancer; rebalancer.CapacitySpec; rebalancer.Limit; rebalancer.InputError",
        "from rebalancer.specs import register, Spec, Limit; dir(__import__('rebalancer.specs'))",
        "import rebalancer.cli",
    ],
)
def test_import_loads_nothing_heavy(code: str) -> None:
    assert loaded_after(code) == []


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["solve", "--help"], ["check", "--help"], ["evaluate", "--help"], ["import", "--help"]],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_after(run(arguments)) == []


@pytest.mark.parametrize("arguments", [["specs"], ["specs", "capacity"], ["specs", "capacity", "--json"]], ids=" ".join)
def test_the_catalogue_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_after(run(arguments)) == []


@pytest.mark.parametrize(("command", "needed"), [("solve", ["ortools"]), ("evaluate", [])])
def test_a_small_scenario_loads_what_it_needs(command: str, needed: list[str]) -> None:
    assert loaded_after(run([command, FIRST])) == needed


def test_an_unknown_name_is_an_attribute_error() -> None:
    import rebalancer

    with pytest.raises(AttributeError, match="NoSuchSpec"):
        rebalancer.NoSuchSpec  # noqa: B018


def run(arguments: list[str]) -> str:
    """Return the code that runs the command, and demands that it succeeds."""
    return f"""
from rebalancer.cli import main
try:
    main({arguments!r})
except SystemExit as end:
    assert not end.code, end.code
print()
"""


def loaded_after(code: str) -> list[str]:
    """Return the heavy libraries that a fresh interpreter has loaded after running ``code``."""
    program = f"{code}\n{REPORT.format(heavy=HEAVY)}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()
