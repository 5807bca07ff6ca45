"""Partition crossover: two answers differ in parts that share no container, and each part may come from either.

Such parts do not touch each other where every cell is about one container; elsewhere each is judged as it is made. For
travelling salesmen: Whitley, Hains and Howe (2009), "Tunneling between optima: partition crossover for the TSP".
"""

from __future__ import annotations

from typing import Any

from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.layout import Z_CONTAINERS, Z_OBJECTS
from rebalancer.engines.local_search.kernels.trail import T_LENGTH, go, judged


@kernel
def parts(f: Any, place: Any, part: Any, root: Any) -> int:
    """Note of each object that is elsewhere in another answer which part it belongs to, -1 for the others.

    Parameters
    ----------
    place : int32 array, objects
        The other answer.
    part : int32 array, objects
        Where this is noted: one of the containers of that part. Nowhere is shared by all and connects nothing.
    root : int32 array, containers
        Scratch.

    Returns
    -------
    int
        How many objects are elsewhere.
    """
    n, differ = f.sizes[Z_CONTAINERS], 0
    for s in range(n):
        root[s] = s
    for o in range(f.sizes[Z_OBJECTS]):
        a, b = f.place[o], place[o]
        if a != b and max(a, b) < n:
            root[_root(root, a)] = _root(root, b)
    for o in range(f.sizes[Z_OBJECTS]):
        a, b = f.place[o], place[o]
        part[o] = -1 if a == b else _root(root, min(a, b))
        differ += a != b
    return differ


@inner
def _root(root: Any, s: int) -> int:
    while root[s] != s:
        root[s] = root[root[s]]
        s = root[s]
    return s


@kernel
def cross(f: Any, t: Any, objects: Any, starts: Any, place: Any, least: float) -> None:
    """Take over each part that gains ``least``; the log needs room for as many moves as there are objects.

    Parameters
    ----------
    objects : int array
        Those that are elsewhere in the other answer, part by part.
    starts : int array, parts + 1
        Where the parts begin, and the end.
    place : int32 array, objects
        The other answer.
    """
    for i in range(len(starts) - 1):
        length = t.numbers[T_LENGTH]
        for k in range(starts[i], starts[i + 1]):
            go(f, t, objects[k], place[objects[k]])
        judged(f, t, length, -least)
