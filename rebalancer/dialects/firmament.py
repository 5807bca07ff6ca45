"""Firmament and Poseidon: constructs of the flow network, arc costs, the unscheduled aggregator, label selectors.

Follows the Poseidon design document on affinity, and Firmament and Poseidon as of 2018. Machines are containers, tasks
objects. A hard rule is an arc that is not there: what has no arc left stays with the unscheduled aggregator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from rebalancer.dialects import base
from rebalancer.dialects.base import Check, Dialect, Preference, Rule, State, Translation
from rebalancer.dialects.facts import Facts
from rebalancer.dialects.permitted import permitted, permitted_rule
from rebalancer.dialects.together import at_most
from rebalancer.problem import FaultList, Path, Problem
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.anchored_colocation import AnchoredColocationSpec
from rebalancer.specs.assignment_affinities import AssignmentAffinitiesSpec, AssignmentAffinity
from rebalancer.specs.base import Spec
from rebalancer.specs.count_cost import CountCostSpec
from rebalancer.specs.coverage import CoverageSpec
from rebalancer.specs.fields import (
    ContainerName,
    Filter,
    Flag,
    Name,
    Number,
    ObjectName,
    Part,
    ScopeName,
    Whole,
    exact,
    together,
)
from rebalancer.specs.gang import GangSpec
from rebalancer.specs.selection import Objects, Selection
from rebalancer.specs.unplaced_cost import UnplacedCostSpec

Kind: TypeAlias = Literal["pin", "xor", "and", "and_min_flow", "gang", "global", "replaces", "rising_cost", "max_tasks"]
#: Which fields each construct takes beside ``tasks``, and which it needs.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "pin": ({"machines"}, {"machines"}),
    "xor": ({"p", "r", "scope"}, set()),
    "and": ({"same", "scope"}, set()),
    "and_min_flow": ({"same", "scope"}, set()),
    "gang": ({"percent", "minimum", "same", "scope"}, set()),
    "global": ({"machines"}, set()),
    "replaces": ({"old", "new", "machine"}, {"old", "new"}),
    "rising_cost": ({"costs", "scope"}, {"costs"}),
    "max_tasks": ({"r", "machines"}, {"r"}),
}


class Construct(Part):
    """A part of the flow network, and the tasks whose flow it routes."""

    kind: Kind = Field(description="Which one.", validation_alias="construct")
    tasks: Objects | None = Field(None, description="The tasks; left out: all objects.")
    machines: tuple[ContainerName, ...] | None = Field(None, description="Of pin, global, max_tasks: the machines.")
    p: Annotated[Whole, Field(ge=0)] | None = Field(None, description="Of xor: at most so many are scheduled.")
    r: Annotated[Whole, Field(ge=0)] | None = Field(
        None, description="Of xor and max_tasks: at most so many on a machine, or in an item of the scope."
    )
    scope: ScopeName | None = Field(None, description="In the place of machines: the items of this scope.")
    same: Flag = Field(False, description="Of and, gang: all in one machine, or in one item of the scope.")
    percent: Annotated[Whole, Field(ge=0, le=100)] | None = Field(
        None, description="Of gang: this share of the tasks is enough, rounded down."
    )
    minimum: Annotated[Whole, Field(ge=1)] | None = Field(None, description="Of gang: so many tasks are enough.")
    old: ObjectName | None = Field(None, description="Of replaces: who leaves.")
    new: ObjectName | None = Field(None, description="Of replaces: who comes.")
    machine: ContainerName | None = Field(None, description="Of replaces: where; left out: where the old one is.")
    costs: tuple[Number, ...] = Field((), description="Of rising_cost: what 0, 1, 2, … tasks cost together.")

    @together
    def _fields_fit(self) -> None:
        allowed, needed = _FIELDS[self.kind]
        stated = {name for name in self.model_fields_set if getattr(self, name) is not None} - {"kind"}
        if self.kind != "replaces":
            allowed = allowed | {"tasks"}
        for name in sorted(stated - allowed):
            raise ValueError(f"'{self.kind}' has no '{name}'")
        for name in sorted(needed - stated):
            raise ValueError(f"'{self.kind}' needs '{name}'")
        if self.kind == "xor" and self.p is None and self.r is None:
            raise ValueError("'xor' needs 'p' or 'r'")
        if "scope" in stated and ((self.kind == "xor" and self.r is None) or ("same" in allowed and not self.same)):
            raise ValueError(f"the scope of '{self.kind}' needs '{'r' if self.kind == 'xor' else 'same: true'}'")
        if self.percent is not None and self.minimum is not None:
            raise ValueError("'gang' takes 'percent' or 'minimum', not both")
        if self.kind == "replaces" and self.old == self.new:
            raise ValueError(f"'{self.old}' cannot replace itself")


class LabelSelector(Part):
    """What a label of the machine has to be."""

    type: Literal["IN_SET", "NOT_IN_SET", "EXISTS_KEY", "NOT_EXISTS_KEY"] = Field(
        "IN_SET", description="How it is compared."
    )
    key: Name = Field(description="The label.")
    values: tuple[Name, ...] = Field((), description="Of IN_SET and NOT_IN_SET.")

    @together
    def _values_fit(self) -> None:
        if self.values and self.type.endswith("KEY"):
            raise ValueError(f"{self.type} takes no values; '{', '.join(self.values)}' is one too many")
        if not self.values and not self.type.endswith("KEY"):
            raise ValueError(f"{self.type} needs values")


class Selectors(Part):
    """Label selectors of some tasks; all of them have to hold."""

    tasks: Objects | None = Field(None, description="The tasks; left out: all objects.")
    selectors: tuple[LabelSelector, ...] = Field(description="The selectors.")


class Firmament(Dialect):
    """Constructs of Firmament's flow network, with the costs of its arcs.

    Notes
    -----
    With a price for the unscheduled aggregator a task may be left out at that price; otherwise being left out breaks
    the implicit constraint ``placed``, as for any object. A task of which some arc costs are given has these arcs only.
    """

    key: ClassVar[str] = "firmament"
    sources: ClassVar[str] = "the Poseidon design document on affinity; Firmament and Poseidon of 2018"
    ruling: ClassVar[tuple[str, ...]] = ("flow", "label_selectors", "arc_costs", "unscheduled", "unscheduled_costs")

    flow: tuple[Construct, ...] = Field((), description="Constructs.")
    label_selectors: tuple[Selectors, ...] = Field((), description="Label selectors by task.")
    arc_costs: Mapping[ObjectName, Mapping[ContainerName, Number]] = Field(
        {}, description="Task: machine: cost of the arc; machines that are not listed have none."
    )
    unscheduled: Number | None = Field(None, description="Price of leaving out a task.")
    unscheduled_costs: Mapping[ObjectName, Number] = Field({}, description="Task: price, instead of that one.")

    def rules(self, facts: Facts, faults: FaultList) -> list[Rule]:
        """Return a rule per construct, selector and cost."""
        reader = _Reader(self, facts)
        rules = [
            rule
            for position, one in enumerate(self.flow)
            for rule in getattr(reader, one.kind + "_")(one, ("flow", position))
        ]
        for position, selectors in enumerate(self.label_selectors):
            rules += reader.selectors(selectors, ("label_selectors", position))
        return [*rules, *reader.arcs(), *reader.unscheduled()]


def parse(problem: Problem, **statement: Any) -> Translation:
    """Return what constructs of the flow network mean on a problem.

    Parameters
    ----------
    problem : Problem
    **statement
        The fields of `Firmament`: ``flow=[{"construct": "xor", "tasks": ["a", "b"], "r": 1}]``.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    return base.parse(Firmament, problem, statement)


class _Reader:
    """Turns parts of the flow network into rules."""

    def __init__(self, statement: Firmament, facts: Facts) -> None:
        self.statement = statement
        self.facts = facts
        self.problem = facts.problem
        self.host = facts.problem.container_name

    def _members(self, tasks: Selection | None) -> IntArray:
        return np.arange(len(self.problem.objects)) if tasks is None else tasks.members(self.problem)

    def _machines(self, names: tuple[str, ...] | None) -> Any:
        allowed = np.full(len(self.problem.containers), names is None)
        allowed[self.problem.containers.lookup(list(names or ()))] = True
        return allowed

    # -- hard rules ---------------------------------------------------------------------------------------------------

    def pin_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """Pin: arcs to these machines only."""
        text = f"pin to {', '.join(one.machines or ())}"
        members, allowed = self._members(one.tasks), self._machines(one.machines)
        yield permitted_rule(self.facts, text, path, members, allowed, "there is no arc to it")

    def xor_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """Xor: a capacity of p on the way in, and of r to each machine or scope item."""
        members = self._members(one.tasks)
        if one.p is not None:
            yield self._capacity(f"xor p={one.p}", path, members, "placed", one.p)
        if one.r is not None:
            scope = one.scope or self.host
            yield self._capacity(f"xor r={one.r} per {scope}", path, members, scope, one.r)

    def max_tasks_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """Max tasks: so many on a machine, whoever they are."""
        scope, most = self.host, one.r or 0
        listed = self._machines(one.machines)
        names = [name if fits else None for name, fits in zip(self.problem.containers, listed, strict=True)]
        if not listed.all():
            scope = self.facts.scope("limited machines", names)
        yield self._capacity(f"max_tasks {most}", path, self._members(one.tasks), scope, most)

    def _capacity(self, text: str, path: Path, members: IntArray, scope: str, most: int) -> Rule:
        item_of = self.facts.problem.scopes[scope].item_of
        among = frozenset(members.tolist())

        def check(state: State, obj: int, container: int) -> str | None:
            item = item_of[container]
            if obj not in among or item < 0:
                return None
            there = int((item_of[state.where[state.running(members)]] == item).sum())
            return f"{there} of {most} are there already" if there >= most else None

        placed: Spec
        if scope == "placed":
            placed = CountCostSpec(
                scope=scope,
                objects=self.facts.selection(members),
                costs=(0, 1),
                budget=most,
                filter=Filter(items_whitelist=("placed",)),
            )
        else:
            placed = at_most(self.facts, scope, members, most)
        return Rule(text, path, (placed,), check=check)

    def and_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """And: all together or all unscheduled, if asked for in one place."""
        members = self._members(one.tasks)
        specs = [GangSpec(objects=self.facts.selection(members)), *self._one_place(one, members)]
        yield Rule("and", path, tuple(specs), check=self._in_one_place(one, members))

    def and_min_flow_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """And with a minimum flow: all have to be scheduled."""
        members = self._members(one.tasks)
        everybody = CoverageSpec(
            scope="placed",
            objects=self.facts.selection(members),
            copies=max(1, len(members)),
            filter=Filter(items_whitelist=("placed",)),
        )
        specs = [everybody, *self._one_place(one, members)]
        yield Rule("and_min_flow", path, tuple(specs), check=self._in_one_place(one, members))

    def gang_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """Gang: all or none, or enough or none."""
        members = self._members(one.tasks)
        enough = one.minimum or len(members)
        if one.percent is not None:  # a share is cut off as Poseidon does, in binary floating point
            enough = int(len(members) * (one.percent / 100.0))  # 0: a job of one pod is no gang
        text = f"gang of {enough} in {len(members)}"
        specs: list[Spec] = []
        if enough >= 1:
            specs.append(GangSpec(objects=self.facts.selection(members), minimum=enough))
        yield Rule(text, path, (*specs, *self._one_place(one, members)), check=self._in_one_place(one, members))

    def _one_place(self, one: Construct, members: IntArray) -> list[Spec]:
        if not one.same:
            return []
        scope = one.scope or self.host
        return [AnchoredColocationSpec(scope=scope, objects=self.facts.selection(members), missing="refuse")]

    def _in_one_place(self, one: Construct, members: IntArray) -> Check:
        """Return the check that the others are in the same place; who comes first may go anywhere."""
        item_of = self.problem.scopes[one.scope or self.host].item_of
        among = frozenset(members.tolist())

        def check(state: State, obj: int, container: int) -> str | None:
            if not one.same or obj not in among:
                return None
            there = item_of[state.where[state.running(members)]]
            return "the others are elsewhere" if (there != item_of[container]).any() else None

        return check

    def global_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """Global: one task on each machine, by a minimum flow of one."""
        members, machines = self._members(one.tasks), self._machines(one.machines)
        names = tuple(name for name, fits in zip(self.problem.containers, machines, strict=True) if fits)
        who = self.facts.selection(members)
        cover = CoverageSpec(scope=self.host, objects=who, filter=Filter(items_whitelist=names))
        inside = permitted(self.facts, members, machines)
        once = self._capacity("global", path, members, self.host, 1)
        yield Rule("global", path, (cover, *inside, *once.demands), check=once.check)

    def replaces_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """Read replaces: the new task on that machine only, the old one on none."""
        index = self.problem.objects.index
        assert one.old is not None
        assert one.new is not None
        old, new = np.array([index[one.old]]), np.array([index[one.new]])
        start = int(self.problem.initial[old[0]])
        place = one.machine if one.machine is not None else self.problem.containers[start] if start >= 0 else None
        text = f"{one.new} replaces {one.old}"
        machine = self._machines(None if place is None else (place,))
        yield permitted_rule(self.facts, text, path, new, machine, f"it replaces '{one.old}' on '{place}'")
        nowhere = np.zeros(len(machine), bool)
        leaves = permitted_rule(self.facts, f"{one.old} leaves", path, old, nowhere, f"'{one.new}' replaces it")
        yield replace(leaves, leaving=(one.old,))

    def selectors(self, stated: Selectors, path: Path) -> Iterator[Rule]:
        """Yield a rule per label selector."""
        members = self._members(stated.tasks)
        for position, one in enumerate(stated.selectors):
            self.facts.note_unknown(one.key, (*path, "selectors", position, "key"))
            labels = self.facts.containers(one.key)
            allowed = np.array([_selects(one, None if value is None else str(value)) for value in labels], bool)
            text = " ".join(filter(None, (one.key, one.type, ",".join(one.values))))
            below = (*path, "selectors", position)
            yield permitted_rule(self.facts, text, below, members, allowed, "its labels do not match")

    # -- costs --------------------------------------------------------------------------------------------------------

    def rising_cost_(self, one: Construct, path: Path) -> Iterator[Rule]:
        """Rising cost: what so many tasks on a machine cost together."""
        who = self.facts.selection(self._members(one.tasks))
        table = CountCostSpec(scope=one.scope or self.host, objects=who, costs=one.costs)
        yield Rule("rising cost", path, wishes=(Preference(table),))

    def arcs(self) -> Iterator[Rule]:
        """Yield the costs of the arcs, and that there are no others."""
        costs = self.statement.arc_costs
        if not costs:
            return
        entries = tuple(
            AssignmentAffinity(object_name=task, scope_item_name=machine, affinity=-exact(cost))
            for task, arcs in costs.items()
            for machine, cost in arcs.items()
        )
        index = self.problem.objects.index

        def score(state: State, obj: int, container: int) -> float | None:
            arcs = costs.get(self.problem.objects[obj])
            cost = None if arcs is None else arcs.get(self.problem.containers[container])
            return None if cost is None else float(cost)

        wish = Preference(AssignmentAffinitiesSpec(scope=self.host, affinities=entries))
        yield Rule("arc costs", ("arc_costs",), wishes=(wish,), score=score)
        for task, arcs in costs.items():
            allowed = self._machines(tuple(arcs))
            if not allowed.all():
                where = ("arc_costs", task)
                members = np.array([index[task]])
                yield permitted_rule(self.facts, f"arcs of {task}", where, members, allowed, "there is no arc to it")

    def unscheduled(self) -> Iterator[Rule]:
        """Yield the price of leaving tasks out."""
        stated = self.statement
        if stated.unscheduled is None and not stated.unscheduled_costs:
            return
        spec = UnplacedCostSpec(cost=stated.unscheduled or Fraction(0), object_costs=stated.unscheduled_costs)
        yield Rule("unscheduled", ("unscheduled",), wishes=(Preference(spec),), may_leave_out=True)


def _selects(selector: LabelSelector, value: str | None) -> bool:
    """Return whether a label (None: absent) is what a selector asks for."""
    if selector.type == "IN_SET":
        return value in selector.values
    if selector.type == "NOT_IN_SET":
        return value not in selector.values
    return (value is not None) == (selector.type == "EXISTS_KEY")


__all__ = ["Construct", "Firmament", "LabelSelector", "Selectors", "parse"]
