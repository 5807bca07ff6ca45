"""Order statistics of grids, most of whose cells may be alike, against sorted lists of all cells."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.model import order
from rebalancer.model.grid import Grid
from rebalancer.model.order import order_statistic
from tests.examples import examples
from tests.model.test_grid import some_grid


@pytest.mark.parametrize("rare", [False, True])
@given(data=st.data())
@examples(150)
def test_order_statistics_are_those_of_sorted_lists(rare: bool, data: st.DataObject) -> None:
    grid = data.draw(some_grid(data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))))
    shape = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    maps = tuple(
        np.array(data.draw(st.lists(st.integers(-1, outputs - 1), min_size=length, max_size=length)), np.int64)
        for outputs, length in zip(shape, (grid.groups, grid.items), strict=True)
    )
    rank = data.draw(st.integers(0, 12))
    halves = Grid(grid.groups, grid.items, grid.table / 2, grid.column, grid.keys, grid.values / 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "DENSE_CELLS", 0 if rare else 10**9)
        nth, rest = (order_statistic(halves, (maps[0], maps[1]), shape, rank, sums).dense() for sums in (False, True))
    dense = grid.dense()
    for group in range(shape[0]):
        for item in range(shape[1]):
            cells = sorted(dense[np.ix_(maps[0] == group, maps[1] == item)].ravel().tolist(), reverse=True)
            assert nth[group, item] == (cells[min(rank, len(cells) - 1)] / 2 if cells else 0)
            assert rest[group, item] == sum(cells[rank:]) / 2


def test_only_cells_that_are_not_0_are_sorted() -> None:
    table = np.zeros((1000, 1000), np.int64)
    table[np.arange(1000), np.arange(1000)] = 3
    table[0, 1:] = 5
    grid, maps = Grid(1000, 1000, table), (np.zeros(1000, np.int64), np.arange(1000))
    tracemalloc.start()
    rest = order_statistic(grid, maps, (1, 1000), 1, True).dense()[0]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rest.tolist() == [0, *[3] * 999]
    assert peak < 2 * table.nbytes
