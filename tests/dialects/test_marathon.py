"""Marathon: the examples of its constraints page, values as Mesos prints them, Java's patterns, syntax."""

from typing import Any

import pytest

from rebalancer import InputError, Rebalancer
from rebalancer.dialects.java_regex import compile_java
from rebalancer.dialects.marathon import Marathon, parse
from rebalancer.dialects.mesos import printed
from tests.dialects.problems import goes, holds, solver_of, where

RACKS = {f"h{n}": {"rack_id": f"rack-{n}"} for n in range(1, 10)}


def app(constraints: list[list[str]], **fields: Any) -> Marathon:
    return Marathon.model_validate({"app": "/app", "constraints": constraints, **fields})


def three(constraints: list[list[str]], hosts: dict[str, dict[str, Any]] = RACKS, **fields: Any) -> Any:
    """Return a solver for three instances that wait."""
    names = ["i1", "i2", "i3"]
    return solver_of(app(constraints, **fields), hosts, dict.fromkeys(names), {"app": dict.fromkeys(names, "/app")})


# -- the examples of the page, in its order


def test_sleep_cluster_on_rack_1() -> None:
    assert goes(three([["rack_id", "CLUSTER", "rack-1"]]), "i1") == ["h1"]


def test_sleep_cluster_on_any_rack() -> None:
    found = where(three([["rack_id", "CLUSTER"]]))
    assert len(set(found.values())) == 1
    assert None not in found.values()


def test_sleep_cluster_on_a_named_host() -> None:
    assert goes(three([["hostname", "CLUSTER", "h7"]]), "i1") == ["h7"]


def test_sleep_cluster_on_any_host() -> None:
    assert len(set(where(three([["hostname", "CLUSTER"]])).values())) == 1


def test_like() -> None:
    assert goes(three([["rack_id", "LIKE", "rack-[1-3]"]]), "i1") == ["h1", "h2", "h3"]


def test_unlike() -> None:
    assert goes(three([["rack_id", "UNLIKE", "rack-[7-9]"]]), "i1") == ["h1", "h2", "h3", "h4", "h5", "h6"]


def test_max_per_2() -> None:
    solver = three([["rack_id", "MAX_PER", "2"]], {"h1": {"rack_id": "a"}, "h2": {"rack_id": "a"}})
    assert list(where(solver).values()).count(None) == 1


def test_unique() -> None:
    assert len(set(where(three([["hostname", "UNIQUE"]])).values())) == 3


@pytest.mark.parametrize("constraint", [["rack_id", "GROUP_BY", "3"], ["rack_id", "GROUP_BY"]])
def test_nine_tasks_on_three_racks_are_three_each(constraint: list[str]) -> None:
    names = [f"i{n}" for n in range(9)]
    hosts = {name: RACKS[name] for name in ("h1", "h2", "h3")}
    solver = solver_of(app([constraint]), hosts, dict.fromkeys(names), {"app": dict.fromkeys(names, "/app")})
    found = list(where(solver).values())
    assert [found.count(host) for host in hosts] == [3, 3, 3]


def test_group_by_3_places_two_on_two_racks_and_waits_for_a_third() -> None:
    """Note 2 of the page."""
    names = [f"i{n}" for n in range(9)]
    hosts = {name: RACKS[name] for name in ("h1", "h2")}
    solver = solver_of(
        app([["rack_id", "GROUP_BY", "3"]]), hosts, dict.fromkeys(names), {"app": dict.fromkeys(names, "/app")}
    )
    found = list(where(solver).values())
    assert [found.count(host) for host in (*hosts, None)] == [1, 1, 7]


def test_group_by_3_may_use_five_racks_but_not_as_a_quota() -> None:
    """Note 3 of the page, and the code since October 2020."""
    hosts = {name: RACKS[name] for name in ("h1", "h2", "h3", "h4", "h5")}
    names = [f"i{n}" for n in range(5)]
    facts = {"app": dict.fromkeys(names, "/app")}
    apart = {name: f"h{position}" for position, name in enumerate(names, 1)}
    for generation, expected in (("documented", True), ("quota", False)):
        statement = app([["rack_id", "GROUP_BY", "3"]], group_by=generation)
        assert holds(solver_of(statement, hosts, dict.fromkeys(names), facts), apart) is expected


def test_is_compares_scalars_to_the_nearest_thousandth() -> None:
    hosts = {"h1": {"level": "0.8"}, "h2": {"level": "0.9"}, "h3": {}}
    for value in ("0.8", "0.80", "0.8001"):
        assert goes(three([["level", "IS", value]], hosts), "i1") == ["h1"]


def test_is_text() -> None:
    assert goes(three([["rack_id", "IS", "rack-1"]]), "i1") == ["h1"]


def test_a_container_without_the_attribute_is_for_unlike_only() -> None:
    hosts = {"h1": {"rack_id": "a"}, "h2": {}}
    for constraint in (
        ["LIKE", ".*"],
        ["IS", "a"],
        ["CLUSTER", "a"],
        ["CLUSTER"],
        ["UNIQUE"],
        ["MAX_PER", "9"],
        ["GROUP_BY", "1"],
    ):
        solver = three([["rack_id", *constraint]], hosts)
        assert goes(solver, "i1") == ["h1"]
        assert not holds(solver, {"i1": "h2", "i2": None, "i3": None})
    assert goes(three([["rack_id", "UNLIKE", "b"]], hosts), "i1") == ["h1", "h2"]


def test_regions() -> None:
    hosts = {"h1": {"@region": "home"}, "h2": {"@region": "far"}, "h3": {}}
    assert goes(three([], hosts, local_region="home"), "i1") == ["h1", "h3"]
    assert goes(three([["@region", "UNLIKE", "x"]], hosts, local_region="home"), "i1") == ["h1", "h2", "h3"]


# -- values and patterns


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1.0", "1"),
        (1.0005, "1"),
        (1.00051, "1.001"),
        (1.1005, "1.101"),
        (0.0005, "0"),
        ("007", "7"),
        ("1e3", "1000"),
        ("[5-7,1-2]", "[1-2,5-7]"),
        ("{b,a}", "{a,b}"),
        (["b", "a"], "{a,b}"),
        ("rack-1", "rack-1"),
        ({"text": "1.0"}, "1.0"),
        ({"scalar": 2.50}, "2.5"),
        (-0.0001, "0"),
        (None, None),
    ],
)
def test_values_print_as_in_mesos(value: Any, text: str | None) -> None:
    assert printed(value) == text


@pytest.mark.parametrize(
    ("pattern", "value", "matches"),
    [
        ("a.c", "a\rc", False),
        ("\\Qa.c\\E", "a.c", True),
        ("\\Qa.c\\E", "abc", False),
        ("\\p{Alpha}+", "abc", True),
        ("[\\p{Digit}x]+", "1x2", True),
        ("(?<n>a)b", "ab", True),
        ("\\d", "٣", False),
        ("a|b", "ab", False),
        ("[^0-9]+", "abc", True),
        ("[+--]", ",", True),
    ],
)
def test_patterns_are_java_s(pattern: str, value: str, matches: bool) -> None:
    assert (compile_java(pattern).fullmatch(value) is not None) is matches


@pytest.mark.parametrize("pattern", ["(", "[a-z&&[^b]]", "(?i)a", "\\p{Greek}", "[[a]b]", "*", "(?P<n>a)", "(?#a)b"])
def test_what_cannot_be_translated_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"support|regular|Python only"):
        compile_java(pattern)


# -- mistakes


def test_every_mistake_is_reported_with_its_place() -> None:
    solver = three([])
    with pytest.raises(InputError) as caught:
        parse(
            solver.problem,
            app="/ap",
            constraints=[
                ["rack_id", "GROUPBY", "3"],
                ["", "UNIQUE", "x"],
                ["rack_id"],
                ["a", "LIKE", "("],
                ["b", "MAX_PER"],
            ],
        )
    found = {fault.path: fault for fault in caught.value.faults}
    assert found["constraints", 0, 1].suggestion == "GROUP_BY"
    assert found["app",].suggestion == "/app"
    assert {("constraints", 1, 0), ("constraints", 1, 2), ("constraints", 2), ("constraints", 3, 2)} <= set(found)
    assert ("constraints", 4, 1) in found


def test_a_misspelt_attribute_is_a_warning() -> None:
    translation = parse(three([]).problem, app="/app", constraints=[["rackid", "UNIQUE"]])
    assert [(warning.code, warning.suggestion) for warning in translation.warnings] == [
        ("unknown-attribute", "rack_id")
    ]


def test_there_are_no_fewer_instances_than_none() -> None:
    with pytest.raises(InputError, match="greater than or equal to 0"):
        parse(three([]).problem, app="/app", constraints=[], instances=-1)


def test_a_quota_needs_a_number() -> None:
    with pytest.raises(InputError, match="quota"):
        parse(three([]).problem, app="/app", constraints=[["rack_id", "GROUP_BY"]], group_by="quota")


def test_fields_that_do_not_exist_in_python() -> None:
    solver = Rebalancer()
    solver.set_assignment({"h1": ["web"]})
    with pytest.raises(InputError) as caught:
        parse(solver.problem, app="/web", constraint=[["hostname", "UNIQUE"]])
    assert [(fault.code, fault.suggestion) for fault in caught.value.faults] == [
        ("missing-field", None),
        ("unknown-field", "constraints"),
    ]
