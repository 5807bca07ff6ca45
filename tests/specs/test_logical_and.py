from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from rebalancer.problem import ProblemBuilder
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


@pytest.mark.parametrize(
    "nested",
    [
        {"capacity": {"scope": "host", "dimension": "mem", "use_legacy_formula": True}},
        {"minimize_movement": {"dimension": "mem"}},
    ],
)
@pytest.mark.parametrize("more", [[], [{"group_count": {"scope": "host", "partition": "job"}}]])
def test_one_byte_of_a_terabyte_is_not_rounded_away(nested: dict[str, Any], more: list[dict[str, Any]]) -> None:
    """Moved to h1, the byte is one too many there, and one that moved; in h0 it breaks nothing."""
    out, tera = ProblemBuilder("task", "host"), 10**12
    out.set_assignment({"h0": ["byte"], "h1": ["large"], "h2": ["half"], "h3": ["third"]})
    out.add_object_dimension("mem", {"byte": 1, "large": tera + 7, "half": tera // 2, "third": tera // 3})
    out.add_scope_dimension("mem", "host", {"h0": tera, "h1": tera + 7, "h2": 2 * tera + 13, "h3": 3 * tera + 1})
    out.add_partition("job", {"any": ["byte"]})
    problem, spec = out.build(), LogicalAndSpec(generic_specs=[nested, *more])
    assert broken(problem, spec) == (0, 0)
    violation, components = broken(problem, spec, {"byte": "h1"})
    assert 0 < violation < 1e-11
    assert components == 1
    assert not feasible(problem, spec, {"byte": "h1"}, "HARD")
