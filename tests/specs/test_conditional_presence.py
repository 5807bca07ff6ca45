from __future__ import annotations

from rebalancer.specs.conditional_presence import ConditionalPresenceSpec
from tests.specs.worlds import broken, codes, faults, feasible, goal, settled, table, world


def spec(**fields: object) -> ConditionalPresenceSpec:
    return ConditionalPresenceSpec(**({"scope": "host", "source": ["a"], "target": ["c", "e"]} | fields))


def test_company_is_demanded_only_where_the_source_is() -> None:
    assert broken(world(), spec(min=1)) == (1, 1)
    assert broken(world(), spec(min=2)) == (2, 1)
    assert broken(world(), spec(min=1), {"c": "h0"}) == (0, 0)
    assert broken(world(), spec(min=1), {"a": None}) == (0, 0)
    assert broken(world(), spec(min=1, scope="rack")) == (0, 0)  # c is in r0, too
    assert goal(world(), spec(min=2, scope="rack")) == 1


def test_too_much_company() -> None:
    assert broken(world(), spec(max=0, scope="rack")) == (1, 1)
    assert broken(world(), spec(max=0, scope="rack"), {"e": "h1"}) == (2, 1)
    assert broken(world(), spec(max=1, scope="rack"), {"e": "h1"}) == (1, 1)
    assert broken(world(), spec(min=1, max=1), {"a": "h3"}) == (1, 1)
    assert broken(world(), spec(max=5)) == (0, 0)


def test_an_object_of_both_counts_itself_only_if_asked() -> None:
    web = {"partition": "job", "groups": ["web"]}
    assert goal(world(), spec(source=web, target=web, max=0)) == 1  # on h0, each sees the other; c is alone
    assert goal(world(), spec(source=web, target=web, max=1, count_self=True)) == 1
    assert goal(world(), spec(source=web, target=web, max=2, count_self=True)) == 0
    assert goal(world(), spec(source=web, target=web, min=1)) == 1  # c has nobody
    assert goal(world(), spec(source=web, target=web, min=1, count_self=True)) == 0


def test_who_sees_the_fewest_decides() -> None:
    mixed = spec(source=["a", "b"], target=["a"], min=1)
    assert goal(world(), mixed) == 1  # b has a, a has nobody
    assert goal(world(), mixed, {"a": "h3"}) == 1 + 1  # now b lacks a as well, on another host


def test_containers_outside_the_scope() -> None:
    alone = spec(scope="rack", min=1)
    assert broken(world(), alone, {"a": "h3"}) == (0, 0)
    assert broken(world(), spec(scope="rack", min=1, missing="refuse"), {"a": "h3"}) == (1, 1)
    assert broken(world(), spec(scope="rack", min=1, missing="refuse"), {"a": None}) == (0, 0)
    assert broken(world(), spec(min=1, missing="refuse"), {"a": "h3"}) == (1, 1)  # every host is a host


def test_default_lets_nothing_get_worse() -> None:
    company = spec(source=["a", "c"], target=["b"], min=1)  # c is alone at the start
    assert feasible(settled(), company, {})
    assert not feasible(settled(), company, {"b": "h3"})
    assert feasible(settled(), company, {"b": "h1", "a": "h1"})
    assert not feasible(settled(), company, {}, policy="HARD")
    assert feasible(settled(), company, {"b": "h3"}, policy="SOFT")


def test_fixed_objects_are_counted_without_being_judged() -> None:
    movable = {"partition": "job", "groups": ["web"], "excluding": ["a"]}
    assert goal(world(), spec(source=movable, target=["a"], max=0)) == 1  # b meets a
    assert goal(world(), spec(source=movable, target=["a"], max=0), {"b": "h1"}) == 0


def test_filters_and_reports() -> None:
    assert broken(world(), spec(min=1, filter={"items_blacklist": ["h0"]})) == (0, 0)
    assert broken(world(), spec(min=1, filter={"items_whitelist": []})) == (0, 0)
    assert broken(world(), spec(min=1, source=[])) == (0, 0)
    assert broken(world(), spec(min=1, target=[])) == (1, 1)
    assert table(world(), spec(min=1))[0] == ("h0", None, 0, 1, 1)


def test_the_placed_scope_says_what_needs_what() -> None:
    follow = spec(scope="placed", source=["a"], target=["d"], min=1, filter={"items_whitelist": ["placed"]})
    assert goal(world(), follow) == 1
    assert goal(world(), follow, {"d": "h3"}) == 0
    assert goal(world(), follow, {"a": None}) == 0


def test_faults() -> None:
    assert codes(faults(world(), spec())) == [("missing-field", "conditional_presence")]
    assert codes(faults(world(), spec(min=2, max=1))) == [("out-of-range", "max")]
    assert (
        codes(faults(world(), spec(min=-1))) == [("out-of-range", "min"), ("missing-field", "conditional_presence")][:1]
    )
    assert codes(faults(world(), spec(min=1, target=["zz"]))) == [("unknown-name", "0")]
    unknown = {"partition": "jobs", "groups": ["web"]}
    assert codes(faults(world(), spec(min=1, target=unknown))) == [("unknown-name", "partition_name")]
