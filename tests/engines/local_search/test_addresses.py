"""Kernels read and write arrays by their names at one address."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rebalancer.engines.local_search.kernels.addresses import Arrays, Float64, Int32, Int64
from rebalancer.engines.local_search.kernels.jit import kernel


@dataclass(frozen=True, eq=False)
class Few(Arrays):
    """A few arrays."""

    small: Int32
    large: Int64
    shares: Float64


@kernel
def product(f: Any, i: int) -> int:
    """Return a product that 32 bits cannot hold."""
    return f.small[i] * f.small[i]  # type: ignore[no-any-return]


@kernel
def note(f: Any, i: int, value: int) -> float:
    """Write an integer into every array, and return what is read again."""
    f.small[i] = f.large[i] = f.shares[i] = value
    return f.small[i] + f.large[i] + f.shares[i]  # type: ignore[no-any-return]


def few() -> Few:
    """Return three arrays of three numbers."""
    return Few(np.array([1, 2, -70_000], np.int32), np.zeros(3, np.int64), np.zeros(3))


def test_integers_are_int64_however_they_are_stored() -> None:
    assert product(few(), 2) == 4_900_000_000
    assert len(product.signatures) == 1


def test_what_is_written_is_in_the_array_of_that_name() -> None:
    arrays = few()
    assert note(arrays, 1, 7) == 21.0
    assert (arrays.small.tolist(), arrays.large.tolist(), arrays.shares.tolist()) == (
        [1, 7, -70_000],
        [0, 7, 0],
        [0, 7, 0],
    )


def test_the_table_lives_as_long_as_the_arrays() -> None:
    several = [few() for _ in range(100)]
    gc.collect()
    for number, arrays in enumerate(several):
        note(arrays, 0, number)
    assert [int(arrays.small[0]) for arrays in several] == list(range(100))


@pytest.mark.parametrize(
    "small", [np.zeros(3, np.int64), np.zeros((3, 2), np.int32)[:, 0]], ids=["another type", "not contiguous"]
)
def test_other_arrays_are_refused(small: np.ndarray[Any, Any]) -> None:
    with pytest.raises(TypeError, match="'small'"):
        Few(small, np.zeros(3, np.int64), np.zeros(3))
