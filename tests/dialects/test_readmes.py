"""The scenarios of languages do what their READMEs say, and the answers are proven."""

import re
from pathlib import Path

import pytest

from rebalancer import Rebalancer
from rebalancer.scenario.importers.kubernetes import convert

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"^    rebalance solve (scenarios/\S+)\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
LANGUAGES = ("marathon", "fenzo", "yarn", "fleet", "kubernetes", "firmament", "three")
RUNS = [
    (file, text)
    for readme in sorted((ROOT / "scenarios").glob("*/README.md"))
    if readme.parent.name.startswith(LANGUAGES)
    for file, text in SHOWN.findall(readme.read_text(encoding="utf-8"))
]


def test_every_language_has_a_scenario() -> None:
    shown = {file for file, _ in RUNS}
    there = {
        str(path.relative_to(ROOT))
        for folder in (ROOT / "scenarios").iterdir()
        if folder.name.startswith(LANGUAGES)
        for path in folder.glob("*.yaml")
    }
    assert shown == there
    assert {file.split("/")[1].split("-")[0] for file in shown} == set(LANGUAGES)


@pytest.mark.parametrize(("file", "text"), RUNS, ids=[file.removeprefix("scenarios/") for file, _ in RUNS])
def test_the_shown_result_is_the_optimum(file: str, text: str) -> None:
    assert text.startswith("OPTIMAL")
    rows = re.findall(r"^(\d+) +\S+ +(\S+) +\S+ +\S+ %$", text, re.MULTILINE)
    solution = Rebalancer.from_yaml(ROOT / file).solve(engine="cpsat", time_limit=30)
    assert solution.status.value == "OPTIMAL"
    assert solution.objective["final"].tolist() == pytest.approx([float(final) for _, final in rows], rel=1e-4)
    held = solution.constraints[solution.constraints["policy"] != "SOFT"]
    assert (held["final_violation"] == 0).all()


def test_the_committed_snapshot_is_what_the_importer_writes(tmp_path: Path) -> None:
    folder = ROOT / "scenarios" / "kubernetes-snapshot"
    given = [folder / "snapshot" / f"{name}.json" for name in ("nodes", "pods", "pdbs")]
    convert(*given, tmp_path / "out")
    for name in ("nodes.csv", "pods.csv"):
        assert (folder / name).read_text() == (tmp_path / "out" / name).read_text()
    committed = (folder / "scenario.yaml").read_text().splitlines()
    assert committed[1:] == (tmp_path / "out" / "scenario.yaml").read_text().splitlines()
