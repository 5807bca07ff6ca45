"""The parts of a problem: names, scopes, partitions, dimensions. Everything is dense indices and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebalancer.problem.membership import ByObject
from rebalancer.problem.numbers import IntArray

#: Assignment value of an object that is in no container. As an index it reaches the last entry of ``Scope.item_of``.
UNPLACED = -1


class Names(Sequence[str]):
    """Names of one kind in definition order, and the way back to their indices."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: list[str] = list(names)

    @cached_property
    def index(self) -> dict[str, int]:  # type: ignore[override]
        """Name to dense index."""
        return dict(zip(self._names, range(len(self._names)), strict=True))

    def lookup(self, names: Iterable[Any]) -> NDArray[np.int64]:
        """Return the index of each name, -1 for unknown ones."""
        wanted = names if isinstance(names, list) else list(names)
        if wanted == self._names:  # a column of the table that made the names: the very same texts, compared at once
            return np.arange(len(wanted), dtype=np.int64)
        return np.fromiter(map(self.index.get, wanted, repeat(-1)), np.int64, len(wanted))

    @cached_property
    def array(self) -> NDArray[np.object_]:
        """The names as an object array, for taking many at once."""
        out = np.empty(len(self._names), object)
        out[:] = self._names
        return out

    def __getitem__(self, position: Any) -> Any:
        return self._names[position]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self.index

    def __repr__(self) -> str:
        shown = ", ".join(self._names[:5]) + (", …" if len(self) > 5 else "")
        return f"Names({len(self)}: {shown})"


@dataclass(frozen=True, eq=False)
class Scope:
    """A grouping of containers.

    Parameters
    ----------
    items : Names
    item_of : int32 array of length containers + 1
        Scope item of each container, -1 for none; the last entry is that of "no container".
    """

    name: str
    items: Names
    item_of: NDArray[np.int32]

    @property
    def covers_all(self) -> bool:
        """Whether every container lies in some item."""
        return bool((self.item_of[:-1] >= 0).all())

    def among(self, items: IntArray) -> NDArray[np.int32]:
        """Return `item_of` with positions among some items in the place of items, and -1 for all others."""
        position = np.full(len(self.items) + 1, -1, np.int32)
        position[items] = np.arange(len(items), dtype=np.int32)
        return position[self.item_of]


@dataclass(frozen=True, eq=False)
class Partition:
    """A grouping of objects. Groups may overlap; an object may be in none.

    Parameters
    ----------
    groups : Names
    group, member : int32 arrays of equal length
        The memberships, sorted by group, then by object.
    """

    name: str
    groups: Names
    group: NDArray[np.int32]
    member: NDArray[np.int32]

    @cached_property
    def sizes(self) -> IntArray:
        """Number of objects of each group."""
        return np.bincount(self.group, minlength=len(self.groups)).astype(np.int64)

    @cached_property
    def by_object(self) -> ByObject:
        """The memberships by object."""
        return ByObject(self.member)

    @cached_property
    def overlapping(self) -> bool:
        """Whether some object is in more than one group."""
        return len(np.unique(self.member)) < len(self.member)

    def members(self, group: int) -> NDArray[np.int32]:
        """Return the objects of one group."""
        return self.members_of(np.array([group]))[1]

    def members_of(self, groups: IntArray) -> tuple[IntArray, NDArray[np.int32]]:
        """Return the objects of several groups, one after the other, and the position in ``groups`` of each."""
        start = np.searchsorted(self.group, groups)
        size = self.sizes[groups]
        row = np.repeat(np.arange(len(groups)), size)
        return row, self.member[np.arange(len(row)) + np.repeat(start - np.cumsum(size) + size, size)]


@dataclass(frozen=True, eq=False)
class DynamicValues:
    """What an object weighs depends on where it is.

    Parameters
    ----------
    scope : str
        Scope whose items decide.
    key : int64 array
        Sorted ``item * objects + object`` of the listed pairs.
    value : int64 array
        Their fixed-point values.
    default : int
        Fixed-point value of all other pairs, and outside the scope.
    """

    scope: str
    key: IntArray
    value: IntArray
    default: int

    def at(self, item: NDArray[Any], obj: NDArray[Any], objects: int) -> IntArray:
        """Return the weight of each object ``obj[i]`` in item ``item[i]`` (-1: in no item)."""
        if not len(self.key):
            return np.full(len(obj), self.default, np.int64)
        wanted = item.astype(np.int64) * objects + obj
        slot = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        return np.where((self.key[slot] == wanted) & (item >= 0), self.value[slot], self.default)


@dataclass(frozen=True, eq=False)
class ObjectDimension:
    """What objects use.

    Parameters
    ----------
    values : int64 array, shape (objects, components)
        Fixed-point values; one component unless the dimension is a vector. Unused (zero) where ``dynamic`` is given.
    scale : int
        True value = fixed-point value / scale.
    dynamic : DynamicValues or None
    rounded : bool
        Whether values lost digits.
    """

    name: str
    values: IntArray
    scale: int
    dynamic: DynamicValues | None = None
    rounded: bool = False

    @property
    def components(self) -> int:
        """How many numbers each object has."""
        return int(self.values.shape[1])

    @property
    def is_vector(self) -> bool:
        """Whether objects have more than one number."""
        return self.components > 1

    @property
    def smallest(self) -> int:
        """The smallest fixed-point value."""
        if self.dynamic is not None:
            return int(
                min([self.dynamic.default, *([int(self.dynamic.value.min())] if len(self.dynamic.value) else [])])
            )
        return int(self.values.min(initial=0))


@dataclass(frozen=True, eq=False)
class ScopeDimension:
    """What the items of a scope offer.

    Parameters
    ----------
    values : int64 array, one per scope item
    scale : int
    defined : bool
        False for the implicit capacity of 1 that nobody stated.
    defaulted : int
        How many items were given no value and fell back to 1 because nobody stated a default either.
    rounded : bool
        Whether values lost digits.
    """

    name: str
    scope: str
    values: IntArray
    scale: int
    defined: bool = True
    defaulted: int = 0
    rounded: bool = False

    @cached_property
    def exact(self) -> tuple[Fraction, ...]:
        """What each item offers, as exact numbers. Thousands of specs may ask for it."""
        known = {value: Fraction(value, self.scale) for value in np.unique(self.values).tolist()}
        return tuple(known[value] for value in self.values.tolist())
