"""What `kubectl get -o json` prints, as far as a scenario needs it; quantities are exact."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from rebalancer.problem.errors import Fault, InputError
from rebalancer.scenario.json_keys import noting, repeated_text

_T = TypeVar("_T")

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)")
_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", 1)},
}
#: The fields of a pod spec that say where pods may be.
SCHEDULING = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints")
_MIRROR = "kubernetes.io/config.mirror"
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def quantity(text: Any) -> Fraction:
    """Return a quantity such as ``100m``, ``1.5Gi`` or ``1e3`` exactly.

    Raises
    ------
    ValueError
        It is none.
    """
    found = _QUANTITY.fullmatch(str(text).strip())
    if found is None:
        raise ValueError(f"expected a quantity such as 100m or 1.5Gi, got '{text}'")
    number = Fraction(found[1] + (found[2] or ""))
    return number * _SUFFIXES.get(found[3] or "", Fraction(1))


@dataclass(frozen=True)
class Node:
    """A node: what it offers, its labels and its taints."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    allocatable: Mapping[str, Fraction]


@dataclass(frozen=True)
class Pod:
    """A pod that is not done: what it requests, and what its spec says about where it may be.

    ``node`` is None while it is pending; ``fixed``: it belongs to its node, or is leaving.
    """

    name: str
    namespace: str
    node: str | None
    labels: Mapping[str, str]
    requests: Mapping[str, Fraction]
    scheduling: Mapping[str, Any]
    owner: str
    fixed: bool
    terminating: bool


@dataclass(frozen=True)
class Budget:
    """A PodDisruptionBudget: which pods, and how many of them may move at a time."""

    name: str
    namespace: str
    selector: Mapping[str, Any] | None
    allowed: int


class KubectlFile:
    """A file with a list of objects of one kind.

    Parameters
    ----------
    path : Path
    kind : str
        Of the objects, such as ``Node``.
    faults : list of Fault
        Gets what is wrong.
    """

    def __init__(self, path: Path, kind: str, faults: list[Fault]) -> None:
        self.path = path
        self.kind = kind
        self.faults = faults
        self.items = list(self._read())

    def report(self, message: str, value: Any = None) -> None:
        """Note a mistake in the file."""
        self.faults.append(Fault("kubernetes-object", message, (), value, None, str(self.path), 1, 1))

    def _read(self) -> Iterator[dict[str, Any]]:
        repeated: list[str] = []
        try:
            root = json.loads(self.path.read_bytes(), object_pairs_hook=noting(repeated))
        except OSError as error:
            message = f"cannot read '{self.path}': {error.strerror or error}"
            raise InputError([Fault("unreadable-file", message, value=str(self.path))]) from None
        except UnicodeDecodeError:
            self.report("the file is not UTF-8")
            return
        except RecursionError:
            self.report("too much is nested in it")
            return
        except json.JSONDecodeError as error:
            place = (str(self.path), error.lineno, error.colno)
            self.faults.append(Fault("json-syntax", f"this is not JSON: {error.msg}", (), None, None, *place))
            return
        for key in repeated:
            self.report(repeated_text(key), key)
        items = root.get("items", [root]) if isinstance(root, dict) else root
        if not isinstance(items, list):
            self.report(f"expected what `kubectl get {self.kind.lower()}s -o json` prints")
            return
        for position, item in enumerate(items):
            if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
                self.report(f"item {position} is no object of Kubernetes")
            elif item.get("kind", self.kind) != self.kind:
                self.report(f"item {position} is a {item['kind']}, expected a {self.kind}", item["kind"])
            elif not item["metadata"].get("name"):
                self.report(f"item {position} has no name")
            else:
                yield item


def read_nodes(file: KubectlFile) -> list[Node]:
    """Return the nodes of a file; a cordoned one has the taint that it has in the cluster."""
    return list(_sound(file, _node))


def _node(item: dict[str, Any], file: KubectlFile) -> Node:
    meta, spec = item["metadata"], item.get("spec") or {}
    taints = [dict(taint) for taint in spec.get("taints") or ()]
    if spec.get("unschedulable") and not any(taint.get("key") == _CORDON["key"] for taint in taints):
        taints.append(dict(_CORDON))
    plain = tuple({key: taint[key] for key in ("key", "value", "effect") if taint.get(key)} for taint in taints)
    offered = (item.get("status") or {}).get("allocatable") or {}
    if not offered:
        file.report(f"node '{meta['name']}' has no status.allocatable", meta["name"])
    amounts = _amounts(offered, f"node '{meta['name']}'", file)
    return Node(meta["name"], dict(meta.get("labels") or {}), plain, amounts)


def read_pods(file: KubectlFile) -> list[Pod]:
    """Return the pods of a file that are not done."""
    return list(_sound(file, _pod))


def _pod(item: dict[str, Any], file: KubectlFile) -> Pod | None:
    meta, spec = item["metadata"], item.get("spec") or {}
    if (item.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return None
    namespace = _text(meta.get("namespace")) or "default"
    owners = meta.get("ownerReferences") or ()
    owner = next((one for one in owners if one.get("controller")), None) or {}
    terminating = bool(meta.get("deletionTimestamp"))
    own_node = owner.get("kind") in ("DaemonSet", "Node") or _MIRROR in (meta.get("annotations") or {})
    name = f"{namespace}/{meta['name']}"
    return Pod(
        name,
        namespace,
        _text(spec.get("nodeName")) or None,
        dict(meta.get("labels") or {}),
        _requests(spec, f"pod '{name}'", file),
        {key: spec[key] for key in SCHEDULING if spec.get(key)},
        f"{namespace}/{_text(owner.get('name')) or meta['name']}",
        bool(spec.get("nodeName")) and (terminating or own_node),
        terminating,
    )


def read_budgets(file: KubectlFile) -> list[Budget]:
    """Return the budgets of a file; the controller's status says how many pods may be disrupted now."""
    return list(_sound(file, _budget))


def _budget(item: dict[str, Any], file: KubectlFile) -> Budget | None:
    from rebalancer.dialects.kubernetes_syntax import LabelSelector

    meta = item["metadata"]
    allowed = (item.get("status") or {}).get("disruptionsAllowed")
    if not isinstance(allowed, int):
        file.report(f"budget '{meta['name']}' has no status.disruptionsAllowed", meta["name"])
        return None
    selector = (item.get("spec") or {}).get("selector")
    if selector is not None:
        LabelSelector.model_validate(selector)
    return Budget(meta["name"], _text(meta.get("namespace")) or "default", selector, allowed)


def _text(value: Any) -> str | None:
    """Return a text or None.

    Raises
    ------
    TypeError
        It is neither.
    """
    if value is not None and not isinstance(value, str):
        raise TypeError(value)
    return value


def _sound(file: KubectlFile, read: Callable[[dict[str, Any], KubectlFile], _T | None]) -> Iterator[_T]:
    """Yield what the objects of a file become; one that is not built as Kubernetes builds it is a fault."""
    for item in file.items:
        name = item["metadata"]["name"]
        if not isinstance(name, str):
            file.report(f"the name {name!r} is no text", str(name))
            continue
        try:
            found = read(item, file)
        except (AttributeError, KeyError, TypeError, ValueError):
            # The fields that are read have fixed types; whatever else stands there was not written by Kubernetes.
            file.report(f"'{name}' is no {file.kind} as Kubernetes describes it", name)
            continue
        if found is not None:
            yield found


def _requests(spec: Mapping[str, Any], what: str, file: KubectlFile) -> dict[str, Fraction]:
    """Return what a pod requests: the containers together, or the largest step of starting them, and the overhead."""
    running: dict[str, Fraction] = {}
    for container in spec.get("containers") or ():
        running = _sum(running, _requested(container, what, file))
    beside: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        own = _requested(container, what, file)
        if container.get("restartPolicy") == "Always":  # a sidecar goes on running
            beside = _sum(beside, own)
            own = {}
        peak = _largest(peak, _sum(beside, own))
    total = _largest(_sum(running, beside), peak)
    return _sum(total, _amounts(spec.get("overhead") or {}, what, file))


def _requested(container: Mapping[str, Any], what: str, file: KubectlFile) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    return _amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})}, what, file)


def _amounts(quantities: Mapping[str, Any], what: str, file: KubectlFile) -> dict[str, Fraction]:
    out: dict[str, Fraction] = {}
    for name, text in quantities.items():
        try:
            out[name] = quantity(text)
        except ValueError as error:
            file.report(f"{what}, {name}: {error}", str(text))
    return out


def _sum(first: Mapping[str, Fraction], second: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {name: first.get(name, Fraction(0)) + second.get(name, Fraction(0)) for name in _names(first, second)}


def _largest(first: Mapping[str, Fraction], second: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {name: max(first.get(name, Fraction(0)), second.get(name, Fraction(0))) for name in _names(first, second)}


def _names(*mappings: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))
