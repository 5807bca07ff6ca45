"""What a scenario says is what is read, in every spelling; includes, durations, warnings."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from rebalancer.problem import Fault, InputError
from rebalancer.scenario.durations import parse_duration
from rebalancer.scenario.reader import Scenario, load
from rebalancer.specs.capacity import CapacitySpec
from rebalancer.specs.entries import Policy
from rebalancer.specs.group_count import GroupCountSpec
from tests.scenario import good

HEAD = "object: task\ncontainer: host\nassignment: {host0: [task0, task1], host1: []}\n"


def read(folder: Path, text: str, **included: str) -> Scenario:
    for name, content in included.items():
        (folder / f"{name}.yaml").write_text(content, encoding="utf-8")
    return load(good.write(folder, HEAD + text))


def faults_of(folder: Path, text: str, **included: str) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        read(folder, text, **included)
    return list(caught.value.faults)


def test_a_whole_scenario(tmp_path: Path) -> None:
    scenario = load(good.write(tmp_path))
    problem = scenario.problem
    assert list(problem.objects) == ["task0", "task1", "task2", "task3", "task4", "web-0", "web-1", "web-2"]
    assert problem.initial.tolist() == [0, 0, 0, 1, -1, -1, -1, -1]
    assert problem.dimension("memory").values[:, 0].tolist() == [10, 12, 10, 10, 10, 4, 4, 4]
    assert problem.capacity("memory", "host").values.tolist() == [64, 64, 1]
    assert problem.dimension("vec").components == 2
    assert problem.dimension("net").dynamic is not None
    assert problem.scopes["zone"].items[:] == ["a", "b"]
    assert problem.partitions["app"].sizes.tolist() == [3]
    first = scenario.constraints[0]
    assert (first.name, first.policy, first.invalid_cost, first.invalid_state) == ("memory-fits", Policy.HARD, 50, 500)
    assert first.path == ("constraints", 0)
    assert [entry.policy for entry in scenario.constraints[1:]] == [Policy.DEFAULT] * 3 + [Policy.SOFT]
    assert (scenario.goals[0].weight, scenario.goals[1].tuple_pos) == (Fraction(5, 2), 1)
    solve = scenario.solve
    assert (solve.engine, solve.time_limit, solve.gap, solve.seed, solve.workers) == ("auto", 90.0, 0.01, 7, 2)
    assert scenario.plan.max_in_flight == 5
    assert scenario.files == [str(tmp_path / "scenario.yaml")]


def test_left_out_sections_have_their_defaults(tmp_path: Path) -> None:
    scenario = read(tmp_path, "goals:\nscopes:\n")
    assert (scenario.solve.engine, scenario.solve.time_limit, scenario.solve.workers) == ("auto", 60.0, 2)
    assert not scenario.goals
    assert not scenario.warnings


@pytest.mark.parametrize("key", ["group_count", "groupCount", "groupCountSpec", "GroupCountSpec", "group_count_spec"])
@pytest.mark.parametrize("partition", ["partition", "partition_name", "partitionName"])
def test_every_spelling_of_specs_and_fields(tmp_path: Path, key: str, partition: str) -> None:
    scenario = read(
        tmp_path,
        "partitions: {job: {web: [task0, task1]}}\n"
        f"constraints:\n  - {key}: {{scope: host, {partition}: job, "
        "limit: {globalLimit: 2, group_limits: {web: 1e0}}}\n"
        "    invalidCost: 7\n    tuplePosIfBroken: 3\n",
    )
    (constraint,) = scenario.constraints
    assert isinstance(constraint.spec, GroupCountSpec)
    assert constraint.spec.partition_name == "job"
    assert constraint.spec.limit.global_limit == 2
    assert constraint.spec.limit.group_limits == {"web": 1}
    assert constraint.spec.limit.type.value == "ABSOLUTE"
    assert (constraint.invalid_cost, constraint.tuple_pos_if_broken) == (7, 3)


def test_a_bare_number_is_a_limit_and_policy_is_for_those_that_name_none(tmp_path: Path) -> None:
    scenario = read(
        tmp_path,
        "policy: SOFT\nconstraints:\n  - capacity: {scope: host, limit: 0.1, name: inside}\n"
        "  - capacity: {scope: host, limit: {type: ABSOLUTE}}\n    policy: HARD\n",
    )
    first, second = scenario.constraints
    assert isinstance(first.spec, CapacitySpec)
    assert first.spec.limit.global_limit == Fraction(1, 10)
    assert first.spec.name == "inside"
    assert [first.policy, second.policy] == [Policy.SOFT, Policy.HARD]


def test_yaml_1_1_traps_are_names(tmp_path: Path) -> None:
    assignment = "assignment:\n  22:22: [1e3, 012]\n  yes: ['~', 0x1f]\n"
    text = f"object: no\ncontainer: on\n{assignment}scopes: {{off: {{null_: [yes]}}}}\n"
    problem = load(good.write(tmp_path, text)).problem
    assert list(problem.containers) == ["22:22", "yes"]
    assert list(problem.objects) == ["1e3", "012", "~", "0x1f"]
    assert problem.count_dimension == "no_count"
    assert list(problem.scopes["off"].items) == ["null_"]


def test_includes_come_first_and_are_relative_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "outer.yaml").write_text(
        "include: inner.yaml\nconstraints:\n  - capacity: {scope: host, limit: 2}\nplan: {max_in_flight: 1}\n",
        encoding="utf-8",
    )
    (tmp_path / "sets" / "inner.yaml").write_text(
        "scopes: {rack: {r0: [host0]}}\npartitions: {job: {a: [task0]}}\n"
        "constraints:\n  - capacity: {scope: rack, limit: 1}\n",
        encoding="utf-8",
    )
    scenario = read(
        tmp_path,
        "include: [sets/outer.yaml]\nconstraints:\n  - capacity: {scope: host, limit: 3}\nplan: {staging: false}\n",
    )
    limits = [entry.spec.limit.global_limit for entry in scenario.constraints if isinstance(entry.spec, CapacitySpec)]
    assert limits == [1, 2, 3]
    assert (scenario.plan.max_in_flight, scenario.plan.staging) == (1, False)
    assert set(scenario.problem.scopes) == {"host", "placed", "rack"}
    assert [Path(file).name for file in scenario.files] == ["scenario.yaml", "outer.yaml", "inner.yaml"]
    fault = scenario.locate(Fault("x", "y", (*scenario.constraints[0].path, "capacity", "limit", "type")))
    assert (Path(fault.file or "").name, fault.line, fault.column) == ("inner.yaml", 4, 36)


def test_a_file_is_included_once(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, "include: [a.yaml, b.yaml, ./a.yaml]\n", a="goals: []\n", b="goals: []\n")
    assert [(fault.code, fault.line, fault.column) for fault in faults] == [("included-twice", 4, 27)]


def test_the_same_name_in_two_files_is_a_fault(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, "include: a.yaml\nplan:\n  max_in_flight: 2\n", a="plan: {max_in_flight: 1}\n")
    assert [(fault.code, fault.line) for fault in faults] == [("duplicate-name", 6)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("5m", 300), ("1h30m", 5400), ("90", 90), ("1.5m", 90), ("250ms", 0.25), ("1d", 86400), ("1e2", 100)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "5 m", "1m1h", "1m2m", "0", "0s", "-1s", "nan", "inf", "5x", None, True, [1]]
)
def test_what_is_no_duration(text: object) -> None:
    with pytest.raises(ValueError, match=r"duration|finite"):
        parse_duration(text)


def test_warnings_have_places(tmp_path: Path) -> None:
    scenario = read(
        tmp_path,
        "scopes: {rack: {r0: [host0], r1: [host1], r2: []}}\n"
        "dimensions:\n  memory:\n    task: {task0: 1}\n    host: {host0: 4}\n"
        "constraints:\n  - capacity: {scope: rack, dimension: memory}\n",
    )
    assert [(warning.code, warning.line) for warning in scenario.warnings] == [
        ("empty-item", 4),
        ("defaulted-capacity", 8),
        ("unstated-capacity", 10),
    ]


def test_an_explicit_default_is_no_surprise(tmp_path: Path) -> None:
    scenario = read(tmp_path, "dimensions: {memory: {host: {default: 1, host0: 4}}}\n")
    assert not scenario.warnings
    assert scenario.problem.capacity("memory", "host").values.tolist() == [4, 1]


def test_rounding_is_a_warning(tmp_path: Path) -> None:
    scenario = read(tmp_path, "dimensions: {memory: {task: {task0: 0.126}}}\nresolution: {memory: 0.01}\n")
    assert [(warning.code, warning.line) for warning in scenario.warnings] == [("rounded-values", 4)]
    assert scenario.problem.dimension("memory").values[:, 0].tolist() == [13, 0]


def test_a_scenario_that_is_not_there(tmp_path: Path) -> None:
    good.write(tmp_path)
    with pytest.raises(InputError) as caught:
        load(tmp_path / "scenaro.yaml")
    (fault,) = caught.value.faults
    assert fault.code == "missing-file"
    assert (fault.suggestion or "").endswith("scenario.yaml")
    with pytest.raises(InputError):
        load(tmp_path)


def test_default_may_be_the_name_of_an_object_in_the_long_form_only(tmp_path: Path) -> None:
    text = "object: task\ncontainer: host\nassignment: {host0: [default, task1]}\n"
    text += "dimensions: {cpu: {task: {default: 3}}}\n"
    with pytest.raises(InputError, match="ambiguous-name"):
        load(good.write(tmp_path, text))
    text = text.replace("{default: 3}", "{default: 3, values: {default: 4}}")
    assert load(good.write(tmp_path, text)).problem.dimension("cpu").values[:, 0].tolist() == [4, 3]
