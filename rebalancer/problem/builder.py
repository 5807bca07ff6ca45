"""Builds a problem from whatever the user has, in any order, and reports everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.errors import FaultList, InputError, Path
from rebalancer.problem.numbers import FixedPoint, Overflow, fix, to_fraction
from rebalancer.problem.problem import PLACED_SCOPE, Problem
from rebalancer.problem.structure import UNPLACED, DynamicValues, Names, ObjectDimension, Partition, Scope, ScopeDimension


@dataclass(frozen=True, eq=False)
class Column:
    """Values of many names at once, as a table has them: ``values[i]`` belongs to ``names[i]``.

    Parameters
    ----------
    names : list of str
    values : array or list
        Numbers (int or float array), or names (list with None for "none"); one per name.
    """

    names: list[str]
    values: Any


Amounts: TypeAlias = Mapping[str, Any] | Column


@dataclass
class _Amounts:
    name: str
    scope: str | None  # None: of objects
    values: Amounts
    default: Any
    path: Path


@dataclass
class _Dynamic:
    name: str
    scope: str
    values: Mapping[str, Mapping[str, Any]]
    default: Any
    path: Path


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
        self._placements: list[tuple[Column, Path]] = []
        self._unassigned: list[tuple[list[str], Path]] = []
        self._amounts: list[_Amounts] = []
        self._dynamic: list[_Dynamic] = []
        self._scopes: list[tuple[str, Mapping[str, Iterable[str]] | Column, Path]] = []
        self._partitions: list[tuple[str, Mapping[str, Iterable[str]] | Column, Path]] = []
        self._attributes: list[tuple[str, str, Amounts, Path]] = []

    # -- what the caller states -------------------------------------------------------------------------------------

    def add_containers(self, names: Iterable[str], path: Path = ()) -> None:
        """State containers that may hold nothing (a table of hosts)."""
        self._containers.append((names if isinstance(names, list) else list(names), path))

    def set_assignment(self, contents: Mapping[str, Iterable[str]], unassigned: Iterable[str] = (), path: Path = ("assignment",),
                       unassigned_path: Path = ("unassigned",)) -> None:
        """State the objects of each container, and objects that are in none."""
        self._assignments.append((contents, path))
        loose = list(unassigned)
        if loose:
            self._unassigned.append((loose, unassigned_path))

    def add_placements(self, column: Column, path: Path = ("assignment",)) -> None:
        """State the container of each object (None: unplaced), as a table has it."""
        self._placements.append((column, path))

    def add_object_dimension(self, name: str, values: Amounts, default: Any = 0, path: Path | None = None) -> None:
        """State what objects use. A list per object makes a vector."""
        self._amounts.append(_Amounts(name, None, values, default, ("dimensions", name) if path is None else path))

    def add_scope_dimension(self, name: str, scope: str, values: Amounts, default: Any = None, path: Path | None = None) -> None:
        """State what the items of a scope offer; 1 where nothing is stated."""
        self._amounts.append(_Amounts(name, scope, values, default, ("dimensions", name) if path is None else path))

    def add_dynamic_object_dimension(self, name: str, scope: str, values: Mapping[str, Mapping[str, Any]], default: Any = 0,
                                     path: Path | None = None) -> None:
        """State what an object uses depending on the scope item it is in: item -> object -> value."""
        self._dynamic.append(_Dynamic(name, scope, values, default, ("dimensions", name) if path is None else path))

    def add_scope(self, name: str, items: Mapping[str, Iterable[str]] | Column, path: Path | None = None) -> None:
        """State a grouping of containers: item -> containers, or a column container -> item."""
        self._scopes.append((name, items, ("scopes", name) if path is None else path))

    def add_partition(self, name: str, groups: Mapping[str, Iterable[str]] | Column, path: Path | None = None) -> None:
        """State a grouping of objects: group -> objects, or a column object -> group."""
        self._partitions.append((name, groups, ("partitions", name) if path is None else path))

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
            self.faults.report("duplicate-name", f"objects and containers are both called '{self.object_name}'", ("container",), self.container_name)
        containers = self._container_names()
        objects, origin = self._placed_objects(containers)
        attributes = self._typed_attributes(objects, containers)
        scopes = self._built_scopes(containers)
        partitions = self._built_partitions(objects)
        object_dimensions, scope_dimensions = self._built_dimensions(objects, scopes)
        return Problem(self.object_name, self.container_name, objects, containers, origin, origin, scopes, partitions,
                       object_dimensions, scope_dimensions, attributes)

    def _container_names(self) -> Names:
        seen: dict[str, Path] = {}
        for names, path in self._containers:
            before = len(seen)
            fresh = dict.fromkeys(names, path)
            if len(fresh) < len(names):
                for row in _repeated(names):
                    self.faults.report("duplicate-name", f"{self.container_name} '{names[row]}' is listed twice", (*path, row), names[row])
            seen = {**seen, **fresh} if before else fresh
        for contents, _ in self._assignments:
            for name in contents:
                seen.setdefault(name, ())
        for name in seen:
            if name == "":
                self.faults.report("empty-name", f"a {self.container_name} has an empty name", ("assignment",), "")
        return Names(seen)

    def _placed_objects(self, containers: Names) -> tuple[Names, NDArray[np.int32]]:
        place: dict[str, int] = {}
        for column, path in self._placements:
            names = column.names
            where = containers.lookup(column.values)
            if (where < 0).any():
                for row in np.flatnonzero(where < 0).tolist():
                    value = column.values[row]
                    if value is not None and value not in containers:
                        self.faults.unknown(self.container_name, value, containers, (*path, row))
            fresh = dict(zip(names, where.tolist(), strict=True))
            if len(fresh) < len(names):
                for row in _repeated(names):
                    self.faults.report("duplicate-object", f"{self.object_name} '{names[row]}' is listed twice", (*path, row), names[row])
            both = place.keys() & fresh.keys() if place else ()
            for name in both:
                self.faults.report("duplicate-object", f"{self.object_name} '{name}' is listed twice", (*path, names.index(name)), name)
            place = {**place, **fresh} if place else fresh
        for contents, path in self._assignments:
            for container, members in contents.items():
                index = containers.index[container]
                for position, name in enumerate(members):
                    if name in place:
                        other = "unassigned" if place[name] < 0 else f"in '{containers[place[name]]}'"
                        here = "twice" if place[name] == index else f"in '{container}' and {other}"
                        self.faults.report("duplicate-object", f"{self.object_name} '{name}' is listed {here}", (*path, container, position), name)
                    elif name == "":
                        self.faults.report("empty-name", f"a {self.object_name} in '{container}' has an empty name", (*path, container, position), name)
                    place.setdefault(name, index)
        for loose, path in self._unassigned:
            for position, name in enumerate(loose):
                if name in place:
                    other = f"in '{containers[place[name]]}' and unassigned" if place[name] >= 0 else "twice as unassigned"
                    self.faults.report("duplicate-object", f"{self.object_name} '{name}' is listed {other}", (*path, position), name)
                place.setdefault(name, UNPLACED)
        return Names(place), np.fromiter(place.values(), np.int32, len(place))

    def _typed_attributes(self, objects: Names, containers: Names) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Check attributes; those with one text or number per entity double as a scope or partition."""
        out: dict[tuple[str, str], Mapping[str, Any]] = {}
        taken_scopes = {name for name, _, _ in self._scopes}
        taken_partitions = {name for name, _, _ in self._partitions}
        for kind, name, values, path in self._attributes:
            known, what = (objects, self.object_name) if kind == "object" else (containers, self.container_name)
            table = dict(zip(values.names, values.values, strict=True)) if isinstance(values, Column) else dict(values)
            for entity in table:
                if entity not in known:
                    self.faults.unknown(what, entity, known, (*path, entity))
            kept = {entity: value for entity, value in table.items() if value is not None and entity in known}
            out[kind, name] = {**out.get((kind, name), {}), **kept}
            if all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in kept.values()):
                column = Column(list(kept), [str(value) for value in kept.values()])
                if kind == "container" and name not in taken_scopes | {self.container_name, PLACED_SCOPE}:
                    self._scopes.append((name, column, path))
                elif kind == "object" and name not in taken_partitions:
                    self._partitions.append((name, column, path))
        return out

    def _built_scopes(self, containers: Names) -> dict[str, Scope]:
        count = len(containers)
        own = Scope(self.container_name, containers, np.append(np.arange(count, dtype=np.int32), np.int32(-1)))
        placed = Scope(PLACED_SCOPE, Names(["placed", "unplaced"]), np.append(np.zeros(count, np.int32), np.int32(1)))
        scopes = {self.container_name: own}
        if self.container_name != PLACED_SCOPE:
            scopes[PLACED_SCOPE] = placed
        for name, items, path in self._scopes:
            if name in scopes:
                meaning = "is the name of the containers" if name == self.container_name else "is built in" if name == PLACED_SCOPE else "is defined twice"
                self.faults.report("duplicate-name", f"scope '{name}' {meaning}", path, name)
                continue
            pairs = self._grouping(items, containers, self.container_name, path)
            item_of = np.full(count + 1, -1, np.int32)
            for item, member, where in zip(pairs.group.tolist(), pairs.member.tolist(), range(len(pairs.group)), strict=True):
                if item_of[member] >= 0:
                    first = pairs.names[int(item_of[member])]
                    here = "twice" if item_of[member] == item else f"in '{first}' and '{pairs.names[item]}'"
                    self.faults.report("duplicate-member", f"{self.container_name} '{containers[member]}' is listed {here} of scope '{name}'",
                                       pairs.path_of(where), containers[member])
                item_of[member] = item
            scopes[name] = Scope(name, pairs.names, item_of)
        return scopes

    def _built_partitions(self, objects: Names) -> dict[str, Partition]:
        partitions: dict[str, Partition] = {}
        for name, groups, path in self._partitions:
            if name in partitions:
                self.faults.report("duplicate-name", f"partition '{name}' is defined twice", path, name)
                continue
            pairs = self._grouping(groups, objects, self.object_name, path)
            order = np.lexsort((pairs.member, pairs.group))
            group, member = pairs.group[order], pairs.member[order]
            again = np.flatnonzero((group[1:] == group[:-1]) & (member[1:] == member[:-1])) + 1
            for row in order[again].tolist():
                self.faults.report("duplicate-member", f"group '{pairs.names[int(pairs.group[row])]}' of '{name}' lists {self.object_name} "
                                   f"'{objects[int(pairs.member[row])]}' twice", pairs.path_of(row), objects[int(pairs.member[row])])
            partitions[name] = Partition(name, pairs.names, group.astype(np.int32), member.astype(np.int32))
        return partitions

    def _grouping(self, groups: Mapping[str, Iterable[str]] | Column, members: Names, what: str, path: Path) -> _Pairs:
        if isinstance(groups, Column):
            names = Names(dict.fromkeys(value for value in groups.values if value is not None))
            member, group = members.lookup(groups.names), names.lookup(groups.values)
            for row in np.flatnonzero(member < 0).tolist():
                self.faults.unknown(what, groups.names[row], members, (*path, row))
            rows = np.flatnonzero((member >= 0) & (group >= 0))
            return _Pairs(names, group[rows], member[rows], path, rows, None)
        names = Names(groups)
        listed = [list(content) for content in groups.values()]
        sizes = [len(content) for content in listed]
        flat = [name for content in listed for name in content]
        member = members.lookup(flat)
        group = np.repeat(np.arange(len(names)), sizes)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        for row in np.flatnonzero(member < 0).tolist():
            self.faults.unknown(what, flat[row], members, (*path, names[int(group[row])], row - int(start[group[row]])))
        rows = np.flatnonzero(member >= 0)
        return _Pairs(names, group[rows], member[rows], path, rows, start)

    def _built_dimensions(self, objects: Names, scopes: dict[str, Scope]) -> tuple[dict[str, ObjectDimension], dict[tuple[str, str], ScopeDimension]]:
        count = f"{self.object_name}_count"
        of_objects = {count: ObjectDimension(count, np.ones((len(objects), 1), np.int64), 1)}
        of_scopes: dict[tuple[str, str], ScopeDimension] = {}
        stated: set[str] = set()
        for part in self._amounts:
            if part.scope is None:
                if part.name == count:
                    self.faults.report("reserved-name", f"dimension '{count}' of the {self.object_name}s is built in: every {self.object_name} counts 1", part.path, part.name)
                elif part.name in stated:
                    self.faults.report("duplicate-name", f"dimension '{part.name}' of the {self.object_name}s is defined twice", part.path, part.name)
                else:
                    stated.add(part.name)
                    fixed = self._fixed(part, objects, self.object_name, components=True)
                    if fixed is not None:
                        of_objects[part.name] = ObjectDimension(part.name, fixed.integers, fixed.scale, None, fixed.rounded)
                continue
            if part.scope not in scopes:
                self.faults.unknown("scope", part.scope, scopes, part.path)
            elif (part.name, part.scope) in of_scopes:
                self.faults.report("duplicate-name", f"dimension '{part.name}' of scope '{part.scope}' is defined twice", part.path, part.name)
            else:
                items = scopes[part.scope].items
                missing = max(0, len(items) - len(part.values.names if isinstance(part.values, Column) else part.values)) if part.default is None else 0
                fixed = self._fixed(part, items, part.scope, components=False)
                if fixed is not None:
                    of_scopes[part.name, part.scope] = ScopeDimension(part.name, part.scope, fixed.integers[:, 0], fixed.scale, True, missing)
        for dynamic in self._dynamic:
            if dynamic.name in stated or dynamic.name == count:
                self.faults.report("duplicate-name", f"dimension '{dynamic.name}' of the {self.object_name}s is defined twice", dynamic.path, dynamic.name)
                continue
            stated.add(dynamic.name)
            built = self._fixed_dynamic(dynamic, objects, scopes)
            if built is not None:
                of_objects[dynamic.name] = built
        return of_objects, of_scopes

    def _fixed(self, part: _Amounts, names: Names, what: str, components: bool) -> FixedPoint | None:
        """Return the values of all ``names`` as fixed point, shape (names, components)."""
        label = f"dimension '{part.name}'"
        negative_allowed = part.scope is None
        before = len(self.faults)
        default = 0 if part.default is None and part.scope is None else 1 if part.default is None else part.default
        default_exact = self._number(default, label, (*part.path, "default"), negative_allowed) or Fraction(0)
        if isinstance(part.values, Column):
            return self._fixed_column(part, part.values, names, what, default_exact, label)
        width = 1
        rows: dict[int, list[Fraction]] = {}
        for name, value in part.values.items():
            where: Path = (*part.path, name)
            index = names.index.get(name)
            if index is None:
                self.faults.unknown(what, name, names, where)
                continue
            listed: Sequence[Any]
            if isinstance(value, list | tuple | np.ndarray):
                if not components:
                    self.faults.report("wrong-type", f"{label} of {what} '{name}' must be one number, not a list", where, value)
                    continue
                listed = list(value)
                if not listed or (width > 1 and len(listed) != width):
                    self.faults.report("vector-length", f"{label} of {what} '{name}' has {len(listed)} components, others have {width}", where, value)
                    continue
                width = max(width, len(listed))
            else:
                listed = [value]
            numbers = [self._number(entry, f"{label} of {what} '{name}'", where if listed[0] is value else (*where, slot), negative_allowed)
                       for slot, entry in enumerate(listed)]
            rows[index] = [number if number is not None else Fraction(0) for number in numbers]
        if width > 1:
            for index, short in rows.items():
                if len(short) == 1:
                    self.faults.report("vector-length", f"{label} of {what} '{names[index]}' has 1 component, others have {width}", (*part.path, names[index]))
        if len(self.faults) > before:
            return None
        flat: list[Fraction] = [default_exact] * (len(names) * width)
        for index, numbers_ in rows.items():
            flat[index * width:(index + 1) * width] = numbers_
        try:
            fixed = fix(flat, self.resolution.get(part.name))
        except Overflow as error:
            self.faults.report("overflow", f"{label} does not fit: {error}", part.path)
            return None
        return FixedPoint(fixed.integers.reshape(len(names), width), fixed.scale, fixed.rounded)

    def _fixed_column(self, part: _Amounts, column: Column, names: Names, what: str, default: Fraction, label: str) -> FixedPoint | None:
        before = len(self.faults)
        index = names.lookup(column.names)
        for row in np.flatnonzero(index < 0).tolist():
            self.faults.unknown(what, column.names[row], names, (*part.path, row))
        values = np.asarray(column.values)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            for row in np.flatnonzero(~np.isfinite(values)).tolist():
                self.faults.report("not-finite", f"{label} of {what} '{column.names[row]}' is {values[row]}, expected a finite number", (*part.path, row), float(values[row]))
        elif values.dtype.kind == "O":
            for row, value in enumerate(values.tolist()):
                self._number(value, f"{label} of {what} '{column.names[row]}'", (*part.path, row), part.scope is None)
        elif values.dtype.kind not in "iuf":
            self.faults.report("wrong-type", f"{label}: expected numbers", part.path)
        elif part.scope is not None and values.size and values.min() < 0:
            for row in np.flatnonzero(values < 0).tolist():
                self.faults.report("negative-capacity", f"{label} of {what} '{column.names[row]}' is {values[row]}; a capacity cannot be negative", (*part.path, row), values[row])
        if len(self.faults) > before:
            return None
        try:
            if len(column.names) == len(names):
                fixed = fix(values, self.resolution.get(part.name))
                integers, scale = fixed.integers, fixed.scale
            else:
                fixed = fix(values, self.resolution.get(part.name))
                padded = fix([default], self.resolution.get(part.name))
                scale = int(np.lcm(fixed.scale, padded.scale))
                integers = fixed.integers * (scale // fixed.scale)
        except (Overflow, ValueError) as error:
            self.faults.report("overflow", f"{label} does not fit: {error}", part.path)
            return None
        out = np.full(len(names), int(default * scale), np.int64)
        out[index] = integers
        return FixedPoint(out[:, None], scale, fixed.rounded)

    def _fixed_dynamic(self, part: _Dynamic, objects: Names, scopes: dict[str, Scope]) -> ObjectDimension | None:
        label = f"dimension '{part.name}'"
        before = len(self.faults)
        if part.scope not in scopes:
            self.faults.unknown("scope", part.scope, scopes, (*part.path, "scope"))
            return None
        items = scopes[part.scope].items
        default = self._number(part.default, label, (*part.path, "default"), True) or Fraction(0)
        keys: list[int] = []
        exact: list[Fraction] = [default]
        for item, values in part.values.items():
            if item not in items:
                self.faults.unknown(part.scope, item, items, (*part.path, "values", item))
                continue
            for name, value in values.items():
                index = objects.index.get(name)
                if index is None:
                    self.faults.unknown(self.object_name, name, objects, (*part.path, "values", item, name))
                    continue
                number = self._number(value, f"{label} of {self.object_name} '{name}' in '{item}'", (*part.path, "values", item, name), True)
                keys.append(items.index[item] * len(objects) + index)
                exact.append(number if number is not None else Fraction(0))
        if len(self.faults) > before:
            return None
        try:
            fixed = fix(exact, self.resolution.get(part.name))
            largest = max(map(abs, fixed.integers.tolist()))
            if largest * max(1, len(objects)) >= 2**61:
                raise Overflow(f"the largest value is {largest / fixed.scale:g}")
        except Overflow as error:
            self.faults.report("overflow", f"{label} does not fit: {error}", part.path)
            return None
        order = np.argsort(np.array(keys, np.int64), kind="stable")
        dynamic = DynamicValues(part.scope, np.array(keys, np.int64)[order], fixed.integers[1:][order], int(fixed.integers[0]))
        return ObjectDimension(part.name, np.zeros((len(objects), 1), np.int64), fixed.scale, dynamic, fixed.rounded)

    def _number(self, value: Any, label: str, path: Path, negative_allowed: bool) -> Fraction | None:
        try:
            number = to_fraction(value)
        except ValueError as error:
            code = "not-finite" if "finite" in str(error) else "wrong-type"
            self.faults.report(code, f"{label}: {error}", path, value)
            return None
        if number < 0 and not negative_allowed:
            self.faults.report("negative-capacity", f"{label} is {value}; a capacity cannot be negative", path, value)
            return None
        return number


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Memberships as stated, and where each was stated."""

    names: Names
    group: NDArray[np.int64]
    member: NDArray[np.int64]
    path: Path
    rows: NDArray[np.int64]
    start: NDArray[np.int64] | None

    def path_of(self, position: int) -> Path:
        row = int(self.rows[position])
        if self.start is None:
            return (*self.path, row)
        group = int(self.group[position])
        return (*self.path, self.names[group], row - int(self.start[group]))


def _repeated(names: list[str]) -> list[int]:
    seen: set[str] = set()
    out = []
    for row, name in enumerate(names):
        if name in seen:
            out.append(row)
        seen.add(name)
    return out


__all__ = ["Amounts", "Column", "InputError", "ProblemBuilder"]
