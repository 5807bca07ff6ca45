"""What objects weigh in a tally, by where they are."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rebalancer.model import Family, Model, Tally
from rebalancer.problem.numbers import IntArray


@dataclass(eq=False)
class Members:
    """What objects weigh in a tally: ``default`` anywhere, but ``weight`` where ``condition`` is ``item``.

    Parameters
    ----------
    group, member : int64 arrays
    default : int64 array
    row, item, weight : int64 arrays
        Exceptions, sorted by row: membership, item by ``condition``, weight there.
    condition : int32 array (containers + 1) or None
    """

    group: NDArray[np.int64]
    member: NDArray[np.int64]
    default: IntArray
    row: IntArray
    item: IntArray
    weight: IntArray
    condition: NDArray[np.int32] | None

    def groups_as(self, other: Members) -> bool:
        """Return whether the same objects are in the same groups, in the same order."""
        return np.array_equal(self.group, other.group) and np.array_equal(self.member, other.member)

    def digest(self) -> bytes:
        """Return a digest of all of it: what has the same one counts the same."""
        known = blake2b(digest_size=16)
        for part in (self.group, self.member, self.default, self.row, self.item, self.weight, self.condition):
            known.update(b"-" if part is None else np.ascontiguousarray(part).data)
            known.update(b"|")
        return known.digest()


def members_of(tally: Tally, model: Model) -> Members:
    """Return what the members of a tally weigh, by where they are."""
    none = np.empty(0, np.int64)
    if tally.dynamic is not None:
        assert tally.dynamic_item is not None
        objects = len(model.problem.objects)
        owner, item = tally.dynamic.key % max(1, objects), tally.dynamic.key // max(1, objects)
        by_object = np.argsort(owner, kind="stable")
        start = np.searchsorted(owner[by_object], np.arange(objects + 1))
        count = np.diff(start)[tally.member]
        row = np.repeat(np.arange(len(tally.member)), count)
        within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        entry = by_object[np.repeat(start[tally.member], count) + within]
        default = np.full(len(tally.member), tally.dynamic.default, np.int64)
        if tally.family is Family.AFTER:
            return Members(
                tally.group, tally.member, default, row, item[entry], tally.dynamic.value[entry], tally.dynamic_item
            )
        return _stayed_dynamic(tally, model)
    if tally.family is Family.AFTER:
        return Members(tally.group, tally.member, tally.weight, none, none, none, None)
    home = tally.home[tally.member].astype(np.int64)
    row = np.flatnonzero(home >= 0)
    zero = np.zeros(len(tally.member), np.int64)
    return Members(tally.group, tally.member, zero, row, home[row], tally.weight[row], tally.item_of)


def _stayed_dynamic(tally: Tally, model: Model) -> Members:
    """Weights by place that count only at home: looked up container by container, since two groupings decide."""
    containers = len(model.problem.containers)
    home = tally.home[tally.member]
    inside = [np.flatnonzero(tally.item_of[:containers] == item) for item in np.unique(home[home >= 0]).tolist()]
    by_item = dict(zip(np.unique(home[home >= 0]).tolist(), inside, strict=True))
    lost = int(tally.item_of[-1])
    row, place = [], []
    for index, item in enumerate(home.tolist()):
        if item >= 0:
            here = by_item[item] if item != lost else np.append(by_item[item], containers)
            row.append(np.full(len(here), index))
            place.append(here)
    rows = np.concatenate(row) if row else np.empty(0, np.int64)
    places = np.concatenate(place).astype(np.int64) if place else np.empty(0, np.int64)
    weight = tally.weight_at(rows, np.where(places == containers, -1, places), len(model.problem.objects))
    each = np.arange(containers + 1, dtype=np.int32)
    return Members(tally.group, tally.member, np.zeros(len(home), np.int64), rows, places, weight, each)


def together(left: Members, a: int, right: Members, b: int) -> Members:
    """Return memberships that weigh ``a · left + b · right``."""
    most = 1 + max(int(m.member.max(initial=0)) for m in (left, right))
    keys = [m.group * most + m.member for m in (left, right)]
    unique, slot = np.unique(np.concatenate(keys), return_inverse=True)
    slots = slot[: len(keys[0])], slot[len(keys[0]) :]
    default = np.zeros(len(unique), np.int64)
    parts: list[tuple[IntArray, IntArray]] = []
    for members, factor, at in ((left, a, slots[0]), (right, b, slots[1])):
        np.add.at(default, at, members.default * factor)
        # an exception as what it adds to the default
        parts.append((at[members.row], members.item))
    span = 1 + max((int(item.max(initial=0)) for _, item in parts), default=0)
    entry = np.unique(np.concatenate([row * span + item for row, item in parts]))
    weight = default[entry // span].copy()
    for (row, item), members, factor in zip(parts, (left, right), (a, b), strict=True):
        extra = (members.weight - members.default[members.row]) * factor
        np.add.at(weight, np.searchsorted(entry, row * span + item), extra)
    condition: NDArray[np.int32] | None = left.condition if left.condition is not None else right.condition
    return Members(unique // most, unique % most, default, entry // span, entry % span, weight, condition)
