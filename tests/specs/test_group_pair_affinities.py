from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rebalancer.specs.group_pair_affinities import GroupPairAffinitiesSpec
from tests.specs.worlds import codes, faults, goal, world

WEB = {"partition": "job", "groups": ["web"]}


def value(
    first: Any, second: Any, moves: dict[str, str | None] | None = None, affinity: float = -1, **fields: Any
) -> float:
    """The goal of one entry; as a cost, unless another affinity is given."""
    entry = {"first": first, "second": second, "affinity": affinity}
    return goal(world(), GroupPairAffinitiesSpec(**({"scope": "host", "affinities": [entry]} | fields)), moves)


def test_pairs() -> None:
    assert value(["a", "b"], ["e", "f"]) == 0
    assert value(["a", "b"], ["e", "f"], {"e": "h0", "f": "h0"}) == 4
    assert value(["a", "b"], ["c", "e"], scope="rack") == 2
    assert value(WEB, WEB) == 2  # a with b, b with a
    assert value(WEB, WEB, scope="rack") == 6
    assert value(["a", "b"], ["b", "c"]) == 1  # a with b
    assert value(["a", "b"], ["b", "c"], {"c": "h0"}) == 3
    assert value(WEB, ["a"], affinity=2.5) == -2.5


def test_objects_that_have_company() -> None:
    assert value(WEB, ["e", "f"], {"a": "h2", "b": "h2"}, count="objects") == 2
    assert value(["e", "f"], WEB, {"a": "h2"}, count="objects") == 2
    assert value(WEB, WEB, count="objects") == 2
    assert value(["a", "b"], ["b"], count="objects") == 1  # b is no company for itself


def test_items_with_a_pair() -> None:
    assert value(WEB, ["b", "e"], count="items") == 1
    assert value(WEB, ["e"], {"a": "h2", "b": "h2", "e": "h2"}, count="items") == 1
    assert value(["b"], ["b"], count="items") == 0


def test_empty_cases_and_faults() -> None:
    assert value([], WEB) == 0
    assert value(WEB, WEB, affinity=0) == 0
    assert value(WEB, WEB, filter={"items_whitelist": []}) == 0
    assert value(WEB, WEB, filter={"items_blacklist": ["h0"]}) == 0
    assert goal(world(), GroupPairAffinitiesSpec(scope="host", affinities=[])) == 0
    entry = {"first": ["q"], "second": WEB, "affinity": 1}
    assert codes(faults(world(), GroupPairAffinitiesSpec(scope="host", affinities=[entry]))) == [("unknown-name", "0")]


@pytest.mark.parametrize("count", ["pairs", "objects", "items"])
def test_entries_add_up_whichever_of_them_are_alike(count: str) -> None:
    """Pairs of sets of the same sizes and worth are one array; counted here object by object."""
    rng = np.random.default_rng(7)
    names, hosts = ["a", "b", "c", "d", "e", "f"], ["h0", "h1", "h2", "h3"]
    entries = []
    for _ in range(40):
        first, second = (rng.choice(names, size, replace=False).tolist() for size in rng.integers(1, 4, 2))
        entries.append({"first": first, "second": second, "affinity": int(rng.choice([-1, 2]))})
    spec = GroupPairAffinitiesSpec(scope="host", affinities=entries, count=count)
    for _ in range(5):
        at = dict(zip(names, rng.choice([*hosts, None], len(names)).tolist(), strict=True))
        expected = 0
        for entry in entries:
            met = [(a, b) for a in entry["first"] for b in entry["second"] if a != b and at[a] == at[b] is not None]
            number = {"pairs": len(met), "objects": len({a for a, _ in met}), "items": len({at[a] for a, _ in met})}
            expected -= entry["affinity"] * number[count]
        assert goal(world(), spec, at) == expected
