"""A file that was read: its value, and where each part of it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from rebalancer.problem import Fault, Path
from rebalancer.specs.fields import field_key

#: Line and column, counted from 1.
Mark: TypeAlias = tuple[int, int]


class Marks(NamedTuple):
    """Where a collection and its parts stand.

    Parameters
    ----------
    start : Mark
    entries : dict of key to (mark of the key, mark of the value), or list of marks
    flow : bool
        Whether it is written in brackets.
    """

    start: Mark
    entries: Any
    flow: bool


@dataclass(eq=False)
class Document:
    """The value of one file.

    Parameters
    ----------
    file : str
        Its name in messages.
    root : object
        Nested dictionaries, lists, texts and None; None as well where nothing could be read.
    marks : dict
        Identity of each collection to its marks.
    faults : list of Fault
        What is wrong with the text itself.
    blocks : dict of Mark to int
        Texts written as blocks (``|``), by where they begin, to the column of their lines.
    renamed : dict
        Paths to the keys that were typed there, where a misspelt key is read as the one that was meant.
    """

    file: str
    root: Any
    marks: dict[int, Marks] = field(repr=False)
    faults: list[Fault]
    blocks: dict[Mark, int] = field(default_factory=dict, repr=False)
    renamed: dict[Path, str] = field(default_factory=dict, repr=False)

    def place(self, path: Path, named: Any = None) -> Mark:
        """Return where the value at a path stands, or its nearest ancestor that exists.

        Parameters
        ----------
        path : tuple of str or int
            Keys may be given in snake_case however they were typed. A number below a text is one of its lines.
        named : object
            The value that a fault complains about: where it is the last key itself, the key's own place is returned.
        """
        value, mark = self.root, (1, 1)
        for position, step in enumerate(path):
            marks = self.marks.get(id(value))
            if marks is None:
                if isinstance(step, int) and mark in self.blocks:
                    mark = (mark[0] + 1 + step, self.blocks[mark])
                break
            if isinstance(value, list):
                if isinstance(step, str) and step in value:
                    step = value.index(step)  # a list of names that is read as a mapping
                elif isinstance(step, str):
                    continue  # a list in the place of the mapping that would hold it
                if not isinstance(step, int) or not -len(value) <= step < len(value):
                    break
                mark, value = marks.entries[step], value[step]
                continue
            if isinstance(step, int):
                continue  # one entry written without the list around it
            found = self._find(value, step, path[: position + 1])
            if found is None:
                break
            if len(found) == 2:
                marks = self.marks[id(value[found[0]])]
                value = value[found[0]]
            key_mark, value_mark = marks.entries[found[-1]]
            value = value[found[-1]]
            at_key = _stands_at_key(value) or (position == len(path) - 1 and named is not None and named == found[-1])
            mark = key_mark if at_key else value_mark
        return mark

    def without_followers(self, faults: Iterable[Fault]) -> list[Fault]:
        """Return those of some faults that do not merely follow from one of the text at the same path."""
        broken = {fault.path for fault in self.faults if fault.path}
        unmerged = {path[:-1] for path in broken if path[-1] == "<<"}
        return [
            fault
            for fault in faults
            if fault.path not in broken and not (fault.code == "missing-field" and fault.path in unmerged)
        ]

    def _find(self, value: Mapping[str, Any], step: str, path: Path) -> tuple[str, ...] | None:
        """Return the typed key that a step means, after ``values`` where it stands in the long form of a dimension."""
        if step in value:
            return (step,)
        if path in self.renamed:
            return (self.renamed[path],)
        for key in value:
            if field_key(key) == step:
                return (key,)
        inner = value.get("values")
        return ("values", step) if isinstance(inner, dict) and step in inner else None


def _stands_at_key(value: Any) -> bool:
    """Return whether a value is pointed at by its key: a block starts on a later line, and nothing is nowhere."""
    return value is None or isinstance(value, dict | list)
