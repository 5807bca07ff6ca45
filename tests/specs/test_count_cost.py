from __future__ import annotations

from rebalancer.specs.count_cost import CountCostSpec
from tests.specs.worlds import broken, codes, compiled, faults, feasible, goal, settled, table, world


def spec(**fields: object) -> CountCostSpec:
    return CountCostSpec(**({"scope": "host", "costs": [0, 10, 30]} | fields))


def test_a_list_is_the_costs_of_0_1_2_and_goes_on() -> None:
    assert goal(world(), spec()) == 30 + 10 + 30 + 0
    assert goal(world(), spec(), {"c": "h0"}) == 50 + 0 + 30
    assert goal(world(), spec(costs=[7, 0])) == -7 + 0 - 7 + 7
    assert goal(world(), spec(costs=[7])) == 4 * 7
    assert goal(world(), spec(scope="rack")) == 50 + 30


def test_corners_are_joined_by_lines() -> None:
    corners = [{"count": 1, "cost": 6}, {"count": 3, "cost": 0}, {"count": 4, "cost": 100}]
    assert goal(world(), spec(costs=corners)) == 3 + 6 + 3 + 6
    assert goal(world(), spec(costs=corners), {"c": "h0"}) == 0 + 6 + 3 + 6
    assert goal(world(), spec(costs=corners), {"c": "h0", "e": "h0", "f": "h0"}) == 200 + 6 + 6 + 6


def test_groups_are_charged_one_by_one() -> None:
    assert goal(world(), spec(partition="job")) == 30 + 10 + 10
    assert goal(world(), spec(partition="job", groups=["db"])) == 10
    assert goal(world(), spec(objects=["a", "e"])) == 20
    assert goal(world(), spec(filter={"items_whitelist": ["h0", "h3"]})) == 30
    assert goal(world(), spec(costs=[5, 6], filter={"items_whitelist": []})) == 0


def test_the_budget_of_a_constraint_is_for_each_group_over_all_items() -> None:
    quota = {"partition": "job", "costs": [0, 0, 1]}  # one per host is free
    assert broken(world(), spec(**quota)) == (1, 1)
    assert broken(world(), spec(**quota, budget=1)) == (0, 0)
    assert broken(world(), spec(**quota, budget=1), {"c": "h0"}) == (1, 1)
    assert table(world(), spec(**quota)) == [
        (None, "web", 1, 0, 1),
        (None, "db", 0, 0, 0),
        (None, "none", 0, 0, 0),
    ]
    assert feasible(settled(), spec(**quota), {"a": "h1", "c": "h0"})
    assert not feasible(settled(), spec(**quota), {"c": "h0"})


def test_a_table_of_any_shape_is_minimised_exactly() -> None:
    """Two beside each other are dear, three are cheap: all five in one place."""
    from rebalancer.engines.base import Request, Status
    from rebalancer.engines.cpsat.engine import CpsatEngine

    model = compiled(settled(), spec(costs=[0, 3, 9, 1]))
    answer = CpsatEngine().solve(model, Request(time_limit=60, workers=1))
    assert answer.status is Status.OPTIMAL
    assert answer.bounds == (-23,)  # six in one place: 1 − 3 · 8


def test_faults() -> None:
    assert codes(faults(world(), spec(costs=[]))) == [("out-of-range", "costs")]
    twice = [{"count": 2, "cost": 1}, {"count": 2, "cost": 2}]
    assert codes(faults(world(), spec(costs=twice))) == [("out-of-range", "count")]
    assert codes(faults(world(), spec(costs=[{"count": -1, "cost": 1}]))) == [("out-of-range", "count")]
