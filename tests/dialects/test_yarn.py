"""YARN: the examples of the design document in its own notation, and mistakes in the shell language."""

from typing import Any

import pytest

from rebalancer import InputError
from rebalancer.dialects.yarn import Yarn, parse
from rebalancer.dialects.yarn_syntax import Attribute, parse_spec
from rebalancer.problem import FaultList
from tests.dialects.problems import goes, holds, solver_of, where

NODES: dict[str, dict[str, Any]] = {
    "n1": {"rack": "r1", "fault_domain": "fd1", "node-partition": "GPU"},
    "n2": {"rack": "r1", "fault_domain": "fd2"},
    "n3": {"rack": "r2", "fault_domain": "fd2"},
}


def asked(constraint: Any, running: dict[str, tuple[str, str]], new: int = 1, **fields: Any) -> Any:
    """Return a solver for new allocations with the tag w; running ones are given with their tag and node."""
    names = [f"w{n}" for n in range(new)]
    objects: dict[str, str | None] = {name: node for name, (_, node) in running.items()} | dict.fromkeys(names)
    tags = {name: [tag] for name, (tag, _) in running.items()} | {name: ["w"] for name in names}
    statement = Yarn.model_validate({"map": [{"sourceTags": ["w"], "constraint": constraint}], **fields})
    return solver_of(statement, NODES, objects, {"tags": tags, "app": dict.fromkeys(objects, "app1")})


def test_c1_affinity_between_allocations() -> None:
    solver = asked({"target": 'allocation-tag IN "hbase-m"', "scope": "host"}, {"m": ("hbase-m", "n2")})
    assert goes(solver, "w0") == ["n2"]


def test_c2_affinity_and_at_most_three_on_a_node() -> None:
    constraint = {
        "AND": [{"target": 'allocation-tag IN "zooKeeper"', "scope": "rack"}, {"max-cardinality": 3, "scope": "host"}]
    }
    solver = asked(constraint, {"z": ("zooKeeper", "n1")}, 7)
    found = list(where(solver).values())
    assert [found.count(node) for node in ("n1", "n2", "n3", None)] == [4, 3, 0, 1]  # zooKeeper itself is on n1


def test_c3_affinity_to_node_attributes() -> None:
    solver = asked({"target": 'node-attribute:node-partition IN "GPU"', "scope": "host"}, {})
    assert goes(solver, "w0") == ["n1"]


def test_c4_anti_affinity_to_an_allocation_tag() -> None:
    solver = asked({"target": 'allocation-tag NOT_IN "spark"', "scope": "fault_domain"}, {"s": ("spark", "n2")})
    assert goes(solver, "w0") == ["n1"]


C5 = {
    "DELAYED_OR": [
        {
            "AND": [
                {"target": 'node-attribute:host IN "n1,n2,n3"', "scope": "host"},
                {"max-cardinality": 2, "scope": "host"},
            ]
        },
        {
            "OR": [
                {
                    "AND": [
                        {"target": 'node-attribute:rack IN "r1"', "scope": "host"},
                        {"max-cardinality": 4, "scope": "rack"},
                    ]
                },
                {
                    "AND": [
                        {"target": 'node-attribute:rack IN "r2"', "scope": "host"},
                        {"max-cardinality": 2, "scope": "rack"},
                    ]
                },
            ]
        },
        {"target": "node-attribute:host IN ANY", "scope": "host"},
    ]
}


def test_c5_and_map_reduce_delayed_alternatives() -> None:
    """Six maps fit as the first alternative; of seven, those of a fuller node fall to a later one."""
    for number, cost in ((6, 0), (7, None)):
        solution = asked(C5, {}, number).solve(engine="cpsat", time_limit=20)
        assert solution.status.value == "OPTIMAL"
        assert solution.assignment.notna().all()
        if cost is not None:
            assert solution.goals["final"].tolist() == [cost]
    # 7 on n1, n2, n3: a node with three holds too many for the first alternative. 3/2/2: r1 has 5 > 4, so the three of
    # n1 take the third (2 each): 6. 2/2/3: r2 has 3 > 2, the same: 6. 3/1/3: worse. On one rack or node: 7 · 2 = 14.
    assert solution.goals["final"].tolist() == [6]


@pytest.mark.parametrize("source", [["w"], []])
def test_a_number_without_a_target_counts_who_asks(source: list[str]) -> None:
    """Not whoever shares another tag with them; and those who have no tag in common are counted as well."""
    tags = {"a": ["w", "big"], "b": ["w", "big"], "c": ["big"], "d": []}
    entry = {"sourceTags": source, "constraint": {"max-cardinality": 2, "scope": "host"}}
    facts = {"tags": tags, "app": dict.fromkeys(tags, "app1")}
    solver = solver_of(Yarn.model_validate({"map": [entry]}), NODES, dict.fromkeys(tags), facts)
    three: dict[str, str | None] = {"a": "n1", "b": "n1", "c": "n1", "d": "n2"}
    assert holds(solver, three) == (source == ["w"])  # two of w
    assert holds(solver, {**three, "c": "n2"})
    assert holds(solver, dict.fromkeys(tags, "n1")) == (source == ["w"])


def test_the_hbase_application() -> None:
    """One master, ten region servers: one on a host, two in a failure domain, none with the master or on spot."""
    nodes = {
        f"h{n}": {"failure_domain": f"f{n // 2}", "node_type": "spot_instance" if n == 11 else "regular"}
        for n in range(12)
    }
    servers = [f"rs{n}" for n in range(10)]
    statement = Yarn.model_validate(
        {
            "map": [
                {
                    "sourceTags": "ANY",
                    "constraintList": {"Target": "node-attribute:node_type NOT_IN spot_instance", "Scope": "host"},
                },
                {
                    "sourceTags": "hbase-rs",
                    "constraintList": {"Target": 'allocation-tag NOT_IN "hbase-m"', "Scope": "host"},
                },
                {
                    "sourceTags": ["hbase-rs"],
                    "constraint": {
                        "AND": [
                            {"Target": 'allocation-tag NOT_IN "hbase-rs"', "Scope": "host"},
                            {"MaxCardinality": 2, "Scope": "failure_domain"},
                        ]
                    },
                },
            ]
        }
    )
    objects = dict.fromkeys(["m", *servers])
    tags = {"m": ["hbase-m"], **{name: ["hbase-rs"] for name in servers}}
    found = where(solver_of(statement, nodes, objects, {"tags": tags, "app": dict.fromkeys(objects, "hbase")}))
    assert None not in found.values()
    assert len(set(found.values())) == 11
    assert "h11" not in found.values()


def test_the_spark_application_next_to_hbase() -> None:
    """The listing says NOT_IN where the text says affinity: both mean what they say."""
    for word, racks in (("IN", {"r1"}), ("NOT_IN", {"r2"})):
        constraint = {"Target": f'allocation-tag {word} "hbase-rs"', "Scope": "rack"}
        found = where(asked(constraint, {"rs": ("hbase-rs", "n1")}, 8))
        assert {NODES[str(found[f"w{n}"])]["rack"] for n in range(8)} == racks


def test_storm_of_one_application_next_to_hbase_of_another() -> None:
    entry = {"sourceTags": ["storm", "appID_0045"], "constraint": "IN,NODE,app-id/appID_0023/hbase-rs"}
    objects = {"a": "n1", "b": "n2", "new": None}
    apps = {"a": "appID_0023", "b": "appID_0099", "new": "appID_0045"}
    tags = {"a": ["hbase-rs"], "b": ["hbase-rs"], "new": ["storm"]}
    solver = solver_of(Yarn.model_validate({"map": [entry]}), NODES, objects, {"tags": tags, "app": apps})
    assert goes(solver, "new") == ["n1"]


def test_of_several_targets_all_have_to_hold() -> None:
    """The document's example of a list: a partition, some hosts, and not an attribute's value."""
    listed = ["node-attribute:rack IN r1", "node-attribute:host IN n1,n2,n3", "node-attribute:fault_domain NOT_IN fd1"]
    assert goes(asked({"target": listed, "scope": "host"}, {}), "w0") == ["n2"]
    with pytest.raises(InputError, match="node-attribute:name IN value"):
        asked({"target": [*listed, "rack IN r1"]}, {}).evaluate()


def test_storm_in_a_rack_with_three_region_servers() -> None:
    constraint = {"target": 'allocation-tag IN "hbase-rs"', "scope": "rack", "min-cardinality": 3}
    running = {f"rs{n}": ("hbase-rs", node) for n, node in enumerate(("n1", "n1", "n2", "n3"))}
    assert goes(asked(constraint, running), "w0") == ["n1", "n2"]


def test_levels_hold_together() -> None:
    """At most five zookeepers in a rack says the admin, three says the application."""
    rules = [
        {"sourceTags": ["w"], "constraint": {"scope": "rack", "max": 5, "targets": [["all/w"]]}},
        {"sourceTags": ["w"], "app": "app1", "constraint": {"scope": "rack", "max": 3, "targets": [["w"]]}},
    ]
    solver = asked("node!=x", {}, 6)
    statement = Yarn.model_validate({"map": rules, "count": "inclusive"})
    solver.add_rules(statement)
    assert holds(solver, {f"w{n}": "n1" if n < 3 else "n3" for n in range(6)})
    assert not holds(solver, {f"w{n}": "n1" if n < 4 else "n3" for n in range(6)})


def test_requests_of_the_shell() -> None:
    text = "zk=3,NOTIN,NODE,zk:hbase=5,IN,RACK,zk:spark=7,CARDINALITY,NODE,hbase,1,3"
    clauses = parse_spec(text, (), FaultList())
    assert [(clause.tag, clause.count) for clause in clauses] == [("zk", 3), ("hbase", 5), ("spark", 7)]
    (alone,) = parse_spec("java=8", (), FaultList())
    assert alone.constraint == Attribute("java", ("8",))
    (bare,) = parse_spec("zk(3)", (), FaultList())
    assert (bare.tag, bare.count, bare.constraint) == ("zk", 3, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("zk(3),NOTIM,NODE,zk", "did you mean 'NOTIN'"),
        ("zk(3),IN,NOD,zk", "did you mean 'NODE'"),
        ("zk(3),IN,NODE,sef/zk", "did you mean 'self'"),
        ("zk(3),IN,NODE,app-id/zk", "expected 'app-id/ID/tag'"),
        ("zk(3),AND(IN,NODE,a", "a '\\)' is missing"),
        ("zk(3),CARDINALITY,NODE,a,3,1", "below the least"),
        ("zk(3),", "a constraint is missing"),
        ("IN,NODE,a", "whose constraint"),
        ("zk(3),IN,NODE", "names no allocation tag"),
    ],
)
def test_mistakes_of_the_shell(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(asked("node!=x", {}).problem, spec=text)


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ({"scop": "node", "max": 3}, "did you mean 'scope'"),
        ({"scope": "node"}, "needs a target"),
        ({"scope": "node", "max": "many"}, "expected a whole number"),
        ({"and": []}, "expected a list"),
        ({"target": "tag IN a"}, "allocation-tag IN"),
        (7, "text or mapping"),
        ({"min": 3, "max": 1}, "the largest number, 1, is below the least one, 3"),
        ({"min": 0, "targets": [["a"]]}, "'min: 0' without a largest number asks for nothing"),
        ({"target": "allocation-tag IN a", "min-cardinality": 0}, "'min-cardinality: 0' without a largest number"),
        ({"nodeAttribute": "java", "op": "EQ", "values": [8], "min": 3}, "'min' does not go with 'nodeAttribute'"),
        ({"nodeAttribute": "java", "values": None}, "a text or a list of texts"),
        ({"nodeAttribute": "java", "values": []}, "'java' needs a value; ANY is any"),
        ({"nodeAttribute": ["java", "os"], "values": "8"}, "expected one attribute"),
        ({"target": 'node-attribute:java IN ""'}, "'java' needs a value; ANY is any"),
        ({"target": "node-attribute:java IN 8", "max": 2}, "a number goes with allocation tags"),
        ({"target": "allocation-tag NOT_IN a", "max": 2}, "it goes with IN, not with NOT_IN"),
        ({"target": 'allocation-tag IN ""'}, "names no allocation tag"),
        ({"target": "allocation-tag IN a", "targets": [["b"]]}, "'targets' does not go with 'target'"),
        ({"target": "allocation-tag IN a", "op": "NE"}, "'op' does not go with 'target'"),
        ({"target": []}, "expected targets"),
        ({"values": [3], "min": 1}, "'values' needs a node attribute"),
        ({"targets": 5.5, "min": 1}, "a text or a list of texts"),
        ({"targets": [[None]], "min": 1}, "a text or a list of texts"),
        ({"targets": [[]], "min": 1}, "names no allocation tag"),
        ({"constraint": "IN,NODE,a", "scope": "rack"}, "'scope' does not go with 'constraint'"),
        ({"OR": ["IN,NODE,a"], "max": 1}, "'max' does not go with 'OR'"),
        ({"OR": [{"target": "allocation-tag IN a", "cost": 5}]}, "'cost' belongs to an alternative of DELAYED_OR"),
    ],
)
def test_mistakes_in_mappings(constraint: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(asked("node!=x", {}).problem, map=[{"sourceTags": ["w"], "constraint": constraint}])


@pytest.mark.parametrize(
    ("entry", "code", "suggestion"),
    [
        ({"sourceTags": ["w"], "constraint": "fault_domian!=fd1"}, "unknown-attribute", "fault_domain"),
        ({"sourceTags": ["w"], "constraint": "NOTIN,NODE,all/hbase"}, "unknown-tag", "hbase-m"),
        ({"sourceTags": ["w"], "constraint": "IN,NODE,app-id/app2/w"}, "unknown-application", "app1"),
        ({"sourceTags": ["ww"], "constraint": "NOTIN,NODE,w"}, "unknown-tag", "w"),
        ({"sourceTags": ["w"], "app": "app2", "constraint": "NOTIN,NODE,w"}, "unknown-application", "app1"),
        ({"constraint": {"max": 1, "scope": "rak", "targets": ["w"]}}, "unknown-attribute", "rack"),
    ],
)
def test_names_that_nobody_has_are_a_warning(entry: dict[str, Any], code: str, suggestion: str | None) -> None:
    problem = asked("ANY!=x", {"m": ("hbase-m", "n1")}).problem
    translation = parse(problem, map=[entry])
    assert [(warning.code, warning.suggestion) for warning in translation.warnings] == [(code, suggestion)]


def test_tags_of_other_applications_are_pointed_to() -> None:
    """Plain tags are those of the own application; the document's example names another one as if it were a tag."""
    statement = Yarn.model_validate({"map": []})
    objects, tags = {"h": "n1", "s": None}, {"h": ["hbase-rs"], "s": ["storm"]}
    solver = solver_of(statement, NODES, objects, {"tags": tags, "app": {"h": "app23", "s": "app45"}})
    for constraint, said in (
        ("IN,NODE,hbase-rs", "no task of 'app45' has the tag 'hbase-rs'; all/hbase-rs is that of any application"),
        ("IN,NODE,all/app23", "no task has the tag 'app23'; of the application 'app23' it is app-id/app23/TAG"),
    ):
        translation = parse(solver.problem, map=[{"sourceTags": ["storm"], "constraint": constraint}])
        assert [warning.message for warning in translation.warnings] == [said]
    for constraint in ("NOTIN,NODE,hbase-rs", "IN,NODE,app-id/app23/hbase-rs", "IN,NODE,all/hbase-rs"):
        translation = parse(solver.problem, map=[{"sourceTags": ["storm"], "constraint": constraint}])
        assert translation.warnings == ()


def test_no_value_is_the_default_partition() -> None:
    assert goes(asked({"nodeAttribute": "node-partition", "values": []}, {}), "w0") == ["n2", "n3"]
    assert goes(asked({"target": "node-attribute:node-partition IN ANY"}, {}), "w0") == ["n1", "n2", "n3"]
