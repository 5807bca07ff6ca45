"""Fleet: option lines, globs, specifiers, and units that follow, conflict, replace, run everywhere."""

import pytest

from rebalancer import InputError
from rebalancer.dialects.fleet import Fleet, globs, parse
from tests.dialects.problems import goes, holds, solver_of, where

MACHINES = {"m0": {"region": "us"}, "m1": {"region": "eu"}, "m2": {"region": "us"}}


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("*", "foo.service", True),
        ("*", "a/b", False),
        ("foo?", "foo/", False),
        ("foo@[!a].service", "foo@!.service", True),
        ("foo@[^a].service", "foo@b.service", True),
        ("foo@[^a].service", "foo@a.service", False),
        ("foo@[0-9].service", "foo@7.service", True),
        ("foo.service", "fooxservice", False),
        ("\\*", "*", True),
        ("[", "[", True),
    ],
)
def test_globs(pattern: str, name: str, matches: bool) -> None:
    assert globs(pattern, name) is matches


def test_specifiers() -> None:
    units = {"web@1.service": ["MachineOf=db@%i.service"], "db@1.service": ["Conflicts=%p@*.service"]}
    tasks = {"web@1.service": None, "db@1.service": "m1", "db@2.service": None}
    solver = solver_of(Fleet(units=units), MACHINES, tasks)
    assert goes(solver, "web@1.service") == ["m1"]
    assert goes(solver, "db@2.service") == ["m0", "m2"]


def test_a_section_of_a_unit_file_with_old_spellings() -> None:
    text = '[X-Fleet]\n# a comment\nX-ConditionMachineMetadata="region=us"\nX-Conflicts=other.service\n'
    solver = solver_of(
        Fleet.model_validate({"units": {"a.service": text}}), MACHINES, {"a.service": None, "other.service": "m0"}
    )
    assert goes(solver, "a.service") == ["m2"]


def test_metadata_that_are_no_pair_are_dropped_with_a_warning() -> None:
    problem = solver_of(Fleet(units={}), MACHINES, {"a.service": None}).problem
    translation = parse(problem, units={"a.service": ["MachineMetadata=region"]})
    assert [warning.code for warning in translation.warnings] == ["dropped-metadata"]
    assert translation.constraints == []


@pytest.mark.parametrize(("replaced", "old"), [("elsewhere", {"m1", "m2"}), ("unplaced", {None})])
def test_replaces_takes_over_the_machine(replaced: str, old: set[str | None]) -> None:
    units = {"new.service": ["Replaces=old.service"]}
    solver = solver_of(
        Fleet.model_validate({"units": units, "replaced": replaced}),
        MACHINES,
        {"old.service": "m0", "new.service": None},
    )
    for place in ("m0", "m1", "m2", None):
        assert holds(solver, {"old.service": place, "new.service": "m0"}) is (
            place in old | {None} and (replaced == "elsewhere" or place is None)
        )
    assert not holds(solver, {"old.service": "m1", "new.service": "m2"})
    (said,) = solver.check_placement("new.service", "m0").displacements
    assert said.reason == "'new.service' takes over, and whom it replaces is placed anew"
    assert not solver.check_placement("new.service", "m1").displacements
    found = where(solver)
    assert found["new.service"] == "m0"
    assert found["old.service"] in (old - {"m0"})
    assert not (solver.evaluate(found).constraints["final_violation"] > 0).any()


def test_a_global_unit_skips_machines_of_conflicting_units() -> None:
    units = {"g.service": ["Global=true", "Conflicts=c.service", "MachineMetadata=region=us"]}
    solver = solver_of(Fleet(units=units), MACHINES, {"g.service#0": None, "g.service#1": None, "c.service": "m0"})
    assert holds(solver, {"g.service#0": "m2", "g.service#1": None, "c.service": "m0"})
    assert not holds(solver, {"g.service#0": "m2", "g.service#1": None, "c.service": "m1"})


def test_the_last_global_counts() -> None:
    units = {"g.service": ["Global=true", "Global=no"]}
    solver = solver_of(Fleet(units=units), MACHINES, {"g.service": None})
    assert holds(solver, {"g.service": "m0"})


def test_three_pairs_stay_together() -> None:
    units = {f"pong.{n}": [f"MachineOf=ping.{n}"] for n in range(3)}
    tasks = dict.fromkeys([f"{name}.{n}" for n in range(3) for name in ("ping", "pong")])
    found = where(solver_of(Fleet(units=units), MACHINES, tasks))
    assert all(found[f"ping.{n}"] == found[f"pong.{n}"] is not None for n in range(3))


def test_mistakes() -> None:
    problem = solver_of(Fleet(units={}), MACHINES, {"a.service": None}).problem
    with pytest.raises(InputError) as caught:
        parse(problem, units={"a.service": ["MachineOff=b", "Global=true", "Replaces=c", "nonsense"], "b.service": []})
    said = [str(fault) for fault in caught.value.faults]
    assert any("did you mean 'MachineOf'" in text for text in said)
    assert any("may not stand beside Global" in text for text in said)
    assert any("expected 'Option=value'" in text for text in said)
    assert any("did you mean 'a.service'" in text for text in said)


def test_names_that_nobody_has_are_a_warning() -> None:
    problem = solver_of(Fleet(units={}), MACHINES, {"a.service": None, "b.service": None}).problem
    lines = ["MachineID=m9", "MachineMetadata=regoin=us"]
    translation = parse(problem, units={"a.service": lines, "b.service": ["MachineOf=aa.service"]})
    assert [(warning.message, warning.path) for warning in translation.warnings] == [
        ("no machine has the id 'm9'", ("units", "a.service", 0)),
        ("no host has the attribute 'regoin'; did you mean 'region'?", ("units", "a.service", 1)),
        ("no unit has the name 'aa.service'; did you mean 'a.service'?", ("units", "b.service", 0)),
    ]
