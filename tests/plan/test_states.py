"""Where staging is stuck, all states that moves lead to are looked at; worked out by hand."""

import pytest

from rebalancer import CapacitySpec, ColocateGroupsSpec, Rebalancer
from rebalancer.plan import Plan, PlanOptions, plan_moves, states

SIZE = {"a": 5, "b": 5, "p": 5, "q": 5, "c": 3, "d": 5, "e": 7}
#: Of 10 each, h2 has 2 left and h3 has 3: nobody of size 5 finds a place before c is away.
CONTENTS = {"h0": ["a", "p"], "h1": ["b", "q"], "h2": ["c", "d"], "h3": ["e"]}
PLACES = {name: host for host, names in CONTENTS.items() for name in names}


def crowded() -> Rebalancer:
    solver = Rebalancer("task", "host")
    solver.set_assignment(CONTENTS)
    solver.add_object_dimension("mem", SIZE)
    solver.add_container_dimension("mem", {}, default=10)
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), name="fits")
    return solver


def swapped(solver: Rebalancer, **fields: object) -> Plan:
    return plan_moves(solver.evaluate({**PLACES, "a": "h1", "b": "h0"}), PlanOptions(), **fields)


def test_somebody_makes_room_for_who_makes_room() -> None:
    plan = swapped(crowded())
    assert (plan.status, plan.blocked, plan.least_blocked) == ("COMPLETE", (), 0)
    # a and b have to move; one of them waits on h2 meanwhile, which takes c away from there, and back
    assert len(plan.steps) == 5
    rows = [(row["object"], row["source"], row["destination"]) for row in plan.rows()]
    assert rows[0] == ("c", "h2", "h3")
    assert rows[-1] == ("c", "h3", "h2")
    assert [plan.steps.who.tolist().count(plan.model.problem.objects.index[name]) for name in "cab"] in (
        [2, 2, 1],
        [2, 1, 2],
    )


def test_a_proof_that_no_order_does() -> None:
    solver = crowded()
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem", limit=0.9, filter={"items_whitelist": ["h3"]}))
    plan = swapped(solver)  # now h3 has 2 left, and c stays
    assert [one.object for one in plan.blocked] == ["a", "b"]
    assert (plan.status, len(plan.steps), plan.least_blocked) == ("PARTIAL", 0, 2)
    assert plan.about_blocked == "proven: no order carries out more of the moves, also not with others making room"
    assert f"P{plan.about_blocked[1:]}." in plan.to_markdown()
    assert plan.to_json()["totals"]["blocked_at_least"] == 2


def test_nobody_waits_elsewhere_where_that_is_not_allowed() -> None:
    plan = swapped(crowded(), staging=False)
    assert (len(plan.steps), plan.least_blocked) == (0, 2)
    assert plan.about_blocked.endswith("where none may wait elsewhere")


def test_half_of_all_states_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_STATES", 2)
    plan = swapped(crowded())
    assert (len(plan.steps), len(plan.blocked), plan.least_blocked) == (0, 2, 0)
    assert plan.about_blocked.endswith("that there is none is not proven")


def test_some_objects_of_all_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_MOVES", 5 * 2)  # of places there are four, and none: a and b alone are looked at
    plan = swapped(crowded())
    assert (len(plan.steps), len(plan.blocked), plan.least_blocked) == (0, 2, 0)


def test_a_proof_from_the_start_where_there_is_no_way_back() -> None:
    """`c` gets to h3 and not back, so `a` and `b` have to be looked at from where `c` starts, too."""
    solver = crowded()
    end = {**PLACES, "a": "h1", "b": "h0", "c": "h3"}
    none_in = {"h0": 0, "h1": 0, "h2": 0}
    plan = plan_moves(solver.evaluate(end), max_in_per_container={"values": none_in})
    assert [(row["object"], row["destination"]) for row in plan.rows()] == [("c", "h3")]
    assert ([one.object for one in plan.blocked], plan.least_blocked) == (["a", "b"], 2)


def test_who_has_to_stay_together_leaves_together() -> None:
    """As above, and c has a twin of no size; both are on one host whenever a wave has landed."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({**CONTENTS, "h2": ["c", "d", "twin"]})
    solver.add_object_dimension("mem", {**SIZE, "twin": 0})
    solver.add_container_dimension("mem", {}, default=10)
    solver.add_partition("pair", {"pair": ["c", "twin"]})
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), name="fits")
    together = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(
        ColocateGroupsSpec(scope="host", partition="pair", bound="MAX", limits=together), in_flight="between_waves"
    )
    plan = plan_moves(solver.evaluate({**PLACES, "twin": "h2", "a": "h1", "b": "h0"}))
    # both leave, and come back
    assert (plan.status, len(plan.steps)) == ("COMPLETE", 7)
    waves = {(row["object"], row["destination"]): row["wave"] for row in plan.rows()}
    assert waves["c", "h3"] == waves["twin", "h3"] < waves["c", "h2"] == waves["twin", "h2"]
