from __future__ import annotations

from rebalancer.specs.group_dependency import GroupDependencySpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, world

#: web: a, b on h0 and c on h1 (both in r0); db: e on h2 (r1), d unplaced.
NEEDS = {"web": ["db"]}


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
