"""Ways back where a cap splits what a wave undoes: what has to hold between waves holds between the parts."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rebalancer import CapacitySpec, Evaluation, GroupCountSpec, Rebalancer, SkewSpec
from rebalancer.model import Model
from rebalancer.plan import plan_moves
from rebalancer.plan.flight import ALWAYS
from rebalancer.plan.steps import Steps
from tests.examples import examples
from tests.plan.test_every_spec import worst


@dataclass(frozen=True)
class Spread:
    """Pods of some apps on nodes in three zones: where each starts and ends, and how much memory it needs."""

    app: list[int]
    start: list[int]
    end: list[int]
    memory: list[int]
    nodes: int
    room: int

    def solver(self) -> Rebalancer:
        pods, nodes = [f"p{at}" for at in range(len(self.app))], [f"n{at}" for at in range(self.nodes)]
        solver = Rebalancer("pod", "node")
        solver.set_assignment(
            {node: [pod for pod, at in zip(pods, self.start, strict=True) if nodes[at] == node] for node in nodes}
        )
        apps = sorted(set(self.app))
        solver.add_partition(
            "app", {f"a{app}": [pod for pod, own in zip(pods, self.app, strict=True) if own == app] for app in apps}
        )
        solver.add_scope("zone", {f"z{zone}": nodes[zone::3] for zone in range(3)})
        solver.add_object_dimension("mem", dict(zip(pods, self.memory, strict=True)))
        solver.add_container_dimension("mem", dict.fromkeys(nodes, self.room))
        solver.add_constraint(CapacitySpec(scope="node", dimension="mem"))
        return solver

    def ended(self, solver: Rebalancer) -> Evaluation:
        return solver.evaluate({f"p{pod}": f"n{node}" for pod, node in enumerate(self.end)})


def test_the_parts_of_a_wave_go_back_so_that_groups_stay_spread() -> None:
    spread = Spread(
        app=[1, 3, 2, 3, 1, 2, 0, 2, 3, 1, 2, 3],
        start=[7, 5, 6, 7, 2, 2, 7, 4, 5, 7, 7, 5],
        end=[5, 3, 6, 5, 4, 3, 7, 5, 7, 3, 1, 4],
        memory=[6, 2, 8, 8, 7, 8, 8, 3, 1, 7, 4, 7],
        nodes=8,
        room=30,
    )
    solver = spread.solver()
    solver.add_constraint(SkewSpec(scope="zone", partition="app"))
    plan = plan_moves(spread.ended(solver), max_in_flight=3, max_in_per_container=1)
    assert (plan.status, plan.waves, plan.exact, plan.beyond_caps) == ("COMPLETE", 4, True, ())


def test_what_can_only_go_back_together_does_and_the_plan_says_which_cap_that_exceeds() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": ["c"]})
    solver.add_object_dimension("mem", {"a": 5, "b": 5, "c": 10})
    solver.add_container_dimension("mem", {"h0": 10, "h1": 10})
    solver.add_constraint(CapacitySpec(scope="host", dimension="mem"), in_flight="between_waves")
    cap = {"default": 1, "values": {"h1": 2}}
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h1", "c": "h0"}), max_in_per_container=cap)
    assert (plan.status, plan.waves, plan.rollback.waves) == ("COMPLETE", 1, 1)
    assert plan.beyond_caps == ((1, "max_in_per_container of h0: 2 in flight, 1 allowed"),)
    assert plan.to_json()["rollback"]["beyond_caps"] == [{"wave": 1, "reason": plan.beyond_caps[0][1]}]
    assert "| 1 | max_in_per_container of h0: 2 in flight, 1 allowed |" in plan.to_markdown()


def test_what_leaves_a_host_that_takes_nothing_in_goes_back_alone_and_the_plan_says_so() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": [], "h2": ["c"]})
    cap = {"values": {"h0": 0}}
    plan = plan_moves(solver.evaluate({"a": "h1", "b": "h2", "c": "h1"}), max_in_per_container=cap)
    assert (plan.waves, plan.exact, plan.rollback.waves) == (1, True, 3)
    over = "max_in_per_container of h0: 1 in flight, 0 allowed"
    assert plan.beyond_caps == ((2, over), (3, over))


@st.composite
def spreads(draw: st.DrawFn) -> tuple[Spread, Rebalancer]:
    """Apps that are spread anew, with room for where they start and end, and little more."""
    pods, nodes = draw(st.integers(5, 10)), draw(st.integers(4, 6))
    app = [draw(st.integers(0, 3)) for _ in range(pods)]
    start = [draw(st.integers(0, nodes - 1)) for _ in range(pods)]
    seen: dict[int, int] = {}
    end = []
    for own in app:  # round the zones, so that every app ends evenly spread
        zone = seen[own] = seen.get(own, own) + 1
        end.append(draw(st.sampled_from(range(zone % 3, nodes, 3))))
    memory = [draw(st.integers(1, 8)) for _ in range(pods)]
    room = int(max(np.bincount(place, memory, nodes).max() for place in (start, end))) + draw(st.integers(0, 8))
    spread = Spread(app, start, end, memory, nodes, room)
    solver = spread.solver()
    rules = draw(st.sampled_from(["skew", "count", "both"]))
    if rules != "count":
        solver.add_constraint(SkewSpec(scope="zone", partition="app"))
    if rules != "skew":
        limit = {"type": "ABSOLUTE", "global_limit": draw(st.integers(1, 3))}
        bound, moment = draw(st.sampled_from(["MIN", "MAX"])), draw(st.sampled_from([None, "between_waves"]))
        solver.add_constraint(
            GroupCountSpec(scope="zone", partition="app", limit=limit, bound=bound), in_flight=moment, policy="DEFAULT"
        )
    return spread, solver


CAP = st.sampled_from([1, 2, None])


def follow(model: Model, now: np.ndarray, steps: Steps, ends: list[np.ndarray], rng: random.Random) -> np.ndarray:
    """Carry out steps, recounting everything wave by wave, and with some that have arrived before others."""
    for wave in range(steps.waves):
        rows = steps.in_wave(wave)
        assert (now[steps.who[rows]] == steps.source[rows]).all()
        for some in (rng.sample(rows.tolist(), rng.randint(0, len(rows))), rows):
            partly = now.copy()
            partly[steps.who[some]] = steps.destination[some]
            assert not worst(model, partly, ends, (ALWAYS,))
        now = partly
        assert not worst(model, now, ends, (ALWAYS, "between_waves"))
    return now


@examples(40)
@given(drawn=spreads(), together=st.sampled_from([None, 3, 5]), into=CAP, out_of=CAP, proven=st.booleans())
def test_plans_of_spread_groups_under_caps_go_there_and_back(
    drawn: tuple[Spread, Rebalancer], together: int | None, into: int | None, out_of: int | None, proven: bool
) -> None:
    spread, solver = drawn
    evaluation = spread.ended(solver)
    if evaluation.worsened:
        return
    model, start, end = solver.model, solver.model.problem.initial, evaluation._assignment
    caps = {"max_in_flight": together, "max_in_per_container": into, "max_out_per_container": out_of}
    stated = {name: cap for name, cap in caps.items() if cap is not None}
    plan = plan_moves(evaluation, exact_time=0.1 if proven else 1e-9, **stated)
    rng = random.Random(0)
    reached = follow(model, start, plan.steps, [start, end], rng)
    left = np.flatnonzero(reached != end)  # objects are numbered in the order of the assignment, not of their names
    assert sorted(model.problem.objects[at] for at in left) == sorted(one.object for one in plan.blocked)
    assert (follow(model, reached, plan.rollback, [start, end], rng) == start).all()
    beyond = {wave - 1 for wave, _ in plan.beyond_caps}
    for steps, over in ((plan.steps, set()), (plan.rollback, beyond)):
        for wave in set(range(steps.waves)) - over:
            rows = steps.in_wave(wave)
            counted = np.bincount(steps.destination[rows]).max(), np.bincount(steps.source[rows]).max()
            for cap, count in ((together, len(rows)), (into, counted[0]), (out_of, counted[1])):
                assert cap is None or count <= cap
