"""Snapshots of a cluster: quantities, requests, what stays, budgets, and mistakes."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rebalancer import InputError, Rebalancer
from rebalancer.scenario.importers.kubernetes import convert
from rebalancer.scenario.importers.kubernetes_json import quantity
from tests.cli.commands import parsed, run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100m", Fraction(1, 10)),
        ("1.5Gi", Fraction(3, 2) * 2**30),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("3k", 3000),
        ("250000000n", Fraction(1, 4)),
        (4, 4),
    ],
)
def test_quantities_are_exact(text: Any, expected: Fraction) -> None:
    assert quantity(text) == expected


@pytest.mark.parametrize("text", ["", "1.2.3", "5 Gi", "1KB", "ten", "1e"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="expected a quantity"):
        quantity(text)


def node(name: str, zone: str, **spec: Any) -> dict[str, Any]:
    labels = {"topology.kubernetes.io/zone": zone, "empty": ""}
    allocatable = {"cpu": "1900m", "memory": "4Gi", "pods": "3"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def pod(
    name: str, where: str | None, app: str, owner: str = "ReplicaSet", phase: str = "Running", **spec: Any
) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": "prod", "labels": {"app": app}}
    meta["ownerReferences"] = [{"kind": owner, "name": f"{app}-set", "controller": True}]
    containers = [{"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}}]
    own = {"containers": containers, **({"nodeName": where} if where else {}), **spec}
    return {"kind": "Pod", "metadata": meta, "spec": own, "status": {"phase": phase}}


SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}
NODES = [node("n1", "a"), node("n2", "b"), node("n3", "c"), node("n4", "b", unschedulable=True)]
PODS = [
    pod("web-1", "n1", "web", **SPREAD),
    pod("web-2", "n1", "web", **SPREAD),
    pod("web-3", None, "web", phase="Pending", **SPREAD),
    pod("agent", "n1", "agent", owner="DaemonSet"),
    pod("done", "n1", "job", phase="Succeeded"),
]
BUDGETS = [
    {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 1},
    }
]


def files(folder: Path, nodes: Any = NODES, pods: Any = PODS, budgets: Any = BUDGETS) -> list[Path]:
    """Write a snapshot and return its files."""
    paths = []
    for name, items in (("nodes", nodes), ("pods", pods), ("pdbs", budgets)):
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"kind": "List", "items": items}))
        paths.append(path)
    return paths


def test_a_snapshot_becomes_a_scenario_that_is_solved(tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = parsed(run("import", "kubernetes", *files(tmp_path), "-o", out, "--json"))
    solver = Rebalancer.from_yaml(answer["scenario"])
    assert sorted(solver.problem.objects) == ["prod/agent", "prod/web-1", "prod/web-2", "prod/web-3"]
    solution = solver.solve(engine="cpsat", time_limit=20)
    found = solution.assignment
    assert found["prod/agent"] == "n1"
    assert {found["prod/web-1"], found["prod/web-2"], found["prod/web-3"]} == {"n1", "n2", "n3"}  # n4 is cordoned
    assert solution.moves["source"].notna().sum() == 1  # which the budget allows
    assert solution.constraints["final_violation"].tolist() == [0.0] * len(solution.constraints)
    assert list(solution.constraints["name"])[:5] == ["pods", "cpu", "memory", "pods of their nodes stay", "budgets"]


def test_labels_and_quantities_survive_the_tables(tmp_path: Path) -> None:
    convert(*files(tmp_path), tmp_path / "out")
    with (tmp_path / "out" / "nodes.csv").open(newline="") as opened:
        first = next(csv.DictReader(opened))
    assert json.loads(first["labels"]) == {"empty": "", "topology.kubernetes.io/zone": "a"}
    assert (first["cpu"], first["memory"], first["pods"]) == ("1.9", str(4 * 2**30), "3")


def test_requests_are_the_largest_step_of_starting_and_running(tmp_path: Path) -> None:
    """Running: 1 + 1 + sidecar 0.5 = 2.5; starting the last init container beside the sidecar: 0.5 + 3; and 0.1."""

    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1"), {"resources": {"limits": {"cpu": "1"}}}],
        "initContainers": [container("2"), container("500m", restartPolicy="Always"), container("3")],
        "overhead": {"cpu": "100m"},
    }
    convert(*files(tmp_path, pods=[pod("p", "n1", "x", **spec)]), tmp_path / "out")
    with (tmp_path / "out" / "pods.csv").open(newline="") as opened:
        (row,) = csv.DictReader(opened)
    assert row["cpu"] == "3.6"


def test_pods_of_the_same_fields_share_one_statement(tmp_path: Path) -> None:
    convert(*files(tmp_path), tmp_path / "out")
    assert (tmp_path / "out" / "scenario.yaml").read_text().count("- kubernetes:") == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nodes": [*NODES, NODES[0]]}, "node 'n1' is listed twice"),
        ({"pods": [pod("p", "n7", "x")]}, "unknown node 'n7'; there is"),
        ({"pods": NODES}, "item 0 is a Node, expected a Pod"),
        ({"nodes": [{"kind": "Node", "metadata": {"name": "n"}}]}, "has no status.allocatable"),
        ({"budgets": [{"metadata": {"name": "b"}}]}, "has no status.disruptionsAllowed"),
        ({"pods": [pod("p", "n1", "x", overhead={"cpu": "much"})]}, "pod 'prod/p', cpu: expected a quantity"),
        ({"pods": [7]}, "item 0 is no object of Kubernetes"),
    ],
)
def test_mistakes(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        convert(*files(tmp_path, **change), tmp_path / "out")
    assert all(fault.file for fault in caught.value.faults)
    assert not (tmp_path / "out").exists()


def test_a_key_that_stands_twice_is_told(tmp_path: Path) -> None:
    nodes, pods, _ = files(tmp_path)
    pods.write_text('{"items": [], "items": []}')
    with pytest.raises(InputError, match="the key 'items' stands twice"):
        convert(nodes, pods, None, tmp_path / "out")


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    nodes, pods, _ = files(tmp_path)
    pods.write_text("[1,\n2")
    with pytest.raises(InputError) as caught:
        convert(nodes, pods, None, tmp_path / "out")
    (fault,) = caught.value.faults
    assert (fault.code, fault.line) == ("json-syntax", 2)
