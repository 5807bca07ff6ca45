"""Builds a problem from whatever the user has, in any order, and reports everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.amounts import Statement, fixed_amounts
from rebalancer.problem.column import Amounts, Column
from rebalancer.problem.dynamic import DynamicStatement, fixed_dynamic
from rebalancer.problem.errors import MOST_REPORTED, FaultList, InputError, Path
from rebalancer.problem.grouping import Groups, memberships
from rebalancer.problem.numbers import FixedPoint
from rebalancer.problem.problem import PLACED_SCOPE, Problem
from rebalancer.problem.structure import (
    UNPLACED,
    Names,
    ObjectDimension,
    Partition,
    Scope,
    ScopeDimension,
)


@dataclass(frozen=True, eq=False)
class _Grouping:
    """A scope or partition as one place states it; ``more``: it adds to what is stated elsewhere."""

    name: str
    groups: Groups
    path: Path
    more: bool


class ProblemBuilder:
    """Collects the parts of a problem in any order; `build` checks them together.

    Every ``path`` argument says where the part stands in the caller's input; faults carry it.

    Parameters
    ----------
    object_name, container_name : str
    """

    def __init__(self, object_name: str = "object", container_name: str = "container") -> None:
        self.object_name = object_name
        self.container_name = container_name
        self.faults = FaultList()
        self.resolution: dict[str, Fraction] = {}
        self._containers: list[tuple[list[str], Path]] = []
        self._assignments: list[tuple[Mapping[str, Iterable[str]], Path]] = []
        self._placements: list[tuple[Column, Path, Path]] = []
        self._unassigned: list[tuple[list[str], Callable[[int], Path]]] = []
        self._amounts: list[Statement] = []
        self._dynamic: list[DynamicStatement] = []
        self._scopes: list[_Grouping] = []
        self._partitions: list[_Grouping] = []
        self._attributes: list[tuple[str, str, Amounts, Path]] = []

    # -- what the caller states -------------------------------------------------------------------------------------

    def add_containers(self, names: Iterable[str], path: Path = ()) -> None:
        """State containers that may hold nothing (a table of hosts)."""
        self._containers.append((names if isinstance(names, list) else list(names), path))

    def set_assignment(
        self,
        contents: Mapping[str, Iterable[str]],
        unassigned: Iterable[str] = (),
        path: Path = ("assignment",),
        unassigned_path: Path = ("unassigned",),
    ) -> None:
        """State the objects of each container, and objects that are in none."""
        self._assignments.append((contents, path))
        loose = list(unassigned)
        if loose:
            self._unassigned.append((loose, _rows_of(unassigned_path)))

    def add_unassigned(self, names: list[str], path_of: Callable[[int], Path]) -> None:
        """State objects that are in no container; ``path_of`` says where each of them stands."""
        self._unassigned.append((names, path_of))

    def add_placements(self, column: Column, path: Path = ("assignment",), key_path: Path | None = None) -> None:
        """State the container of each object (None: unplaced), as a table has it; ``key_path``: where objects stand."""
        self._placements.append((column, path, path if key_path is None else key_path))

    def add_object_dimension(
        self, name: str, values: Amounts, default: Any = 0, path: Path | None = None, more: bool = False
    ) -> None:
        """State what objects use. A list per object makes a vector.

        With ``more``, the values add to what is stated of the dimension elsewhere (a second table, say); a default of
        None then says nothing about other objects.
        """
        self._amounts.append(
            Statement(name, None, values, default, ("dimensions", name) if path is None else path, more)
        )

    def add_scope_dimension(
        self, name: str, scope: str, values: Amounts, default: Any = None, path: Path | None = None, more: bool = False
    ) -> None:
        """State what the items of a scope offer; 1 where nothing is stated. ``more`` as for objects."""
        self._amounts.append(
            Statement(name, scope, values, default, ("dimensions", name) if path is None else path, more)
        )

    def add_dynamic_object_dimension(
        self,
        name: str,
        scope: str,
        values: Mapping[str, Mapping[str, Any]],
        default: Any = 0,
        path: Path | None = None,
    ) -> None:
        """State what an object uses depending on the scope item it is in: item -> object -> value."""
        self._dynamic.append(
            DynamicStatement(name, scope, values, default, ("dimensions", name) if path is None else path)
        )

    def add_scope(self, name: str, items: Groups, path: Path | None = None, more: bool = False) -> None:
        """State a grouping of containers: item -> containers, or a column container -> item."""
        self._scopes.append(_Grouping(name, items, ("scopes", name) if path is None else path, more))

    def add_partition(self, name: str, groups: Groups, path: Path | None = None, more: bool = False) -> None:
        """State a grouping of objects: group -> objects, or a column object -> group."""
        self._partitions.append(_Grouping(name, groups, ("partitions", name) if path is None else path, more))

    def add_attribute(self, kind: str, name: str, values: Amounts, path: Path | None = None) -> None:
        """State a typed fact about ``"object"`` or ``"container"`` entities: entity -> value."""
        self._attributes.append((kind, name, values, ("attributes", kind, name) if path is None else path))

    # -- putting it together ------------------------------------------------------------------------------------------

    def build(self) -> Problem:
        """Return the problem.

        Raises
        ------
        InputError
            With every fault found.
        """
        problem = self.build_partial()
        self.faults.raise_if_any()
        assert problem is not None
        return problem

    def build_partial(self) -> Problem:
        """Return what could be built; `faults` says what could not. Lets a caller check more before it gives up."""
        if self.object_name == self.container_name:
            self.faults.report(
                "duplicate-name",
                f"objects and containers are both called '{self.object_name}'",
                ("container",),
                self.container_name,
            )
        self._report_empty_names()
        containers = self._container_names()
        objects, origin = self._placed_objects(containers)
        attributes = self._typed_attributes(objects, containers)
        scopes = self._built_scopes(containers)
        partitions = self._built_partitions(objects)
        object_dimensions, scope_dimensions = self._built_dimensions(objects, scopes)
        return Problem(
            self.object_name,
            self.container_name,
            objects,
            containers,
            origin,
            origin,
            scopes,
            partitions,
            object_dimensions,
            scope_dimensions,
            attributes,
        )

    def _report_empty_names(self) -> None:
        """Report names that nothing can refer to: as a dimension, an empty one means the number of objects."""
        named = [("dimension", part.name, part.path) for part in self._amounts]
        named += [("dimension", part.name, part.path) for part in self._dynamic]
        named += [("scope", part.name, part.path) for part in self._scopes]
        named += [("partition", part.name, part.path) for part in self._partitions]
        for what, name, path in named:
            if not name:
                self.faults.report("empty-name", f"a {what} has an empty name", path, name)

    def _container_names(self) -> Names:
        seen: dict[str, Path] = {}
        for names, path in self._containers:
            before = len(seen)
            fresh = dict.fromkeys(names, path)
            if len(fresh) < len(names):
                self._report_repeated("duplicate-name", self.container_name, names, path)
            seen = {**seen, **fresh} if before else fresh
        for contents, path in self._assignments:
            for name in contents:
                seen.setdefault(name, (*path, name))
        for name, path in seen.items():
            if name == "":
                self.faults.report("empty-name", f"a {self.container_name} has an empty name", path, "")
        return Names(seen)

    def _placed_objects(self, containers: Names) -> tuple[Names, NDArray[np.int32]]:
        place: dict[str, int] = {}
        for column, path, key_path in self._placements:
            names = column.names
            where = containers.lookup(column.values)
            missing = np.flatnonzero(where < 0)
            if len(missing):
                wrong = [row for row in missing.tolist() if column.values[row] is not None]
                self.faults.unknown_rows(self.container_name, column.values, containers, wrong, _rows_of(path))
            fresh = dict(zip(names, where.tolist(), strict=True))
            if len(fresh) < len(names):
                self._report_repeated("duplicate-object", self.object_name, names, key_path)
            both = place.keys() & fresh.keys() if place else set()
            if both:
                self._report_rows(
                    [row for row, name in enumerate(names) if name in both],
                    "duplicate-object",
                    self.object_name,
                    names,
                    key_path,
                )
            place = {**place, **fresh} if place else fresh
        for contents, path in self._assignments:
            for container, members in contents.items():
                index = containers.index[container]
                for position, name in enumerate(members):
                    if name in place:
                        other = "unassigned" if place[name] < 0 else f"in '{containers[place[name]]}'"
                        here = "twice" if place[name] == index else f"in '{container}' and {other}"
                        self.faults.report(
                            "duplicate-object",
                            f"{self.object_name} '{name}' is listed {here}",
                            (*path, container, position),
                            name,
                        )
                    elif name == "":
                        self.faults.report(
                            "empty-name",
                            f"a {self.object_name} in '{container}' has an empty name",
                            (*path, container, position),
                            name,
                        )
                    place.setdefault(name, index)
        for loose, path_of in self._unassigned:
            for position, name in enumerate(loose):
                if name in place:
                    at = place[name]
                    clash = f"in '{containers[at]}' and unassigned" if at >= 0 else "twice as unassigned"
                    message = f"{self.object_name} '{name}' is listed {clash}"
                    self.faults.report("duplicate-object", message, path_of(position), name)
                elif name == "":
                    message = f"an unassigned {self.object_name} has an empty name"
                    self.faults.report("empty-name", message, path_of(position), name)
                place.setdefault(name, UNPLACED)
        return Names(place), np.fromiter(place.values(), np.int32, len(place))

    def _report_repeated(self, code: str, what: str, names: list[str], path: Path) -> None:
        self._report_rows(_repeated(names), code, what, names, path)

    def _report_rows(self, rows: list[int], code: str, what: str, names: list[str], path: Path) -> None:
        for row in rows[:MOST_REPORTED]:
            self.faults.report(code, f"{what} '{names[row]}' is listed twice", (*path, row), names[row])
        self.faults.rest(len(rows), (*path, rows[MOST_REPORTED]) if len(rows) > MOST_REPORTED else path)

    def _typed_attributes(self, objects: Names, containers: Names) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Check attributes; those with one text or number per entity double as a scope or partition."""
        out: dict[tuple[str, str], Mapping[str, Any]] = {}
        for kind, name, values, path in self._attributes:
            known, what = (objects, self.object_name) if kind == "object" else (containers, self.container_name)
            if isinstance(values, Column):
                index = known.lookup(values.names)
                self.faults.unknown_rows(what, values.names, known, np.flatnonzero(index < 0), _rows_of(path))
                pairs: Iterable[tuple[str, Any]] = zip(values.names, values.values, strict=True)
            else:
                pairs = values.items()
                strangers = [entity for entity in values if entity not in known]
                self.faults.unknown_rows(what, strangers, known, range(len(strangers)), _names_of(path, strangers))
            kept = {entity: value for entity, value in pairs if value is not None and entity in known.index}
            out[kind, name] = {**out[kind, name], **kept} if (kind, name) in out else kept
        self._add_groupings_of(out)
        return out

    def _add_groupings_of(self, attributes: dict[tuple[str, str], Mapping[str, Any]]) -> None:
        """Make attributes usable as scopes and partitions, where no other has the name."""
        scopes = {grouping.name for grouping in self._scopes} | {self.container_name, PLACED_SCOPE}
        partitions = {grouping.name for grouping in self._partitions}
        for (kind, name), values in attributes.items():
            taken, groupings = (partitions, self._partitions) if kind == "object" else (scopes, self._scopes)
            if name in taken or not all(map(_is_single, values.values())):
                continue
            column = Column(list(values), list(map(str, values.values())))
            groupings.append(_Grouping(name, column, ("attributes", kind, name), False))

    def _built_scopes(self, containers: Names) -> dict[str, Scope]:
        count = len(containers)
        own = Scope(self.container_name, containers, np.append(np.arange(count, dtype=np.int32), np.int32(UNPLACED)))
        scopes = {self.container_name: own}
        if self.container_name != PLACED_SCOPE:
            inside = np.append(np.zeros(count, np.int32), np.int32(1))
            scopes[PLACED_SCOPE] = Scope(PLACED_SCOPE, Names(["placed", "unplaced"]), inside)
        built_in = {self.container_name: "is the name of the containers", PLACED_SCOPE: "is built in"}
        for name, statements in self._stated_once("scope", self._scopes, built_in).items():
            stated = memberships(statements, containers, self.container_name, self.faults)
            item_of = np.full(count + 1, UNPLACED, np.int32)
            again = np.flatnonzero(np.bincount(stated.member, minlength=count) > 1)
            for member in again[:MOST_REPORTED].tolist():
                first, *others = np.flatnonzero(stated.member == member).tolist()
                for row in others:
                    item, before = stated.names[int(stated.group[row])], stated.names[int(stated.group[first])]
                    here = "twice" if item == before else f"in '{before}' and '{item}'"
                    message = f"{self.container_name} '{containers[member]}' is listed {here} of scope '{name}'"
                    self.faults.report("duplicate-member", message, stated.path_of(row), containers[member])
            if len(again) > MOST_REPORTED:
                row = int(np.flatnonzero(stated.member == again[MOST_REPORTED])[-1])
                self.faults.rest(len(again), stated.path_of(row))
            item_of[stated.member] = stated.group
            scopes[name] = Scope(name, stated.names, item_of)
        return scopes

    def _built_partitions(self, objects: Names) -> dict[str, Partition]:
        partitions: dict[str, Partition] = {}
        for name, statements in self._stated_once("partition", self._partitions, {}).items():
            stated = memberships(statements, objects, self.object_name, self.faults)
            key = stated.group * max(1, len(objects)) + stated.member
            order = np.argsort(key, kind="stable")
            group, member = stated.group[order], stated.member[order]
            again = order[np.flatnonzero((group[1:] == group[:-1]) & (member[1:] == member[:-1])) + 1]
            for row in again[:MOST_REPORTED].tolist():
                who, where = objects[int(stated.member[row])], stated.names[int(stated.group[row])]
                message = f"group '{where}' of '{name}' lists {self.object_name} '{who}' twice"
                self.faults.report("duplicate-member", message, stated.path_of(row), who)
            if len(again) > MOST_REPORTED:
                self.faults.rest(len(again), stated.path_of(int(again[MOST_REPORTED])))
            partitions[name] = Partition(name, stated.names, group.astype(np.int32), member.astype(np.int32))
        return partitions

    def _stated_once(
        self, what: str, groupings: list[_Grouping], built_in: Mapping[str, str]
    ) -> dict[str, list[tuple[Groups, Path]]]:
        """Return the statements of each name; one that is taken, or stated twice without meaning to add, is a fault."""
        out: dict[str, list[tuple[Groups, Path]]] = {}
        for grouping in groupings:
            if grouping.name in built_in:
                message = f"{what} '{grouping.name}' {built_in[grouping.name]}"
                self.faults.report("duplicate-name", message, grouping.path, grouping.name)
            elif grouping.name in out and not grouping.more:
                message = f"{what} '{grouping.name}' is defined twice"
                self.faults.report("duplicate-name", message, grouping.path, grouping.name)
            else:
                out.setdefault(grouping.name, []).append((grouping.groups, grouping.path))
        return out

    def _built_dimensions(
        self, objects: Names, scopes: dict[str, Scope]
    ) -> tuple[dict[str, ObjectDimension], dict[tuple[str, str], ScopeDimension]]:
        count = f"{self.object_name}_count"
        of_objects = {count: ObjectDimension(count, np.ones((len(objects), 1), np.int64), 1)}
        of_scopes: dict[tuple[str, str], ScopeDimension] = {}
        stated: dict[tuple[str, str | None], list[Statement]] = {}
        for part in self._amounts:
            key = (part.name, part.scope)
            where = f"{self.object_name}s" if part.scope is None else f"scope '{part.scope}'"
            if part.scope is None and part.name == count:
                message = f"dimension '{count}' of the {where} is built in: every {self.object_name} counts 1"
                self.faults.report("reserved-name", message, part.path, part.name)
            elif part.scope is not None and part.scope not in scopes:
                self.faults.unknown("scope", part.scope, scopes, part.path)
            elif key in stated and not part.more:
                the = "the " if part.scope is None else ""
                message = f"dimension '{part.name}' of {the}{where} is defined twice"
                self.faults.report("duplicate-name", message, part.path, part.name)
            else:
                stated.setdefault(key, []).append(part)
        for (name, scope), parts in stated.items():
            names, what = (objects, self.object_name) if scope is None else (scopes[scope].items, scope)
            read = fixed_amounts(parts, names, what, self.resolution.get(name), self.faults)
            if read is None:  # its name exists all the same: what refers to it is not at fault as well
                read = FixedPoint(np.zeros((len(names), 1), np.int64), 1), 0
            fixed, missing = read
            if scope is None:
                of_objects[name] = ObjectDimension(name, fixed.integers, fixed.scale, None, fixed.rounded)
            else:
                missing = missing if all(part.default is None for part in parts) else 0
                values = fixed.integers[:, 0]
                of_scopes[name, scope] = ScopeDimension(name, scope, values, fixed.scale, True, missing, fixed.rounded)
        taken = {name for name, scope in stated if scope is None}
        for dynamic in self._dynamic:
            if dynamic.name in taken or dynamic.name == count:
                message = f"dimension '{dynamic.name}' of the {self.object_name}s is defined twice"
                self.faults.report("duplicate-name", message, dynamic.path, dynamic.name)
                continue
            taken.add(dynamic.name)
            step = self.resolution.get(dynamic.name)
            built = fixed_dynamic(dynamic, objects, self.object_name, scopes, step, self.faults)
            unread = ObjectDimension(dynamic.name, np.zeros((len(objects), 1), np.int64), 1)
            of_objects[dynamic.name] = unread if built is None else built
        return of_objects, of_scopes


def _repeated(names: list[str]) -> list[int]:
    seen: set[str] = set()
    out = []
    for row, name in enumerate(names):
        if name in seen:
            out.append(row)
        seen.add(name)
    return out


def _rows_of(path: Path) -> Callable[[int], Path]:
    return lambda row: (*path, row)


def _names_of(path: Path, names: Sequence[str]) -> Callable[[int], Path]:
    return lambda row: (*path, names[row])


def _is_single(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


__all__ = ["Amounts", "Column", "InputError", "ProblemBuilder"]
