"""What the pages say is run: their scenarios load and score as the comments beside them claim, their Python runs."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from rebalancer import Rebalancer

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "reference" / "specs").glob("*.md"))
CLAIM = re.compile(r"#\s*initially (-?[0-9.]+)")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_of_a_spec_scores_as_its_comments_say(page: Path, tmp_path: Path) -> None:
    (example,) = blocks(page, "yaml")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(example)
    evaluation = Rebalancer.from_yaml(scenario).evaluate()
    claimed = [float(number.rstrip(".")) for number in CLAIM.findall(example)]
    values = [*evaluation.constraints["initial_violation"], *evaluation.goals["initial"]]
    assert claimed == pytest.approx(values, abs=1e-9)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "reference" / "python-api.md"], ids=lambda p: p.name
)
def test_the_python_of_a_page_runs(page: Path) -> None:
    for program in blocks(page, "python"):
        names: dict[str, object] = {}
        exec(compile(program, page.name, "exec"), names)
        assert names["solution"].status.value == "OPTIMAL"  # type: ignore[attr-defined]
        assert len(names["solution"].moves) == 1  # type: ignore[attr-defined]


def test_the_quick_start_scenario_is_solved(tmp_path: Path) -> None:
    (scenario,) = blocks(ROOT / "README.md", "yaml")
    file = tmp_path / "scenario.yaml"
    file.write_text(scenario)
    solution = Rebalancer.from_yaml(file).solve(time_limit=10)
    assert solution.status.value == "OPTIMAL"
    assert solution.goals["final"].tolist() == [1.0]
    assert solution.constraints["final_violation"].tolist() == [0.0]


def test_the_committed_schema_is_the_one_that_the_command_prints() -> None:
    from rebalancer.scenario.schema import json_schema

    committed = json.loads((ROOT / "docs" / "scenario.schema.json").read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(json_schema())), "rebalance schema > docs/scenario.schema.json"


FILES = sorted([*(ROOT / "scenarios").glob("*/*.yaml"), *(ROOT / "specs").glob("*.yaml")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_editors_accept_every_scenario_and_job_of_the_repository(file: Path) -> None:
    name = "job" if file.name == "job.yaml" else "scenario"
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema)
