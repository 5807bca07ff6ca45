"""Values of single specs agree with the published cases, file by file."""

from pathlib import Path

import pytest

from tests.conformance.cases import outcome_of, read_cases
from tests.conformance.evaluation import check

FILES = sorted((Path(__file__).parents[1] / "data" / "conformance" / "eval").glob("*.jsonl"))


def _counted(initial: float, final: float) -> dict[str, dict[str, float]]:
    """What a spec counts, as a goal and as a violation."""
    return {quantity: {"initial": initial, "final": final} for quantity in ("goal", "violation")}


#: Cases whose recorded values come from what we do differently on purpose, and what is right instead (by hand): a
#: limit of an item, or of an item and group, that equals the global limit still beats the group's limit. In the first,
#: the 9 of j0 on h3 exceed the item's 0 by 9, not 8; in the second, the one of j1 on h0 is within the item's 1; in the
#: last, the 0.5 of j1 on h1 miss the item's 2 by 1.5, not the group's 1 by 0.5.
DIFFERENT = {
    "GroupCountSpec-128": _counted(55.5, 52.5),
    "GroupIsolationLimitSpec-004": _counted(5, 7),
    "GroupIsolationLimitSpec-034": _counted(5, 3),
    "GroupIsolationLimitSpec-040": _counted(2, 3),
    "GroupIsolationLimitSpec-044": _counted(2, 1),
    "LogicalSpec-024": {"violation": {"initial": 8.5, "final": 9}},
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_values(file: Path) -> None:
    outcomes = [outcome_of(check, case) for case in read_cases([str(file)])]
    assert [outcome for outcome in outcomes if outcome["ok"] is False and outcome["id"] not in DIFFERENT] == []
    for outcome in outcomes:
        for quantity, values in DIFFERENT.get(outcome["id"], {}).items():
            assert outcome["got"][quantity] == pytest.approx(values)
    assert any(outcome["ok"] for outcome in outcomes)
    assert {outcome["reason"] for outcome in outcomes if outcome["ok"] is None} == set()
