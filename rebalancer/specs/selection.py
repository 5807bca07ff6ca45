"""Sets of objects that a spec names itself, and what several specs do with them and with containers outside a scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from rebalancer.model import Component
from rebalancer.problem import Fault, Names
from rebalancer.problem.numbers import IntArray, WrongValue
from rebalancer.specs.base import Spec
from rebalancer.specs.fields import PARTITION_ALIASES, GroupName, Name, ObjectName, Part, Ref, together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem, Scope

#: What a rule makes of an object in a container that is in no item of its scope: broken, or none of its business.
Missing: TypeAlias = Literal["refuse", "unconstrained"]
#: What the field of that type says.
MISSING = "An object in a container that is in no item of the scope breaks the rule (refuse), or is left alone."


class Selection(Part):
    """A set of objects: named ones and the members of groups, or all of them, less some."""

    objects: tuple[ObjectName, ...] | None = Field(None, description="Objects by name.")
    partition_name: Annotated[Name | None, Ref("partition")] = Field(
        None, description="Partition of the groups.", validation_alias=PARTITION_ALIASES
    )
    groups: tuple[GroupName, ...] | None = Field(
        None, description="Groups whose members are in it; without objects and groups it is all objects."
    )
    excluding: tuple[ObjectName, ...] = Field((), description="Objects that are not in it.")
    excluding_groups: tuple[GroupName, ...] = Field((), description="Groups whose members are not in it.")

    @together
    def _groups_of_a_partition(self) -> None:
        grouped = self.groups is not None or bool(self.excluding_groups)
        if grouped and self.partition_name is None:
            raise ValueError("groups need the partition that they are groups of")
        if self.partition_name is not None and not grouped:
            raise ValueError(f"which groups of '{self.partition_name}'? 'groups' or 'excluding_groups' is missing")

    def members(self, problem: Problem) -> IntArray:
        """Return the indices of the selected objects, ascending.

        Names that do not exist select nothing; that they do not is said where the spec is checked.
        """
        chosen = np.zeros(len(problem.objects), bool)
        if self.objects is None and self.groups is None:
            chosen[:] = True
        chosen[_known(problem.objects, self.objects or ())] = True
        chosen[self._grouped(problem, self.groups or ())] = True
        chosen[_known(problem.objects, self.excluding)] = False
        chosen[self._grouped(problem, self.excluding_groups)] = False
        return np.flatnonzero(chosen)

    def _grouped(self, problem: Problem, names: Sequence[str]) -> NDArray[Any]:
        partition = problem.partitions.get(self.partition_name or "")
        groups = [] if partition is None else _known(partition.groups, names).tolist()
        if partition is None or not groups:
            return np.empty(0, np.int64)
        return np.concatenate([partition.members(group) for group in groups])


def _known(names: Names, wanted: Sequence[str]) -> IntArray:
    """Return the indices of those names that exist."""
    found = names.lookup(list(wanted))
    return found[found >= 0]


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        raise WrongValue(f"expected a list of names, or a mapping, got '{value}'; write [{value}]")
    return {"objects": value} if isinstance(value, list | tuple | set | frozenset) else value


#: A selection; a plain list of names is one of these objects.
Objects: TypeAlias = Annotated[Selection, BeforeValidator(_listed, json_schema_input_type=Selection | list[Name])]


def selected(problem: Problem, selection: Selection | None) -> IntArray:
    """Return the indices of the selected objects; all of them where nothing was selected."""
    return np.arange(len(problem.objects)) if selection is None else selection.members(problem)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of objects, each counted on its own.

    Parameters
    ----------
    group, member : int64 arrays of equal length
        The memberships.
    sizes : int64 array, one per group
    partition : str or None
        Whose groups they are.
    index : int64 array or None
        Which groups of the partition.
    """

    group: IntArray
    member: IntArray
    sizes: IntArray
    partition: str | None = None
    index: IntArray | None = None

    def __len__(self) -> int:
        """Return how many groups there are."""
        return len(self.sizes)

    def tally(self, model: ModelBuilder, item_of: NDArray[np.int32], items: int) -> Cells:
        """Return how many objects of each group are in each item: shape (groups, items)."""
        return model.custom_tally(self.group, self.member, len(self), item_of, items)

    def labels(self, problem: Problem, items: int = 1) -> dict[str, Any]:
        """Return what tells reports whose the rows of a component are (its cells, where it has one row)."""
        if self.partition is not None and self.index is not None:
            index = np.repeat(self.index, items) if len(self) == 1 else self.index
            return {"partition": self.partition, "group_index": index}
        return label(problem, self.member, items)


class GroupwiseSpec(Spec):
    """Base of the specs that look at each group of a partition on its own, or at some objects as one group."""

    partition_name: Annotated[Name | None, Ref("partition")] = Field(
        None, description="Its groups, each on its own.", validation_alias=PARTITION_ALIASES
    )
    groups: tuple[GroupName, ...] | None = Field(None, description="Only these groups; left out: every group.")
    objects: Objects | None = Field(
        None, description="Instead of a partition: these objects as one group. Without both: all objects as one group."
    )

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self.groups is not None and self.partition_name is None:
            yield Fault("missing-field", "'groups' needs the partition that they are groups of", ("groups",))
        if self.objects is not None and self.partition_name is not None:
            yield Fault("unsupported-field", "'objects' and 'partition' do not go together", ("objects",))

    def grouped(self, problem: Problem) -> Groups:
        """Return who is looked at."""
        if self.partition_name is None:
            return one_group(selected(problem, self.objects))
        partition = problem.partitions[self.partition_name]
        chosen = (
            np.arange(len(partition.groups))
            if self.groups is None
            else np.unique(partition.groups.lookup(list(self.groups)))
        )
        row = np.full(len(partition.groups), -1, np.int64)
        row[chosen] = np.arange(len(chosen))
        kept = row[partition.group] >= 0
        member = partition.member[kept].astype(np.int64)
        return Groups(row[partition.group][kept], member, partition.sizes[chosen], self.partition_name, chosen)


def one_group(members: IntArray) -> Groups:
    """Return some objects as one group."""
    return Groups(np.zeros(len(members), np.int64), members, np.array([len(members)], np.int64))


def reachable(scope: Scope, kept: IntArray) -> IntArray:
    """Return the kept items that an object can be in: not those without containers."""
    return kept[np.isin(kept, scope.item_of)]


def outside(model: ModelBuilder, scope: Scope, missing: Missing, objects: IntArray) -> list[Component]:
    """Return, where what is missing is refused, that no such object is in a container without an item.

    One component per object, violated by 1. Unplaced objects are in no container.
    """
    nowhere = np.where(scope.item_of < 0, 0, -1).astype(np.int32)
    nowhere[-1] = -1
    if missing == "unconstrained" or not len(objects) or (nowhere < 0).all():
        return []
    there = model.custom_tally(np.arange(len(objects)), objects, len(objects), nowhere, 1)
    return [Component(there, amount=there, group_index=objects, group_names=model.problem.objects)]


def excess(model: ModelBuilder, components: Sequence[Component]) -> Cells:
    """Return the sum of all violations: what such a constraint is as a goal."""
    return model.linear([(model.total(model.hinge(part.cells), part.weight), 1) for part in components])


def name_of(problem: Problem, members: IntArray) -> str:
    """Return what reports call a set of objects: its first and how many more."""
    first: str = problem.objects[int(members[0])]
    return first if len(members) == 1 else f"{first} and {len(members) - 1} more"


def label(problem: Problem, members: IntArray, items: int = 1) -> dict[str, Any]:
    """Return what tells reports that all cells of a component are about the same objects."""
    names = Names([name_of(problem, members)] if len(members) else [])
    return {"group_names": names, "group_index": np.zeros(items, np.int64)}
