"""Whatever is misspelt, mistyped or repeated in a good scenario is reported at its line, and never as a crash."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from rebalancer.problem import Fault, InputError
from rebalancer.scenario.reader import load
from tests.scenario.good import SCENARIO, write

LINES = SCENARIO.splitlines()


@dataclass(frozen=True)
class Spot:
    """A scalar of the scenario."""

    node: yaml.ScalarNode
    is_key: bool
    above: tuple[str, ...]
    flow: bool = False

    @property
    def line(self) -> int:
        return self.node.start_mark.line + 1

    @property
    def is_number(self) -> bool:
        return not self.is_key and re.fullmatch(r"[\d.]+", self.node.value) is not None

    @property
    def is_opaque(self) -> bool:
        return "attributes" in self.above or "plan" in self.above


def scalars() -> Iterator[Spot]:
    """Yield every scalar of the scenario."""

    def walk(node: yaml.Node, above: tuple[str, ...]) -> Iterator[Spot]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield Spot(key, True, above, bool(node.flow_style))
                yield from walk(value, (*above, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                yield from walk(value, above)
        elif isinstance(node, yaml.ScalarNode):
            yield Spot(node, False, above)

    return walk(yaml.compose(SCENARIO, Loader=yaml.BaseLoader), ())


def replaced(node: yaml.ScalarNode, text: str) -> str:
    return SCENARIO[: node.start_mark.index] + text + SCENARIO[node.end_mark.index :]


#: Names that are defined where they stand: another spelling is another name, and shows where it is used, if it is.
DEFINED = {
    ("object",),
    ("container",),
    ("assignment",),
    ("assignment", "host0"),
    ("assignment", "host1"),
    ("unassigned",),
    ("unassigned", "name"),
    ("unassigned", "partitions"),
    ("unassigned", "partitions", "job"),
    ("unassigned", "attributes"),
    ("unassigned", "attributes", "app"),
    ("dimensions",),
    ("scopes",),
    ("scopes", "rack"),
    ("partitions",),
    ("partitions", "job"),
    ("plan",),
}


SPOTS = list(scalars())
REFERENCES = [
    spot
    for spot in SPOTS
    if spot.above not in DEFINED
    and (spot.above[0] if spot.above else spot.node.value) not in ("attributes", "plan")
    and spot.above[-1:] not in (("name",), ("time_limit",))
    and not re.fullmatch(r"[\d.]+", spot.node.value)
]
NUMBERS = [spot for spot in SPOTS if spot.is_number and not spot.is_opaque]
OBJECT_AMOUNTS = ("dimensions", "memory", "task"), ("dimensions", "vec", "task"), ("unassigned", "dimensions", "memory")


def test_the_parts_are_found() -> None:
    assert len(SPOTS) > 200
    assert len(REFERENCES) > 100
    assert len(NUMBERS) > 30


def ids(spot: object) -> str | None:
    return f"{spot.line}-{spot.node.value}" if isinstance(spot, Spot) else None


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


def faults_if_any(tmp_path: Path, text: str) -> list[Fault]:
    """Return the faults of a text that may as well be fine; anything else that is raised fails the test."""
    try:
        load(write(tmp_path, text))
    except InputError as error:
        return list(error.faults)
    return []


@pytest.mark.parametrize("spot", REFERENCES, ids=ids)
@pytest.mark.parametrize("how", ["drop", "swap", "add"])
def test_a_misspelt_word_is_reported_at_its_line(tmp_path: Path, spot: Spot, how: str) -> None:
    word = spot.node.value
    middle = max(1, len(word) // 2)
    wrong = {
        "drop": word[:middle] + word[middle + 1 :],
        "swap": word[: middle - 1] + word[middle : middle + 1] + word[middle - 1] + word[middle + 1 :],
        "add": word[:middle] + "x" + word[middle:],
    }[how]
    if wrong in (word, "") or wrong in SCENARIO:
        pytest.skip("that is a word as well")
    faults = faults_of(tmp_path, replaced(spot.node, wrong))
    shown = "\n".join(map(str, faults))
    assert any(fault.line == spot.line and wrong in fault.message for fault in faults), shown
    assert len(faults) <= 2, shown


@pytest.mark.parametrize("spot", NUMBERS, ids=ids)
@pytest.mark.parametrize("wrong", ["many", ".nan", "-.inf", "1e99", '"3"', "yes", "[1, 2, 3]", "{a: b}", "~", "10GB"])
def test_what_is_no_number_is_reported_at_its_line(tmp_path: Path, spot: Spot, wrong: str) -> None:
    if wrong.startswith("[") and spot.above[:3] in OBJECT_AMOUNTS:
        pytest.skip("objects may have several numbers")
    faults = faults_of(tmp_path, replaced(spot.node, wrong))
    shown = "\n".join(map(str, faults))
    assert any(fault.line == spot.line for fault in faults), shown
    assert len(faults) <= 2, shown


@pytest.mark.parametrize("spot", [spot for spot in SPOTS if spot.is_key], ids=ids)
def test_a_repeated_key_is_reported_at_its_line(tmp_path: Path, spot: Spot) -> None:
    node = spot.node
    again = f"{node.value}: 1, " if spot.flow else f"{node.value}: 1\n{' ' * node.start_mark.column}"
    faults = faults_of(tmp_path, SCENARIO[: node.start_mark.index] + again + SCENARIO[node.start_mark.index :])
    line = spot.line if spot.flow else spot.line + 1
    shown = "\n".join(map(str, faults))
    assert any(fault.code == "duplicate-key" and fault.line == line for fault in faults), shown


@pytest.mark.parametrize("spot", SPOTS, ids=ids)
def test_nothing_crashes(tmp_path: Path, spot: Spot) -> None:
    for wrong in ("[]", "{}", "[a, [b]]", "{a: {b: c}}", "~", "'quoted'", "1e30", "-1", "&a x", "no", '""'):
        for fault in faults_if_any(tmp_path, replaced(spot.node, wrong)):
            assert fault.line, (wrong, fault)


@pytest.mark.parametrize("number", range(len(LINES)))
def test_a_damaged_line_does_not_crash(tmp_path: Path, number: int) -> None:
    line = LINES[number]
    for damaged in ([], ["  " + line], [line[2:]], [line[: len(line) // 2]], ["\t" + line], [line, line]):
        text = "\n".join([*LINES[:number], *damaged, *LINES[number + 1 :]]) + "\n"
        for fault in faults_if_any(tmp_path, text):
            assert fault.line, (damaged, fault)
