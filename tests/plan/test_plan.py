"""Small cases worked out by hand."""

from pathlib import Path

import pytest

from rebalancer import CapacitySpec, GroupCountSpec, InputError, Rebalancer
from rebalancer.plan import Cap, Plan, PlanOptions, plan_moves


def fleet(contents: dict[str, list[str]], size: dict[str, int], room: int = 10) -> Rebalancer:
    solver = Rebalancer("task", "host")
    solver.set_assignment(contents)
    solver.add_object_dimension("mem", size)
    solver.add_container_dimension("mem", dict.fromkeys(contents, room))
    return solver


def with_capacity(contents: dict[str, list[str]], size: dict[str, int], **how: str) -> Rebalancer:
    solver = fleet(contents, size)
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), name="fits", **how)
    return solver


def moves(plan: Plan) -> list[tuple[str, str | None, str | None, int]]:
    return [(row["object"], row["source"], row["destination"], row["wave"]) for row in plan.rows()]


SWAP = {"a": "h1", "b": "h0"}


def test_two_full_hosts_swap_over_a_third() -> None:
    solver = with_capacity({"h0": ["a"], "h1": ["b"], "h2": []}, {"a": 10, "b": 10})
    plan = plan_moves(solver.evaluate(SWAP))
    assert moves(plan) == [("a", "h0", "h2", 1), ("b", "h1", "h0", 2), ("a", "h2", "h1", 3)]
    assert [row["after"] for row in plan.rows()] == [[], ["s1"], ["s1", "s2"]]
    assert (plan.status, plan.staged, plan.lower_bound, plan.exact) == ("COMPLETE", ((0, 2),), 2, False)
    assert [row["undoes"] for row in plan.rollback_rows()] == ["s3", "s2", "s1"]


def test_two_full_hosts_cannot_swap_alone() -> None:
    solver = with_capacity({"h0": ["a"], "h1": ["b"]}, {"a": 10, "b": 10})
    plan = plan_moves(solver.evaluate(SWAP))
    assert (plan.status, len(plan.steps)) == ("PARTIAL", 0)
    assert [(one.object, one.reasons) for one in plan.blocked] == [
        ("a", ("fits on h1: needs 10, 0 free",)),
        ("b", ("fits on h0: needs 10, 0 free",)),
    ]


def test_without_staging_the_swap_is_blocked_and_the_rest_is_carried_out() -> None:
    solver = with_capacity({"h0": ["a"], "h1": ["b"], "h2": ["c"], "h3": []}, {"a": 10, "b": 10, "c": 1})
    plan = plan_moves(solver.evaluate({**SWAP, "c": "h3"}), PlanOptions(staging=False))
    assert moves(plan) == [("c", "h2", "h3", 1)]
    assert [one.object for one in plan.blocked] == ["a", "b"]


@pytest.mark.parametrize(("moment", "waves"), [("between_waves", 1), ("at_end", 1)])
def test_what_need_not_hold_in_flight_lets_full_hosts_swap(moment: str, waves: int) -> None:
    solver = with_capacity({"h0": ["a"], "h1": ["b"]}, {"a": 10, "b": 10}, in_flight=moment)
    plan = plan_moves(solver.evaluate(SWAP))
    assert (plan.waves, plan.exact, plan.blocked) == (waves, True, ())
    assert [(one.constraint, one.item, one.amount, one.in_flight) for one in plan.excess] == [
        ("fits", "h0", 10.0, moment),
        ("fits", "h1", 10.0, moment),
    ]


def test_at_least_one_replica_stays_up() -> None:
    contents = {"h0": ["a", "b"], "h1": [], "h2": []}
    solver = fleet(contents, {"a": 1, "b": 1})
    solver.add_partition("job", {"web": ["a", "b"]})
    solver.add_scope("fleet", {"all": ["h0", "h1", "h2"]})
    least = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(GroupCountSpec(scope="fleet", partition="job", limit=least, bound="MIN"))
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h2"}))
    assert (plan.waves, plan.exact) == (2, True)
    assert [len(row["after"]) for row in plan.rows()] == [0, 1]


def test_who_leaves_for_good_waits_for_who_is_away_for_a_while() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"], "h1": [], "h2": ["b"]})
    solver.add_partition("job", {"web": ["a", "b"]})
    solver.add_scope("rack", {"r0": ["h0", "h2"], "r1": ["h1"]})
    least = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(GroupCountSpec(scope="rack", partition="job", limit=least, bound="MIN"))
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h0"}), staging=False, exact_time=1e-9)
    assert moves(plan) == [("b", "h2", "h0", 1), ("a", "h0", "h1", 2)]


def test_a_host_that_is_too_full_may_not_get_fuller_but_is_emptied_first() -> None:
    contents = {"h0": ["a", "b"], "h1": ["c"], "h2": []}
    solver = with_capacity(contents, {"a": 8, "b": 6, "c": 1})
    plan = plan_moves(solver.evaluate({"a": "h2", "b": "h0", "c": "h0"}))
    assert moves(plan) == [("a", "h0", "h2", 1), ("c", "h1", "h0", 2)]
    assert next(plan.rows())["reason"] == "repairs what is broken"
    assert [(one.constraint, one.item, one.first_wave, one.amount) for one in plan.excess] == [("fits", "h0", 1, 4.0)]


def test_caps_set_the_number_of_waves() -> None:
    contents = {"h0": [f"t{at}" for at in range(7)], "h1": [], "h2": []}
    solver = fleet(contents, {f"t{at}": 1 for at in range(7)})
    evaluation = solver.evaluate({f"t{at}": f"h{1 + at % 2}" for at in range(7)})
    for options, waves in (
        ({}, 1),
        ({"max_in_flight": 3}, 3),
        ({"max_in_per_container": Cap(default=2)}, 2),
        ({"max_out_per_container": Cap(default=2)}, 4),
        ({"max_in_per_container": Cap(values={"h1": 1})}, 4),
        ({"max_amount": {"mem": 1.5}}, 7),
    ):
        plan = plan_moves(evaluation, PlanOptions(**options))
        assert (plan.waves, plan.lower_bound, plan.exact, len(plan.steps)) == (waves, waves, True, 7)


def test_every_host_at_95_percent_and_hundreds_of_swaps() -> None:
    hosts = [f"h{at}" for at in range(100)]
    contents = {host: [f"b{at}", *(f"s{at}-{number}" for number in range(17))] for at, host in enumerate(hosts)}
    size = {name: 10 if name.startswith("b") else 5 for names in contents.values() for name in names}
    solver = Rebalancer("task", "host")
    solver.set_assignment(contents)
    solver.add_object_dimension("mem", size)
    solver.add_container_dimension("mem", {}, default=100)
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"))
    end = {name: host for host, names in contents.items() for name in names}
    for at in range(0, 100, 2):
        end[f"b{at}"], end[f"b{at + 1}"] = f"h{at + 1}", f"h{at}"
    plan = plan_moves(solver.evaluate(end))
    assert plan.status == "COMPLETE"
    assert len(plan.steps) == 100 + 2 * 50  # for each swap one small task makes room, and comes back
    assert plan.waves == 4  # all swaps at once: make room, the one, the other, come back
    assert plan.steps.end(plan.start).tolist() == solver.evaluate(end)._assignment.tolist()


def test_a_fleet_without_any_room_says_what_each_move_lacks() -> None:
    hosts = [f"h{at}" for at in range(60)]
    contents = {host: [f"b{at}", f"s{at}"] for at, host in enumerate(hosts)}
    size = {name: 6 if name.startswith("b") else 4 for names in contents.values() for name in names}
    solver = with_capacity(contents, size)
    end = {f"s{at}": host for at, host in enumerate(hosts)}
    end |= {f"b{at}": f"h{(at + 1) % 60}" for at in range(60)}
    plan = plan_moves(solver.evaluate(end))
    assert (plan.status, len(plan.steps), len(plan.blocked)) == ("PARTIAL", 0, 60)
    assert {one.object: one.reasons for one in plan.blocked}["b0"] == ("fits on h1: needs 6, 0 free",)
    assert "60 of 60 moves cannot be carried out" in plan.to_markdown()


def test_faults_of_options_name_what_is_near() -> None:
    solver = with_capacity({"h0": ["a"], "h1": []}, {"a": 1})
    options = PlanOptions(max_amount={"mme": 1}, max_per_group={"job": Cap(default=1)})
    with pytest.raises(InputError) as caught:
        plan_moves(solver.evaluate({"a": "h1"}), options)
    assert [(fault.code, fault.suggestion) for fault in caught.value.faults] == [
        ("unknown-name", None),
        ("unknown-name", "mem"),
    ]
    with pytest.raises(InputError, match="did you mean 'always'"):
        solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), in_flight="allways")


def test_an_end_that_breaks_something_has_no_plan() -> None:
    solver = with_capacity({"h0": ["a"], "h1": ["b"]}, {"a": 6, "b": 6})
    with pytest.raises(InputError, match="'fits'"):
        plan_moves(solver.evaluate({"a": "h1", "b": "h1"}))


def test_nothing_to_move_is_an_empty_plan() -> None:
    plan = plan_moves(with_capacity({"h0": ["a"]}, {"a": 6}).evaluate())
    assert (plan.status, plan.waves, plan.lower_bound, plan.exact) == ("COMPLETE", 0, 0, True)


def test_who_cannot_fly_keeps_no_room_from_others() -> None:
    """`db-0` may not join `cache-0`, which cannot leave; `web-0` can fly, but for the room that `db-0` would take."""
    solver = Rebalancer.from_yaml(Path(__file__).parents[2] / "scenarios" / "kubernetes-snapshot" / "scenario.yaml")
    ends = {"shop/db-0": "node-a1", "shop/exporter-0": "node-a2", "shop/cache-0": "node-b1", "shop/web-0": "node-a1"}
    problem = solver.model.problem
    start = {
        name: None if at < 0 else problem.containers[at]
        for name, at in zip(problem.objects, problem.initial.tolist(), strict=True)
    }
    plan = plan_moves(solver.evaluate(start | ends))
    assert all(one.reasons for one in plan.blocked)
    assert "shop/web-0" in {row["object"] for row in plan.rows()}


def test_who_could_not_stay_where_it_goes_keeps_no_place_in_the_wave_from_others() -> None:
    # every host but the last is full: only who goes there can arrive alone, then the one before it, and so on
    contents = {f"h{at}": [f"t{at:02}"] for at in range(50)} | {"h50": []}
    solver = with_capacity(contents, {f"t{at:02}": 10 for at in range(50)}, in_flight="between_waves")
    plan = plan_moves(solver.evaluate({f"t{at:02}": f"h{at + 1}" for at in range(50)}), max_in_flight=1)
    assert (plan.status, plan.waves) == ("COMPLETE", 50)
    assert [row["object"] for row in plan.rows()] == [f"t{at:02}" for at in reversed(range(50))]
