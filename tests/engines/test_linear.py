"""Linear programs given as arrays: expected values by hand."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from rebalancer.engines.linear import Program, solve, summed

ANY = np.inf


def program(cost: list[float], rows: list[list[float]], most: list[float], maximise: bool = False) -> Program:
    matrix = np.array(rows)
    row, column = np.nonzero(matrix)
    count = len(cost)
    return Program(
        np.array(cost),
        np.zeros(count),
        np.full(count, ANY),
        np.full(len(most), -ANY),
        np.array(most),
        (row.astype(np.int64), column.astype(np.int64), matrix[row, column]),
        maximise,
    )


@pytest.mark.parametrize("presolve", [False, True])
@pytest.mark.parametrize("dual", [False, True])
def test_the_best_solution_and_its_reduced_costs(presolve: bool, dual: bool) -> None:
    """Of -3x - y + z where x + y <= 4 the best is x = 4; a unit of y in its place costs 2 more, one of z 4."""
    optimum = solve(program([-3.0, -1.0, 1.0], [[1.0, 1.0, 1.0]], [4.0]), presolve=presolve, dual=dual)
    assert optimum is not None
    assert optimum.values == pytest.approx([4.0, 0.0, 0.0])
    assert optimum.reduced == pytest.approx([0.0, 2.0, 4.0])


def test_the_most_there_is() -> None:
    optimum = solve(program([3.0, 2.0], [[1.0, 1.0], [1.0, 3.0]], [4.0, 6.0], maximise=True))
    assert optimum is not None
    assert optimum.values == pytest.approx([4.0, 0.0])


def test_where_nothing_fits_nothing_is_found() -> None:
    assert solve(program([1.0], [[1.0]], [-1.0])) is None


def test_who_wants_it_to_stop_does_not_wait() -> None:
    rng = np.random.default_rng(1)
    knapsacks = program(list(-rng.random(60)), rng.random((30, 60)).tolist(), [1.0] * 30)
    stop = threading.Event()
    assert solve(knapsacks, stop=stop) is not None
    assert not [thread for thread in threading.enumerate() if thread.name == "rebalancer-linear"]
    stop.set()
    stopped = solve(knapsacks, stop=stop)
    assert stopped is None or not stopped.values.any(), "it has not begun"


def test_entries_of_one_place_are_added_up() -> None:
    row, column, value = summed(
        (np.array([1, 0]), np.array([2, 0]), np.array([1.0, 2.0])),
        (np.array([1, -1]), np.array([2, 1]), np.array([0.5, 9.0])),
    )
    assert row.tolist() == [0, 1]
    assert column.tolist() == [0, 2]
    assert value.tolist() == [2.0, 1.5]
