"""The ``tables`` of a scenario: which column states what."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from rebalancer.problem import Column, Fault, Names, Path, ProblemBuilder, unknown_name
from rebalancer.scenario.files import Files
from rebalancer.scenario.gaps import Gaps
from rebalancer.scenario.sections import TableFile
from rebalancer.scenario.settle import MISSING
from rebalancer.scenario.sources import Sources
from rebalancer.scenario.tables import Table

#: Fields that only tables of objects, of containers, of scopes have.
_FIELDS = {
    "object": ("container", "dimensions", "partitions", "attributes"),
    "container": ("scopes", "dimensions", "attributes"),
    "scope": ("dimensions",),
}


class TableSections:
    """Reads all tables of a scenario into a builder.

    Parameters
    ----------
    files : Files
    sources : Sources
        Where the rows of each come from.
    builder : ProblemBuilder
    gaps : Gaps
    faults : list of Fault
        Gets what is wrong.
    stated : dict
        Gets (dimension, scope or None) -> where it is stated first.

    Attributes
    ----------
    containers : Names or None
        All containers that tables list; None where no table lists any.
    """

    def __init__(
        self,
        files: Files,
        sources: Sources,
        builder: ProblemBuilder,
        gaps: Gaps,
        faults: list[Fault],
        stated: dict[tuple[str, str | None], Path],
    ) -> None:
        self.files = files
        self.scenario = files.scenario
        self.sources = sources
        self.builder = builder
        self.gaps = gaps
        self.faults = faults
        self.stated = stated
        self.containers: Names | None = None
        self._listed: list[str] = []
        self._lists_containers = False
        self._placements: list[Column] = []

    def read(self) -> None:
        """Read every table."""
        self._declare_scopes()
        for what, tables in self.scenario.tables.items():
            kind = self._kind(what)
            if kind is None:
                known = [self.gaps.object_name, self.gaps.container_name, *sorted(self.gaps.declared("scope"))]
                self.faults.append(unknown_name("kind of table", what, known, ("tables", what)))
                self._lose(what, kind, *tables)
                continue
            for position, stated in enumerate(tables):
                self._one(what, kind, stated, position)
        self._derive_containers()

    def _declare_scopes(self) -> None:
        for tables in self.scenario.tables.values():
            for table in tables:
                for name in table.scopes:
                    self.gaps.declare("scope", name)
                for name in table.partitions:
                    self.gaps.declare("partition", name)
                for name in table.dimensions:
                    self.gaps.declare("dimension", name)

    def _kind(self, what: str) -> str | None:
        if what == self.gaps.object_name:
            return "object"
        if what == self.gaps.container_name:
            return "container"
        return "scope" if what in self.gaps.declared("scope") else None

    def _lose(self, what: str, kind: str | None, *tables: TableFile) -> None:
        """Note what could not be read of tables."""
        self.gaps.open(*(name for table in tables for name in (*table.scopes, *table.partitions)))
        if kind != "scope":
            self.gaps.open("scope" if any(table.attributes for table in tables) else what)
            self.gaps.open("partition" if any(table.attributes for table in tables) else what)
        if kind in ("object", None):
            self.gaps.open(self.gaps.object_name)
        derived = (
            kind == "object" and self.gaps.container_name not in self.scenario.tables and not self.scenario.assignment
        )
        if kind in ("container", None) or derived:
            self.gaps.open(self.gaps.container_name)

    def _derive_containers(self) -> None:
        """Take the containers from where objects are, where nothing lists them."""
        if self._lists_containers:
            self.containers = Names(dict.fromkeys(self._listed))
        elif self._placements and not self.scenario.assignment and not self.gaps.is_open(self.gaps.container_name):
            found = dict.fromkeys(name for column in self._placements for name in dict.fromkeys(column.values))
            self.builder.add_containers([name for name in found if name is not None])

    # -- one table --------------------------------------------------------------------------------------------------

    def _one(self, what: str, kind: str, stated: TableFile, position: int) -> None:
        path: Path = ("tables", what, position)
        self._check_fields(what, kind, stated, path)
        source = self.sources.of(what, position, stated, path)
        columns = self._columns(kind, stated, path)
        table = None if source is None else self.sources.open(source, {column for column, _ in columns})
        if source is None or table is None:
            self._lose(what, kind, stated)
            return
        prefix = self.files.places.add(table)
        missing = self._check_columns(table, source.stated.file, columns)
        if stated.key in missing or stated.key.startswith(MISSING):
            self._lose(what, kind, stated)
        else:
            self._state(what, kind, stated, table, prefix, missing)
        self.faults.extend(table.faults)

    def _check_fields(self, what: str, kind: str, stated: TableFile, path: Path) -> None:
        for field in ("container", "partitions", "scopes", "attributes"):
            if getattr(stated, field) and field not in _FIELDS[kind]:
                owner = "objects" if field in ("container", "partitions") else "containers"
                message = f"a table of {what} has no '{field}': that belongs to tables of {owner}"
                self.faults.append(Fault("unsupported-field", message, (*path, field), field))
        if kind == "object" and stated.container is None and not self._placed_elsewhere():
            where = self.gaps.container_name
            message = f"missing field 'container' of this table: which column says in which {where} each {what} is?"
            self.faults.append(Fault("missing-field", message, path, "container"))
            self.gaps.open(self.gaps.object_name, self.gaps.container_name)

    def _placed_elsewhere(self) -> bool:
        tables = self.scenario.tables.get(self.gaps.object_name, ())
        return bool(self.scenario.assignment or self.scenario.unassigned) or any(table.container for table in tables)

    def _columns(self, kind: str, stated: TableFile, path: Path) -> list[tuple[str, Path]]:
        """Return every column that is asked for, and where."""
        columns: list[tuple[str, Path]] = [(stated.key, (*path, "key"))]
        if stated.container is not None and kind == "object":
            columns.append((stated.container, (*path, "container")))
        for field in _FIELDS[kind]:
            if field != "container":
                named: Mapping[str, str] = getattr(stated, field)
                columns += [(column, (*path, field, name)) for name, column in named.items()]
        return [(column, place) for column, place in columns if not column.startswith(MISSING)]

    def _check_columns(self, table: Table, file: str | None, columns: list[tuple[str, Path]]) -> set[str]:
        missing = set()
        whose = f"'{file}'" if file is not None else f"the query of '{table.file}'"
        for column, place in columns:
            if column not in table.header:
                missing.add(column)
                fault = unknown_name("column", column, table.header, place)
                message = f"{whose} has no column '{column}'{fault.message.partition(column + chr(39))[2]}"
                self.faults.append(replace(fault, code="missing-column", message=message, kind=None))
        return missing

    def _state(
        self, what: str, kind: str, stated: TableFile, table: Table, prefix: Path, missing: Collection[str]
    ) -> None:
        keys = table.keys(stated.key)
        if keys is None:
            self._lose(what, kind, stated)
            return
        if any(fault.code == "empty-name" for fault in table.faults):
            self.gaps.open(what)
        place = (*prefix, stated.key)
        if kind == "container":
            self._listed.extend(keys)
            self._lists_containers = True
            self.builder.add_containers(keys, place)
        if kind == "object" and stated.container is not None:
            self._place(keys, stated, table, prefix, missing)
        groupings: list[tuple[str, Any, Mapping[str, str]]] = []
        if kind == "object":
            groupings.append(("partition", self.builder.add_partition, stated.partitions))
        if kind == "container":
            groupings.append(("scope", self.builder.add_scope, stated.scopes))
        for _, add, named in groupings:
            for name, column in named.items():
                values = None if column in missing else table.names(column)
                if values is None:
                    self.gaps.open(name)
                else:
                    add(name, Column(keys, values), (*prefix, column), more=True)
        for name, column in stated.dimensions.items():
            numbers = None if column in missing else table.numbers(column)
            if numbers is not None:
                self._amounts(name, None if kind == "object" else what, Column(keys, numbers), (*prefix, column))
        if kind in ("object", "container"):
            for name, column in stated.attributes.items():
                values = None if column in missing else table.values(column)
                self.gaps.declare("scope" if kind == "container" else "partition", name)
                if values is not None:
                    self.builder.add_attribute(kind, name, Column(keys, values), (*prefix, column))

    def _place(self, keys: list[str], stated: TableFile, table: Table, prefix: Path, missing: Collection[str]) -> None:
        column = stated.container or ""
        containers = None if column in missing else table.names(column)
        if containers is None:
            self.gaps.open(self.gaps.object_name, self.gaps.container_name)
            return
        placements = Column(keys, containers)
        self._placements.append(placements)
        self.builder.add_placements(placements, (*prefix, column), (*prefix, stated.key))

    def _amounts(self, name: str, scope: str | None, column: Column, path: Path) -> None:
        self.stated.setdefault((name, scope), path)
        if scope is None:
            self.builder.add_object_dimension(name, column, None, path, more=True)
        else:
            self.builder.add_scope_dimension(name, scope, column, None, path, more=True)
