"""The scheduling fields of a Kubernetes pod spec, as `kubectl get -o json` prints and manifests write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, Field

from rebalancer.problem.numbers import WrongValue
from rebalancer.specs.fields import Name, Part, Whole, together

_WHOLE = re.compile(r"[+-]?\d+")


def _between(least: int, most: int | None = None) -> AfterValidator:
    def check(value: int) -> int:
        if value < least or (most is not None and value > most):
            wanted = f"{least} or more" if most is None else f"{least} to {most}"
            raise WrongValue(f"out of range: expected {wanted}, got {value}", "out-of-range")
        return value

    return AfterValidator(check)


Weight: TypeAlias = Annotated[Whole, _between(0, 100)]
LabelOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]
NodeOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]


class Requirement(Part):
    """What one label of a pod or namespace has to be."""

    key: Name = Field(description="The label.")
    operator: LabelOperator = Field(description="How it is compared.")
    values: tuple[Name, ...] = Field((), description="The values of In and NotIn.")

    @together
    def _values_fit(self) -> None:
        check_values(self.operator, self.values)


class NodeRequirement(Part):
    """What one label of a node has to be."""

    key: Name = Field(description="The label.")
    operator: NodeOperator = Field(description="How it is compared.")
    values: tuple[Name, ...] = Field((), description="The values of In and NotIn; the one of Gt and Lt.")

    @together
    def _values_fit(self) -> None:
        check_values(self.operator, self.values)


class NodeField(Part):
    """What a field of a node has to be: only its name can be asked for."""

    key: Literal["metadata.name"] = Field(description="The field.")
    operator: Literal["In", "NotIn"] = Field(description="How it is compared.")
    values: tuple[Name, ...] = Field(description="One name.")

    @together
    def _one(self) -> None:
        if len(self.values) != 1:
            raise ValueError(f"matchFields takes exactly one name, not {len(self.values)}")


def check_values(operator: str, values: tuple[str, ...]) -> None:
    """Raise ValueError where an operator cannot have these values."""
    if operator in ("In", "NotIn") and not values:
        raise ValueError(f"{operator} needs values")
    if operator in ("Exists", "DoesNotExist") and values:
        raise ValueError(f"{operator} takes no values; '{', '.join(values)}' is one too many")
    if operator in ("Gt", "Lt") and (len(values) != 1 or not _WHOLE.fullmatch(values[0])):
        raise ValueError(f"{operator} takes one whole number, not '{', '.join(values)}'")


def check_keys(selector: LabelSelector | None, match: tuple[str, ...], mismatch: tuple[str, ...] = ()) -> None:
    """Raise ValueError where labels of one's own cannot narrow a selector."""
    if selector is None and (match or mismatch):
        raise ValueError(f"'{(*match, *mismatch)[0]}' has no labelSelector to narrow; write 'labelSelector: {{}}'")
    for key in match:
        if key in mismatch:
            raise ValueError(f"'{key}' is among both matchLabelKeys and mismatchLabelKeys")


class LabelSelector(Part):
    """Which pods or namespaces: all pairs and all requirements have to hold; an empty one selects all."""

    match_labels: Mapping[Name, Name] = Field({}, description="Label: value.")
    match_expressions: tuple[Requirement, ...] = Field((), description="Requirements.")

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """Everything that has to hold."""
        pairs = (Requirement(key=key, operator="In", values=(value,)) for key, value in self.match_labels.items())
        return (*pairs, *self.match_expressions)


class NodeSelectorTerm(Part):
    """Which nodes: everything in it has to hold; an empty one selects nothing."""

    match_expressions: tuple[NodeRequirement, ...] = Field((), description="Requirements on labels.")
    match_fields: tuple[NodeField, ...] = Field((), description="Requirements on the name.")


class NodeSelector(Part):
    """Which nodes: one of the terms has to hold; without any it selects none."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = Field(description="The terms.")


class PreferredNodes(Part):
    """Nodes that are liked, and how much."""

    weight: Weight = Field(description="0 to 100.")
    preference: NodeSelectorTerm = Field(description="Which nodes.")


class NodeAffinity(Part):
    """On which nodes pods may be, and on which they would rather be."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = Field(None, description="May.")
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodes, ...] = Field((), description="Would.")


class PodAffinityTerm(Part):
    """Some other pods, and what it means to be near them."""

    topology_key: Annotated[Name, AfterValidator(lambda key: _present(key, "topologyKey"))] = Field(
        description="Node label: pods on nodes with the same value are together."
    )
    label_selector: LabelSelector | None = Field(None, description="Which pods; null selects none.")
    namespaces: tuple[Name, ...] = Field((), description="Their namespaces; none here and no selector: the own one.")
    namespace_selector: LabelSelector | None = Field(None, description="Namespaces by label; {} is all.")
    match_label_keys: tuple[Name, ...] = Field(
        (), description="Labels whose values must be the pod's own; those that it has not narrow nothing."
    )
    mismatch_label_keys: tuple[Name, ...] = Field(
        (), description="Labels whose values must not be the pod's own; those that it has not narrow nothing."
    )

    @together
    def _keys_fit(self) -> None:
        check_keys(self.label_selector, self.match_label_keys, self.mismatch_label_keys)


class PreferredPods(Part):
    """Pods that are liked, or disliked, nearby, and how much."""

    weight: Weight = Field(description="0 to 100.")
    pod_affinity_term: PodAffinityTerm = Field(description="Which pods, and what is near.")


class PodAffinity(Part):
    """Near which other pods pods have to be, and would rather be; or the opposite."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = Field((), description="Must.")
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredPods, ...] = Field((), description="Would.")


class Affinity(Part):
    """The affinities of a pod."""

    node_affinity: NodeAffinity | None = Field(None, description="To nodes.")
    pod_affinity: PodAffinity | None = Field(None, description="To pods.")
    pod_anti_affinity: PodAffinity | None = Field(None, description="Against pods.")


class TopologySpread(Part):
    """How evenly pods are spread over the values of a node label."""

    max_skew: Annotated[Whole, _between(1)] = Field(description="How far a value may be ahead of the emptiest one.")
    topology_key: Annotated[Name, AfterValidator(lambda key: _present(key, "topologyKey"))] = Field(
        description="The node label."
    )
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(description="Demand, or prefer.")
    label_selector: LabelSelector | None = Field(None, description="Which pods count; null selects none.")
    min_domains: Annotated[Whole, _between(1)] | None = Field(
        None, description="With fewer values than this the emptiest counts as 0."
    )
    node_affinity_policy: Literal["Honor", "Ignore"] = Field(
        "Honor", description="Whether only nodes that the pod's selector and affinity allow make values."
    )
    node_taints_policy: Literal["Honor", "Ignore"] = Field(
        "Ignore", description="Whether only nodes whose taints are tolerated make values."
    )
    match_label_keys: tuple[Name, ...] = Field(
        (), description="Labels whose values must be the pod's own to count; those that it has not narrow nothing."
    )
    #: Only affinity has these.
    mismatch_label_keys: ClassVar[tuple[str, ...]] = ()

    @together
    def _keys_fit(self) -> None:
        check_keys(self.label_selector, self.match_label_keys)

    @together
    def _minimum_is_for_demands(self) -> None:
        if self.min_domains is not None and self.when_unsatisfiable != "DoNotSchedule":
            raise ValueError("minDomains goes with whenUnsatisfiable: DoNotSchedule only")


Effect: TypeAlias = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Toleration(Part):
    """Which taints do not matter."""

    key: Name = Field("", description="The taint; left out, with Exists: any.")
    operator: Literal["Equal", "Exists"] = Field("Equal", description="Whether the value has to be equal.")
    value: Name = Field("", description="The value, for Equal.")
    effect: Effect | Literal[""] = Field("", description="The effect; left out: any.")
    toleration_seconds: Whole | None = Field(None, description="How long, under NoExecute; not used here.")

    @together
    def _keys_fit(self) -> None:
        if not self.key and self.operator != "Exists":
            raise ValueError("a toleration without a key needs 'operator: Exists'")
        if self.operator == "Exists" and self.value:
            raise ValueError(f"a toleration with 'operator: Exists' takes no value; '{self.value}' is one too many")


def _present(value: str, name: str) -> str:
    if not value:
        raise ValueError(f"{name} is empty")
    return value
