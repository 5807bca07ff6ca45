"""One searcher's own record: random numbers, what it looks for, and the moves it made since its best answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rebalancer.engines.local_search.kernels.addresses import Arrays, Float64, Int32, Int64, UInt64, table_of
from rebalancer.engines.local_search.kernels.jit import FLOAT, INT, apart, inner, kernel
from rebalancer.engines.local_search.kernels.lanes import fill_lanes
from rebalancer.engines.local_search.kernels.layout import (
    C_VALUES,
    C_WIDTH,
    FLAT,
    N_BROKEN,
    N_LEANING,
    Z_COLUMNS,
    Z_CONTAINERS,
    Z_OBJECTS,
    Z_POSITIONS,
    Z_SINGLES,
)
from rebalancer.engines.local_search.kernels.propagate import fine, flush, integer, shift

#: What is in ``numbers``.
T_LENGTH, T_BEST, T_ROOM, T_POSITION, T_TRIED, T_KEPT, T_REFUSED, T_REACH, T_RELAXED, T_BLIND = range(10)
T_GUESSES, T_HITS, T_PICKY, T_LARGEST = 10, 11, 12, 13
T_WIDTH = 14
#: What is in ``merits``: of where the searcher stands, and of the best that it has seen.
M_NOW, M_BEST = range(2)

#: So many objects of a container are ranked at once.
LOT = 1024

#: Containers in a block, at most.
WIDEST = 256

#: In trades: objects of a container that are looked at, exchanges with the other one besides, sets of these, and lanes
#: that bend.
SOME, MATES, SETS, BENT = 12, 4, 256, 48

#: The merit of what breaks a bound that must hold.
NEVER = 1e300


@dataclass(frozen=True, eq=False)
class Trail(Arrays):
    """Arrays of one searcher.

    Moves are logged as (object, container it left); the first ``numbers[T_BEST]`` of them lead to the best answer.
    While bounds are relaxed (``numbers[T_RELAXED]``) no answer counts. In trades sets have at most
    ``numbers[T_LARGEST]`` things.
    """

    random: UInt64  # (1,)
    numbers: Int64  # (T_WIDTH,)
    merits: Float64  # (2,)
    marks: Int64  # the integers of the tuple positions now
    best: Int64  # those of the best answer
    worth: Float64  # weight of each tuple position
    object: Int32
    source: Int32
    cost: Float64  # scratch for blocks
    to: Int32  # scratch for blocks
    fill: Float64  # scratch for blocks: how well each would be filled
    queue: Int32  # here and below scratch for up to LOT objects that may leave a container: they,
    target: Int32  # where they would go,
    when: Int32  # after how many others that was found out,
    gain: Float64  # what is gained,
    price: Float64  # and what it costs where they go
    hope: Float64  # of all objects, the most that they could gain where they last looked, in classes
    bent: Int64  # of a trade: the lanes that bend,
    bits: Int64  # objects that take part in each thing that may happen,
    change: Float64  # what that adds where lanes bend in the one and the other container
    set_last: Int64  # of each set of things: the last of these,
    set_rest: Int64  # the set of the others,
    set_bits: Int64
    set_cost: Float64  # what they cost besides where lanes bend,
    set_change: Float64
    sorted: Int64  # sets of the other side
    reduced: Float64  # reduced cost of each object in each container and in none, where placements have to be within
    within: Float64  # (1,) this; NEVER: all may be had


#: Of the address that stands for one of these.
TRAIL = table_of(Trail)


def new_trail(positions: int, seed: int, objects: int, room: int = 1 << 16, placements: int = 0) -> Trail:
    """Return an empty trail, with room for the reduced costs of so many placements."""
    numbers = np.zeros(T_WIDTH, np.int64)
    numbers[T_ROOM] = room
    seeded = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
    return Trail(
        random=seeded,
        numbers=numbers,
        merits=np.zeros(2),
        marks=np.zeros(positions, np.int64),
        best=np.zeros(positions, np.int64),
        worth=np.zeros(positions),
        object=np.zeros(room, np.int32),
        source=np.zeros(room, np.int32),
        cost=np.zeros(WIDEST),
        to=np.zeros(WIDEST, np.int32),
        fill=np.zeros(WIDEST),
        queue=np.zeros(LOT, np.int32),
        target=np.zeros(LOT, np.int32),
        when=np.zeros(LOT, np.int32),
        gain=np.zeros(LOT),
        price=np.zeros(LOT),
        hope=np.full(objects, np.inf),
        bent=np.zeros(BENT, np.int64),
        bits=np.zeros(2 * (SOME + MATES), np.int64),
        change=np.zeros(2 * (SOME + MATES) * 2 * BENT),
        set_last=np.zeros(2 * SETS, np.int64),
        set_rest=np.zeros(2 * SETS, np.int64),
        set_bits=np.zeros(2 * SETS, np.int64),
        set_cost=np.zeros(2 * SETS),
        set_change=np.zeros(2 * SETS * 2 * BENT),
        sorted=np.zeros(SETS, np.int64),
        reduced=np.zeros(placements),
        within=np.full(1, NEVER),
    )


@inner
def draw(t: Any, n: int) -> int:
    """Return a random number below ``n`` (xorshift64*)."""
    x = t.random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    t.random[0] = x
    high = (x * np.uint64(2685821657736338717)) >> np.uint64(32)
    return np.int64((high * np.uint64(n)) >> np.uint64(32))  # type: ignore[return-value]


@inner
def draw_share(t: Any) -> float:
    """Return a random number above 0 and at most 1."""
    return (draw(t, 1 << 30) + 1) / float(1 << 30)


@inner
def outside(f: Any, t: Any, o: int, b: int) -> bool:
    """Return whether a placement is one that is left out."""
    return bool(t.within[0] < NEVER and t.reduced[o * (f.sizes[Z_CONTAINERS] + 1) + b] > t.within[0])


@inner
def merit(f: Any, t: Any) -> float:
    """Return what the searcher minimises where it stands; NEVER if a bound that must hold does not."""
    total = 0.0
    if f.counts[N_BROKEN]:
        for k in range(0, f.sizes[Z_COLUMNS] * C_WIDTH, C_WIDTH):
            if f.broken[k]:
                if f.penalty[k] >= NEVER:
                    return NEVER
                total += f.penalty[k] * f.broken[k]
    for position in range(f.sizes[Z_POSITIONS]):
        if t.worth[position] != 0.0:
            total += t.worth[position] * fine(f, position)
    if f.counts[N_LEANING]:
        for i in range(f.sizes[Z_SINGLES]):
            k = f.singles[i]
            if f.lean[k] != 0.0:
                total += f.lean[k] * f.values[f.columns[k + C_VALUES]]
    return total


@inner
def go(f: Any, t: Any, o: int, b: int) -> None:
    """Move an object and log it; call `flush` or `judged` after the last move that belongs together."""
    n = t.numbers[T_LENGTH]
    t.object[n], t.source[n] = o, f.place[o]
    t.numbers[T_LENGTH] = n + 1
    shift(f, o, b)


@inner
def back(f: Any, t: Any, length: int) -> None:
    """Undo what was logged after a length."""
    n = t.numbers[T_LENGTH]
    while n > length:
        n -= 1
        shift(f, t.object[n], t.source[n])
    flush(f)
    t.numbers[T_LENGTH] = length


@apart(INT, FLAT, TRAIL, INT, FLOAT)
def judged(f: Any, t: Any, length: int, allowed: float) -> bool:
    """Keep what was logged after a length if it costs at most ``allowed``, undo it otherwise; return which.

    An earlier tuple position may not get worse; where one gets better, everything is allowed.
    """
    flush(f)
    t.numbers[T_TRIED] += 1
    position = t.numbers[T_POSITION]
    better = False
    for q in range(position):
        now = integer(f, q)
        if now > t.marks[q]:
            back(f, t, length)
            t.numbers[T_REFUSED] += 1
            return False
        if now < t.marks[q]:
            better = True
            break
    after = merit(f, t)
    if after >= NEVER or (not better and after - t.merits[M_NOW] > allowed):
        back(f, t, length)
        t.numbers[T_REFUSED] += 1
        return False
    t.numbers[T_KEPT] += 1
    t.merits[M_NOW] = after
    for q in range(position):
        t.marks[q] = integer(f, q)
    if f.counts[N_BROKEN] == 0 and not t.numbers[T_RELAXED] and (better or after < t.merits[M_BEST]):
        t.merits[M_BEST] = after
        t.numbers[T_BEST] = t.numbers[T_LENGTH]
        for q in range(f.sizes[Z_POSITIONS]):
            t.best[q] = integer(f, q)
    return True


@inner
def full(t: Any, more: int) -> bool:
    """Return whether fewer than ``more`` further moves can be logged."""
    return bool(t.numbers[T_LENGTH] + more > t.numbers[T_ROOM])


@kernel
def appraise(f: Any, t: Any) -> float:
    """Note what the searcher minimises where it stands, after prices or positions have changed, and return it."""
    fill_lanes(f)
    for position in range(f.sizes[Z_POSITIONS]):
        t.marks[position] = integer(f, position)
    t.merits[M_NOW] = merit(f, t)
    return float(t.merits[M_NOW])


@kernel
def restart(f: Any, t: Any) -> None:
    """Take where the searcher stands as its best answer."""
    t.numbers[T_LENGTH] = t.numbers[T_BEST] = 0
    for position in range(f.sizes[Z_POSITIONS]):
        t.best[position] = t.marks[position] = integer(f, position)
    t.merits[M_NOW] = t.merits[M_BEST] = merit(f, t)


@kernel
def best_place(f: Any, t: Any, out: Any) -> None:
    """Write down the best answer that the log leads to."""
    for o in range(len(out)):
        out[o] = f.place[o]
    for i in range(t.numbers[T_LENGTH] - 1, t.numbers[T_BEST] - 1, -1):
        out[t.object[i]] = t.source[i]


@kernel
def follow(f: Any, place: Any) -> None:
    """Move every object to where it is in another answer."""
    for o in range(f.sizes[Z_OBJECTS]):
        if f.place[o] != place[o]:
            shift(f, o, place[o])
    flush(f)
