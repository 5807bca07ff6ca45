"""What is said of a plan when the world is no longer what it was: by hand, and recounted on random fleets."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rebalancer import CapacitySpec, InputError, PlanOptions, Rebalancer, plan_moves
from rebalancer.plan import Plan
from rebalancer.plan.read import Verdict, verify_plan
from tests.plan.recount import World, busy_world, random_world

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def fleet(contents: dict[str, list[str]], size: dict[str, int], room: int = 10, **how: Any) -> Rebalancer:
    solver = Rebalancer("task", "host")
    solver.set_assignment(contents)
    solver.add_object_dimension("mem", size)
    solver.add_container_dimension("mem", {}, default=room)
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), name="fits", **how)
    return solver


def one_host_fills_up() -> Plan:
    """Three tasks of 3 go to an empty host, where a task of 5 may turn up."""
    names = [f"t{at}" for at in range(3)]
    solver = fleet({"h0": names, "h1": [], "h2": ["z"]}, {**dict.fromkeys(names, 3), "z": 5})
    return plan_moves(solver.evaluate({**dict.fromkeys(names, "h1"), "z": "h2"}), created=NOON)


def test_only_the_steps_that_do_not_fit_are_left_out() -> None:
    plan = one_host_fills_up()
    assert plan.waves == 1
    verdict = plan.verify({"t0": "h0", "t1": "h0", "t2": "h0", "z": "h1"})
    assert (verdict.verdict, verdict.valid) == ("PARTIAL", ["s1"])
    assert verdict.invalid == {
        "s2": "wave 1: fits on h1: needs 3, 2 free",
        "s3": "wave 1: fits on h1: needs 3, 2 free",
    }


def test_a_step_that_no_longer_fits_where_it_ends_is_not_valid() -> None:
    solver = fleet({"h0": ["a"], "h1": ["z"], "h2": []}, {"a": 8, "z": 5})
    plan = plan_moves(solver.evaluate({"a": "h2", "z": "h1"}))
    verdict = plan.verify({"a": "h0", "z": "h2"})
    assert (verdict.verdict, verdict.invalid) == ("STALE", {"s1": "wave 1: fits on h2: needs 8, 5 free"})


def test_what_was_too_full_at_the_start_may_be_as_full_again_half_way() -> None:
    # h0 holds 14 of 10 at the start, 6 once the big one has left, 12 in the end
    solver = fleet({"h0": ["a", "b"], "h1": ["c"], "h2": []}, {"a": 8, "b": 6, "c": 6})
    plan = plan_moves(solver.evaluate({"a": "h2", "b": "h0", "c": "h0"}))
    assert [row["object"] for row in plan.rows()] == ["a", "c"]
    verdict = plan.verify({"a": "h2", "b": "h0", "c": "h1"})
    assert (verdict.verdict, verdict.done, verdict.valid) == ("VALID", ["s1"], ["s2"])


def test_what_holds_at_the_end_only_is_not_broken_by_half_a_plan() -> None:
    solver = fleet({"h0": ["a"], "h1": ["b"], "h2": []}, {"a": 10, "b": 10}, in_flight="at_end")
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h0"}))
    assert plan.verify().verdict == "VALID"
    verdict = plan.verify({"a": "h0", "b": "h2"})  # somebody has moved b elsewhere
    assert (verdict.verdict, verdict.valid) == ("PARTIAL", ["s1"])
    verdict = fleet_with_a_blocked_half()
    assert (verdict.verdict, verdict.valid) == ("STALE", [])


def fleet_with_a_blocked_half() -> Verdict:
    """Two hosts swap what fills them; on the way, or in the end, one of the two finds no disk any more."""
    contents = {"h0": ["a"], "h1": ["b"], "h2": ["z"]}
    solver = fleet(contents, {"a": 10, "b": 10, "z": 0}, in_flight="at_end")
    solver.add_object_dimension("disk", {"b": 5, "z": 4})
    solver.add_container_dimension("disk", {}, default=8)
    solver.add_constraint(CapacitySpec(scope="host", dimension="disk"), name="disk")
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h0", "z": "h2"}))
    assert plan.verify().verdict == "VALID"
    return plan.verify({"a": "h0", "b": "h1", "z": "h0"})


def test_a_plan_in_which_one_half_of_a_swap_is_blocked_keeps_what_holds_at_the_end() -> None:
    contents = {"h0": ["a", "c"], "h1": ["b", "d"]}
    solver = fleet(contents, {"a": 10, "b": 10, "c": 0, "d": 0}, in_flight="at_end")
    solver.add_object_dimension("disk", {"b": 5, "c": 5})
    solver.add_container_dimension("disk", {}, default=5)
    solver.add_constraint(CapacitySpec(scope="host", dimension="disk"), name="disk")
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h0", "c": "h1", "d": "h0"}))
    # b and c are in each other's way; without b leaving, a would overfill h1 for good
    assert sorted(one.object for one in plan.blocked) == ["a", "b", "c"]
    assert [row["object"] for row in plan.rows()] == ["d"]


def test_a_plan_expires() -> None:
    solver = fleet({"h0": ["a", "b"], "h1": []}, {"a": 1, "b": 1})
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h1"}), created=NOON, expires="12h")
    assert plan.expires == NOON + timedelta(hours=12)
    content = plan.to_json()
    assert (content["created"], content["expires"]) == ("2026-03-01T12:00:00+00:00", "2026-03-02T00:00:00+00:00")
    assert "| Expires | 2026-03-02T00:00:00+00:00: no step is to be started later |" in plan.to_markdown()
    assert plan.verify(moment=plan.expires).verdict == "VALID"
    late = NOON + timedelta(hours=12, seconds=1)
    half = {"a": "h1", "b": "h0"}
    verdict = plan.verify(half, late)
    assert (verdict.verdict, verdict.done, verdict.reasons) == (
        "STALE", ["s1"], ["the plan expired at 2026-03-02T00:00:00+00:00"],
    )  # fmt: skip
    assert plan.verify({"a": "h1", "b": "h1"}, late).verdict == "VALID"  # nothing is left to be started
    assert plan_moves(solver.evaluate({"a": "h1", "b": "h1"})).to_json()["expires"] is None


def test_the_time_of_a_plan_needs_its_zone() -> None:
    solver = fleet({"h0": ["a"], "h1": []}, {"a": 1})
    with pytest.raises(InputError, match="needs its time zone"):
        plan_moves(solver.evaluate({"a": "h1"}), created=datetime(2026, 3, 1))


def test_who_has_come_back_has_made_its_way_once_what_it_made_room_for_is_done() -> None:
    # b (5) finds 3 free on h0, so c (2) waits on h2, where nothing but c fits, until a has left
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "c"], "h1": ["b"], "h2": []})
    solver.add_object_dimension("mem", {"a": 5, "b": 5, "c": 2})
    solver.add_container_dimension("mem", {"h0": 10, "h1": 5, "h2": 2})
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), name="fits")
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h0", "c": "h0"}), created=NOON, expires="1h")
    assert [(row["object"], row["wave"]) for row in plan.rows()] == [("c", 1), ("b", 2), ("a", 3), ("c", 4)]
    now, late = {"a": "h0", "b": "h1", "c": "h0"}, NOON + timedelta(hours=2)
    done: list[str] = []
    for row in [None, *plan.rows()]:
        if row is not None:
            now[row["object"]] = row["destination"]
            done.append(row["id"])
        verdict = plan.verify(now, NOON)
        assert (verdict.verdict, verdict.done, len(verdict.valid)) == ("VALID", done, 4 - len(done))
    assert plan.verify(now, late).verdict == "VALID"  # nothing is left to be started


# -- random fleets ----------------------------------------------------------------------------------------------------


def shaken(world: World, plan: Plan, rng: random.Random) -> dict[str, str]:
    """A state that some waves of the plan and a few strangers have led to."""
    now = dict(world.start)
    done = rng.randint(0, max(0, plan.waves - 1))
    now.update({row["object"]: row["destination"] for row in plan.rows() if row["wave"] <= done})
    for task in rng.sample(sorted(now), rng.randint(0, 3)):
        now[task] = rng.choice(sorted(world.room))
    return now


@pytest.mark.parametrize("block", range(6))
def test_what_is_called_valid_can_be_carried_out_and_nothing_else_could(block: int) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(2000 + 20 * block, 2020 + 20 * block):
        rng = random.Random(seed)
        world = busy_world(seed) if seed % 4 else random_world(seed, 4 + seed % 6, 2 + seed % 4)
        evaluation = world.solver().evaluate(world.end)
        if evaluation.worsened:
            continue
        plan = plan_moves(evaluation, world.options(exact_time=0.1))
        rows = {row["id"]: row for row in plan.rows()}
        now = shaken(world, plan, rng)
        verdict = plan.verify(now)
        verdicts[verdict.verdict] += 1
        assert sorted([*verdict.valid, *verdict.done, *verdict.invalid]) == sorted(rows)
        assert verdict.verdict == ("VALID" if not verdict.invalid else "PARTIAL" if verdict.valid else "STALE")
        known = now, world.start
        valid = [rows[step] for step in verdict.valid]
        end = world.follow(now, valid, known=known)
        for _ in range(2):  # not wave by wave either, by the verdict's own order
            pipelined = [{**row, "after": verdict.after[row["id"]]} for row in valid]
            assert not verdict.after_wave
            assert world.follow_after(pipelined, rng, now, known)[0] == end
        check_first_loss(world, rows, verdict, now)
    assert verdicts["VALID"]
    assert verdicts["PARTIAL"]


@pytest.mark.parametrize("block", range(2))
def test_a_plan_half_carried_out_is_as_valid_as_before(block: int) -> None:
    passed_twice = 0
    for seed in range(3000 + 40 * block, 3040 + 40 * block):
        rng = random.Random(seed)
        world = busy_world(seed)
        plan = plan_moves(world.solver().evaluate(world.end), world.options(exact_time=1e-9))
        rows = list(plan.rows())
        for wave in range(plan.waves + 1):
            done = {row["id"] for row in rows if row["wave"] <= wave}
            now = world.start | {row["object"]: row["destination"] for row in rows if row["id"] in done}
            check_half(world, plan, now, done)
        for _ in range(3):
            now, done = world.follow_after(rows, rng, stop=rng.randint(0, len(rows)))
            check_half(world, plan, now, done)
        passed_twice += sum(
            len({world.start[task], *ends}) <= len(ends)
            for task in world.start
            if (ends := [row["destination"] for row in rows if row["object"] == task])
        )
    assert passed_twice


def check_half(world: World, plan: Plan, now: dict[str, str], done: set[str]) -> None:
    """What was done is known, or something that ends in the same state; the rest can be carried out."""
    verdict = plan.verify(now)
    assert (verdict.verdict, set(verdict.done) >= done) == ("VALID", True), (now, done, verdict)
    left = [row for row in plan.rows() if row["id"] in verdict.valid]
    end = world.start | {row["object"]: row["destination"] for row in plan.rows()}
    assert world.follow(now, left) == end


def check_first_loss(world: World, rows: dict[str, dict[str, Any]], verdict: Verdict, now: dict[str, str]) -> None:
    """Each step of the first wave that loses some breaks something beside those that are kept."""
    broken = [rows[step] for step, why in verdict.invalid.items() if why.startswith("wave ")]
    if not broken:
        return
    first = min(row["wave"] for row in broken)
    at = dict(now)
    for step in verdict.valid:
        if rows[step]["wave"] < first:
            at[rows[step]["object"]] = rows[step]["destination"]
    beside = {rows[s]["object"]: rows[s]["destination"] for s in verdict.valid if rows[s]["wave"] == first}
    for row in broken:
        if row["wave"] == first:
            flying = {**beside, row["object"]: row["destination"]}
            landed = {**at, **flying}
            known = now, world.start
            assert world.faults(at, flying, known=known) or world.faults(landed, {}, known=known), row


def test_what_has_left_the_fleet_takes_only_its_own_steps_with_it() -> None:
    contents = {"h0": ["a", "b", "c"], "h1": [], "h2": []}
    plan = plan_moves(fleet(contents, {"a": 3, "b": 3, "c": 3}).evaluate({"a": "h1", "b": "h1", "c": "h2"}))
    assert [row["object"] for row in plan.rows()] == ["a", "b", "c"]
    smaller = fleet({"h0": ["b", "c"], "h1": []}, {"b": 3, "c": 3}).model  # the task a and the host h2 are gone
    verdict = verify_plan(smaller, plan.to_json(), smaller.problem.initial, PlanOptions())
    assert (verdict.verdict, verdict.valid) == ("PARTIAL", ["s2"])
    assert verdict.invalid == {"s1": "task 'a' is not there any more", "s3": "host 'h2' is not there any more"}
    nobody = fleet({"h9": ["z"]}, {"z": 1}).model
    assert verify_plan(nobody, plan.to_json(), nobody.problem.initial, PlanOptions()).verdict == "STALE"
