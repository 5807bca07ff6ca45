"""Sparse grids against the plain arrays that they stand for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.model import grid as grids
from rebalancer.model.grid import Grid, GridTooLarge, apply, reduce_extremum, reduce_sum
from rebalancer.model.order import order_statistic
from tests.examples import examples


@pytest.fixture(autouse=True, scope="module")
def _sparse() -> Iterator[None]:
    """Treat every grid as too large to be one table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids, "DENSE_CELLS", 0)
        yield


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, int]:
    return draw(st.integers(0, 5)), draw(st.integers(0, 5))


@st.composite
def some_grid(draw: st.DrawFn, groups: int, items: int) -> Grid:
    """A grid of this shape, or one that is repeated to it."""
    groups, items = draw(st.sampled_from([groups, groups, 1])), draw(st.sampled_from([items, items, 1]))
    rows = draw(st.sampled_from(sorted({1, max(groups, 1)})))
    kind = draw(st.sampled_from(["one", "each", "classes"]))
    if groups == 0 and rows == 1 and draw(st.booleans()):
        rows = 0
    column = None
    columns = 1
    if kind == "each":
        columns = items
    elif kind == "classes":
        columns = draw(st.integers(1, 3))
        column = np.array(draw(st.lists(st.integers(0, columns - 1), min_size=items, max_size=items)), np.int64)
    numbers = st.integers(-4, 4)
    table = np.array(draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns)), np.int64).reshape(
        rows, columns
    )
    keys = sorted(draw(st.sets(st.integers(0, groups * items - 1), max_size=6))) if groups * items else []
    values = draw(st.lists(numbers, min_size=len(keys), max_size=len(keys)))
    return Grid(groups, items, table, column, np.array(keys, np.int64), np.array(values, np.int64))


@st.composite
def several(draw: st.DrawFn) -> tuple[int, int, list[Grid]]:
    groups, items = draw(shapes())
    return groups, items, draw(st.lists(some_grid(groups, items), min_size=1, max_size=3))


def wide(grid: Grid, groups: int, items: int) -> np.ndarray:
    return np.broadcast_to(grid.dense(), (groups, items))


@given(several())
@examples(200)
def test_apply_is_cell_by_cell(case: tuple[int, int, list[Grid]]) -> None:
    groups, items, parts = case

    def function(*arrays: np.ndarray) -> np.ndarray:
        total = arrays[0] * 0
        for position, array in enumerate(arrays):
            total = total + (position + 1) * array * array - array
        return total

    result = apply(function, groups, items, *parts)
    expected = function(*(wide(part, groups, items) for part in parts))
    assert np.array_equal(result.dense(), np.broadcast_to(expected, (groups, items)))
    assert result.keys.tolist() == sorted(set(result.keys.tolist()))


@given(several())
@examples(150)
def test_where_finds_every_cell_once(case: tuple[int, int, list[Grid]]) -> None:
    groups, items, parts = case
    grid = apply(lambda *arrays: sum(arrays), groups, items, *parts)
    group, item = grid.where(lambda v: v > 0)
    rows, cols = np.nonzero(grid.dense() > 0)
    assert list(zip(group.tolist(), item.tolist(), strict=True)) == list(zip(rows.tolist(), cols.tolist(), strict=True))


@given(several(), st.data())
@examples(150)
def test_at_and_take_read_single_cells(case: tuple[int, int, list[Grid]], data: st.DataObject) -> None:
    grid = case[2][0]
    if not grid.size:
        return
    keys = np.array(data.draw(st.lists(st.integers(0, grid.size - 1), max_size=5)), np.int64)
    group, item = keys // grid.items, keys % grid.items
    expected = grid.dense()[group, item]
    assert np.array_equal(grid.at(group, item), expected)
    assert np.array_equal(grid.take(group, item).dense()[0], expected)


@st.composite
def maps(draw: st.DrawFn, length: int) -> tuple[int, np.ndarray | None]:
    outputs = draw(st.integers(1, 3))
    if draw(st.booleans()):
        return 1, None
    return outputs, np.array(draw(st.lists(st.integers(-1, outputs - 1), min_size=length, max_size=length)), np.int64)


@given(several(), st.data())
@examples(200)
def test_sums_and_extremes_by_map(case: tuple[int, int, list[Grid]], data: st.DataObject) -> None:
    grid = case[2][0]
    groups, group_map = data.draw(maps(grid.groups))
    items, item_map = data.draw(maps(grid.items))
    dense = grid.dense()
    cells: dict[tuple[int, int], list[int]] = {(g, i): [] for g in range(groups) for i in range(items)}
    for group in range(grid.groups):
        for item in range(grid.items):
            target = (0 if group_map is None else int(group_map[group]), 0 if item_map is None else int(item_map[item]))
            if min(target) >= 0:
                cells[target].append(int(dense[group, item]))
    total = reduce_sum(grid, groups, items, group_map, item_map)
    most = reduce_extremum(grid, groups, items, group_map, item_map, True, 7)
    least = reduce_extremum(grid, groups, items, group_map, item_map, False, 7)
    for (group, item), values in cells.items():
        assert total[group, item] == sum(values)
        assert most.dense()[group, item] == max(values, default=7)
        assert least.dense()[group, item] == min(values, default=7)


def test_a_huge_grid_takes_no_memory() -> None:
    keys = np.arange(0, 4_000_000_000, 40_000_000)
    amounts = Grid(200_000, 20_000, np.zeros((1, 1), np.int64), None, keys, np.arange(1, 101))
    limits = Grid(200_000, 20_000, np.full((200_000, 1), 50))
    over = apply(lambda a, b: np.maximum(a - b, 0), 200_000, 20_000, amounts, limits)
    assert reduce_sum(over, 1, 1, None, None)[0, 0] == sum(range(1, 51))
    assert len(over.where(lambda v: v > 0)[0]) == 50


def test_what_would_be_too_large_is_refused() -> None:
    ones = Grid.constant(200_000, 20_000, 1)
    with pytest.raises(GridTooLarge):
        ones.where(lambda v: v > 0)
    with pytest.raises(GridTooLarge):
        ones.dense()
    rows = Grid(200_000, 20_000, np.ones((200_000, 1), np.int64))
    with pytest.raises(GridTooLarge):
        reduce_extremum(rows, 200_000, 20_000, np.arange(200_000), np.arange(20_000), True, 0)
    with pytest.raises(GridTooLarge):
        order_statistic(rows, (np.zeros(200_000, np.int64), np.arange(20_000)), (1, 20_000), 2, False)


def test_extremes_and_orders_of_a_huge_grid_take_no_memory() -> None:
    keys = np.arange(0, 4_000_000_000, 40_000_000)
    amounts = Grid(200_000, 20_000, np.zeros((1, 1), np.int64), None, keys, np.arange(1, 101))
    pairs = np.arange(200_000) // 2
    largest = reduce_extremum(amounts, 100_000, 20_000, pairs, np.arange(20_000), True, 0)
    assert largest.values.tolist() == list(range(1, 101))
    maps = np.zeros(200_000, np.int64), np.arange(20_000)
    assert order_statistic(amounts, maps, (1, 20_000), 0, False).dense().sum() == 100
    assert order_statistic(amounts, maps, (1, 20_000), 1, True).dense().sum() == sum(range(1, 100))
