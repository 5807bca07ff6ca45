from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from rebalancer import InputError, Rebalancer
from rebalancer.specs.capacity import CapacitySpec
from rebalancer.specs.logical_and import LogicalAndSpec
from rebalancer.specs.logical_or import LogicalOrSpec
from tests.specs.worlds import broken, builder, codes, faults, feasible, world

#: Violations at the start: (4 − 2) / 5, and 3 − 1 of web in r0.
FITS = {"capacity": {"scope": "host", "dimension": "cpu"}}
FEW = {"groupCountSpec": {"scope": "rack", "partitionName": "job"}}


def test_the_smallest_violation_counts() -> None:
    spec = LogicalOrSpec(generic_specs=[FITS, FEW])
    assert broken(world(), spec) == (0.4, 1)
    assert broken(world(), spec, {"c": "h2"}) == (0, 0)
    assert broken(world(), spec, {"e": "h0"}) == ((2 + 2) / 5, 1)
    assert feasible(world(), spec, {"a": "h3"})
    assert not feasible(world(), spec, {"e": "h0"})


def test_specs_nest() -> None:
    both = {"logicalAndSpec": {"genericSpecs": [FITS, FEW]}}
    assert broken(world(), LogicalOrSpec(generic_specs=[both])) == (2, 1)
    assert broken(world(), LogicalOrSpec(generic_specs=[both, {"logical_or": {"generic_specs": [FITS]}}])) == (0.4, 1)
    assert broken(world(), LogicalOrSpec(generic_specs=[CapacitySpec(scope="host", dimension="cpu")])) == (0.4, 1)


def test_violations_without_a_common_unit_are_compared_all_the_same() -> None:
    """In units of 99999989 / 4 and of 100000007 / 4 of something counted in millionths: both fit, but not together."""
    far = builder()
    for name, task, mean in (("disk", "a", 99999989), ("tape", "b", 100000007)):
        far.add_object_dimension(name, {task: Decimal("0.000001"), "e": 200000000})
        far.add_scope_dimension(name, "host", {"h0": 0, "h1": mean, "h2": 0, "h3": 0})
    none = {"type": "ABSOLUTE", "global_limit": 0}
    specs = [{"capacity": {"scope": "host", "dimension": name, "limit": none}} for name in ("disk", "tape")]
    problem = far.build()
    for moves, amount in (({"e": None}, 0.000001), ({}, 200000000.000001)):
        least, most = amount * 4 / 100000007, amount * 4 / 99999989
        assert broken(problem, LogicalOrSpec(generic_specs=specs), moves) == (pytest.approx(least, rel=1e-9), 1)
        assert broken(problem, LogicalAndSpec(generic_specs=specs), moves) == (pytest.approx(most, rel=1e-9), 1)


def test_faults_say_where() -> None:
    wrong = LogicalOrSpec(
        generic_specs=[FITS, {"capacity": {"scope": "hst"}}, {"balance": {"scope": "host", "dimension": "cpu"}}]
    )
    found = faults(world(), wrong, "constraint")
    assert [(fault.code, fault.path[1:]) for fault in found] == [
        ("unknown-name", ("generic_specs", 1, "capacity", "scope")),
        ("wrong-kind", ("generic_specs", 2, "balance")),
    ]
    fact = LogicalOrSpec(generic_specs=[{"moves_in_progress": {"moves": []}}])
    assert codes(faults(world(), fact, "constraint")) == [("wrong-kind", "moves_in_progress")]
    with pytest.raises(ValidationError, match="did you mean 'capacity'"):
        LogicalOrSpec(generic_specs=[{"capacty": {}}])


def test_faults_in_a_file_have_their_place(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "assignment: {h: [o]}\n"
        "constraints:\n"
        "  - logicalOrSpec:\n"
        "      specs:\n"
        "        - capacitySpec: {scope: container, dimensoin: x}\n"
        "        - logical_and:\n"
        "            genericSpecs:\n"
        "              - group_count: {scope: containr}\n"
        "              - capcity: {scope: container}\n"
    )
    with pytest.raises(InputError) as refused:
        Rebalancer.from_yaml(scenario)
    assert sorted((fault.line, fault.column, fault.code) for fault in refused.value.faults) == [
        (5, 11, "unknown-name"),
        (5, 44, "unknown-field"),
        (8, 17, "missing-field"),
        (8, 38, "unknown-name"),
        (9, 17, "wrong-type"),
    ]
