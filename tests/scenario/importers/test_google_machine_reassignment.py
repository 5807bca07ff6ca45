"""The imported scenario scores every assignment as the challenge does; malformed files are refused with their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rebalancer import Evaluation, InputError, Rebalancer
from rebalancer.scenario.importers.google_machine_reassignment import convert
from tests.support import google_machine_reassignment as judge

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "roadef"


def files(name: str) -> tuple[Path, Path]:
    return DATA / f"model_{name}.txt", DATA / f"assignment_{name}.txt"


@pytest.mark.parametrize("name", ["a1_1", "a1_2", "a1_3", "a1_4", "a1_5"])
def test_scores_equal_those_of_the_challenge(name: str, tmp_path: Path) -> None:
    convert(*files(name), tmp_path / "scenario")
    instance = judge.load(*files(name))
    scenario = Rebalancer.from_yaml(tmp_path / "scenario" / "scenario.yaml")
    random = np.random.default_rng(7)
    machines = len(instance.capacity)
    for moved in (0, 1, 5, 40, len(instance.initial)):
        place = instance.initial.copy()
        who = random.permutation(len(place))[:moved]
        place[who] = random.integers(machines, size=moved)
        evaluation = scenario.evaluate({f"p{p}": f"m{m}" for p, m in enumerate(place.tolist())})
        assert evaluation.objective["final"].tolist() == [judge.total_cost(instance, place)]
        assert goals_of(evaluation) == costs_by_the_judge(instance, place)
        assert violations_of(evaluation) == pytest.approx(violations_by_the_judge(instance, place), rel=1e-9)


def goals_of(evaluation: Evaluation) -> dict[str, float]:
    return dict(zip(evaluation.goals["name"], evaluation.goals["final"], strict=True))


def costs_by_the_judge(instance: judge.Instance, place: judge.Ints) -> dict[str, float]:
    expected = {f"load-r{r}": float(cost) for r, cost in enumerate(judge.load_cost(instance, place))}
    for (one, other, _, _), cost in zip(instance.balance, judge.balance_cost(instance, place), strict=True):
        expected[f"balance-r{one}-r{other}"] = cost
    expected["process-move"] = judge.process_move_cost(instance, place)
    expected["service-move"] = judge.service_move_cost(instance, place)
    expected["machine-move"] = judge.machine_move_cost(instance, place)
    return expected


def violations_of(evaluation: Evaluation) -> dict[str, float]:
    return dict(zip(evaluation.constraints["name"], evaluation.constraints["final_violation"], strict=True))


def violations_by_the_judge(instance: judge.Instance, place: judge.Ints) -> dict[str, float]:
    excess = judge.excess(instance, place).sum(axis=0) / instance.capacity.mean(axis=0)
    expected = {f"capacity-r{r}": float(amount) for r, amount in enumerate(excess)}
    expected["conflict"] = judge.conflicts(instance, place)
    expected["spread"] = judge.missing_locations(instance, place)
    if instance.dependencies:
        expected["dependency"] = judge.missing_services(instance, place)
    return expected


def test_the_initial_assignment_breaks_nothing(tmp_path: Path) -> None:
    convert(*files("a1_5"), tmp_path)
    evaluation = Rebalancer.from_yaml(tmp_path / "scenario.yaml").evaluate()
    assert (evaluation.constraints["initial_violation"] == 0).all()
    assert evaluation.objective["initial"].tolist() == [782189690]


def test_the_committed_scenario_is_what_the_importer_writes(tmp_path: Path) -> None:
    convert(*files("a1_5"), tmp_path, schema="../../docs/scenario.schema.json")
    committed = ROOT / "scenarios" / "google-a1-5"
    for name in ("machines.csv", "processes.csv", "scenario.yaml"):
        assert (committed / name).read_text() == (tmp_path / name).read_text(), f"import {name} again"


def test_an_instance_without_replicas_and_with_weights_of_zero(tmp_path: Path) -> None:
    model = tmp_path / "model.txt"
    model.write_text("1\n0 0\n2\n0 0 10 5 0 1\n0 1 10 5 1 0\n2\n1 0\n1 0\n2\n0 4 3\n1 6 3\n1\n0 0 2 0\n0 0 0\n")
    assignment = tmp_path / "assignment.txt"
    assignment.write_text("0 1\n")
    convert(model, assignment, tmp_path / "out")
    solver = Rebalancer.from_yaml(tmp_path / "out" / "scenario.yaml")
    evaluation = solver.evaluate({"p0": "m1", "p1": "m1"})
    assert evaluation.constraints["name"].tolist() == ["capacity-r0"]
    assert evaluation.goals.empty


def test_services_without_processes_and_machines_without_classes(tmp_path: Path) -> None:
    """Service 0 needs service 1, which has no process; service 2 has none either and should be somewhere."""
    model, assignment = tmp_path / "model.txt", tmp_path / "assignment.txt"
    model.write_text(
        "1\n0 0\n3\n0 0 9 5 0 1 2\n0 1 9 5 3 0 4\n1 2 9 5 5 6 0\n"
        "3\n2 1 1\n0 0\n1 0\n3\n0 1 1\n0 1 1\n0 1 1\n0\n0 0 10\n"
    )
    assignment.write_text("0 0 1\n")
    convert(model, assignment, tmp_path / "out")
    solver, instance = Rebalancer.from_yaml(tmp_path / "out" / "scenario.yaml"), judge.load(model, assignment)
    for place in ([0, 0, 1], [2, 1, 0], [2, 2, 2]):
        final = np.array(place)
        evaluation = solver.evaluate({f"p{p}": f"m{m}" for p, m in enumerate(place)})
        violations = violations_of(evaluation)
        assert violations["spread"] == judge.missing_locations(instance, final)
        assert violations["dependency"] == judge.missing_services(instance, final)
        assert evaluation.objective["final"].tolist() == [judge.total_cost(instance, final)]


SMALL = """\
1
1 10
2
0 0 10 5 0 1
0 1 10 5 1 0
1
1 0
2
0 4 3
0 6 3
0
1 1 1
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("1 10\n", "2 10\n", ["2:1 out-of-range resource 0: transient must be 0 or 1, got 2"]),
        ("0 6 3", "0 x 3", ["10:3 wrong-type expected an integer, got 'x'"]),
        ("0 6 3", "0 6.5 3", ["10:3 wrong-type expected an integer, got '6.5'"]),
        ("0 6 3", "0 9999999999999999999 3", ["10:3 overflow expected an integer of at most 18 digits"]),
        ("0 6 3", "0 -6 3", ["10:3 out-of-range process 1: the requirement of resource 0 is negative: -6"]),
        ("0 6 3", "4 6 3", ["10:1 out-of-range process 1: the service 4 does not exist, there are 1"]),
        ("0 1 10 5", "0 1 -10 5", ["5:5 out-of-range machine 1: the capacity of resource 0 is negative"]),
        ("1 1 1\n", "1 1\n", ["12:4 ends-early the file ends early: 3 more integers are needed for the weights"]),
        ("1 1 1\n", "1 1 1 7\n", ["12:7 left-over 1 integers are left over"]),
        ("1\n1 10", "0\n1 10", ["1:1 out-of-range the number of resources must be 1 or more, got 0"]),
        (
            "0 4 3\n0 6 3",
            "3 4 3\n0 6 -3",
            ["9:1 out-of-range process 0: the service 3", "10:5 out-of-range process 1"],
        ),
    ],
)
def test_a_malformed_model_is_refused_at_its_place(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert SMALL.count(old) == 1
    assert_refused(tmp_path, SMALL.replace(old, new), "0 1\n", expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 2\n", ["1:3 out-of-range process 1 is on machine 2, which does not exist; there are 2"]),
        ("0\n", ["1:2 ends-early the file ends early: 2 more integers are needed for the assignment"]),
        ("0 1 1\n", ["1:5 left-over"]),
        ("", ["1:1 ends-early"]),
        (None, ["1:1 missing-file cannot read"]),
    ],
)
def test_a_malformed_assignment_is_refused_at_its_place(tmp_path: Path, text: str | None, expected: list[str]) -> None:
    assert_refused(tmp_path, SMALL, text, expected)


def test_a_shifted_file_does_not_list_thousands_of_faults(tmp_path: Path) -> None:
    bad = tmp_path / "assignment.txt"
    bad.write_text(" ".join(["77"] * 1000))
    with pytest.raises(InputError) as refused:
        convert(files("a1_5")[0], bad, tmp_path / "out")
    assert len(refused.value.faults) == 20
    assert "(and 980 more like it)" in refused.value.faults[-1].message


def test_a_folder_with_something_in_it_is_left_alone_unless_asked(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "README.md").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        convert(*files("a1_1"), target)
    assert sorted(path.name for path in target.iterdir()) == ["README.md"]
    convert(*files("a1_1"), target, overwrite=True)
    assert sorted(path.name for path in target.iterdir()) == [
        "README.md",
        "machines.csv",
        "processes.csv",
        "scenario.yaml",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def assert_refused(folder: Path, model: str, assignment: str | None, expected: list[str]) -> None:
    (folder / "model.txt").write_text(model)
    if assignment is not None:
        (folder / "assignment.txt").write_text(assignment)
    with pytest.raises(InputError) as refused:
        convert(folder / "model.txt", folder / "assignment.txt", folder / "out")
    lines = [f"{fault.line}:{fault.column} {fault.code} {fault.message}" for fault in refused.value.faults]
    assert len(lines) == len(expected), lines
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start), line
    file = "model.txt" if model != SMALL else "assignment.txt"
    assert {fault.file for fault in refused.value.faults} == {str(folder / file)}
    assert not (folder / "out").exists()
