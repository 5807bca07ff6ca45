"""Values of single specs agree with the published cases, file by file."""

from pathlib import Path

import pytest

from tests.conformance.cases import outcome_of, read_cases
from tests.conformance.evaluation import check

FILES = sorted((Path(__file__).parents[1] / "data" / "conformance" / "eval").glob("*.jsonl"))


#: Cases whose recorded values come from what we do differently on purpose, and what is right instead (by hand):
#: an item's limit of 0 that equals the global limit still beats the group's limit of 1, so the 9 of j0 on h3 exceed it by 9, not 8.
DIFFERENT = {"GroupCountSpec-128": {"goal": {"initial": 55.5, "final": 52.5}, "violation": {"initial": 55.5, "final": 52.5}}}

#: Specs that appear in the published cases besides those under test, and are not in the catalogue yet.
NOT_YET = {"GroupMoveLimitSpec is not in the catalogue"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_values(file: Path) -> None:
    outcomes = [outcome_of(check, case) for case in read_cases([str(file)])]
    assert [outcome for outcome in outcomes if outcome["ok"] is False and outcome["id"] not in DIFFERENT] == []
    for outcome in outcomes:
        for quantity, values in DIFFERENT.get(outcome["id"], {}).items():
            assert outcome["got"][quantity] == pytest.approx(values)
    assert any(outcome["ok"] for outcome in outcomes)
    assert {outcome["reason"] for outcome in outcomes if outcome["ok"] is None} <= NOT_YET
