"""The languages of other schedulers agree with the published cases, system by system."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import outcome_of, read_cases
from tests.conformance.vocabularies import check

FILE = Path(__file__).parents[1] / "data" / "conformance" / "vocabularies.jsonl"
CASES: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
for case in read_cases([str(FILE)]):
    CASES[case["system"], case["kind"]].append(case)


@pytest.mark.parametrize("which", CASES, ids=lambda which: " ".join(which))
def test_cases(which: tuple[str, str]) -> None:
    outcomes = [(case["name"], outcome_of(check, case)) for case in CASES[which]]
    assert [(name, outcome) for name, outcome in outcomes if outcome["ok"] is False] == []
    unchecked = [name for name, outcome in outcomes if outcome["ok"] is None]
    assert unchecked == [case["name"] for case in CASES[which] if case.get("checked") is False]


def test_all_systems_are_there() -> None:
    assert {system for system, _ in CASES} == {"fenzo", "firmament", "fleet", "kubernetes", "marathon", "yarn"}
    assert sum(case.get("checked", True) for cases in CASES.values() for case in cases) == 438
