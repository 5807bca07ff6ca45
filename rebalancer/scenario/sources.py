"""Where the rows of tables come from: files and queries of the scenario, or what a job puts in their place."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace

from rebalancer.problem import Fault, Path, unknown_name
from rebalancer.scenario.databases import DatabaseError, Databases
from rebalancer.scenario.files import Files
from rebalancer.scenario.override import Override
from rebalancer.scenario.sections import TableSource
from rebalancer.scenario.tables import Table, open_table
from rebalancer.scenario.urls import completed, filled, shown_url


@dataclass(frozen=True)
class Source:
    """Where the rows of one table come from.

    Parameters
    ----------
    what : str
        The table: what the scenario calls its rows.
    stated : TableSource
    path : Path
        Where it is stated.
    file : str
        The file that states it: what it names is relative to that.
    url : str or None
        The database of a query.
    url_path : Path
    replaced : bool
        Whether a job states it.
    """

    what: str
    stated: TableSource
    path: Path
    file: str
    url: str | None
    url_path: Path
    replaced: bool


@dataclass(frozen=True)
class ReadTable:
    """A table that was read.

    Parameters
    ----------
    what : str
        What its rows are: the objects, the containers, a scope.
    name : str
        Path of the file, or for a query the database and the table, without secrets.
    rows : int
    digest : str or None
        Of a query: SHA-256 of the rows.
    replaced : bool
        Whether a job stated where it comes from.
    """

    what: str
    name: str
    rows: int
    digest: str | None
    replaced: bool


class Sources:
    """Finds and opens the sources of a scenario's tables.

    Parameters
    ----------
    files : Files
    override : Override or None
    databases : Databases
        Stay open.
    faults : list of Fault
        Gets what is wrong.

    Attributes
    ----------
    read : list of ReadTable
    prefix : Path
        Of the paths into the document of the override.
    """

    def __init__(self, files: Files, override: Override | None, databases: Databases, faults: list[Fault]) -> None:
        self.files = files
        self.override = override
        self.databases = databases
        self.faults = faults
        self.read: list[ReadTable] = []
        self.prefix: Path = () if override is None else files.places.add(override.document)
        self._check_replaced()

    def _check_replaced(self) -> None:
        """Report tables that are to be replaced and are not there."""
        if self.override is None:
            return
        known = self.files.scenario.tables
        for what, sources in self.override.tables.items():
            place = (*self.prefix, *self.override.tables_path, what)
            if what not in known:
                fault = unknown_name("table", what, list(known), place)
                hint = fault.message.partition(f"'{what}'")[2]
                message = f"the scenario '{self.files.main.document.file}' has no table '{what}'{hint}"
                self.faults.append(replace(fault, message=message, kind=None))
            elif len(sources) != len(known[what]):
                message = (
                    f"the scenario has {_counted(len(known[what]))} of '{what}', this states {_counted(len(sources))}: "
                    "list one source for each"
                )
                self.faults.append(Fault("wrong-value", message, place, what))

    def of(self, what: str, position: int, table: TableSource, path: Path) -> Source | None:
        """Return where a table of the scenario comes from; None where that is not stated, which is reported."""
        override = self.override
        if override is not None and what in override.tables:
            sources = override.tables[what]
            if position >= len(sources):
                return None
            stated = sources[position]
            place = (*self.prefix, *override.tables_path, what, position)
            own = stated.url is not None
            url_path = (*place, "url") if own else (*self.prefix, *override.url_path)
            return Source(
                what, stated, place, override.document.file, stated.url if own else override.url, url_path, True
            )
        file = self.files.main.document.file
        if self._is_sound(table, what, path):
            return Source(what, table, path, file, table.url, (*path, "url"), False)
        return None

    def _is_sound(self, table: TableSource, what: str, path: Path) -> bool:
        fields = ("file", "query", "url")
        lost = {(*path, field) for field in fields} | {("tables", what, field) for field in fields}
        if not lost.isdisjoint(self.files.incomplete):
            return False
        if table.file is None and table.query is None:
            self._fail("missing-field", "missing field 'file' (or 'query') of this table", path, "file")
        elif table.file is not None and table.query is not None:
            self._fail("unsupported-field", "a table has a 'file' or a 'query': state one of them", (*path, "query"))
        elif table.file is not None and table.url is not None:
            self._fail("unsupported-field", "a table from a file has no 'url'", (*path, "url"))
        elif table.query is not None and table.url is None:
            self._fail("missing-field", "missing field 'url' of this table: which database is asked?", path, "url")
        else:
            return True
        return False

    def _fail(self, code: str, message: str, path: Path, value: str | None = None) -> None:
        self.faults.append(Fault(code, message, path, value))

    def open(self, source: Source, wanted: Collection[str]) -> Table | None:
        """Return the columns of a table; None where it cannot be read, which is reported."""
        return self._open_file(source, wanted) if source.stated.query is None else self._open_query(source, wanted)

    def _open_file(self, source: Source, wanted: Collection[str]) -> Table | None:
        typed = source.stated.file or ""
        target = os.path.join(os.path.dirname(source.file), typed)
        table = open_table(target, os.path.normpath(target), typed, wanted)
        if isinstance(table, Fault):
            self.faults.append(replace(table, path=(*source.path, "file")))
            return None
        self.files.paths.append(target)
        if not isinstance(table, Table):
            self.faults.extend(table)
            return None
        self.read.append(ReadTable(source.what, target, table.rows, None, source.replaced))
        return table

    def _open_query(self, source: Source, wanted: Collection[str]) -> Table | None:
        from rebalancer.scenario.sql_table import read_rows

        typed = source.url or ""
        url = completed(typed, os.path.dirname(source.file))
        if isinstance(url, Fault):
            self.faults.append(replace(url, path=source.url_path))
            return None
        name = self._name(source, filled(typed))
        try:
            selection = self.databases.select(url, filled(typed), source.stated.query or "")
            table = read_rows(selection, name, wanted)
        except DatabaseError as error:
            place = source.url_path if error.field == "url" else (*source.path, "query")
            self.faults.append(replace(error.fault, path=place))
            return None
        if not isinstance(table, Table):
            self.faults.extend(table)
            return None
        self.read.append(ReadTable(source.what, name, table.rows, table.digest, source.replaced))
        return table

    def _name(self, source: Source, url: str) -> str:
        """Return what messages and plans call the rows of a query: two of one database have different names."""
        name, number = f"{shown_url(url)}#{source.what}", 1
        while any(read.name == name for read in self.read):
            number += 1
            name = f"{shown_url(url)}#{source.what} ({number})"
        return name


def _counted(number: int) -> str:
    return "1 table" if number == 1 else f"{number} tables"
