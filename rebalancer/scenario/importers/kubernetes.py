"""Kubernetes: a snapshot that `kubectl get -o json` prints becomes a scenario folder.

Pods are objects (``namespace/name``), nodes are containers. Pods whose specs say the same about where they may be share
one `kubernetes` statement. What a DaemonSet or the node itself started stays, as does what is terminating; budgets
bound how many pods of theirs move.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from rebalancer.problem.errors import Fault, FaultList, InputError, unknown_name
from rebalancer.scenario.importers.folder import write_folder
from rebalancer.scenario.importers.kubernetes_json import (
    Budget,
    KubectlFile,
    Node,
    Pod,
    read_budgets,
    read_nodes,
    read_pods,
)

#: The resource of which every pod uses one.
_PODS = "pods"


def convert(
    nodes_path: str | PathLike[str],
    pods_path: str | PathLike[str],
    budgets_path: str | PathLike[str] | None,
    out_dir: str | PathLike[str],
    *,
    overwrite: bool = False,
) -> None:
    """Turn a snapshot into a scenario folder: ``scenario.yaml``, ``nodes.csv``, ``pods.csv``.

    Parameters
    ----------
    nodes_path, pods_path, budgets_path : path
        What ``kubectl get nodes``, ``pods --all-namespaces`` and ``poddisruptionbudgets --all-namespaces`` print with
        ``-o json``; None: no budgets.
    out_dir : path
        Folder to write; it must be empty or missing.
    overwrite : bool
        Replace the three files in a folder that is not empty.

    Raises
    ------
    InputError
        The files are malformed or do not fit together, or the folder is not empty; nothing is written.
    """
    write_folder(Path(out_dir), converted(nodes_path, pods_path, budgets_path), overwrite)


def converted(
    nodes_path: str | PathLike[str], pods_path: str | PathLike[str], budgets_path: str | PathLike[str] | None
) -> dict[str, Iterator[str]]:
    """Return what `convert` writes: the text of each file, piece by piece, by name.

    Raises
    ------
    InputError
        The files are malformed or do not fit together.
    """
    faults: list[Fault] = []
    nodes = read_nodes(KubectlFile(Path(nodes_path), "Node", faults))
    pods_file = KubectlFile(Path(pods_path), "Pod", faults)
    pods = read_pods(pods_file)
    budgets: list[Budget] = []
    if budgets_path is not None:
        budgets = read_budgets(KubectlFile(Path(budgets_path), "PodDisruptionBudget", faults))
    faults += _misfits(nodes, pods, pods_file.path)
    if faults:
        raise InputError(faults)
    resources = _resources(pods)
    templates = _templates(pods)
    sources = ", ".join(Path(path).name for path in (nodes_path, pods_path, budgets_path) if path is not None)
    return {
        "scenario.yaml": _scenario(resources, pods, templates, budgets, sources),
        "nodes.csv": _csv(_node_rows(nodes, resources)),
        "pods.csv": _csv(_pod_rows(pods, resources, templates)),
    }


def _misfits(nodes: Sequence[Node], pods: Sequence[Pod], path: Path) -> list[Fault]:
    """Return where the files do not fit together, with the pods' file as the place."""
    found = FaultList()
    known = {node.name for node in nodes}
    for what, names in (("node", [node.name for node in nodes]), ("pod", [pod.name for pod in pods])):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                found.report("duplicate-name", f"{what} '{name}' is listed twice", (), name)
            seen.add(name)
    strangers = dict.fromkeys(pod.node for pod in pods if pod.node is not None and pod.node not in known)
    for name in strangers:
        found.append(unknown_name("node", name, known))
    return [fault.at(str(path), 1, 1) for fault in found]


def _resources(pods: Sequence[Pod]) -> list[str]:
    """Return the resources that some pod requests."""
    return list(dict.fromkeys(name for pod in pods for name, amount in pod.requests.items() if amount))


def _templates(pods: Sequence[Pod]) -> dict[str, str]:
    """Return the scheduling fields, as JSON, -> the name of those who share them: that of the first one's owner."""
    out: dict[str, str] = {}
    taken: set[str] = set()
    for pod in pods:
        text = _json(pod.scheduling)
        if text not in out:
            name, number = pod.owner, 1
            while name in taken:
                number += 1
                name = f"{pod.owner} ({number})"
            out[text] = name
            taken.add(name)
    return out


# -- tables -----------------------------------------------------------------------------------------------------------


def _node_rows(nodes: Sequence[Node], resources: Sequence[str]) -> Iterator[list[str]]:
    yield ["node", "labels", "taints", _PODS, *resources]
    for node in nodes:
        offered = [_decimal(node.allocatable.get(name, Fraction(0))) for name in (_PODS, *resources)]
        yield [node.name, _json(node.labels), _json(node.taints), *offered]


def _pod_rows(pods: Sequence[Pod], resources: Sequence[str], templates: Mapping[str, str]) -> Iterator[list[str]]:
    yield ["pod", "node", "namespace", "labels", "template", "stays", "terminating", *resources]
    for pod in pods:
        template = templates[_json(pod.scheduling)]
        used = [_decimal(pod.requests.get(name, Fraction(0))) for name in resources]
        stays = "stays" if pod.fixed else ""
        leaving = "true" if pod.terminating else ""
        yield [pod.name, pod.node or "", pod.namespace, _json(pod.labels), template, stays, leaving, *used]


def _csv(rows: Iterator[list[str]]) -> Iterator[str]:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    yield buffer.getvalue()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _decimal(number: Fraction) -> str:
    """Return a quantity as a decimal: every one has one."""
    if number.denominator == 1:
        return str(number.numerator)
    digits = next(count for count in range(1, 40) if (number * 10**count).denominator == 1)
    scaled = abs(int(number * 10**digits))
    whole, rest = divmod(scaled, 10**digits)
    return f"{'-' if number < 0 else ''}{whole}.{rest:0{digits}d}"


# -- the scenario -----------------------------------------------------------------------------------------------------


def _scenario(
    resources: Sequence[str],
    pods: Sequence[Pod],
    templates: Mapping[str, str],
    budgets: Sequence[Budget],
    sources: str,
) -> Iterator[str]:
    """Yield the text of the scenario file."""
    dimensions = _json(resources)
    stays = any(pod.fixed for pod in pods)
    yield f"# Made from {sources} by `rebalance import kubernetes`.\nobject: pod\ncontainer: node\n\n"
    partitions = '["template", "stays"]' if stays else '["template"]'
    attributes = ["namespace", "labels", *(["terminating"] if any(pod.terminating for pod in pods) else [])]
    yield (
        "tables:\n"
        f"  pod: {{file: pods.csv, key: pod, container: node, dimensions: {dimensions}, "
        f"partitions: {partitions}, attributes: {_json(attributes)}}}\n"
        f"  node: {{file: nodes.csv, key: node, dimensions: {_json([_PODS, *resources])}, "
        "attributes: [labels, taints]}\n"
    )
    yield f"dimensions:\n  {_PODS}:\n    pod: {{default: 1}}\n"
    if budgets:
        yield "partitions:\n  budget:\n"
        for budget in budgets:
            yield f"    {_json(_title(budget))}: {_json(_members(budget, pods))}\n"
    yield "\nconstraints:\n"
    for name in (_PODS, *resources):
        yield f"  - capacity: {{scope: node, dimension: {_json(name)}}}\n    name: {_json(name)}\n"
    if stays:
        yield "  - group_move_limit: {partition: stays, limit: 0}\n    name: pods of their nodes stay\n"
    if budgets:
        limits = _json({_title(budget): budget.allowed for budget in budgets})
        yield f"  - group_move_limit: {{partition: budget, limit: {{group_limits: {limits}}}}}\n    name: budgets\n"
    fixed = ", fixed: {partition: stays, groups: [stays]}" if stays else ""
    for spec, name in templates.items():
        yield (
            f"  - kubernetes: {{pods: {{partition: template, groups: [{_json(name)}]}}{fixed},\n"
            f"                 spec: {spec}}}\n    name: {_json(name)}\n"
        )
    yield "\ngoals:\n  - minimize_movement: {scope: node, dimension: pod_count, do_not_normalize: true}\n"
    yield "    name: moves\n    tuple_pos: 1\n"


def _title(budget: Budget) -> str:
    return f"{budget.namespace}/{budget.name}"


def _members(budget: Budget, pods: Sequence[Pod]) -> list[str]:
    """Return the pods of a budget; a missing selector selects none."""
    from rebalancer.dialects.kubernetes_facts import holds
    from rebalancer.dialects.kubernetes_syntax import LabelSelector

    if budget.selector is None:
        return []
    selector = LabelSelector.model_validate(budget.selector)
    return [
        pod.name
        for pod in pods
        if pod.namespace == budget.namespace
        and all(pod.labels.get(key) == value for key, value in selector.match_labels.items())
        and all(holds(requirement, pod.labels.get(requirement.key)) for requirement in selector.match_expressions)
    ]
