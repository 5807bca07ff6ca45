"""Pods and nodes as Kubernetes sees them: labels, namespaces, taints; and which of them a selector selects.

Pods of the same labels in the same namespace are looked at once, however many there are.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rebalancer.dialects.facts import Facts
from rebalancer.dialects.kubernetes_syntax import (
    NodeRequirement,
    NodeSelectorTerm,
    PodAffinityTerm,
    Requirement,
    Toleration,
)
from rebalancer.problem import Fault, Path
from rebalancer.problem.numbers import IntArray

#: The label that every namespace has, and the one that is the name of a node where nothing else is stated.
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
HOST_LABEL = "kubernetes.io/hostname"
DEFAULT_NAMESPACE = "default"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_Value = TypeVar("_Value", bound=Hashable)


@dataclass(frozen=True)
class Taint:
    """A reason for pods to stay away from a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Cluster:
    """What is known about the pods and nodes of a problem.

    Labels are the attribute ``labels``, a mapping (in tables, one as JSON); a label that is not there is an attribute,
    scope or partition of its own name. The name of a node is its ``kubernetes.io/hostname`` where nothing else is.
    Pods may have the attributes ``namespace`` and ``terminating``, nodes ``taints``.

    Parameters
    ----------
    facts : Facts
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        problem = facts.problem
        self.faults: list[Fault] = []
        labels = self._mappings("object", facts.objects("labels"))
        namespaces = [own[0] if own else DEFAULT_NAMESPACE for own in facts.texts("namespace")]
        kinds: dict[Any, int] = {}
        if any(labels):
            keys: list[Any] = [(name, id(own)) for name, own in zip(namespaces, labels, strict=True)]
        else:  # labels are attributes of their own, and every pod may have others
            keys = [(name, position) for position, name in enumerate(namespaces)]
        kind_of = [kinds.setdefault(key, len(kinds)) for key in keys]
        #: For every pod the kind that it is of.
        self.kind_of = np.asarray(kind_of, np.int64)
        self.namespace = [name for name, _ in kinds]
        first = np.zeros(len(kinds), np.int64)
        first[self.kind_of[::-1]] = np.arange(len(kind_of))[::-1]
        self._labels = [labels[position] for position in first.tolist()]
        self._first = first
        self._pod_columns: dict[str, list[str | None]] = {}
        self._node_columns: dict[str, list[str | None]] = {}
        self._pods_of = [np.array(pods, np.int64) for pods in _positions(kind_of).values()]
        self._kinds_in = _positions(self.namespace)
        self._with_label: dict[str, dict[str | None, list[int]]] = {}
        self._selected: dict[Any, IntArray] = {}
        self._scopes: dict[str, str] = {}
        self._untolerated: dict[Any, list[list[Taint]]] = {}
        self.terminating = np.array(
            [any(text.lower() == "true" for text in own) for own in facts.texts("terminating")], bool
        )
        self._node_labels = self._mappings("container", facts.containers("labels"))
        self.taints = [
            self._read_taints(own, name)
            for own, name in zip(facts.containers("taints"), problem.containers, strict=True)
        ]

    def _mappings(self, kind: str, values: list[Any]) -> list[Mapping[str, Any]]:
        """Return labels as mappings; those that are stated alike are one and the same mapping."""
        read: dict[str, Mapping[str, Any]] = {}
        out: list[Mapping[str, Any]] = []
        for value in values:
            plain = value if isinstance(value, Mapping) else _parsed(value)
            if plain is None or not isinstance(plain, Mapping):
                message = f"labels are a mapping, or one as JSON, got '{value}'"
                self.faults.append(Fault("kubernetes-syntax", message, ("attributes", kind), str(value)))
                plain = {}
            out.append(read.setdefault(json.dumps(plain, sort_keys=True), plain))
        return out

    # -- labels -------------------------------------------------------------------------------------------------------

    def pod_label(self, key: str) -> list[str | None]:
        """Return a label of each kind of pod."""
        if key not in self._pod_columns:
            own = self.facts.texts(key)
            self._pod_columns[key] = [
                str(labels[key]) if labels.get(key) is not None else (own[position][0] if own[position] else None)
                for labels, position in zip(self._labels, self._first.tolist(), strict=True)
            ]
        return self._pod_columns[key]

    def node_label(self, key: str) -> list[str | None]:
        """Return a label of each node."""
        if key not in self._node_columns:
            own = self.facts.containers(key)
            names = self.facts.problem.containers
            self._node_columns[key] = [
                str(labels[key])
                if labels.get(key) is not None
                else (str(value) if value is not None else (name if key == HOST_LABEL else None))
                for labels, value, name in zip(self._node_labels, own, names, strict=True)
            ]
        return self._node_columns[key]

    def note_label(self, key: str, path: Path) -> None:
        """Warn that no node has a label."""
        if all(value is None for value in self.node_label(key)):
            known = list(
                dict.fromkeys([*(name for own in self._node_labels for name in own), *self.facts.container_facts()])
            )
            self.facts.note_absent(self.facts.problem.container_name, "label", key, known, path)

    def scope(self, key: str) -> str:
        """Return the scope of the values of a node label."""
        if key not in self._scopes:
            self._scopes[key] = self.facts.scope(key, self.node_label(key))
        return self._scopes[key]

    def topology(self, key: str) -> NDArray[np.int32]:
        """Return the item of that scope for each node, -1: none; last: of unplaced pods."""
        name = self.scope(key)
        return self.facts.problem.scopes[name].item_of

    # -- which pods ---------------------------------------------------------------------------------------------------

    def selected(self, asked: tuple[Requirement, ...], namespaces: frozenset[str]) -> IntArray:
        """Return the pods, by index, of which all requirements hold, in some namespaces."""
        key = (asked, namespaces)
        if key not in self._selected:
            kinds = self._fewest(asked, namespaces)
            columns = [(one, self.pod_label(one.key)) for one in asked]
            found = [
                self._pods_of[kind]
                for kind in kinds
                if self.namespace[kind] in namespaces and all(holds(one, column[kind]) for one, column in columns)
            ]
            self._selected[key] = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
        return self._selected[key]

    def _fewest(self, asked: tuple[Requirement, ...], namespaces: frozenset[str]) -> list[int]:
        """Return the fewest kinds of pods that need to be looked at: those with some label, or in the namespaces."""
        sets = [[kind for name in namespaces for kind in self._kinds_in.get(name, ())]]
        for one in asked:
            if one.operator == "In":
                found = self._kinds_with(one.key)
                sets.append([kind for value in dict.fromkeys(one.values) for kind in found.get(value, ())])
        return min(sets, key=len)

    def _kinds_with(self, key: str) -> dict[str | None, list[int]]:
        """Return the kinds of pods by their value of a label."""
        if key not in self._with_label:
            self._with_label[key] = _positions(self.pod_label(key))
        return self._with_label[key]

    def namespaces_of(self, term: PodAffinityTerm, own: str, labels: Mapping[str, Any]) -> frozenset[str]:
        """Return the namespaces of an affinity term."""
        if not term.namespaces and term.namespace_selector is None:
            return frozenset((own,))
        chosen = set(term.namespaces)
        if term.namespace_selector is not None:
            asked = term.namespace_selector.requirements
            chosen |= {
                name
                for name in self._kinds_in
                if all(holds(one, _text({**labels.get(name, {}), NAMESPACE_LABEL: name}.get(one.key))) for one in asked)
            }
        return frozenset(chosen)

    # -- which nodes --------------------------------------------------------------------------------------------------

    def matching(self, term: NodeSelectorTerm) -> NDArray[np.bool_]:
        """Return the nodes that a term selects; an empty term selects none."""
        names = self.facts.problem.containers
        out = np.full(len(names), bool(term.match_expressions or term.match_fields))
        for requirement in term.match_expressions:
            out &= np.array([holds(requirement, own) for own in self.node_label(requirement.key)], bool)
        for field in term.match_fields:
            out &= np.array([(name == field.values[0]) == (field.operator == "In") for name in names], bool)
        return out

    def untolerated(self, tolerations: tuple[Toleration, ...], effects: tuple[str, ...]) -> list[list[Taint]]:
        """Return for each node its taints of some effects that no toleration tolerates."""
        key = (tolerations, effects)  # thousands of kinds of pods mostly tolerate the same
        if key not in self._untolerated:
            self._untolerated[key] = [
                [
                    taint
                    for taint in taints
                    if taint.effect in effects and not any(tolerates(one, taint) for one in tolerations)
                ]
                for taints in self.taints
            ]
        return self._untolerated[key]

    def _read_taints(self, value: Any, node: str) -> list[Taint]:
        """Return the taints of a node: mappings as kubectl prints them, or texts such as ``gpu=a100:NoSchedule``."""
        value = _parsed(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
        entries = value if isinstance(value, list | tuple) else [] if value is None else [value]
        out = []
        for entry in entries:
            if isinstance(entry, Mapping):
                key, own, effect = (_text(entry.get(name)) or "" for name in ("key", "value", "effect"))
            else:
                text, _, effect = str(entry).rpartition(":")
                key, _, own = text.partition("=")
            if not key or effect not in EFFECTS:
                what = self.facts.problem.container_name
                message = f"a taint is key=value:effect with the effect {', '.join(EFFECTS)}, got '{entry}'"
                self.faults.append(Fault("kubernetes-syntax", message, ("attributes", what, node), str(entry)))
                continue
            out.append(Taint(key, own, effect))
        return out


def cluster(facts: Facts) -> Cluster:
    """Return what is known about pods and nodes, worked out once for all statements."""
    found: Cluster | None = facts.memory.get("kubernetes")
    if found is None:
        found = facts.memory["kubernetes"] = Cluster(facts)
    return found


def holds(requirement: Requirement | NodeRequirement, value: str | None) -> bool:
    """Return whether a label (None: absent) is what a requirement asks for."""
    operator, values = requirement.operator, requirement.values
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    number = _whole(value)
    if number is None:
        return False
    bound = int(values[0])
    return number > bound if operator == "Gt" else number < bound


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration tolerates a taint."""
    return (
        toleration.effect in ("", taint.effect)
        and toleration.key in ("", taint.key)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )


def _positions(values: Iterable[_Value]) -> dict[_Value, list[int]]:
    """Return each value with the positions where it stands."""
    out: dict[_Value, list[int]] = {}
    for position, value in enumerate(values):
        out.setdefault(value, []).append(position)
    return out


def _parsed(value: Any) -> Any:
    """Return what a text in JSON says; nothing is an empty mapping, and what is no JSON is None."""
    if value is None:
        return {}
    try:
        return json.loads(str(value))
    except (ValueError, RecursionError):
        return None


def _whole(value: str | None) -> int | None:
    digits = value[1:] if value and value[0] in "+-" else value
    return int(value) if value and digits and digits.isascii() and digits.isdigit() else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
