"""Distances by class say what distances by place say."""

from __future__ import annotations

import numpy as np
import pytest

from rebalancer.scenario.importers.distance_classes import distance_classes


@pytest.mark.parametrize("seed", range(20))
def test_every_distance_is_kept(seed: int) -> None:
    random = np.random.default_rng(seed)
    kinds = int(random.integers(1, 5))
    of = random.integers(kinds, size=9)
    table = random.integers(3, size=(kinds, kinds))
    matrix = table[of][:, of]
    if seed % 2:
        matrix[random.integers(9), random.integers(9)] += 1
    np.fill_diagonal(matrix, random.integers(3, size=9))
    found = distance_classes(matrix)
    again = found.cost[found.of][:, found.of]
    elsewhere = ~np.eye(9, dtype=bool)
    assert (again == matrix)[elsewhere].all()
    assert seed % 2 or len(found.cost) <= kinds


def test_places_that_are_all_alike_are_one_class() -> None:
    assert distance_classes(np.full((4, 4), 2)).cost.tolist() == [[2]]
    assert distance_classes(np.zeros((3, 3), np.int64)).cost.tolist() == [[0]]
    assert distance_classes(np.zeros((1, 1), np.int64)).cost.tolist() == [[0]]
