"""Kubernetes: where facts come from, namespaces, labels of one's own, taints, preferences, and mistakes."""

from typing import Any

import pytest

from rebalancer import InputError
from rebalancer.dialects.kubernetes import Kubernetes, parse
from tests.dialects.problems import goes, holds, solver_of, where

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODES: dict[str, dict[str, Any]] = {
    "n1": {"labels": {"zone": "a", "disk": "ssd"}},
    "n2": {"labels": {"zone": "b", "disk": "hdd"}},
    "n3": {"labels": {"zone": "b"}, "taints": ["gpu=a100:NoSchedule", {"key": "slow", "effect": "PreferNoSchedule"}]},
}


def pods_of(spec: dict[str, Any], pods: dict[str, str | None], labels: dict[str, Any], **fields: Any) -> Any:
    """Return a solver for the spec of those pods that are called new."""
    own = [name for name in pods if name.startswith("new")]
    facts = {"labels": labels, **fields.pop("facts", {})}
    return solver_of(Kubernetes.model_validate({"pods": own, "spec": spec, **fields}), NODES, pods, facts)


def near(kind: str, term: dict[str, Any], mode: str = REQUIRED) -> dict[str, Any]:
    """Return a spec with one affinity to pods."""
    entry = term if mode == REQUIRED else {"weight": 10, "podAffinityTerm": term}
    return {"affinity": {kind: {mode: [entry]}}}


def test_labels_are_mappings_or_json_or_attributes_of_their_own() -> None:
    spec = {"nodeSelector": {"disk": "ssd"}}
    for nodes in (
        {"n1": {"labels": {"disk": "ssd"}}, "n2": {"labels": {}}},
        {"n1": {"labels": '{"disk":"ssd"}'}, "n2": {"labels": "{}"}},
        {"n1": {"disk": "ssd"}, "n2": {"disk": "hdd"}},
    ):
        assert goes(solver_of(Kubernetes.model_validate({"spec": spec}), nodes, {"p": None}), "p") == ["n1"]


def test_names_of_nodes() -> None:
    fields = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}
    spec = {
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [fields]}}},
        "tolerations": [{"operator": "Exists"}],
    }
    assert goes(pods_of(spec, {"new": None}, {}), "new") == ["n2", "n3"]
    assert goes(pods_of({"nodeSelector": {"kubernetes.io/hostname": "n2"}}, {"new": None}, {}), "new") == ["n2"]


def test_an_empty_term_selects_nothing() -> None:
    for terms in ([{}], []):
        spec = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}
        assert goes(pods_of(spec, {"new": None}, {}), "new") == []


def test_taints_that_are_to_be_avoided_cost_one_each() -> None:
    solver = pods_of({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, {"new": "n3"}, {})
    assert solver.check_placement("new", "n3").scores == {"kubernetes#1: taints to avoid": -1.0}
    assert solver.evaluate().goals["initial"].tolist() == [1.0]
    assert solver.evaluate({"new": "n1"}).goals["final"].tolist() == [0.0]


def test_preferred_nodes_add_their_weights() -> None:
    terms = [
        {"weight": 10, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}},
        {"weight": 3, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}},
        {"weight": 50, "preference": {}},
    ]
    solver = pods_of({"affinity": {"nodeAffinity": {PREFERRED: terms}}}, {"new": None}, {})
    scores = [sum(solver.check_placement("new", node).scores.values()) for node in ("n1", "n2")]
    assert scores == [13, 3]
    assert where(solver) == {"new": "n1"}


def test_an_empty_preference_is_no_wish() -> None:
    """It adds 0 to the score of every node; a wish that no node can meet would make being placed dearer."""
    empty = {"weight": 7, "preference": {}}
    spec = {"affinity": {"nodeAffinity": {PREFERRED: [empty]}}, "tolerations": [{"operator": "Exists"}]}
    assert pods_of(spec, {"new": "n1"}, {}).evaluate().goals.empty


def test_namespaces() -> None:
    labels = {"other": {"app": "db"}, "new": {"app": "web"}}
    facts = {"namespace": {"other": "prod", "new": "test"}}
    selector = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    for extra, expected in (
        ({}, []),
        ({"namespaces": ["prod"]}, ["n1"]),
        ({"namespaceSelector": {}}, ["n1"]),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, ["n1"]),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "test"}}}, []),
    ):
        solver = pods_of(
            near("podAffinity", {**selector, **extra}),
            {"other": "n1", "new": None},
            labels,
            facts=facts,
            namespaceLabels={"prod": {"team": "x"}},
        )
        assert goes(solver, "new") == expected, extra


def test_spread_by_the_own_value_of_a_label() -> None:
    """Pods of another hash do not count: old ones do not hinder a rollout."""
    labels = {
        name: {"app": "web", "hash": "2" if name.startswith("new") else "1"}
        for name in ("old1", "old2", "new1", "new2")
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pods = {"old1": "n1", "old2": "n1", "new1": None, "new2": None}
    with_keys = pods_of({"topologySpreadConstraints": [{**spread, "matchLabelKeys": ["hash"]}]}, pods, labels)
    without = pods_of({"topologySpreadConstraints": [spread]}, pods, labels)
    finished = {**pods, "new1": "n1", "new2": "n2"}
    assert holds(with_keys, finished)
    assert not holds(without, finished)
    assert (goes(with_keys, "new1"), goes(without, "new1")) == (["n1", "n2"], ["n2"])


WEB = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [  # zone a (n1) has a pod of release 1, zone b (n2) one of release 2, n4 is in a zone of its own
        ({}, ["n4"]),
        ({"matchLabelKeys": ["release"]}, ["n1", "n4"]),
        ({"mismatchLabelKeys": ["release"]}, ["n2", "n4"]),
        ({"matchLabelKeys": ["release", "shard"]}, ["n1", "n4"]),  # it has no shard: that narrows nothing
        ({"mismatchLabelKeys": ["shard"]}, ["n4"]),
    ],
)
def test_anti_affinity_by_the_own_value_of_a_label(keys: dict[str, Any], expected: list[str]) -> None:
    labels = {"old1": {"app": "web", "release": "1"}, "old2": {"app": "web", "release": "2", "shard": "s"}}
    pods = {"old1": "n1", "old2": "n2", "new": None}
    nodes = {**NODES, "n4": {"labels": {"zone": "c"}}}
    spec = near("podAntiAffinity", {**WEB, **keys})
    statement = Kubernetes.model_validate({"pods": ["new"], "spec": spec})
    solver = solver_of(statement, nodes, pods, {"labels": {**labels, "new": {"app": "web", "release": "2"}}})
    assert [name for name in goes(solver, "new") if name != "n3"] == expected
    for node in ("n1", "n2", "n4"):
        assert holds(solver, {**pods, "new": node}) == (node in expected)


def test_affinity_by_the_own_value_of_a_label() -> None:
    """Each release gathers on its own: required, and as a wish that counts pairs."""
    labels = {f"new{n}": {"app": "web", "release": str(n % 2)} for n in range(4)}
    pods: dict[str, str | None] = dict.fromkeys(labels)
    apart = {name: "n1" if own["release"] == "0" else "n2" for name, own in labels.items()}
    required = pods_of(near("podAffinity", {**WEB, "matchLabelKeys": ["release"]}), pods, labels)
    assert holds(required, apart)
    assert not holds(required, {**apart, "new0": "n2"})
    assert not holds(pods_of(near("podAffinity", WEB), pods, labels), apart)
    wished = pods_of(near("podAffinity", {**WEB, "matchLabelKeys": ["release"]}, PREFERRED), pods, labels)
    assert wished.evaluate(apart).goals["final"].sum() == -40.0  # 2 releases × 2 ordered pairs × 10
    assert wished.evaluate(dict.fromkeys(labels, "n1")).goals["final"].sum() == -40.0  # others bring nothing


def test_a_label_that_a_pod_has_not_does_not_narrow_its_spread() -> None:
    """The count of zone a is 2 with the own pod, whichever its shard; so the pod has to go to zone b."""
    spread = {**WEB, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["shard"]}
    labels = {"old": {"app": "web", "shard": "s"}, "new": {"app": "web"}}
    solver = pods_of({"topologySpreadConstraints": [spread]}, {"old": "n1", "new": None}, labels)
    assert goes(solver, "new") == ["n2"]
    assert not holds(solver, {"old": "n1", "new": "n1"})
    assert holds(solver, {"old": "n1", "new": "n2"})


def test_schedule_anyway_only_prefers() -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    solver = pods_of({"topologySpreadConstraints": [spread]}, {"new1": "n1", "new2": "n1"}, {})
    assert goes(solver, "new1") == ["n1", "n2"]
    assert solver.evaluate().goals["initial"].iloc[-1] == 1.0  # two in zone a, none in b: 1 above the skew of 1


def test_a_collection_that_likes_itself_gathers_round_what_is_fixed() -> None:
    labels = {name: {"app": "col"} for name in ("there", "new1", "new2")}
    spec = near("podAffinity", {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "col"}}})
    solver = pods_of(spec, {"there": "n2", "new1": None, "new2": None}, labels, fixed=["there"])
    assert set(where(solver).values()) == {"n2"}
    alone = pods_of(spec, {"new1": None, "new2": None}, {name: labels[name] for name in ("new1", "new2")})
    assert holds(alone, {"new1": "n1", "new2": "n1"})
    assert not holds(alone, {"new1": "n1", "new2": "n2"})


def test_preferred_company_counts_pairs() -> None:
    labels = {"db": {"app": "db"}, "new1": {"app": "web"}, "new2": {"app": "web"}}
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    pods = {"db": "n1", "new1": "n1", "new2": "n1"}
    for kind, sign in (("podAffinity", -1), ("podAntiAffinity", 1)):
        solver = pods_of(near(kind, term, PREFERRED), pods, labels)
        assert solver.evaluate().goals["initial"].iloc[-1] == sign * 20.0


def test_fixed_pods_are_seen_and_not_judged() -> None:
    labels = {"new-a": {"app": "x"}, "new-b": {"app": "x"}}
    spec = near("podAntiAffinity", {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}})
    together = {"new-a": "n1", "new-b": "n1"}
    assert not holds(pods_of(spec, together, labels), together)
    assert holds(pods_of(spec, together, labels, fixed=["new-a", "new-b"]), together)
    assert not holds(pods_of(spec, together, labels, fixed=["new-a"]), together)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"tolerations": [{"value": "x"}]}, "needs 'operator: Exists'"),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
            "1 or more",
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}
                ]
            },
            "minDomains goes with",
        ),
        (near("podAffinity", {"topologyKey": ""}), "topologyKey is empty"),
        (near("podAffinity", {"topologyKey": "z"}, PREFERRED) | {"nodeSelectr": {}}, "nodeSelectr"),
        (near("podAffinity", {"topologyKey": "z", "matchLabelKeys": ["k"]}), "'k' has no labelSelector to narrow"),
        (near("podAffinity", {**WEB, "matchLabelKeys": ["k"], "mismatchLabelKeys": ["k"]}), "'k' is among both"),
    ],
)
def test_mistakes(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(pods_of({}, {"new": None}, {}).problem, spec=spec)


def test_labels_that_no_node_has_are_a_warning() -> None:
    spread = {"maxSkew": 1, "topologyKey": "zoen", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    spec = {
        "nodeSelector": {"dsik": "ssd"},
        "topologySpreadConstraints": [spread],
        **near("podAntiAffinity", {"topologyKey": "kubernetes.io/hostname"}),
    }
    translation = parse(pods_of({}, {"new": None}, {}).problem, spec=spec)
    assert [(warning.code, warning.path, warning.suggestion) for warning in translation.warnings] == [
        ("unknown-label", ("spec", "node_selector", "dsik"), "disk"),
        ("unknown-label", ("spec", "topology_spread_constraints", 0, "topology_key"), "zone"),
    ]


def test_facts_that_make_no_sense() -> None:
    solver = solver_of(
        Kubernetes.model_validate({"spec": {}}), {"n1": {"taints": ["gpu:Never"], "labels": "[1]"}}, {"p": None}
    )
    with pytest.raises(InputError, match="a taint is key=value:effect") as caught:
        solver.evaluate()
    assert any("labels are a mapping" in fault.message for fault in caught.value.faults)


def test_pods_of_two_namespaces_that_require_the_same_company_are_of_one_kind() -> None:
    """Neither can be the reason why the other is away from the pod that both have to join."""
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}, "namespaceSelector": {}}
    fields = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    statement = Kubernetes.model_validate({"pods": ["a", "b"], "spec": fields})
    nodes = {"n0": {"zone": "z0"}, "n1": {"zone": "z1"}}
    facts = {"labels": {pod: {"app": "x"} for pod in "abc"}, "namespace": {"a": "one", "b": "two", "c": "one"}}
    solver = solver_of(statement, nodes, {"a": None, "b": None, "c": "n0"}, facts)
    assert goes(solver, "a") == ["n0"]
    assert holds(solver, {"a": "n0", "b": "n0", "c": "n0"})
    assert not holds(solver, {"a": "n1", "b": "n1", "c": "n0"})


def several(specs: dict[str, dict[str, Any]], pods: dict[str, str | None], **fixed: list[str]) -> Any:
    """Return a solver with one statement for each first letter of pods that all have the label app: web."""
    statements = [
        Kubernetes.model_validate(
            {"pods": [name for name in pods if name[0] == letter], "spec": spec, "fixed": fixed.get(letter)}
        )
        for letter, spec in specs.items()
    ]
    return solver_of(statements, NODES, pods, {"labels": {name: {"app": "web"} for name in pods}})


def test_statements_with_the_same_affinity_to_their_own_kind_gather_together() -> None:
    """One after the other, all follow the first: two deployments that want each other cannot be in two zones."""
    own = near("podAffinity", {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}})
    apart: dict[str, str | None] = {"a1": "n1", "b1": "n1", "a2": "n2", "b2": "n2"}
    solver = several({"a": own, "b": own}, apart)
    assert not holds(solver, apart)
    assert holds(solver, dict.fromkeys(apart, "n2"))
    fixed = several({"a": own, "b": own}, apart, b=["b1"])
    assert holds(fixed, {**dict.fromkeys(apart, "n1")})
    assert not holds(fixed, {"a1": "n2", "b1": "n1", "a2": "n2", "b2": "n2"})
    both = several({"a": own, "b": own}, apart, a=["a2"], b=["b1"])
    assert holds(both, apart)  # each is beside one that cannot move


def test_pods_that_only_match_are_anchors_of_all() -> None:
    own = near("podAffinity", {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}})
    pods: dict[str, str | None] = {"a1": "n1", "b1": "n1", "c1": "n1", "a2": "n2", "b2": "n2", "c2": "n2"}
    solver = several({"a": own, "b": own, "c": {}}, pods)
    assert holds(solver, pods)
    assert not holds(solver, {**pods, "c2": "n1"})


def test_a_pod_is_fixed_whichever_statement_says_so() -> None:
    """Neither of two pods that do not move is judged, though either statement calls only one of them fixed."""
    apart = near("podAntiAffinity", {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}})
    pods: dict[str, str | None] = {"a1": "n1", "b1": "n1"}
    for letters in ("ab", "ba"):
        specs: dict[str, dict[str, Any]] = {letter: apart if letter == "a" else {} for letter in letters}
        assert holds(several(specs, pods, a=["a1"], b=["b1"]), pods)
        assert not holds(several(specs, pods, a=["a1"]), pods)
