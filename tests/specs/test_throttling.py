from __future__ import annotations

import pytest

from rebalancer.specs.throttling import ThrottlingSpec
from tests.specs.worlds import broken, codes, faults, world


@pytest.mark.parametrize(
    ("definition", "expected"),
    [("IN", ((4 - 2) / 5, 1)), ("OUT", ((4 - 1) / 5, 1)), ("ANY", (5 / 5, 2))],
)
def test_what_moves_is_bounded_at_either_end(definition: str, expected: tuple[float, int]) -> None:
    spec = ThrottlingSpec(scope="host", dimension="cpu", definition=definition, limit=0.5)
    assert broken(world(), spec) == (0, 0)
    assert broken(world(), spec, {"c": "h0"}) == pytest.approx(expected)


def test_placing_moves_in() -> None:
    assert broken(world(), ThrottlingSpec(scope="host", dimension="cpu", limit=0.5), {"d": "h3"}) == (
        pytest.approx(6 / 5),
        1,
    )


def test_limits_are_relative() -> None:
    spec = ThrottlingSpec(scope="host", dimension="cpu", limit={"type": "ABSOLUTE"})
    assert codes(faults(world(), spec, "constraint")) == [("unsupported-limit", "type")]
    only = ThrottlingSpec(scope="host", dimension="cpu", limit=0, filter={"items_whitelist": ["h1"]})
    assert broken(world(), only, {"c": "h0"}) == (4 / 2, 1)
