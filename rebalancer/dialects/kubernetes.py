"""Kubernetes: the scheduling fields of pods, from nodeSelector to topologySpreadConstraints.

Follows the scheduler of Kubernetes 1.32. One statement holds for pods that share these fields, such as those of one
deployment. Required terms become constraints, preferred ones goals. What is there already is judged only if it may
move: ``fixed`` says which pods do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rebalancer.dialects import base
from rebalancer.dialects.base import Dialect, Preference, Rule, State, Translation
from rebalancer.dialects.facts import Facts
from rebalancer.dialects.kubernetes_company import Gathering, Meeting
from rebalancer.dialects.kubernetes_facts import Cluster, Taint, cluster
from rebalancer.dialects.kubernetes_syntax import (
    Affinity,
    LabelOperator,
    NodeSelectorTerm,
    PodAffinityTerm,
    PreferredPods,
    Requirement,
    Toleration,
    TopologySpread,
)
from rebalancer.dialects.permitted import permitted, permitted_rule
from rebalancer.problem import FaultList, Path, Problem
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.anchored_colocation import AnchoredColocationSpec
from rebalancer.specs.base import Spec
from rebalancer.specs.conditional_presence import ConditionalPresenceSpec
from rebalancer.specs.fields import Name, Part
from rebalancer.specs.group_conflict import GroupConflictSpec
from rebalancer.specs.group_pair_affinities import GroupPairAffinitiesSpec, GroupPairAffinity
from rebalancer.specs.selection import Objects
from rebalancer.specs.skew import SkewSpec

_REQUIRED = "required_during_scheduling_ignored_during_execution"
_PREFERRED = "preferred_during_scheduling_ignored_during_execution"


class PodSpec(Part):
    """The fields of a pod spec that say where pods may be."""

    node_selector: Mapping[Name, Name] = Field({}, description="Node label: value; each has to be there.")
    affinity: Affinity | None = Field(None, description="To nodes and pods.")
    tolerations: tuple[Toleration, ...] = Field((), description="Which taints of nodes do not matter.")
    topology_spread_constraints: tuple[TopologySpread, ...] = Field((), description="How evenly pods are spread.")


class Kubernetes(Dialect):
    """Where some pods of Kubernetes may be, and would rather be.

    Notes
    -----
    Required anti-affinity works in both directions, as in the scheduler: neither may join the other. Pods that require
    the company of their own kind gather beside such a pod that is there for other reasons; if there is none, all in one
    place. That several statements say so of one kind makes no difference, nor which of them says that a pod is fixed.
    """

    key: ClassVar[str] = "kubernetes"
    sources: ClassVar[str] = "Kubernetes 1.32 (kube-scheduler's default plugins)"

    pods: Objects | None = Field(None, description="The pods of which this is the spec; left out: all objects.")
    spec: PodSpec = Field(description="The scheduling fields of the pod spec.")
    fixed: Objects | None = Field(
        None, description="Pods that do not move: they are seen by others, and not judged themselves."
    )
    namespace_labels: Mapping[Name, Mapping[Name, Name]] = Field(
        {}, description="Labels of namespaces, for namespaceSelector: namespace: label: value."
    )

    def other_faults(self, facts: Facts, faults: FaultList) -> None:
        """Report what is wrong with labels and taints."""
        faults.extend(cluster(facts).faults)

    def rules(self, facts: Facts, faults: FaultList) -> list[Rule]:
        """Return a rule per term."""
        known = cluster(facts)
        faults.extend(known.faults)
        if faults:
            return []
        if "kubernetes beside" not in facts.memory:
            facts.memory["kubernetes beside"] = _Beside(facts, known)
        beside: _Beside = facts.memory["kubernetes beside"]
        return list(_Reader(self, facts, known, beside.fixed).rules(beside))


def parse(problem: Problem, **statement: Any) -> Translation:
    """Return what the scheduling fields of some pods mean on a problem.

    Parameters
    ----------
    problem : Problem
    **statement
        The fields of `Kubernetes`: ``pods=["web-0"], spec={"nodeSelector": {"disktype": "ssd"}}``.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    return base.parse(Kubernetes, problem, statement)


@dataclass(frozen=True, eq=False)
class _Required:
    """Required affinity of pods: by which terms, whom all of these select, and which of them are judged themselves."""

    terms: tuple[PodAffinityTerm, ...]
    kind: int
    pods: IntArray
    targets: IntArray
    own: IntArray


class _Beside:
    """What all statements say together: which pods do not move, and which ones require the company of their own kind.

    Parameters
    ----------
    facts : Facts
    known : Cluster
    """

    def __init__(self, facts: Facts, known: Cluster) -> None:
        statements = [one for one in facts.statements if isinstance(one, Kubernetes)]
        fixed = [one.fixed.members(facts.problem) for one in statements if one.fixed is not None]
        self.fixed: IntArray = np.unique(np.concatenate([np.empty(0, np.int64), *fixed]))
        self._gathering: dict[tuple[str, bytes], IntArray] = {}
        for statement in statements:
            for one in _Reader(statement, facts, known, self.fixed).required():
                for key in {term.topology_key for term in one.terms}:
                    so_far = self.gathering(key, one.targets)
                    self._gathering[key, one.targets.tobytes()] = np.union1d(so_far, one.own)

    def gathering(self, key: str, targets: IntArray) -> IntArray:
        """Return the pods among some that may move and require the company of these, by a node label.

        They are nobody's anchors: each of them would be there because of the others.
        """
        return self._gathering.get((key, targets.tobytes()), np.empty(0, np.int64))


class _Reader:
    """Turns the fields of one pod spec into rules."""

    def __init__(self, statement: Kubernetes, facts: Facts, known: Cluster, fixed: IntArray) -> None:
        problem = facts.problem
        pods = np.arange(len(problem.objects)) if statement.pods is None else statement.pods.members(problem)
        self.statement = statement
        self.spec = statement.spec
        self.facts = facts
        self.known = known
        self.pods = pods
        self.fixed = fixed
        #: The pods that are judged.
        self.movable = np.setdiff1d(pods, fixed)

    def rules(self, beside: _Beside) -> Iterator[Rule]:
        """Yield the rules, field by field."""
        path: Path = ("spec",)
        affinity = self.spec.affinity or Affinity()
        yield from self._nodes(path)
        for required in self.required():
            yield from self._together(required, beside, (*path, "affinity", "pod_affinity", _REQUIRED))
        terms: tuple[PodAffinityTerm, ...] = getattr(affinity.pod_anti_affinity, _REQUIRED, ())
        for kind, members in self._alike(*terms):
            yield from self._apart(terms, kind, members, (*path, "affinity", "pod_anti_affinity", _REQUIRED))
        for field, sign in (("pod_affinity", 1), ("pod_anti_affinity", -1)):
            preferred: tuple[PreferredPods, ...] = getattr(getattr(affinity, field), _PREFERRED, ())
            for position, one in enumerate(preferred):
                for kind, members in self._alike(one.pod_affinity_term):
                    yield self._near(one, sign, kind, members, (*path, "affinity", field, _PREFERRED, position))
        for position, spread in enumerate(self.spec.topology_spread_constraints):
            for kind, members in self._alike(spread):
                yield self._spread(spread, kind, members, (*path, "topology_spread_constraints", position))

    def _alike(self, *terms: PodAffinityTerm | TopologySpread) -> list[tuple[int, IntArray]]:
        """Return the pods of the statement to which terms mean the same, each set with a kind of pods that is in it.

        Terms are about the own namespace, unless they say so, and about the own values of the labels that they name.
        """
        if not terms:
            return []
        keys = dict.fromkeys(key for term in terms for key in (*term.match_label_keys, *term.mismatch_label_keys))
        columns = [self.known.namespace, *map(self.known.pod_label, keys)]
        sets: dict[tuple[str | None, ...], list[int]] = {}
        for pod, kind in zip(self.pods.tolist(), self.known.kind_of[self.pods].tolist(), strict=True):
            sets.setdefault(tuple(column[kind] for column in columns), []).append(pod)
        alike: dict[tuple[bytes, ...], list[int]] = {}  # by whom they mean, which may be the same all the same
        for own in sets.values():
            kind = int(self.known.kind_of[own[0]])
            alike.setdefault(tuple(self._matching(term, kind).tobytes() for term in terms), []).extend(own)
        return [(int(self.known.kind_of[own[0]]), np.sort(own)) for own in alike.values()]

    def _judged(self, pods: IntArray) -> IntArray:
        return np.intersect1d(pods, self.movable)

    # -- nodes --------------------------------------------------------------------------------------------------------

    @cached_property
    def untolerated(self) -> list[list[Taint]]:
        """The taints of each node that keep the pods away."""
        return self.known.untolerated(self.spec.tolerations, ("NoSchedule", "NoExecute"))

    @cached_property
    def tolerated(self) -> NDArray[np.bool_]:
        """The nodes without such taints."""
        return np.array([not taints for taints in self.untolerated], bool)

    @cached_property
    def selector_allows(self) -> NDArray[np.bool_]:
        """Return the nodes that nodeSelector and required node affinity allow."""
        allowed = np.ones(len(self.facts.problem.containers), bool)
        for key, value in self.spec.node_selector.items():
            self.known.note_label(key, ("spec", "node_selector", key))
            allowed &= np.array([own == value for own in self.known.node_label(key)], bool)
        required = self._node_affinity(_REQUIRED)
        if required is not None:
            matching = [self.known.matching(term) for term in required.node_selector_terms]
            allowed &= np.any(matching, axis=0) if matching else False
        return allowed

    def _node_affinity(self, field: str) -> Any:
        affinity = self.spec.affinity
        found = None if affinity is None or affinity.node_affinity is None else affinity.node_affinity
        return getattr(found, field) if found is not None else None

    def _nodes(self, path: Path) -> Iterator[Rule]:
        pods = self.movable
        if not self.selector_allows.all():
            why = "the node selector or required node affinity does not match its labels"
            yield permitted_rule(self.facts, "node affinity", path, pods, self.selector_allows, why)
        if not self.tolerated.all():
            reasons = ["taint " + ", ".join(map(str, taints)) for taints in self.untolerated]
            below = (*path, "tolerations")
            yield permitted_rule(self.facts, "taints", below, pods, self.tolerated, reasons)
        wishes = [
            (one.weight, self.known.matching(one.preference))
            for one in self._node_affinity(_PREFERRED) or ()
            if one.weight and one.preference != NodeSelectorTerm()  # an empty one adds nothing anywhere
        ]
        if wishes:
            yield self._liked("preferred nodes", (*path, "affinity", "node_affinity", _PREFERRED), wishes)
        avoided = np.array([len(own) for own in self.known.untolerated(self.spec.tolerations, ("PreferNoSchedule",))])
        levels = [(1, avoided < level) for level in range(1, int(avoided.max(initial=0)) + 1)]
        if levels:
            yield self._liked("taints to avoid", (*path, "tolerations"), levels, -1)

    def _liked(self, text: str, path: Path, wishes: list[tuple[int, NDArray[np.bool_]]], sign: int = 1) -> Rule:
        """Return the rule that nodes are liked: whoever is elsewhere pays the weight.

        The system's own score counts what is got (sign 1), or what is missed (−1).
        """
        goals = tuple(
            Preference(spec, Fraction(weight))
            for weight, nodes in wishes
            for spec in permitted(self.facts, self.movable, nodes)
        )
        among = frozenset(self.pods.tolist())
        total = sum(np.where(nodes == (sign > 0), sign * weight, 0) for weight, nodes in wishes)

        def score(state: State, obj: int, container: int) -> float | None:
            return float(np.asarray(total)[container]) if obj in among else None

        return Rule(text, path, wishes=goals, score=score)

    # -- other pods ---------------------------------------------------------------------------------------------------

    def _matching(self, term: PodAffinityTerm | TopologySpread, kind: int) -> IntArray:
        """Return the pods that a term of a kind of pods selects; labels that the kind has not narrow nothing."""
        if term.label_selector is None:  # null selects none
            return np.empty(0, np.int64)
        namespace = self.known.namespace[kind]
        namespaces = frozenset((namespace,))
        if isinstance(term, PodAffinityTerm):
            namespaces = self.known.namespaces_of(term, namespace, self.statement.namespace_labels)
        own: list[tuple[LabelOperator, str]] = [
            *(("In", key) for key in term.match_label_keys),
            *(("NotIn", key) for key in term.mismatch_label_keys),
        ]
        narrowing = (
            Requirement(key=key, operator=operator, values=(value,))
            for operator, key in own
            if (value := self.known.pod_label(key)[kind]) is not None
        )
        return self.known.selected((*term.label_selector.requirements, *narrowing), namespaces)

    def required(self) -> Iterator[_Required]:
        """Yield the required affinity of pods that mean the same by it."""
        affinity = self.spec.affinity
        terms: tuple[PodAffinityTerm, ...] = getattr(affinity and affinity.pod_affinity, _REQUIRED, ())
        for kind, pods in self._alike(*terms):
            targets = self._matching(terms[0], kind)
            for term in terms[1:]:
                targets = np.intersect1d(targets, self._matching(term, kind))
            yield _Required(terms, kind, pods, targets, np.intersect1d(self._judged(pods), targets))

    def _together(self, one: _Required, beside: _Beside, path: Path) -> Iterator[Rule]:
        """Read required affinity: in the item of every term there is a pod that all terms select."""
        pods, targets = one.pods, one.targets
        others = np.setdiff1d(self._judged(pods), targets)
        for position, term in enumerate(one.terms):
            gathering = beside.gathering(term.topology_key, targets)
            anchors = np.setdiff1d(targets, gathering)
            self.known.note_label(term.topology_key, (*path, position, "topology_key"))
            scope = self.known.scope(term.topology_key)
            who = self.facts.selection
            demands: list[Spec] = []
            if len(one.own):
                demands.append(
                    AnchoredColocationSpec(scope=scope, objects=who(gathering), anchors=who(anchors), missing="refuse")
                )
            if len(others):
                demands.append(
                    ConditionalPresenceSpec(
                        scope=scope, source=who(others), target=who(targets), min=1, missing="refuse"
                    )
                )
            asked = Gathering(
                term.topology_key,
                self.known.topology(term.topology_key),
                pods,
                targets,
                self._matching(term, one.kind),
            )
            text = f"pod affinity by {term.topology_key}"
            yield Rule(text, (*path, position), tuple(demands), check=asked.check, score=asked.score)

    def _apart(self, terms: tuple[PodAffinityTerm, ...], kind: int, pods: IntArray, path: Path) -> Iterator[Rule]:
        """Read required anti-affinity: no pod that a term selects is in its item, and none that selects the pod."""
        for position, term in enumerate(terms):
            self.known.note_label(term.topology_key, (*path, position, "topology_key"))
            targets = self._matching(term, kind)
            scope, who = self.known.scope(term.topology_key), self.facts.selection
            judged, immovable = self._judged(pods), np.intersect1d(pods, self.fixed)
            pairs = [(judged, targets), (immovable, np.setdiff1d(targets, self.fixed))]
            demands = tuple(
                GroupConflictSpec(scope=scope, objects=who(some), others=who(others))
                for some, others in pairs
                if len(some) and len(others)
            )
            meeting = Meeting(term.topology_key, self.known.topology(term.topology_key), pods, targets)
            yield Rule(f"pod anti-affinity by {term.topology_key}", (*path, position), demands, check=meeting.refusal)

    def _near(self, one: PreferredPods, sign: int, kind: int, pods: IntArray, path: Path) -> Rule:
        """Preferred affinity: each pair of pods in one item is worth the weight, or costs it."""
        term = one.pod_affinity_term
        targets, weight = self._matching(term, kind), sign * one.weight
        who, key = self.facts.selection, term.topology_key
        self.known.note_label(key, (*path, "pod_affinity_term", "topology_key"))
        wishes: tuple[Preference, ...] = ()
        if weight and len(targets) and len(pods):
            pair = GroupPairAffinity(first=who(pods), second=who(targets), affinity=weight)
            wishes = (Preference(GroupPairAffinitiesSpec(scope=self.known.scope(key), affinities=(pair,))),)
        meeting = Meeting(key, self.known.topology(key), pods, targets, weight)
        what = "affinity" if sign > 0 else "anti-affinity"
        return Rule(f"preferred pod {what} by {key}", path, wishes=wishes, score=meeting.score)

    # -- spread -------------------------------------------------------------------------------------------------------

    def _spread(self, one: TopologySpread, kind: int, pods: IntArray, path: Path) -> Rule:
        """Topology spread: how far the values of the pods are ahead of the emptiest one."""
        hard = one.when_unsatisfiable == "DoNotSchedule"
        key = one.topology_key
        self.known.note_label(key, (*path, "topology_key"))
        nodes = self._spread_nodes(one)
        text = f"spread by {key}" if hard else f"preferred spread by {key}"
        counted = self._matching(one, kind)
        counted = counted[~self.known.terminating[counted]]
        scope = self.known.scope(key)
        problem = self.facts.problem
        values, own_item = problem.scopes[scope].items, self.known.topology(key)
        containers = tuple(problem.containers[position] for position in np.flatnonzero(nodes).tolist())
        judged, least = self._judged(pods), one.min_domains or 1
        specs: tuple[Spec, ...] = ()
        if len(judged):
            specs = (
                SkewSpec(
                    scope=scope,
                    objects=self.facts.selection(judged),
                    counted=None if np.array_equal(judged, counted) else self.facts.selection(counted),
                    max_skew=one.max_skew,
                    min_domains=least,
                    containers=None if nodes.all() else containers,
                    missing="refuse" if hard else "unconstrained",
                ),
            )
        item_of = np.where(np.append(nodes, False), own_item, -1)
        domains = np.unique(item_of[item_of >= 0])
        carries = self._carries(hard)
        ours, theirs = frozenset(pods.tolist()), frozenset(counted.tolist())

        def check(state: State, obj: int, container: int) -> str | None:
            if obj not in ours:
                return None
            if not carries[container]:
                return "it has not all labels that its pods are spread over"
            there = item_of[state.where[state.running(counted)]]
            count = np.bincount(there[there >= 0], minlength=int(domains.max(initial=-1)) + 1)
            floor = int(count[domains].min(initial=len(there))) if len(domains) >= least else 0
            own = own_item[container]
            here = (int(count[own]) if own < len(count) else 0) + (obj in theirs)
            if here - floor <= one.max_skew:
                return None
            return f"'{values[own]}' would have {here}, the emptiest has {floor}"

        if hard:
            return Rule(text, path, specs, check=check)
        return Rule(text, path, wishes=tuple(map(Preference, specs)))

    def _carries(self, hard: bool) -> NDArray[np.bool_]:
        """Return the nodes that have the labels of all demanded (or all preferred) spreads."""
        out = np.ones(len(self.facts.problem.containers), bool)
        for one in self.spec.topology_spread_constraints:
            if (one.when_unsatisfiable == "DoNotSchedule") == hard:
                out &= self.known.topology(one.topology_key)[:-1] >= 0
        return out

    def _spread_nodes(self, one: TopologySpread) -> NDArray[np.bool_]:
        """Return the nodes that make domains."""
        nodes = self._carries(one.when_unsatisfiable == "DoNotSchedule")
        if one.node_affinity_policy == "Honor":
            nodes = nodes & self.selector_allows
        if one.node_taints_policy == "Honor":
            nodes = nodes & self.tolerated
        return nodes


__all__ = ["Kubernetes", "PodSpec", "parse"]
