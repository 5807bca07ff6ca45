"""From the sections of a scenario to its problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from rebalancer.problem import (
    Column,
    Fault,
    FaultList,
    Path,
    Problem,
    ProblemBuilder,
    unknown_name,
)
from rebalancer.problem.amounts import exact_number
from rebalancer.problem.numbers import WrongValue
from rebalancer.scenario.databases import Databases
from rebalancer.scenario.files import Files, ReadFile
from rebalancer.scenario.gaps import Gaps
from rebalancer.scenario.override import Override
from rebalancer.scenario.sections import DynamicAmounts, LongAmounts, Unassigned, is_long_form
from rebalancer.scenario.settle import settle
from rebalancer.scenario.sources import Sources
from rebalancer.scenario.table_sections import TableSections
from rebalancer.scenario.wording import own_error, shown
from rebalancer.specs.fields import exact


class Assembly:
    """Builds the problem of a scenario and remembers what could not be read of it.

    Parameters
    ----------
    files : Files
    override : Override or None
        What a job says over the scenario.
    databases : Databases
        Those that its queries read from.
    """

    def __init__(self, files: Files, override: Override | None, databases: Databases) -> None:
        self.files = files
        self.scenario = files.scenario
        self.document = files.main.document
        self.faults: list[Fault] = []
        self.object_name = str(self.scenario.object)
        self.container_name = str(self.scenario.container)
        self.gaps = Gaps(self.object_name, self.container_name)
        self.builder = ProblemBuilder(self.object_name, self.container_name)
        #: (dimension, scope or None) -> where it is stated first.
        self.stated: dict[tuple[str, str | None], Path] = {}
        self.tables: TableSections | None = None
        self.sources = Sources(files, override, databases, self.faults)

    def build(self) -> Problem:
        """Return what could be built; `faults` gets what is wrong, with paths or places."""
        for path in self.files.incomplete:
            self.gaps.lost_below(path)
        self._check_names()
        self._groupings()
        self._dimensions()
        self._attributes()
        self.tables = TableSections(self.files, self.sources, self.builder, self.gaps, self.faults, self.stated)
        self.tables.read()
        self._assignment()
        self._unassigned()
        self._resolution()
        problem = self.builder.build_partial()
        self.faults.extend(_with_correction(self._with_all_places(fault)) for fault in self.builder.faults)
        self._check_something_there(problem)
        self._check_names_called_default(problem)
        return problem

    def _check_names(self) -> None:
        if self.object_name == "":
            self._report("empty-name", "the objects need a name", ("object",))
        if self.container_name == "":
            self._report("empty-name", "the containers need a name", ("container",))
        groupings = [("scopes", name) for name in self.scenario.scopes]
        for section, name in groupings:
            if name == self.object_name:
                self._report("duplicate-name", f"scope '{name}' is called like the objects", (section, name), name)

    def _report(self, code: str, message: str, path: Path, value: Any = None, suggestion: str | None = None) -> None:
        self.faults.append(Fault(code, message, path, value, suggestion))

    # -- scopes, partitions, attributes -----------------------------------------------------------------------------

    def _groupings(self) -> None:
        for file in (*self.files.included, self.files.main):
            self._groupings_of(file)

    def _groupings_of(self, file: ReadFile) -> None:
        for name, items in file.content.scopes.items():
            self.gaps.declare("scope", name)
            self.builder.add_scope(name, items, (*file.prefix, "scopes", name))
        for name, groups in file.content.partitions.items():
            self.gaps.declare("partition", name)
            self.builder.add_partition(name, groups, (*file.prefix, "partitions", name))

    def _attributes(self) -> None:
        kinds = {self.object_name: "object", self.container_name: "container"}
        for what, by_name in self.scenario.attributes.items():
            path: Path = ("attributes", what)
            if what not in kinds:
                self.faults.append(unknown_name("kind", what, list(kinds), path))
                continue
            columns: dict[str, tuple[list[str], list[Any]]] = {}
            for name, facts in by_name.items():
                for attribute, value in facts.items():
                    names, values = columns.setdefault(attribute, ([], []))
                    names.append(name)
                    values.append(value)
            for attribute, (names, values) in columns.items():
                self.gaps.declare("scope" if kinds[what] == "container" else "partition", attribute)
                self.builder.add_attribute(kinds[what], attribute, dict(zip(names, values, strict=True)), path)

    # -- dimensions -------------------------------------------------------------------------------------------------

    def _dimensions(self) -> None:
        for name, places in self.scenario.dimensions.items():
            self.gaps.declare("dimension", name)
            scalars = [
                where for where, values in places.items() if values is not None and not isinstance(values, Mapping)
            ]
            if scalars:
                self._report_scalars(name, places, scalars)
            for where, values in places.items():
                if where not in scalars:
                    self._amounts(name, where, {} if values is None else values)

    def _report_scalars(self, name: str, places: Mapping[str, Any], scalars: list[str]) -> None:
        """Report what should be a mapping: once, where the level that says where the dimension lives is missing."""
        known = {self.object_name, self.container_name, "dynamic", *self.scenario.scopes}
        if not known & set(places):
            example = f"{self.object_name}: {{{scalars[0]}: …}}"
            message = (
                f"dimension '{name}' does not say where it lives: expected '{example}', got '{scalars[0]}: "
                f"{shown(places[scalars[0]])[1:-1]}'"
            )
            self._report("wrong-type", message, ("dimensions", name, scalars[0]), scalars[0])
            return
        for where in scalars:
            value = places[where]
            suggestion = f"{{default: {value}}}" if isinstance(value, str) else None
            hint = f"; for the same value everywhere write {suggestion}" if suggestion else ""
            message = f"expected a mapping name: value for dimension '{name}' of {where}, got {shown(value)}{hint}"
            self._report("wrong-type", message, ("dimensions", name, where), None, suggestion)

    def _amounts(self, name: str, where: str, values: Mapping[str, Any]) -> None:
        path: Path = ("dimensions", name, where)
        if where == "dynamic":
            self._dynamic(name, values, path)
            return
        default, places = values.get("default"), set(values)
        if is_long_form(values):
            settled = settle(LongAmounts, values, path, f"dimension '{name}' of {where}")
            self._add(settled.faults, settled.renamed)
            if settled.value is None:
                return
            default, values = settled.value.default, settled.value.values
        else:
            values = {entry: value for entry, value in values.items() if entry != "default"}
        if "default" in places and default is None:
            message = f"the default of dimension '{name}': expected a number, got nothing"
            self._report("wrong-type", message, (*path, "default"))
        scope = None if where == self.object_name else where
        self.stated[name, scope] = path
        if scope is None:
            self.builder.add_object_dimension(name, values, default, path)
        else:
            self.builder.add_scope_dimension(name, scope, values, default, path)

    def _dynamic(self, name: str, values: Mapping[str, Any], path: Path) -> None:
        settled = settle(DynamicAmounts, values, path, f"dynamic dimension '{name}'")
        self._add(settled.faults, settled.renamed)
        found: DynamicAmounts | None = settled.value
        if found is not None and not found.scope.startswith("\0"):
            self.builder.add_dynamic_object_dimension(name, found.scope, found.values, found.default, path)

    def _add(self, faults: list[Fault], renamed: Mapping[Path, str]) -> None:
        self.document.renamed.update(renamed)
        self.faults.extend(self.document.without_followers(faults))

    # -- who is where -----------------------------------------------------------------------------------------------

    def _assignment(self) -> None:
        contents = self.scenario.assignment
        listed = self.tables.containers if self.tables is not None else None
        if listed is not None:
            strangers = [name for name in contents if name not in listed]
            for name in strangers:
                self.faults.append(unknown_name(self.container_name, name, listed, ("assignment", name)))
                self.gaps.open(self.object_name)
            contents = {name: members for name, members in contents.items() if name in listed}
        self.builder.set_assignment(contents)

    def _unassigned(self) -> None:
        names: list[str] = []
        rows: list[int] = []
        for position, entry in enumerate(self.scenario.unassigned):
            own = [entry.name] if entry.count is None else [f"{entry.name}-{copy}" for copy in range(entry.count)]
            names.extend(own)
            rows.extend([position] * len(own))
            self._facts_of(entry, own, ("unassigned", position))
        if names:
            self.builder.add_unassigned(names, lambda row: ("unassigned", rows[row], "name"))

    def _facts_of(self, entry: Unassigned, names: list[str], path: Path) -> None:
        for dimension, value in entry.dimensions.items():
            place: Path = (*path, "dimensions", dimension)
            known = {name for name, scope in self.stated if scope is None} | set(self.scenario.dimensions)
            if known and dimension not in known:
                self.faults.append(unknown_name("dimension", dimension, sorted(known), place))
                continue
            self.gaps.declare("dimension", dimension)
            parts = value if isinstance(value, list) else [value]
            label = f"dimension '{dimension}' of '{entry.name}'"
            faults = FaultList()
            numbers = [exact_number(part, label, place, True, faults) for part in parts]
            self.faults.extend(map(_with_correction, faults))
            if not faults:
                copies = _copies(numbers if isinstance(value, list) else numbers[0], len(names))
                self.builder.add_object_dimension(dimension, Column(names, copies), None, place, more=True)
        for partition, groups in entry.partitions.items():
            self.gaps.declare("partition", partition)
            for group in dict.fromkeys(groups):
                column = Column(names, [group] * len(names))
                self.builder.add_partition(partition, column, (*path, "partitions", partition), more=True)
        for attribute, value in entry.attributes.items():
            column = Column(names, [value] * len(names))
            self.builder.add_attribute("object", attribute, column, (*path, "attributes", attribute))

    def _resolution(self) -> None:
        known = self.gaps.declared("dimension")
        for name, step in self.scenario.resolution.items():
            if name not in known:
                self.faults.append(unknown_name("dimension", name, sorted(known), ("resolution", name)))
            else:
                self.builder.resolution[name] = exact(step)

    # -- afterwards -------------------------------------------------------------------------------------------------

    def _with_all_places(self, fault: Fault) -> Fault:
        """Return the fault for an unknown place of a dimension with all that could stand there."""
        if fault.kind == "scope" and len(fault.path) == 3 and fault.path[0] == "dimensions":
            scopes = sorted(self.gaps.declared("scope"))
            return unknown_name(
                "scope", fault.value, [self.object_name, self.container_name, *scopes, "dynamic"], fault.path
            )
        return fault

    def _check_something_there(self, problem: Problem) -> None:
        if len(problem.containers) or self.gaps.is_open(self.container_name):
            return
        message = f"there is no {self.container_name}: list each under 'assignment', or in a table"
        where: Path = ("assignment",) if "assignment" in self.document.root else ()
        self._report("missing-field", message, where, "assignment")
        self.gaps.open(self.container_name)

    def _check_names_called_default(self, problem: Problem) -> None:
        """Report a ``default`` that may as well be the value of an object or item of that name."""
        for (name, scope), path in self.stated.items():
            if path[0] != "dimensions":
                continue
            known = problem.objects if scope is None else problem.scopes[scope].items if scope in problem.scopes else ()
            below = self.scenario.dimensions[name][str(path[2])]
            if isinstance(below, Mapping) and "default" in below and not is_long_form(below) and "default" in known:
                message = "'default' is a name here as well: put the values below 'values:', beside 'default:'"
                self._report("ambiguous-name", message, (*path, "default"), "default")


def _with_correction(fault: Fault) -> Fault:
    """Return a fault about a number together with the number that was probably meant."""
    label, colon, said = fault.message.partition(": expected a number")
    if fault.code != "wrong-type" or not colon or not isinstance(fault.value, str):
        return fault
    _, message, suggestion = own_error(WrongValue(f"expected a number{said}"), fault.value, label)
    return replace(fault, message=message, suggestion=suggestion)


def _copies(number: Any, count: int) -> Any:
    if isinstance(number, Fraction) and number.denominator == 1 and abs(number) < 2**61:
        return np.full(count, int(number), np.int64)
    return [number] * count
