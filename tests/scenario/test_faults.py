"""Every fault of the corpus is reported at its place with its fix, all at once, and nothing else is."""

from pathlib import Path

import pytest

from rebalancer.problem import Fault, InputError
from rebalancer.scenario.reader import load
from tests.scenario.corpus import CASES, Expected, expected_faults


def test_the_corpus_is_large_enough() -> None:
    assert len(CASES) >= 60
    assert sum(len(expected_faults(case)) for case in CASES) > 150


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_are_reported(case: Path) -> None:
    expected = expected_faults(case)
    assert expected
    with pytest.raises(InputError) as caught:
        load(case / "scenario.yaml")
    faults = list(caught.value.faults)
    shown = "\n".join(map(str, faults))
    for wanted in expected:
        match = next((fault for fault in faults if agrees(fault, wanted)), None)
        assert match, f"not reported: {wanted}\nreported:\n{shown}"
        faults.remove(match)
    assert not faults, "reported as well:\n" + "\n".join(map(str, faults))
    places = [(fault.file or "", fault.line or 0, fault.column or 0) for fault in caught.value.faults]
    assert places == sorted(places)


def agrees(fault: Fault, wanted: Expected) -> bool:
    return (
        Path(fault.file or "").name == wanted.file
        and fault.line == wanted.line
        and (wanted.column is None or fault.column == wanted.column)
        and fault.code == wanted.code
        and wanted.message in fault.message
        and (wanted.suggestion is None or (fault.suggestion or "").startswith(wanted.suggestion))
    )
