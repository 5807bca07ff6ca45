"""Memberships as users state them: group by group, or as a column; in one place or in several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.column import Column
from rebalancer.problem.errors import FaultList, Path
from rebalancer.problem.structure import Names

#: Group -> members, or a column member -> group.
Groups: TypeAlias = Mapping[str, Iterable[str]] | Column


@dataclass(frozen=True, eq=False)
class Memberships:
    """Memberships of known members, and where each was stated.

    Parameters
    ----------
    names : Names
        The groups, those without members too.
    group, member : int64 arrays of equal length
    """

    names: Names
    group: NDArray[np.int64]
    member: NDArray[np.int64]
    _parts: tuple[_Part, ...]

    def path_of(self, position: int) -> Path:
        """Return where one membership was stated."""
        for part in self._parts:
            if position < len(part.member):
                return part.path_of(position)
            position -= len(part.member)
        raise IndexError(position)


@dataclass(frozen=True, eq=False)
class _Part:
    """The memberships of one statement."""

    names: list[str]
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


def memberships(statements: Sequence[tuple[Groups, Path]], members: Names, what: str, faults: FaultList) -> Memberships:
    """Return all memberships that the statements make together; unknown members are reported and left out.

    Parameters
    ----------
    statements : sequence of (groups, path)
    members : Names
        Who can be a member.
    what : str
        What messages call a member.
    faults : FaultList
        Where unknown members are reported.
    """
    parts = [_read(groups, path, members, what, faults) for groups, path in statements]
    if len(parts) == 1:
        return Memberships(Names(parts[0].names), parts[0].group, parts[0].member, tuple(parts))
    names = Names(dict.fromkeys(name for part in parts for name in part.names))
    group = np.concatenate([names.lookup(part.names)[part.group] for part in parts])
    return Memberships(names, group, np.concatenate([part.member for part in parts]), tuple(parts))


def _read(groups: Groups, path: Path, members: Names, what: str, faults: FaultList) -> _Part:
    if isinstance(groups, Column):
        stated = dict.fromkeys(groups.values)
        stated.pop(None, None)
        names = Names(stated)
        member, group = members.lookup(groups.names), names.lookup(groups.values)
        faults.unknown_rows(what, groups.names, members, np.flatnonzero(member < 0), lambda row: (*path, row))
        if (member >= 0).all() and (group >= 0).all():
            rows = np.arange(len(member))
            return _Part(list(names), group, member, path, rows, None)
        rows = np.flatnonzero((member >= 0) & (group >= 0))
        return _Part(list(names), group[rows], member[rows], path, rows, None)
    listed = [list(content) for content in groups.values()]
    sizes = [len(content) for content in listed]
    flat = [name for content in listed for name in content]
    member = members.lookup(flat)
    group = np.repeat(np.arange(len(listed)), sizes)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    keys = list(groups)

    def path_of(row: int) -> Path:
        return (*path, keys[int(group[row])], row - int(start[group[row]]))

    faults.unknown_rows(what, flat, members, np.flatnonzero(member < 0), path_of)
    rows = np.flatnonzero(member >= 0)
    return _Part(keys, group[rows], member[rows], path, rows, start)
