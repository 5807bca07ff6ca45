"""Which steps have to wait for which, so that an executor may start each as early as it is safe.

A step that needs room takes it from what is free at the start, or from steps of earlier waves that give it back: then
it waits for exactly those. Room that every started step holds, and that only finished steps have given, never runs
out, in whatever order the executor goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rebalancer.plan.room import Room
from rebalancer.problem.numbers import IntArray

#: A batch that would wait for another step by step, with more pairs than this, waits for the wave instead.
_MOST_PAIRS = 20_000


@dataclass(frozen=True, eq=False)
class Waiting:
    """Who waits for whom.

    Parameters
    ----------
    later, earlier : int64 arrays of equal length
        Step ``later[i]`` waits for step ``earlier[i]``; sorted, each pair once.
    wave : int64 array, one per step
        All steps up to this wave have to be done; -1: none as a whole.
    """

    later: IntArray
    earlier: IntArray
    wave: IntArray

    def each(self) -> Iterator[list[int]]:
        """Yield, step by step, the steps that it waits for."""
        first = np.searchsorted(self.later, np.arange(len(self.wave) + 1)).tolist()
        earlier: list[int] = self.earlier.tolist()
        yield from (earlier[begin:end] for begin, end in pairwise(first))


def waiting(
    room: Room, legs: IntArray, wave: IntArray, who: IntArray, batches: list[tuple[IntArray, IntArray]]
) -> Waiting:
    """Return what each step of a plan has to wait for.

    Parameters
    ----------
    room : Room
        Knows what legs take and give; its slack is not looked at.
    legs, wave, who : int64 arrays, one per step, by wave
        The leg, wave and object of each step.
    batches : list of (cell, step)
        What has to hold between waves: steps that touch the same cell go wave by wave.
    """
    later: list[int] = []
    earlier: list[int] = []
    _tokens(room, legs, wave, later, earlier)
    _same_object(who, later, earlier)
    barrier = np.full(len(legs), -1, np.int64)
    for cell, step in batches:
        _batches(cell, step, wave, later, earlier, barrier)
    pairs = np.unique(np.array([later, earlier], np.int64).T.reshape(-1, 2), axis=0)
    return Waiting(pairs[:, 0], pairs[:, 1], barrier)


def _tokens(room: Room, legs: IntArray, wave: IntArray, later: list[int], earlier: list[int]) -> None:
    """Let each step that needs room wait for those that give it: of all that do, for those that are done soonest."""
    which, row = room.entries(legs)
    slot = room.slot[row]
    demand = np.zeros(len(room.keys), np.int64)
    np.add.at(demand, slot, room.take[row])
    free = room.ledger.slack(room.keys)
    scarce = np.flatnonzero(demand[slot] > free[slot])
    which, slot, row = which[scarce], slot[scarce], row[scarce]
    left: dict[int, int] = dict(zip(slot.tolist(), free[slot].tolist(), strict=True))
    given: dict[int, list[tuple[int, int, int]]] = {}  # by resource: depth, step and amount of what was given back
    depth = [0] * len(legs)
    first = np.searchsorted(wave[which], np.arange(int(wave.max(initial=-1)) + 2))  # steps are sorted by wave
    entries = list(zip(which.tolist(), slot.tolist(), room.take[row].tolist(), room.give[row].tolist(), strict=True))
    for begin, end in pairwise(first.tolist()):
        for step, resource, take, _ in entries[begin:end]:
            used = min(left[resource], take)
            left[resource] -= used
            take -= used
            heap = given.get(resource, [])
            while take > 0 and heap:
                known, other, amount = heap[0]
                used = min(amount, take)
                take -= used
                later.append(step)
                earlier.append(other)
                depth[step] = max(depth[step], known + 1)
                if used == amount:
                    heappop(heap)
                else:
                    heap[0] = known, other, amount - used  # its place in the heap stays
        for step, resource, _, give in entries[begin:end]:  # what a wave gives back is there for the next one
            if give:
                heappush(given.setdefault(resource, []), (depth[step], step, give))


def _same_object(who: IntArray, later: list[int], earlier: list[int]) -> None:
    """Let the second leg of a staged object wait for the first."""
    order = np.argsort(who, kind="stable")
    again = np.flatnonzero(who[order][1:] == who[order][:-1])
    earlier += order[again].tolist()
    later += order[again + 1].tolist()


def _batches(
    cell: IntArray, step: IntArray, wave: IntArray, later: list[int], earlier: list[int], barrier: IntArray
) -> None:
    """Let the steps of each wave that touch a cell wait for those of the wave before that touch it."""
    order = np.lexsort((wave[step], cell))
    cell, step = cell[order], step[order]
    number = wave[step]
    first = np.flatnonzero(np.concatenate([[True], (cell[1:] != cell[:-1]) | (number[1:] != number[:-1])]))
    blocks = np.split(step, first[1:])
    for position in range(1, len(blocks)):
        before, after = blocks[position - 1], blocks[position]
        if cell[first[position]] != cell[first[position - 1]]:
            continue
        if len(before) * len(after) > _MOST_PAIRS:
            barrier[after] = np.maximum(barrier[after], wave[before[0]])
            continue
        later += np.repeat(after, len(before)).tolist()
        earlier += np.tile(before, len(after)).tolist()


def depths(found: Waiting, steps: int) -> NDArray[np.int64]:
    """Return the earliest wave of each step, counted from 0: one after the latest that it waits for."""
    depth = np.zeros(steps, np.int64)
    start = np.searchsorted(found.later, np.arange(steps + 1))
    for step in range(steps):  # those that a step waits for come before it
        others = found.earlier[start[step] : start[step + 1]]
        if len(others):
            depth[step] = int(depth[others].max()) + 1
    return depth
