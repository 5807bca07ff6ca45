"""Whole problems reach their recorded optimum, proven."""

from pathlib import Path

import pytest

from tests.conformance.cases import Case, outcome_of, read_cases
from tests.conformance.optimum import check

FILE = Path(__file__).parents[1] / "data" / "conformance" / "optimum.jsonl"
CASES = list(read_cases([str(FILE)]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_optimum(case: Case) -> None:
    outcome = outcome_of(check, case)
    assert outcome["ok"], outcome
