"""Plans of small random fleets, recounted from first principles; see `recount`."""

import random

import pytest

from rebalancer.plan import plan_moves
from tests.plan.recount import busy_world, random_world


@pytest.mark.parametrize("block", range(8))
def test_every_prefix_holds_and_the_way_back_returns(block: int) -> None:
    staged = blocked = 0
    for seed in range(12 * block, 12 * block + 12):
        world = busy_world(seed) if seed % 3 == 0 else random_world(seed, 3 + seed % 7, 2 + seed % 4)
        evaluation = world.solver().evaluate(world.end)
        if evaluation.worsened:
            continue
        plan = plan_moves(evaluation, world.options(exact_time=0.5))
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
            undone = [row for row in back if row["undoes"] in done]
            for turned in (True, False):  # caps into and out of hosts hold as they are stated, and the other way round
                assert world.follow(there, undone, way_back=turned) == world.start
        for draw in range(3):
            rng = random.Random(f"{seed} {draw}")
            assert world.follow_after(rows, rng)[0] == end
            # whatever was done in whatever order, the way back leads to the start
            there, done = world.follow_after(rows, rng, stop=rng.randint(0, len(rows)))
            assert world.follow(there, [row for row in back if row["undoes"] in done], way_back=True) == world.start
        staged, blocked = staged + len(plan.staged), blocked + len(left)
    assert blocked  # the fleets are tight enough to be of interest


@pytest.mark.parametrize("block", range(4))
def test_the_fewest_waves_are_those_of_brute_force(block: int) -> None:
    exact = 0
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        world = random_world(seed, 3 + seed % 4, 2 + seed % 3)
        plan = plan_moves(world.solver().evaluate(world.end), world.options(exact_time=1))
        fewest = world.fewest(4)
        if plan.exact:
            assert fewest == plan.waves
            exact += plan.waves > 1
        elif fewest is not None:
            assert not plan.blocked
            assert plan.lower_bound <= fewest
    assert exact


@pytest.mark.parametrize("block", range(2))
def test_no_plan_has_fewer_waves_than_the_bound_that_is_found_without_searching(block: int) -> None:
    reached = 0
    for seed in range(1200 + 40 * block, 1240 + 40 * block):
        world = random_world(seed, 3 + seed % 4, 2 + seed % 3)
        plan = plan_moves(world.solver().evaluate(world.end), world.options(exact_time=1e-9))
        fewest = world.fewest(4)
        if fewest is not None and not plan.staged and not plan.blocked:
            assert plan.lower_bound <= fewest <= plan.waves
            reached += plan.lower_bound == fewest > 1
    assert reached
