"""The scenarios of the repository do what their READMEs say."""

import re
from pathlib import Path

import pytest

from rebalancer import Rebalancer

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(path.parent for path in (ROOT / "scenarios").glob("*/scenario.yaml"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_scenario_is_complete_and_loads(folder: Path) -> None:
    assert (folder / "README.md").is_file()
    first = (folder / "scenario.yaml").read_text().splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert match, "the first line tells editors where the schema is"
    assert (folder / match.group(1)).is_file()
    evaluation = Rebalancer.from_yaml(folder / "scenario.yaml").evaluate()
    assert len(evaluation.objective) > 0


@pytest.mark.parametrize("spec_set", sorted((ROOT / "specs").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_spec_set_is_used_by_two_scenarios(spec_set: Path) -> None:
    users = [
        folder.name for folder in FOLDERS if f"../../specs/{spec_set.name}" in (folder / "scenario.yaml").read_text()
    ]
    assert len(users) >= 2, users


def test_first_rebalance_moves_one_task() -> None:
    solution = Rebalancer.from_yaml(ROOT / "scenarios/first-rebalance/scenario.yaml").solve(time_limit=20)
    assert solution.status.value == "OPTIMAL"
    assert solution.objective["initial"].tolist() == [10050.0, 0.0]
    assert solution.objective["final"].tolist() == [0.0, 1.0]
    assert solution.moves["destination"].tolist() == ["host1"]


def test_drain_a_host_empties_it_and_breaks_nothing() -> None:
    solution = Rebalancer.from_yaml(ROOT / "scenarios/drain-a-host/scenario.yaml").solve(time_limit=30)
    assert solution.status.value == "OPTIMAL"
    assert (solution.constraints["final_violation"] == 0).all()
    assert "host05" not in set(solution.assignment)
    assert "host11" not in set(solution.moves["destination"])


def test_already_broken_mends_what_it_can() -> None:
    solution = Rebalancer.from_yaml(ROOT / "scenarios/already-broken/scenario.yaml").solve(time_limit=20)
    assert solution.status.value == "OPTIMAL"
    violations = solution.constraints.set_index("name")["final_violation"]
    assert violations["licences"] == 0
    assert violations["memory-fits"] == pytest.approx(0.5)  # giant alone is 10 of 20 GB too much
    excess = solution.cells("memory-fits").set_index("item")["violation"]
    assert excess[excess > 0].index.tolist() == ["host1"]
