"""May this object go there now? Asked of one object at a time, as schedulers do that place one after the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rebalancer.dialects.base import State
from rebalancer.dialects.entries import NamedRule, Refusal, displacements, refusals, scores
from rebalancer.problem import FaultList

if TYPE_CHECKING:
    from rebalancer.model import Model


@dataclass(frozen=True)
class Placement:
    """Whether an object may go to a container now, while all others stay where they are.

    Parameters
    ----------
    object, container : str
    refusals : tuple of Refusal
        The rules that refuse; none: it may.
    displacements : tuple of Refusal
        The rules by which somebody has to be placed anew then; the object may go there all the same.
    scores : dict of str to float
        What the rules that prefer something score this container, in their system's own units.
    """

    object: str
    container: str
    refusals: tuple[Refusal, ...]
    displacements: tuple[Refusal, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def allowed(self) -> bool:
        """Whether no rule refuses."""
        return not self.refusals

    def to_json(self) -> dict[str, Any]:
        """Return the answer as `rebalance check-placement --json` prints it."""
        return {
            "object": self.object,
            "container": self.container,
            "allowed": self.allowed,
            "refusals": [{"rule": one.rule, "reason": one.reason} for one in self.refusals],
            "displacements": [{"rule": one.rule, "reason": one.reason} for one in self.displacements],
            "scores": self.scores,
        }


def check_placement(
    model: Model, rules: Sequence[NamedRule], from_rules: Collection[str], object: str, container: str
) -> Placement:
    """Return whether one object may go to a container now.

    Rules in the languages of other schedulers answer in their system's own way. Any other constraint refuses what it
    would not let a solution do: break it, or break it more.

    Parameters
    ----------
    model : Model
        With all constraints, those of the rules too.
    rules : sequence of NamedRule
    from_rules : collection of str
        Names of the constraints that the rules became.
    object, container : str

    Raises
    ------
    InputError
        Unknown names.
    """
    problem = model.problem
    faults = FaultList()
    if object not in problem.objects:
        faults.unknown(problem.object_name, object, problem.objects, ())
    if container not in problem.containers:
        faults.unknown(problem.container_name, container, problem.containers, ())
    faults.raise_if_any()
    obj, there = problem.objects.index[object], problem.containers.index[container]
    state = State(problem, problem.initial)
    found = refusals(rules, state, obj, there)
    moved = problem.initial.copy()
    moved[obj] = there
    for name in model.evaluate(moved).worsened:
        if name not in from_rules:
            found.append(Refusal(name, "it would be broken, or broken more"))
    displaced = tuple(displacements(rules, state, obj, there))
    return Placement(object, container, tuple(found), displaced, scores(rules, state, obj, there))
