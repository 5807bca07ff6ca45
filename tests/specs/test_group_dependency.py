from __future__ import annotations

import pytest

from rebalancer.specs import group_dependency
from rebalancer.specs.group_dependency import GroupDependencySpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, table, world

#: web: a, b on h0 and c on h1 (both in r0); db: e on h2 (r1), d unplaced.
NEEDS = {"web": ["db"]}


@pytest.fixture(autouse=True, params=["by group", "by dependency"])
def counted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by dependency":
        monkeypatch.setattr(group_dependency, "_LISTED", 0)


def test_a_missing_neighbour_counts_once_per_item() -> None:
    assert goal(world(), GroupDependencySpec(scope="host", partition="job", dependencies=NEEDS)) == 2  # h0, h1
    assert goal(world(), GroupDependencySpec(scope="rack", partition="job", dependencies=NEEDS)) == 1  # r0
    assert goal(world(), GroupDependencySpec(scope="rack", partition="job", dependencies=NEEDS), {"d": "h0"}) == 0
    both = {"web": ["db", "db"], "db": ["web", "db"]}
    assert goal(world(), GroupDependencySpec(scope="rack", partition="job", dependencies=both)) == 2


def test_constraint_has_a_component_per_dependency_and_item() -> None:
    spec = GroupDependencySpec(scope="host", partition="job", dependencies=NEEDS)
    assert broken(world(), spec) == (2, 2)
    assert broken(world(), spec, {"c": "h2", "d": "h0"}) == (0, 0)
    assert not feasible(world(), spec, {"a": "h3"})  # h3 had no web without db before
    assert feasible(world(), spec, {"a": "h1"})


def test_empty_groups_weightless_objects_and_filters() -> None:
    assert goal(world(), GroupDependencySpec(scope="host", partition="job", dependencies={"none": ["web"]})) == 0
    assert goal(world(), GroupDependencySpec(scope="host", partition="job", dependencies={"db": ["none"]})) == 1
    only = {"items_whitelist": ["h1", "h2"]}
    assert goal(world(), GroupDependencySpec(scope="host", partition="job", dependencies=NEEDS, filter=only)) == 1
    nothing = {"items_whitelist": []}
    assert goal(world(), GroupDependencySpec(scope="host", partition="job", dependencies=NEEDS, filter=nothing)) == 0
    assert broken(world(), GroupDependencySpec(scope="host", partition="job", dependencies={})) == (0, 0)
    weighty = GroupDependencySpec(scope="host", partition="job", dependencies=NEEDS, dimension="mem")
    assert codes(faults(world(), weighty)) == [("unknown-name", "dimension")]


def test_unknown_groups_are_named() -> None:
    spec = GroupDependencySpec(scope="host", partition="job", dependencies={"webb": ["dbb"]})
    found = faults(world(), spec)
    assert [(fault.path[1:], fault.suggestion) for fault in found] == [
        (("dependencies", "webb"), "web"),
        (("dependencies", "webb", 0), "db"),
    ]


def test_each_dependency_has_a_row_for_each_item() -> None:
    both = GroupDependencySpec(scope="host", partition="job", dependencies={"web": ["db"], "db": ["web"]})
    rows = table(world(), both)
    assert [(item, group, violation) for item, group, _, _, violation in rows] == [
        *(("h0", "web", 1), ("h1", "web", 1), ("h2", "web", 0), ("h3", "web", 0)),
        *(("h0", "db", 0), ("h1", "db", 0), ("h2", "db", 1), ("h3", "db", 0)),
    ]
