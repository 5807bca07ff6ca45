"""Firmament and Poseidon: the figures of the design document on affinity, and its use case."""

from typing import Any

import pytest

from rebalancer import BalanceSpec, InputError
from rebalancer.dialects.firmament import Firmament, parse
from tests.dialects.problems import goes, holds, solver_of, where

MACHINES: dict[str, dict[str, Any]] = {"M0": {}, "M1": {}, "M2": {}}


def flow(*constructs: dict[str, Any], **fields: Any) -> Firmament:
    return Firmament.model_validate({"flow": list(constructs), **fields})


def test_figure_1_machine_id() -> None:
    assert goes(
        solver_of(flow({"construct": "pin", "tasks": ["T0"], "machines": ["M0"]}), MACHINES, {"T0": None}), "T0"
    ) == ["M0"]


def test_figure_2_conflicts() -> None:
    solver = solver_of(flow({"construct": "xor", "tasks": ["T0", "T1"], "r": 1}), MACHINES, {"T0": "M0", "T1": None})
    assert goes(solver, "T1") == ["M1", "M2"]
    assert not holds(solver, {"T0": "M0", "T1": "M0"})


def test_figure_3_global() -> None:
    tasks = dict.fromkeys(["G0", "G1", "G2"])
    assert set(where(solver_of(flow({"construct": "global"}), MACHINES, tasks)).values()) == set(MACHINES)


def test_figures_4_and_5_replaces_where_the_old_one_is() -> None:
    solver = solver_of(flow({"construct": "replaces", "old": "T0", "new": "T1"}), MACHINES, {"T0": "M0", "T1": None})
    assert goes(solver, "T1") == ["M0"]
    assert holds(solver, {"T0": None, "T1": "M0"})
    assert not holds(solver, {"T0": "M1", "T1": "M0"})
    assert where(solver) == {"T0": None, "T1": "M0"}


def test_soft_constraints_are_cheaper_arcs() -> None:
    costs = {"T0": {"M0": 1, "M1": 3, "M2": 3}}
    assert where(solver_of(flow(arc_costs=costs), MACHINES, {"T0": "M2"})) == {"T0": "M0"}


def test_hard_constraints_are_arcs_that_are_not_there() -> None:
    solver = solver_of(flow(arc_costs={"T0": {"M0": 0, "M1": 0}, "T1": {"M2": 0}}), MACHINES, {"T0": None, "T1": None})
    assert goes(solver, "T0") == ["M0", "M1"]
    assert goes(solver, "T1") == ["M2"]


def test_one_gpu_and_two_contenders() -> None:
    """The one that loses less yields, whoever was first: ml1 holds the machine and moves."""
    costs = {"ml1": {"gpu": 10, "cpu": 20}, "ml2": {"gpu": 5, "cpu": 60}}
    statement = flow({"construct": "max_tasks", "r": 1}, arc_costs=costs, unscheduled=1000)
    solver = solver_of(statement, {"gpu": {}, "cpu": {}}, {"ml1": "gpu", "ml2": None})
    solution = solver.solve(engine="cpsat", time_limit=20)
    assert solution.status.value == "OPTIMAL"
    assert dict(solution.assignment) == {"ml1": "cpu", "ml2": "gpu"}
    assert solution.objective["final"].tolist() == [25.0]


def test_figures_7_and_8_xor_with_p_and_r() -> None:
    solver = solver_of(flow({"construct": "xor", "p": 2, "r": 1}), MACHINES, dict.fromkeys("abc"))
    assert sum(place is not None for place in where(solver).values()) == 2


def test_figure_9_and_10_both_or_none() -> None:
    both = {"construct": "and", "tasks": ["T0", "T1"], "same": True}
    solver = solver_of(flow(both), MACHINES, dict.fromkeys(["T0", "T1"]))
    places = where(solver)
    assert places["T0"] == places["T1"] is not None
    assert not holds(solver, {"T0": "M0", "T1": "M1"})


@pytest.mark.parametrize(
    ("tasks", "percent", "enough"), [(3, 50, 1), (100, 29, 28), (4, 75, 3), (5, 80, 4), (1, 50, 0), (3, 100, 3)]
)
def test_a_gang_by_percentage_is_cut_off(tasks: int, percent: int, enough: int) -> None:
    names = [f"p{n}" for n in range(tasks)]
    solver = solver_of(flow({"construct": "gang", "percent": percent}), MACHINES, dict.fromkeys(names))
    for placed in range(tasks + 1):
        finished = {name: "M0" if position < placed else None for position, name in enumerate(names)}
        assert holds(solver, finished) is (placed == 0 or placed >= enough)


def test_five_pods_at_80_percent_on_three_slots_do_not_run() -> None:
    statement = flow({"construct": "gang", "percent": 80}, {"construct": "max_tasks", "r": 1}, unscheduled=1)
    assert set(where(solver_of(statement, MACHINES, dict.fromkeys("abcde"))).values()) == {None}


def test_the_use_case_one_instance_per_zone_on_the_emptiest_machine() -> None:
    """Figure 11: at most one of the application in a zone; arcs cost the more the fuller a machine is."""
    machines = {f"M{zone}{n}": {"az": f"az{zone}"} for zone in range(3) for n in range(2)}
    used = {"M00": 8, "M01": 2, "M10": 3, "M11": 9, "M20": 5, "M21": 4}
    tasks = ["T0", "T1", "T2"]
    statement = flow({"construct": "xor", "r": 1, "scope": "az"}, arc_costs=dict.fromkeys(tasks, used))
    assert set(where(solver_of(statement, machines, dict.fromkeys(tasks))).values()) == {"M01", "M10", "M21"}


def test_rising_costs_spread_the_load() -> None:
    solver = solver_of(
        flow({"construct": "rising_cost", "costs": [0, 100, 300, 600]}), MACHINES, dict.fromkeys("abc", "M0")
    )
    assert set(where(solver).values()) == set(MACHINES)


def test_label_selectors() -> None:
    machines = {"M0": {"gpu": "a"}, "M1": {"gpu": "b"}, "M2": {}}
    for selector, expected in (
        ({"key": "gpu", "values": ["a"]}, ["M0"]),
        ({"type": "NOT_IN_SET", "key": "gpu", "values": ["a"]}, ["M1", "M2"]),
        ({"type": "EXISTS_KEY", "key": "gpu"}, ["M0", "M1"]),
        ({"type": "NOT_EXISTS_KEY", "key": "gpu"}, ["M2"]),
    ):
        statement = Firmament.model_validate({"label_selectors": [{"selectors": [selector]}]})
        assert goes(solver_of(statement, machines, {"T": None}), "T") == expected


def test_leaving_out_costs_its_price_and_breaks_nothing() -> None:
    solver = solver_of(flow(unscheduled=2, unscheduled_costs={"b": 7}), MACHINES, dict.fromkeys("ab"))
    solver.add_goal(BalanceSpec(scope="host", dimension="task_count"), tuple_pos=1)
    found = solver.evaluate()
    assert found.objective["final"].iloc[0] == 9.0
    assert found.broken == ()


def test_mistakes() -> None:
    problem = solver_of(flow(), MACHINES, {"T0": None}).problem
    for construct, said in (
        ({"construct": "pin"}, "'pin' needs 'machines'"),
        ({"construct": "xor", "percent": 3}, "'xor' has no 'percent'"),
        ({"construct": "pin", "machines": ["M7"]}, "unknown host 'M7'"),
        ({"construct": "xor"}, "'xor' needs 'p' or 'r'"),
        ({"construct": "xor", "p": 1, "scope": "host"}, "the scope of 'xor' needs 'r'"),
        ({"construct": "gang", "scope": "host"}, "the scope of 'gang' needs 'same: true'"),
        ({"construct": "gang", "percent": 50, "minimum": 3}, "'percent' or 'minimum', not both"),
        ({"construct": "replaces", "old": "T0", "new": "T0"}, "'T0' cannot replace itself"),
    ):
        with pytest.raises(InputError, match=said):
            parse(problem, flow=[construct])
    for selector, said in (
        ({"key": "gpu"}, "IN_SET needs values"),
        ({"key": "gpu", "type": "EXISTS_KEY", "values": ["a"]}, "EXISTS_KEY takes no values; 'a' is one too many"),
    ):
        with pytest.raises(InputError, match=said):
            parse(problem, label_selectors=[{"selectors": [selector]}])
