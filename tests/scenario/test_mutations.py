"""Whatever is misspelt, mistyped or repeated in a good scenario is reported at its line, and never as a crash."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from rebalancer.problem import Fault, InputError
from rebalancer.scenario.reader import load
from tests.scenario.good import SCENARIO, write

LINES = SCENARIO.splitlines()


def scalars() -> Iterator[tuple[yaml.ScalarNode, bool, tuple[str, ...]]]:
    """Yield every scalar of the scenario, whether it is a key, and the keys above it."""

    def walk(node: yaml.Node, above: tuple[str, ...]) -> Iterator[tuple[yaml.ScalarNode, bool, tuple[str, ...]]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield key, True, above
                yield from walk(value, (*above, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                yield from walk(value, above)
        else:
            yield node, False, above

    return walk(yaml.compose(SCENARIO, Loader=yaml.BaseLoader), ())


def replaced(node: yaml.ScalarNode, text: str) -> str:
    return SCENARIO[: node.start_mark.index] + text + SCENARIO[node.end_mark.index :]


def named(node: yaml.ScalarNode) -> str:
    return f"{node.start_mark.line + 1}-{node.value}"


#: Names that are defined where they stand: another spelling is another name, and shows where it is used, if it is.
DEFINED = {
    ("object",), ("container",), ("assignment",), ("unassigned",), ("unassigned", "name"), ("unassigned", "partitions", "job"),
    ("unassigned", "attributes"), ("unassigned", "attributes", "app"), ("unassigned", "partitions"), ("dimensions",),
    ("scopes",), ("scopes", "rack"), ("partitions",), ("partitions", "job"), ("plan",),
    ("assignment", "host0"), ("assignment", "host1"),
}  # fmt: skip

SPOTS = [(node, is_key, above) for node, is_key, above in scalars()]
REFERENCES = [
    pytest.param(node, id=named(node))
    for node, is_key, above in SPOTS
    if above not in DEFINED
    and (above[0] if above else node.value) not in ("attributes", "plan")
    and above[-1:] != ("name",)
    and not re.fullmatch(r"[\d.]+", node.value)
]
NUMBERS = [
    pytest.param(node, id=named(node))
    for node, is_key, above in SPOTS
    if not is_key and re.fullmatch(r"[\d.]+", node.value) and "attributes" not in above and "plan" not in above
]
KEYS = [pytest.param(node, id=named(node)) for node, is_key, above in SPOTS if is_key]
ALL = [
    pytest.param(node, id=named(node))
    for node, is_key, above in SPOTS
    if "attributes" not in above and "plan" not in above
]


def test_the_scenario_is_good(tmp_path: Path) -> None:
    scenario = load(write(tmp_path))
    assert len(scenario.problem.objects) == 8
    assert len(scenario.constraints) == 5
    assert len(scenario.goals) == 2


def faults_of(tmp_path: Path, text: str) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, text))
    faults = list(caught.value.faults)
    assert all(fault.file and fault.line and fault.column for fault in faults)
    return faults


@pytest.mark.parametrize("node", REFERENCES)
@pytest.mark.parametrize("how", ["drop", "swap", "add"])
def test_a_misspelt_word_is_reported_at_its_line(tmp_path: Path, node: yaml.ScalarNode, how: str) -> None:
    word = node.value
    middle = max(1, len(word) // 2)
    wrong = {
        "drop": word[:middle] + word[middle + 1 :],
        "swap": word[: middle - 1] + word[middle : middle + 1] + word[middle - 1] + word[middle + 1 :],
        "add": word[:middle] + "x" + word[middle:],
    }[how]
    if wrong in (word, "") or wrong in SCENARIO:
        pytest.skip("that is a word as well")
    faults = faults_of(tmp_path, replaced(node, wrong))
    line = node.start_mark.line + 1
    assert [fault for fault in faults if fault.line == line], "\n".join(map(str, faults))
    assert any(wrong in fault.message for fault in faults), "\n".join(map(str, faults))
    assert len(faults) <= 2, "\n".join(map(str, faults))


@pytest.mark.parametrize("node", NUMBERS)
@pytest.mark.parametrize("wrong", ["many", ".nan", "-.inf", "1e99", '"3"', "yes", "[1, 2, 3]", "{a: b}", "~", "10GB"])
def test_what_is_no_number_is_reported_at_its_line(tmp_path: Path, node: yaml.ScalarNode, wrong: str) -> None:
    faults = faults_of(tmp_path, replaced(node, wrong))
    line = node.start_mark.line + 1
    assert [fault for fault in faults if fault.line == line], "\n".join(map(str, faults))
    assert len(faults) <= 2, "\n".join(map(str, faults))


@pytest.mark.parametrize("node", KEYS)
def test_a_repeated_key_is_reported_at_its_line(tmp_path: Path, node: yaml.ScalarNode) -> None:
    before = SCENARIO[: node.start_mark.index]
    column = node.start_mark.column
    flow = before.rfind("{") > before.rfind("}") and "\n" not in before[before.rfind("{") :]
    text = (
        before
        + (f"{node.value}: 1, " if flow else f"{node.value}: 1\n{' ' * column}")
        + SCENARIO[node.start_mark.index :]
    )
    faults = faults_of(tmp_path, text)
    line = node.start_mark.line + (1 if flow else 2)
    assert any(fault.code == "duplicate-key" and fault.line == line for fault in faults), "\n".join(map(str, faults))


@pytest.mark.parametrize("node", ALL)
@pytest.mark.parametrize(
    "wrong", ["[]", "{}", "[a, [b]]", "{a: {b: c}}", "~", "'quoted'", "1e30", "-1", "&a x", "no", '""']
)
def test_nothing_crashes(tmp_path: Path, node: yaml.ScalarNode, wrong: str) -> None:
    try:
        load(write(tmp_path, replaced(node, wrong)))
    except InputError as error:
        assert all(fault.file and fault.line and fault.column for fault in error.faults)


@pytest.mark.parametrize("number", range(len(LINES)))
@pytest.mark.parametrize("how", ["drop", "indent", "outdent", "cut", "tab"])
def test_a_damaged_line_does_not_crash(tmp_path: Path, number: int, how: str) -> None:
    line = LINES[number]
    new = {
        "drop": [],
        "indent": ["  " + line],
        "outdent": [line[2:]],
        "cut": [line[: len(line) // 2]],
        "tab": ["\t" + line],
    }[how]
    try:
        load(write(tmp_path, "\n".join([*LINES[:number], *new, *LINES[number + 1 :]]) + "\n"))
    except InputError as error:
        assert all(fault.file and fault.line and fault.column for fault in error.faults)
