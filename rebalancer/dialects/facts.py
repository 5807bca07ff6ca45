"""What is known about objects and containers: attributes, and scopes and partitions where there is no attribute."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rebalancer.problem import UNPLACED, Fault, Names, Path, Problem, Scope, nearest
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.selection import Selection

if TYPE_CHECKING:
    from rebalancer.dialects.base import Dialect

#: Stands for an item of another name: never equal to an item, nor to none.
_STRANGER = -2


class Facts:
    """Facts of a problem by name, and the scopes that are made of them.

    Parameters
    ----------
    problem : Problem
    statements : sequence of Dialect
        All that are translated with them.
    """

    def __init__(self, problem: Problem, statements: Sequence[Dialect] = ()) -> None:
        self.problem = problem
        self.statements = statements
        self.warnings: list[Fault] = []
        #: What a language worked out of the facts and needs again for its next statement.
        self.memory: dict[str, Any] = {}

    # -- reading ------------------------------------------------------------------------------------------------------

    def containers(self, name: str) -> list[Any]:
        """Return a fact about every container: its attribute, else its item of the scope of that name; None: none."""
        stated = self.problem.attributes.get(("container", name))
        if stated is not None:
            return list(map(stated.get, self.problem.containers))
        scope = self.problem.scopes.get(name)
        if scope is None:
            return [None] * len(self.problem.containers)
        return [None if item < 0 else scope.items[item] for item in scope.item_of[:-1].tolist()]

    def objects(self, name: str) -> list[Any]:
        """Return a fact about every object: its attribute, else the list of its groups of that partition; or None."""
        stated = self.problem.attributes.get(("object", name))
        if stated is not None:
            return list(map(stated.get, self.problem.objects))
        out: list[Any] = [None] * len(self.problem.objects)
        partition = self.problem.partitions.get(name)
        if partition is not None:
            for group, member in zip(partition.group.tolist(), partition.member.tolist(), strict=True):
                out[member] = [*(out[member] or ()), partition.groups[group]]
        return out

    def texts(self, name: str) -> list[tuple[str, ...]]:
        """Return a fact about every object as the texts in it: none, one, or those of a list."""
        return [_texts(value) for value in self.objects(name)]

    def knows(self, name: str) -> bool:
        """Return whether any container has a fact."""
        return name in self.problem.scopes or bool(self.problem.attributes.get(("container", name)))

    def container_facts(self) -> list[str]:
        """Return the names of all facts about containers."""
        own = [name for kind, name in self.problem.attributes if kind == "container"]
        return list(dict.fromkeys([*own, *self.problem.scopes]))

    def note_unknown(self, name: str, path: Path) -> None:
        """Warn that no container has a fact."""
        if not self.knows(name):
            self.note_absent(self.problem.container_name, "attribute", name, self.container_facts(), path)

    def note_absent(self, who: str, what: str, name: str, known: Collection[str], path: Path) -> None:
        """Warn that nobody has something of a name, unless somebody does: legal, and probably misspelt."""
        if name in known:
            return
        close = nearest(name, known)
        hint = f"; did you mean '{close}'?" if close else ""
        self.warn(f"unknown-{what.replace(' ', '-')}", f"no {who} has the {what} '{name}'{hint}", path, name, close)

    def warn(self, code: str, message: str, path: Path, value: Any = None, suggestion: str | None = None) -> None:
        """Note what is legal but surprising, once."""
        fault = Fault(code, message, path, value, suggestion)
        if fault not in self.warnings:
            self.warnings.append(fault)

    # -- stating ------------------------------------------------------------------------------------------------------

    def scope(self, name: str, items: Sequence[str | None]) -> str:
        """Return the name of the scope in which each container has a given item (None: none).

        A scope of the problem where one is just that, else a new one.

        Parameters
        ----------
        name : str
            What a new one is called, with a number where the name is taken.
        """
        names = Names(dict.fromkeys(item for item in items if item is not None))
        item_of = np.append(names.lookup(items), UNPLACED).astype(np.int32)
        own = self.problem.scopes[self.problem.container_name]
        if _same(own, names, item_of):
            return own.name
        candidate, number = name, 1
        while candidate in self.problem.scopes:
            if _same(self.problem.scopes[candidate], names, item_of):
                return candidate
            number += 1
            candidate = f"{name} ({number})"
        known = {**self.problem.scopes, candidate: Scope(candidate, names, item_of)}
        self.problem = replace(self.problem, scopes=known)
        return candidate

    def selection(self, objects: IntArray) -> Selection:
        """Return objects, given by index, as a spec names them."""
        return Selection(objects=tuple(self.problem.objects[position] for position in objects.tolist()))


def _same(scope: Scope, names: Names, item_of: Any) -> bool:
    """Return whether a scope has every container in the item of the given name."""
    known = names.lookup(list(scope.items))
    known[known < 0] = _STRANGER
    own = np.append(known, UNPLACED)[scope.item_of]
    return bool((own == item_of)[:-1].all())


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(map(str, value))
    if isinstance(value, Mapping):
        return tuple(map(str, value))
    return (str(value),)
