from __future__ import annotations

import pytest
from pydantic import ValidationError

from rebalancer.specs.logical_and import LogicalAndSpec
from tests.specs.worlds import broken, feasible, world

FITS = {"capacity": {"scope": "host", "dimension": "cpu"}}
FEW = {"group_count": {"scope": "rack", "partition": "job"}}


def test_the_largest_violation_counts_once() -> None:
    spec = LogicalAndSpec(generic_specs=[FITS, FEW])
    assert broken(world(), spec) == (2, 1)
    assert broken(world(), spec, {"c": "h3"}) == (1, 1)
    assert broken(world(), spec, {"c": "h3", "b": "h2"}) == (0, 0)
    assert feasible(world(), spec, {"e": "h1"})  # what fits may get worse, as long as the largest does not
    assert not feasible(world(), spec, {"a": "h1"}, "HARD")


def test_one_alone_and_none() -> None:
    assert broken(world(), LogicalAndSpec(generic_specs=[FITS])) == (0.4, 1)
    with pytest.raises(ValidationError, match="expected at least one spec"):
        LogicalAndSpec(generic_specs=[])
