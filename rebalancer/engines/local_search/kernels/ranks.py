"""Largest, smallest and n-th of very many cells of which most are 0: only the others are kept.

The values that the cells of an output hold, and how many hold each, are a binary tree in which a hash of the value
decides who is above whom: a treap (Seidel and Aragon, Randomized search trees, 1996) whose shape depends on nothing
but the values in it. Outputs share their nodes, and there need be no more of these than cells that are not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rebalancer.engines.local_search.kernels.cell import increase, value
from rebalancer.engines.local_search.kernels.jit import inner, kernel
from rebalancer.engines.local_search.kernels.layout import (
    C_ITEMS,
    K_MAX,
    K_MIN,
    K_NTH,
    K_REST,
    X_GROUP_COUNT,
    X_GROUP_MAP,
    X_HEADS,
    X_ITEM_COUNT,
    X_ITEM_MAP,
    X_KIND,
    X_NUMBER,
    X_OUTPUT,
    X_TREES,
)

# In ``numbers``: first the free node that is next, then what follows of each output (where there are very many outputs,
# that is in a node), then nodes. Everything is meant by where it begins, which is never 0.

#: Of an output: its tree, how many cells are 0, what it comes to, and the value that decides.
H_ROOT, H_ZEROS, H_NOW, H_EDGE = range(4)
#: Of a node: smaller and larger values, its own, and how many cells hold that. Free nodes have the next one as LESS.
LESS, MORE, VALUE, TIMES = range(4)
WIDTH = 4


@kernel
def output_of(f: Any, u: int, g: int, s: int) -> int:
    """Return the output that a cell of a special's input counts for, -1 for none."""
    tg, ts = f.maps[f.specials[u + X_GROUP_MAP] + g], f.maps[f.specials[u + X_ITEM_MAP] + s]
    if tg < 0 or ts < 0:
        return -1
    return int(tg * f.columns[f.specials[u + X_OUTPUT] + C_ITEMS] + ts)


@inner
def _head_of(f: Any, u: int, output: int) -> int:
    """Return where an output begins; 0 where all its cells are 0."""
    heads, items = f.specials[u + X_HEADS], f.columns[f.specials[u + X_OUTPUT] + C_ITEMS]
    if heads >= 0:
        return value(f, heads, output // items, output % items)
    return int(f.specials[u + X_TREES] + 1 + output * WIDTH)


@kernel
def decides(f: Any, u: int, output: int, x: int) -> bool:
    """Return whether one unit more of a cell that holds ``x`` is one unit more of what its output comes to."""
    head = _head_of(f, u, output)
    edge = f.numbers[head + H_EDGE] if head else 0
    if f.specials[u + X_KIND] == K_REST:
        return bool(f.specials[u + X_NUMBER] == 0 or x <= edge)
    return bool(x == edge)


@kernel
def exchange(f: Any, u: int, output: int, old: int, new: int) -> int:
    """Let a cell of an output hold another value; return by how much what the output comes to changes."""
    numbers, free, head = f.numbers, f.specials[u + X_TREES], _head_of(f, u, output)
    if not head:
        head = _begin(f, u, output)
    if old:
        _take(numbers, free, head, old)
    else:
        numbers[head + H_ZEROS] -= 1
    if new:
        _put(numbers, free, head, new)
    else:
        numbers[head + H_ZEROS] += 1
    before, kind = numbers[head + H_NOW], f.specials[u + X_KIND]
    if kind == K_MAX or kind == K_MIN:
        _extreme(numbers, head, kind == K_MAX)
    else:
        _ranked(numbers, head, f.specials[u + X_NUMBER], kind == K_NTH)
    change = numbers[head + H_NOW] - before + (new - old if kind == K_REST else 0)
    if not numbers[head + H_ROOT] and f.specials[u + X_HEADS] >= 0:
        _end(f, u, output, head)
    return int(change)


@inner
def _begin(f: Any, u: int, output: int) -> int:
    """Take a node for what there is to know of an output, all of whose cells are 0."""
    numbers, free, items = f.numbers, f.specials[u + X_TREES], f.columns[f.specials[u + X_OUTPUT] + C_ITEMS]
    head, tg, ts = numbers[free], output // items, output % items
    numbers[free] = numbers[head + LESS]
    increase(f, f.specials[u + X_HEADS], tg, ts, head)
    numbers[head + H_ROOT] = numbers[head + H_NOW] = numbers[head + H_EDGE] = 0
    numbers[head + H_ZEROS] = f.maps[f.specials[u + X_GROUP_COUNT] + tg] * f.maps[f.specials[u + X_ITEM_COUNT] + ts]
    return int(head)


@inner
def _end(f: Any, u: int, output: int, head: int) -> None:
    """Give that node back."""
    numbers, free, items = f.numbers, f.specials[u + X_TREES], f.columns[f.specials[u + X_OUTPUT] + C_ITEMS]
    increase(f, f.specials[u + X_HEADS], output // items, output % items, -head)
    numbers[head + LESS] = numbers[free]
    numbers[free] = head


@inner
def _extreme(numbers: Any, head: int, largest: bool) -> None:
    node, side = numbers[head + H_ROOT], MORE if largest else LESS
    while node and numbers[node + side]:
        node = numbers[node + side]
    x = numbers[node + VALUE] if node else 0
    if numbers[head + H_ZEROS]:
        x = max(x, 0) if largest else min(x, 0)
    numbers[head + H_NOW] = numbers[head + H_EDGE] = x


@inner
def _ranked(numbers: Any, head: int, rank: int, nth: bool) -> None:
    """Go down from the largest: to the value with ``rank`` above it, or adding up what ``rank`` of them come to."""
    left, total, x, before_zeros = rank + nth, 0, 0, numbers[head + H_ZEROS] > 0
    node = _below(numbers, numbers[head + H_ROOT], 0, True)
    while left > 0 and (node or before_zeros):
        if before_zeros and (not node or numbers[node + VALUE] < 0):
            x, times, before_zeros = 0, numbers[head + H_ZEROS], False
        else:
            x, times = numbers[node + VALUE], numbers[node + TIMES]
            node = _below(numbers, numbers[head + H_ROOT], x, False)
        total += min(left, times) * x
        left -= times
    numbers[head + H_NOW], numbers[head + H_EDGE] = x if nth else -total, x


@inner
def _below(numbers: Any, node: int, limit: int, any_value: bool) -> int:
    """Return the node of the largest value below a limit, 0 if there is none."""
    found = 0
    while node:
        if any_value or numbers[node + VALUE] < limit:
            found, node = node, numbers[node + MORE]
        else:
            node = numbers[node + LESS]
    return int(found)


@inner
def _height(x: int) -> np.uint64:
    """Return what decides who is above whom: other values have another one, as the factors are odd."""
    y = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15)
    y ^= y >> np.uint64(32)
    return y * np.uint64(0xD6E8FEB86659FD93)


@inner
def _link_to(numbers: Any, head: int, x: int) -> int:
    """Return where the link is to the node of a value, or to the first node that would be below it."""
    link, height = head + H_ROOT, _height(x)
    while numbers[link] and _height(numbers[numbers[link] + VALUE]) > height:
        link = numbers[link] + (MORE if numbers[numbers[link] + VALUE] < x else LESS)
    return int(link)


@inner
def _put(numbers: Any, free: int, head: int, x: int) -> None:
    link = _link_to(numbers, head, x)
    node = numbers[link]
    if node and numbers[node + VALUE] == x:
        numbers[node + TIMES] += 1
        return
    new = numbers[free]
    numbers[free] = numbers[new + LESS]
    numbers[link], numbers[new + VALUE], numbers[new + TIMES] = new, x, 1
    less, more = new + LESS, new + MORE
    while node:  # what was here is split into what is smaller and what is larger
        if numbers[node + VALUE] < x:
            numbers[less] = node
            less = node + MORE
            node = numbers[less]
        else:
            numbers[more] = node
            more = node + LESS
            node = numbers[more]
    numbers[less] = numbers[more] = 0


@inner
def _take(numbers: Any, free: int, head: int, x: int) -> None:
    link = _link_to(numbers, head, x)
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
def fill_ranks(f: Any, u: int, outputs: int, nodes: int, group: Any, item: Any, amount: Any) -> None:
    """Enter the cells of a special's input that are not 0.

    Parameters
    ----------
    outputs : int
        How many begin one after the other.
    nodes : int
        So many are needed at any time, at most.
    """
    free = f.specials[u + X_TREES] if nodes else 0
    items = f.columns[f.specials[u + X_OUTPUT] + C_ITEMS] if nodes else 1
    for output in range(outputs):
        cells = f.maps[f.specials[u + X_GROUP_COUNT] + output // items]
        cells *= f.maps[f.specials[u + X_ITEM_COUNT] + output % items]
        f.numbers[free + 1 + output * WIDTH + H_ZEROS] = cells
    for i in range(nodes):
        node = free + 1 + (outputs + i) * WIDTH
        f.numbers[node + LESS] = f.numbers[free]
        f.numbers[free] = node
    for i in range(len(amount)):
        output = output_of(f, u, group[i], item[i])
        if output >= 0 and amount[i]:
            exchange(f, u, output, 0, amount[i])


__all__ = ["WIDTH", "decides", "exchange", "fill_ranks", "output_of"]
