"""Largest, smallest and n-th of very many cells of which most are 0: only the others are kept.

The values that the cells of an output hold, and how many hold each, are a binary tree in which a hash of the value
decides who is above whom: a treap (Seidel and Aragon, Randomized search trees, 1996) whose shape depends on nothing
but the values in it. Outputs share their nodes, and there need be no more of these than cells that are not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rebalancer.engines.local_search.kernels.jit import kernel
from rebalancer.engines.local_search.kernels.layout import (
    C_ITEMS,
    K_MAX,
    K_MIN,
    K_NTH,
    K_REST,
    X_GROUP_MAP,
    X_ITEM_MAP,
    X_KIND,
    X_NUMBER,
    X_OUTPUT,
    X_TREES,
)

# In ``numbers``: first the free node that is next, then what follows of each output, then nodes. Nodes are meant by
# where they begin, which is never 0.

#: Of an output: its tree, how many cells are 0, what it comes to, and the value that decides.
H_ROOT, H_ZEROS, H_NOW, H_EDGE = range(4)
H_WIDTH = 4
#: Of a node: smaller and larger values, its own, and how many cells hold that. Free nodes have the next one as LESS.
LESS, MORE, VALUE, TIMES = range(4)
N_WIDTH = 4


@kernel
def head_of(f: Any, u: int, g: int, s: int) -> int:
    """Return where the output that a cell of a special's input counts for begins, -1 for none."""
    tg, ts = f.maps[f.specials[u + X_GROUP_MAP] + g], f.maps[f.specials[u + X_ITEM_MAP] + s]
    if tg < 0 or ts < 0:
        return -1
    output = tg * f.columns[f.specials[u + X_OUTPUT] + C_ITEMS] + ts
    return int(f.specials[u + X_TREES] + 1 + output * H_WIDTH)


@kernel
def decides(f: Any, u: int, head: int, x: int) -> bool:
    """Return whether one unit more of a cell that holds ``x`` is one unit more of what its output comes to."""
    if f.specials[u + X_KIND] == K_REST:
        return bool(f.specials[u + X_NUMBER] == 0 or x <= f.numbers[head + H_EDGE])
    return bool(x == f.numbers[head + H_EDGE])


@kernel
def exchange(f: Any, u: int, head: int, old: int, new: int) -> int:
    """Let a cell of an output hold another value; return by how much what the output comes to changes."""
    numbers = f.numbers
    if old:
        _take(numbers, f.specials[u + X_TREES], head, old)
    else:
        numbers[head + H_ZEROS] -= 1
    if new:
        _put(numbers, f.specials[u + X_TREES], head, new)
    else:
        numbers[head + H_ZEROS] += 1
    before, kind = numbers[head + H_NOW], f.specials[u + X_KIND]
    if kind == K_MAX or kind == K_MIN:
        _extreme(numbers, head, kind == K_MAX)
    else:
        _ranked(numbers, head, f.specials[u + X_NUMBER], kind == K_NTH)
    return int(numbers[head + H_NOW] - before + (new - old if kind == K_REST else 0))


@kernel
def _extreme(numbers: Any, head: int, largest: bool) -> None:
    node, side = numbers[head + H_ROOT], MORE if largest else LESS
    while node and numbers[node + side]:
        node = numbers[node + side]
    value = numbers[node + VALUE] if node else 0
    if numbers[head + H_ZEROS]:
        value = max(value, 0) if largest else min(value, 0)
    numbers[head + H_NOW] = numbers[head + H_EDGE] = value


@kernel
def _ranked(numbers: Any, head: int, rank: int, nth: bool) -> None:
    """Go down from the largest: to the value with ``rank`` above it, or adding up what ``rank`` of them come to."""
    left, total, value, before_zeros = rank + nth, 0, 0, numbers[head + H_ZEROS] > 0
    node = _below(numbers, numbers[head + H_ROOT], 0, True)
    while left > 0 and (node or before_zeros):
        if before_zeros and (not node or numbers[node + VALUE] < 0):
            value, times, before_zeros = 0, numbers[head + H_ZEROS], False
        else:
            value, times = numbers[node + VALUE], numbers[node + TIMES]
            node = _below(numbers, numbers[head + H_ROOT], value, False)
        total += min(left, times) * value
        left -= times
    numbers[head + H_NOW], numbers[head + H_EDGE] = value if nth else -total, value


@kernel
def _below(numbers: Any, node: int, limit: int, any_value: bool) -> int:
    """Return the node of the largest value below a limit, 0 if there is none."""
    found = 0
    while node:
        if any_value or numbers[node + VALUE] < limit:
            found, node = node, numbers[node + MORE]
        else:
            node = numbers[node + LESS]
    return int(found)


@kernel
def _height(value: int) -> np.uint64:
    """Return what decides who is above whom: other values have another one, as the factors are odd."""
    x = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(32)
    return x * np.uint64(0xD6E8FEB86659FD93)


@kernel
def _link_to(numbers: Any, head: int, value: int) -> int:
    """Return where the link is to the node of a value, or to the first node that would be below it."""
    link, height = head + H_ROOT, _height(value)
    while numbers[link] and _height(numbers[numbers[link] + VALUE]) > height:
        link = numbers[link] + (MORE if numbers[numbers[link] + VALUE] < value else LESS)
    return int(link)


@kernel
def _put(numbers: Any, free: int, head: int, value: int) -> None:
    link = _link_to(numbers, head, value)
    node = numbers[link]
    if node and numbers[node + VALUE] == value:
        numbers[node + TIMES] += 1
        return
    new = numbers[free]
    numbers[free] = numbers[new + LESS]
    numbers[link], numbers[new + VALUE], numbers[new + TIMES] = new, value, 1
    less, more = new + LESS, new + MORE
    while node:  # what was here is split into what is smaller and what is larger
        if numbers[node + VALUE] < value:
            numbers[less] = node
            less = node + MORE
            node = numbers[less]
        else:
            numbers[more] = node
            more = node + LESS
            node = numbers[more]
    numbers[less] = numbers[more] = 0


@kernel
def _take(numbers: Any, free: int, head: int, value: int) -> None:
    link = _link_to(numbers, head, value)
    node = numbers[link]
    numbers[node + TIMES] -= 1
    if numbers[node + TIMES]:
        return
    less, more = numbers[node + LESS], numbers[node + MORE]
    while less and more:  # its two sides become one
        if _height(numbers[less + VALUE]) > _height(numbers[more + VALUE]):
            numbers[link] = less
            link = less + MORE
            less = numbers[link]
        else:
            numbers[link] = more
            link = more + LESS
            more = numbers[link]
    numbers[link] = less if less else more
    numbers[node + LESS] = numbers[free]
    numbers[free] = node


@kernel
def fill_ranks(f: Any, u: int, cells: Any, nodes: int, group: Any, item: Any, amount: Any) -> None:
    """Enter the cells of a special's input that are not 0.

    Parameters
    ----------
    cells : int64 array
        How many cells count for each output.
    nodes : int
        So many cells are not 0 at any time, at most.
    """
    free = f.specials[u + X_TREES] if len(cells) else 0
    for output in range(len(cells)):
        f.numbers[free + 1 + output * H_WIDTH + H_ZEROS] = cells[output]
    for i in range(nodes):
        node = free + 1 + len(cells) * H_WIDTH + i * N_WIDTH
        f.numbers[node + LESS] = f.numbers[free]
        f.numbers[free] = node
    for i in range(len(amount)):
        head = head_of(f, u, group[i], item[i])
        if head >= 0 and amount[i]:
            exchange(f, u, head, 0, amount[i])


__all__ = ["H_WIDTH", "N_WIDTH", "decides", "exchange", "fill_ranks", "head_of"]
