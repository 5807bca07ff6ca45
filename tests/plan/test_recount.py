"""Plans of small random fleets, recounted from first principles; see `recount`."""

import random

import pytest

from rebalancer.plan import plan_moves
from tests.plan.recount import random_world


@pytest.mark.parametrize("block", range(8))
def test_every_prefix_holds_and_the_way_back_returns(block: int) -> None:
    staged = blocked = 0
    for seed in range(20 * block, 20 * block + 20):
        world = random_world(seed, 3 + seed % 7, 2 + seed % 4)
        plan = plan_moves(world.solver().evaluate(world.end), world.options())
        rows = list(plan.rows())
        end = world.follow(world.start, rows)
        left = {task for task in end if end[task] != world.end[task]}
        assert left == {one.object for one in plan.blocked}
        assert plan.status == ("PARTIAL" if left else "COMPLETE")
        back = list(plan.rollback_rows())
        assert world.follow(end, back, way_back=True) == world.start
        for wave in range(plan.waves + 1):  # from any wave onwards
            done = {row["id"] for row in rows if row["wave"] <= wave}
            there = world.follow(world.start, [row for row in rows if row["id"] in done])
            assert world.follow(there, [row for row in back if row["undoes"] in done], way_back=True) == world.start
        assert world.follow_after(rows, random.Random(seed)) == end
        staged, blocked = staged + len(plan.staged), blocked + len(left)
    assert blocked  # the fleets are tight enough to be of interest


@pytest.mark.parametrize("block", range(4))
def test_the_fewest_waves_are_those_of_brute_force(block: int) -> None:
    exact = 0
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        world = random_world(seed, 3 + seed % 4, 2 + seed % 3)
        plan = plan_moves(world.solver().evaluate(world.end), world.options())
        fewest = world.fewest(4)
        if plan.exact:
            assert fewest == plan.waves
            exact += plan.waves > 1
        elif fewest is not None:
            assert not plan.blocked
            assert plan.lower_bound <= fewest
    assert exact
