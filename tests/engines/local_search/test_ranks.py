"""Order statistics that keep only what is not 0, beside a sorted list of all cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rebalancer import Rebalancer
from rebalancer.engines.local_search.flat import atoms
from rebalancer.engines.local_search.flat.flatten import Flattener
from rebalancer.engines.local_search.kernels.layout import (
    K_MAX,
    K_MIN,
    K_NTH,
    K_REST,
    X_HEADS,
    X_KIND,
    X_NUMBER,
    X_PLACE,
    X_TREES,
    Flat,
)
from rebalancer.engines.local_search.kernels.ranks import LESS, decides, exchange, output_of
from rebalancer.model import GoalCells, ModelBuilder, assemble

HOSTS, JOBS = 3, 12


def many() -> Flat:
    """Return arrays with one order statistic of hosts, over jobs that have a task on each."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({f"h{host}": [f"h{host}j{job}" for job in range(JOBS)] for host in range(HOSTS)})
    solver.add_partition("job", {f"j{job}": [f"h{host}j{job}" for host in range(HOSTS)] for job in range(JOBS)})
    builder = ModelBuilder(solver.problem)
    largest = builder.largest(builder.amount("host", "", "AFTER", partition="job"), None, np.arange(HOSTS), 1, HOSTS)
    model = assemble(builder, [GoalCells("largest", "none", Fraction(1), 0, builder.total(largest))], [])
    return Flattener(model).at(model.problem.initial)


@pytest.fixture(params=[True, False], ids=["very many outputs", "few outputs"])
def flat(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Flat:
    """Arrays where only the cells that are not 0 are kept, and of outputs all or only some."""
    monkeypatch.setattr(atoms, "DENSE_CELLS", 0 if request.param else HOSTS)
    monkeypatch.setattr(atoms, "DENSE_SHARE", 0)
    found = many()
    assert found.specials[X_PLACE] < 0
    assert (found.specials[X_HEADS] >= 0) == request.param
    return found


@pytest.mark.parametrize("kind", [K_MAX, K_MIN, K_NTH, K_REST])
@pytest.mark.parametrize("rank", [0, 1, 4, JOBS + 3])
def test_what_is_kept_is_what_a_sorted_list_says(kind: int, rank: int, flat: Flat) -> None:
    flat.specials[X_KIND], flat.specials[X_NUMBER] = kind, rank
    rng = np.random.default_rng(rank)
    cells = np.ones((HOSTS, JOBS), np.int64)
    outputs = [output_of(flat, 0, 0, host) for host in range(HOSTS)]
    for output in outputs:  # what it comes to is written down as the kind says once something has changed
        exchange(flat, 0, output, 1, 1)
    came_to = [statistic(cells[host], kind, rank) for host in range(HOSTS)]
    for turn in range(2_000):
        host, job = int(rng.integers(HOSTS)), int(rng.integers(JOBS))
        spread = 3 if turn % 500 < 250 else 10**12
        new = 0 if rng.random() < (0.3 if turn % 250 < 200 else 0.9) else int(rng.integers(-spread, spread + 1))
        changed = exchange(flat, 0, outputs[host], int(cells[host, job]), new)
        cells[host, job] = new
        now = statistic(cells[host], kind, rank)
        assert changed == now - came_to[host]
        came_to[host] = now
        if kind != K_REST:
            assert [x for x in np.unique(cells[host]) if decides(flat, 0, outputs[host], x)] == [now]
        elif 0 < rank <= JOBS:
            added = np.sort(cells[host])[::-1][rank - 1]
            assert decides(flat, 0, outputs[host], added)
            assert not decides(flat, 0, outputs[host], added + 1)


def test_nodes_are_given_back(flat: Flat) -> None:
    outputs = [output_of(flat, 0, 0, host) for host in range(HOSTS)]
    free = [free_nodes(flat)]
    for value in (1, 0):  # all cells hold 1, then values of their own, then nothing
        for host, output in enumerate(outputs):
            for job in range(JOBS):
                other = 100 * host + job + 2
                exchange(flat, 0, output, 1 if value else other, other if value else 0)
        free.append(free_nodes(flat))
    heads = HOSTS if flat.specials[X_HEADS] >= 0 else 0
    # one value on each host, a value for each cell, none
    assert [free[2] - left for left in free] == [heads + HOSTS, heads + HOSTS * JOBS, 0]


def free_nodes(flat: Flat) -> int:
    """Return how many nodes are free."""
    count, node = 0, flat.numbers[flat.specials[X_TREES]]
    while node:
        count, node = count + 1, flat.numbers[node + LESS]
    return count


def statistic(cells: np.ndarray[tuple[int], np.dtype[np.int64]], kind: int, rank: int) -> int:
    """Return what the cells of one output come to."""
    down = np.sort(cells)[::-1]
    if kind == K_REST:
        return int(down[rank:].sum())
    return int(down[0] if kind == K_MAX else down[-1] if kind == K_MIN else down[min(rank, len(down) - 1)])
