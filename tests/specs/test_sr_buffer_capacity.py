from __future__ import annotations

import pytest

from rebalancer import Rebalancer
from rebalancer.specs.sr_buffer_capacity import SRBufferCapacitySpec
from tests.specs.worlds import broken, goal, warnings, world


def spec(*pairs: str, **fields: object) -> SRBufferCapacitySpec:
    listed = [{"scope_item1": f"h{pair[0]}", "scope_item2": f"h{pair[1]}"} for pair in pairs]
    return SRBufferCapacitySpec(**({"scope": "host", "partition": "job", "scope_item_pairs": listed} | fields))


def test_the_buffer_replaces_any_group() -> None:
    assert goal(world(), spec("01")) == 2 + 1 - 1  # without web, two are lost and none is left
    assert goal(world(), spec("01", dimension="cpu")) == 3 + 4 - 4
    assert goal(world(), spec("01", dimension="cpu"), {"d": "h0"}) == 3 + (8 - 4)
    assert goal(world(), spec("02", dimension="cpu")) == 0  # the 3 of e replace those of web
    assert goal(world(), spec("01", "20", dimension="cpu")) == 3 + 0


def test_some_may_be_missing() -> None:
    assert goal(world(), spec("01", dimension="cpu", matching_error=1)) == 2
    errors = {"matching_error": 1, "lower_bound_matching_errors": {"h0": 2.5}}
    assert goal(world(), spec("01", dimension="cpu", **errors)) == 0.5


def test_constraint_has_a_component_per_pair() -> None:
    assert broken(world(), spec("01", "30", dimension="cpu")) == (3, 1)
    assert broken(world(), spec("01", filter={"items_blacklist": ["h0"]})) == (0, 0)
    assert broken(world(), spec()) == (0, 0)


def test_fields_that_only_steer_search_are_listed() -> None:
    assert warnings(world(), spec("01", use_heuristics=True)) == ["no-effect"]


@pytest.mark.parametrize("engine", ["cpsat", "neighbourhood"])
@pytest.mark.parametrize("sizes", [(10**12, 1e-6), (10**15, 1e-3)])
def test_amounts_of_sixty_bits_fit_into_cpsat(engine: str, sizes: tuple[float, float]) -> None:
    """Both tasks belong to both jobs: in different racks or not, one rack has room for what the other one loses."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h1": [], "h2": []}, unassigned=["t1", "t2"])
    solver.add_scope("rack", {"r0": ["h1"], "r1": ["h2"]})
    solver.add_partition("job", {"j0": ["t1", "t2"], "j1": ["t1", "t2"]})
    solver.add_object_dimension("mem", {"t1": sizes[0], "t2": sizes[1]})
    pairs = [{"scope_item1": "r0", "scope_item2": "r1"}]
    solver.add_goal(SRBufferCapacitySpec(scope="rack", dimension="mem", partition_name="job", scope_item_pairs=pairs))
    solution = solver.solve(engine, time_limit=30, iterations=40, workers=1)
    assert solution.objective["final"].tolist() == [0]
