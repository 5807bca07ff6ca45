"""From the path of a fault to the file, line and column where the value stands."""

from __future__ import annotations

from typing import Any, Protocol

from rebalancer.problem import Fault, Path
from rebalancer.scenario.document import Document, Mark


class Source(Protocol):
    """Something read from a file that knows where its parts stand."""

    file: str

    def place(self, path: Path, named: Any = None) -> Mark:
        """Return line and column of the part at a path; ``named``: the value that a fault complains about."""


class Places:
    """Where everything of a scenario stands.

    A path starts in the scenario file, unless its first step is the prefix that `add` gave to another file.

    Parameters
    ----------
    main : Document
        The scenario file.
    """

    def __init__(self, main: Document) -> None:
        self._main = main
        self._others: dict[str, Source] = {}

    def add(self, source: Source) -> Path:
        """Make another file known, and return the prefix of the paths into it."""
        prefix, number = source.file, 1
        while prefix in self._others:
            number += 1
            prefix = f"{source.file} ({number})"
        self._others[prefix] = source
        return (prefix,)

    def locate(self, fault: Fault) -> Fault:
        """Return a fault with its place; one that has a place already keeps it."""
        if fault.file is not None:
            return fault
        source, path = self._source(fault.path)
        return fault.at(source.file, *source.place(path, fault.value))

    def _source(self, path: Path) -> tuple[Source, Path]:
        if path and isinstance(path[0], str) and path[0] in self._others:
            return self._others[path[0]], path[1:]
        return self._main, path
