"""The solver object: calls in any order, faults, tables, evaluation."""

import math
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from rebalancer import BalanceSpec, CapacitySpec, InputError, PlacedSpec, Rebalancer
from tests.solver import engines

MEMORY = CapacitySpec(scope="host", dimension="memory")


def solver() -> Rebalancer:
    """Three tasks of 10 on a host of 20, and an empty one."""
    made = Rebalancer("task", "host")
    made.set_assignment({"h0": ["t0", "t1", "t2"], "h1": []})
    made.add_object_dimension("memory", {"t0": 10, "t1": 10, "t2": 10})
    made.add_container_dimension("memory", {"h0": 20, "h1": 20})
    return made


def test_calls_come_in_any_order() -> None:
    made = Rebalancer("task", "host")
    made.add_constraint(CapacitySpec(scope="rack", dimension="memory"), name="rack-memory")
    made.add_scope_dimension("memory", "rack", {"r0": 16})
    made.add_scope("rack", {"r0": ["h0"], "r1": ["h1"]})
    made.add_partition("job", {"a": ["t0"]})
    made.add_dynamic_object_dimension("net", "rack", {"r0": pd.Series({"t0": 2})})
    made.add_object_dimension("memory", {"t0": Decimal("10.5")}, default=16.5)
    made.set_assignment({"h0": ["t0", "t1"], "h1": []})
    evaluation = made.evaluate()
    assert evaluation.constraints.to_dict("records") == [
        {
            "name": "rack-memory",
            "spec": "capacity",
            "policy": "DEFAULT",
            "initial_violation": pytest.approx(22 / 17),
            "final_violation": pytest.approx(22 / 17),
        }
    ]


def test_tables_in_and_out() -> None:
    made = Rebalancer("task", "host")
    table = pd.DataFrame({"task": ["t0", "t1"], "host": ["h0", None], "cpu": [1.5, 2.0], "job": ["a", "b"]})
    made.set_assignment(table, containers=["h1"])
    made.add_object_dimension("cpu", table[["task", "cpu"]])
    made.add_container_dimension("cpu", pd.Series({"h0": 2, "h1": 1}))
    made.add_partition("job", table.set_index("task")["job"])
    made.add_scope("rack", pd.Series({"h0": "r0", "h1": "r1"}))
    problem = made.problem
    assert list(problem.containers) == ["h0", "h1"]
    assert problem.initial.tolist() == [0, -1]
    assert problem.dimension("cpu").values.ravel().tolist() == [15, 20]
    assert list(problem.partitions["job"].groups) == ["a", "b"]


def test_a_categorical_column_names_empty_containers() -> None:
    made = Rebalancer("task", "host")
    made.set_assignment(pd.Series(pd.Categorical(["h1"], ["h0", "h1"]), index=["t0"]))
    assert list(made.problem.containers) == ["h0", "h1"]


def test_setting_the_assignment_again_replaces_it() -> None:
    made = solver()
    made.evaluate()
    made.set_assignment({"h0": ["t0"], "h1": ["t1", "t2"]}, unassigned=["t3"])
    assert made.problem.initial.tolist() == [0, 1, 1, -1]


def test_goals_and_constraints_are_rows_in_order() -> None:
    made = solver()
    made.add_goal(MEMORY, weight=0.5, tuple_pos=1)
    made.add_goal(MEMORY, name="second")
    made.add_constraint(MEMORY, policy="SOFT")
    evaluation = made.evaluate({"h0": ["t0"], "h1": ["t1", "t2"]})
    assert evaluation.goals.to_dict("list") == {
        "name": ["capacity#2", "second"],
        "spec": ["capacity", "capacity"],
        "weight": [0.5, 1.0],
        "tuple_pos": [1, 0],
        "initial": [0.5, 0.5],
        "final": [0.0, 0.0],
    }
    assert list(evaluation.constraints["policy"]) == ["SOFT"]
    assert list(evaluation.objective.columns) == ["tuple_pos", "initial", "final", "bound", "gap"]
    assert evaluation.objective["initial"].tolist() == [0.5 + 100 * 0.5 + 10000, 0.25]
    assert evaluation.objective[["bound", "gap"]].isna().all(axis=None)


def test_placed_has_a_row_only_where_something_starts_unplaced() -> None:
    made = solver()
    assert made.evaluate().constraints.empty
    made.set_assignment({"h0": ["t0", "t1"], "h1": []}, unassigned=["t2"])
    made.add_constraint(MEMORY)
    evaluation = made.evaluate({"h0": ["t0", "t1"], "h1": []})
    assert list(evaluation.constraints["name"]) == ["capacity#1", "placed"]
    assert evaluation.broken_components.to_dict("records")[1] == {"name": "placed", "initial": 1, "final": 1}
    assert evaluation.broken == ("placed",)
    assert evaluation.moves.empty
    made.add_constraint(PlacedSpec(), policy="SOFT")
    assert list(made.evaluate().constraints["name"]) == ["capacity#1", "placed#1"]
    assert made.evaluate().broken == ()


def test_cells_show_amounts_and_limits() -> None:
    made = solver()
    made.add_constraint(MEMORY, name="fits")
    cells = made.evaluate().cells("fits")
    assert list(cells.columns) == ["item", "group", "amount", "limit", "violation"]
    assert cells["item"].tolist() == ["h0", "h1"]
    assert cells["violation"].tolist() == [0.5, 0.0]
    with pytest.raises(KeyError, match="there is 'fits'"):
        made.evaluate().cells("fit")


def test_an_assignment_that_no_solution_may_be_is_named() -> None:
    made = solver()
    made.set_assignment({"h0": ["t0", "t1"], "h1": ["t2"]})
    made.add_constraint(MEMORY, name="fits")
    evaluation = made.evaluate({"h0": ["t0", "t1", "t2"], "h1": []})
    assert evaluation.worsened == ("fits",)
    assert made.evaluate().worsened == ()


def test_moves_and_assignment_of_an_evaluation() -> None:
    made = solver()
    made.set_assignment({"h0": ["t0", "t1"], "h1": []}, unassigned=["t2", "t3"])
    evaluation = made.evaluate({"t0": "h1", "t1": "h0", "t2": "h1", "t3": None})
    assert evaluation.moves.to_dict("records") == [
        {"object": "t0", "source": "h0", "destination": "h1"},
        {"object": "t2", "source": None, "destination": "h1"},
    ]
    assert evaluation.assignment.to_dict() == {"t0": "h1", "t1": "h0", "t2": "h1", "t3": None}
    assert (evaluation.assignment.index.name, evaluation.assignment.name) == ("task", "host")
    assert made.evaluate(evaluation.assignment).assignment.equals(evaluation.assignment)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda made: made.add_goal(PlacedSpec()), "placed cannot be a goal"),
        (lambda made: made.add_goal(CapacitySpec), r"write CapacitySpec\(…\)"),
        (lambda made: made.add_constraint("capacity"), "expected a spec"),
        (lambda made: made.add_constraint(MEMORY, policy="SOFTT"), "did you mean 'SOFT'"),
        (lambda made: made.add_constraint(MEMORY, invalid_cost=math.nan), "invalid_cost: expected a finite number"),
        (lambda made: made.add_constraint(MEMORY, tuple_pos_if_broken=-1), "tuple_pos_if_broken must be"),
        (lambda made: made.add_goal(MEMORY, weight="2"), "weight: expected a number"),
        (lambda made: made.add_goal(MEMORY, tuple_pos=0.5), "tuple_pos must be a whole number"),
        (lambda made: made.add_object_dimension("cpu", 3), "expected a mapping"),
        (lambda made: made.add_partition("job", {"a": "t0"}), "as a list"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(solver())


def test_everything_wrong_is_reported_at_once_when_it_is_used() -> None:
    made = solver()
    made.add_object_dimension("cpu", {"tt": 1})
    made.add_scope("rack", {"r0": ["h9"]})
    with pytest.raises(InputError) as caught:
        made.evaluate()
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError) as again:
        made.evaluate()
    assert again.value.faults == caught.value.faults


def test_unknown_names_in_specs_are_reported() -> None:
    made = solver()
    made.add_constraint(CapacitySpec(scope="host", dimension="memroy"))
    with pytest.raises(InputError, match="did you mean 'memory'"):
        made.evaluate()


def test_two_entries_of_one_name_are_refused() -> None:
    made = solver()
    made.add_constraint(MEMORY, name="fits")
    made.add_goal(MEMORY, name="fits")
    with pytest.raises(InputError, match="'fits' is used twice"):
        made.evaluate()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 0}, "time_limit must be more than 0"),
        ({"time_limit": math.nan}, "time_limit must be more than 0"),
        ({"time_limit": "60s"}, "time_limit must be a number"),
        ({"gap": -0.1}, "gap must be 0 or more"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"seed": 2**31}, "seed must be 2,147,483,647 or less"),
        ({"workers": 0}, "workers must be 1 or more"),
        ({"engine": "cpsta"}, "did you mean 'cpsat'"),
    ],
)
def test_wrong_parameters_of_solve(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        solver().solve(**options)


def test_solve_returns_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, engines.enumerated)
    made = solver()
    made.add_constraint(MEMORY, name="fits")
    solution = made.solve(seed=7)
    assert (solution.status, solution.seed, solution.engine, solution.reason) == ("OPTIMAL", 7, "enumerated", None)
    assert len(solution.moves) in (1, 2)
    assert solution.constraints["final_violation"].tolist() == [0.0]
    assert solution.objective["initial"].tolist() == [10050.0]
    assert solution.objective[["final", "bound", "gap"]].to_numpy().tolist() == [[0.0, 0.0, 0.0]]
    assert solution.seconds > 0


def test_a_solution_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.use(monkeypatch, engines.enumerated)
    made = solver()
    made.set_assignment({"h0": ["t0", "t1"], "h1": []}, unassigned=["t2"])
    made.add_constraint(CapacitySpec(scope="host", dimension="memory", limit=0.5), name="fits", policy="HARD")
    made.add_goal(MEMORY, name="room")
    data = made.solve().to_json()
    assert list(data) == [
        *("status", "engine", "seconds", "seed", "reason"),
        *("objective", "goals", "constraints", "moves", "assignment"),
    ]
    assert list(data["objective"][0]) == ["tuple_pos", "initial", "final", "bound", "gap"]
    assert list(data["goals"][0]) == ["name", "spec", "weight", "tuple_pos", "initial", "final"]
    assert list(data["constraints"][0]) == ["name", "spec", "policy", "initial_violation", "final_violation"]
    assert data["assignment"]["t2"] is None
    assert all(set(move) == {"object", "source", "destination"} for move in data["moves"])


def test_star_import_finds_everything() -> None:
    names: dict[str, object] = {}
    exec("from rebalancer import *", names)
    assert {"Rebalancer", "CapacitySpec", "Limit", "InputError"} <= set(names)


def test_solutions_are_shown_in_one_line() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0"], "h1": []})
    assert repr(solver.evaluate()) == "Evaluation(objective=[0.0], broken=[])"
    assert repr(solver.solve(time_limit=5)).startswith("Solution(OPTIMAL, objective=[0.0], broken=[], 0 moved, ")


def test_positions_are_few_enough_to_be_meant() -> None:
    solver = Rebalancer("task", "host")
    with pytest.raises(InputError, match="tuple_pos must be a whole number from 0 to 9999, got 1000000000"):
        solver.add_goal(CapacitySpec(scope="host", dimension=""), tuple_pos=10**9)


def test_the_name_of_the_implicit_constraint_is_taken() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0"]}, unassigned=["t1"])
    solver.add_constraint(CapacitySpec(scope="host", dimension=""), name="placed")
    with pytest.raises(InputError, match="reserved-name"):
        solver.evaluate()


def test_weights_that_drown_each_other_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"], "h1": []})
    solver.add_container_dimension("cpu", {"h0": 2, "h1": 3})
    solver.add_object_dimension("cpu", {}, default=1)
    solver.add_goal(BalanceSpec(scope="host", dimension="cpu"), name="even", weight=1e20)
    solver.add_goal(CapacitySpec(scope="host", dimension="cpu", limit=0.3), name="room", weight=1e-9)
    solver.evaluate()
    assert "differences of goal 'room' below" in caplog.text


def test_of_many_goals_that_drown_only_some_are_named(caplog: pytest.LogCaptureFixture) -> None:
    made = solver()
    made.add_goal(BalanceSpec(scope="host", dimension="memory"), name="even", weight=1e20)
    for n in range(20):
        made.add_goal(CapacitySpec(scope="host", dimension="memory", limit=0.3), name=f"room{n}", weight=1e-9)
    made.evaluate()
    assert caplog.text.count("are not seen") == 3
    assert "so it is with 17 more goals and constraints" in caplog.text


def test_infeasible_has_no_bound() -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1"]})
    limit = {"type": "ABSOLUTE", "global_limit": 1}
    solver.add_constraint(CapacitySpec(scope="host", dimension="", limit=limit), name="one", policy="HARD")
    solution = solver.solve(time_limit=5)
    assert solution.status == "INFEASIBLE"
    assert solution.objective["bound"].isna().all()
    assert solution.reason == "no assignment holds 'one' and 'placed' (what is placed stays placed) together"


@pytest.mark.parametrize("engine", ["auto", "cpsat", "local_search"])
def test_petabytes_may_be_counted_in_bytes(engine: str) -> None:
    """Forty volumes of 240 to 300 TB, and hosts that hold six of them and a few bytes."""
    sizes = {f"v{n}": 240 * 10**12 + n * 1_500_000_000_001 for n in range(40)}
    solver = Rebalancer("volume", "host")
    solver.set_assignment({f"h{at}": [f"v{n}" for n in range(40) if n * n % 8 == at] for at in range(8)})
    solver.add_object_dimension("bytes", sizes)
    solver.add_container_dimension("bytes", {f"h{at}": 17 * 10**14 + at for at in range(8)})
    solver.add_constraint(CapacitySpec(scope="host", dimension="bytes"))
    solver.add_goal(BalanceSpec(scope="host", dimension="bytes"))
    solution = solver.solve(engine, time_limit=600, iterations=40, workers=1)
    use: dict[str, int] = {}
    for volume, host in solution.assignment.items():
        use[str(host)] = use.get(str(host), 0) + sizes[str(volume)]
    assert sum(sizes.values()) > 2**52
    assert max(use.values()) <= 17 * 10**14
    row = solution.objective.iloc[0]
    assert row["final"] < row["initial"]


def test_the_bound_of_what_cannot_be_negative_is_not() -> None:
    """Rounding is taken from a bound; three volumes fit perfectly, and a bound below 0 would say nothing."""
    solver = Rebalancer("volume", "host")
    solver.set_assignment({"h0": ["v0", "v1", "v2"], "h1": [], "h2": []})
    solver.add_object_dimension("bytes", {f"v{n}": (n + 1) * (10**15 + 1) for n in range(3)})
    solver.add_container_dimension("bytes", {f"h{n}": (n + 1) * 3 * 10**15 for n in range(3)})
    solver.add_goal(BalanceSpec(scope="host", dimension="bytes"))
    row = solver.solve("cpsat", time_limit=600, workers=1).objective.iloc[0]
    assert (row["final"], row["bound"], row["gap"]) == (0, 0, 0)


@pytest.mark.parametrize("engine", ["auto", "cpsat", "local_search", "neighbourhood"])
def test_what_jobs_hold_together_holds_to_the_byte(engine: str) -> None:
    """Eight jobs of 2 PiB and 1 to 8 bytes more; what is added up of four is allowed to the byte."""
    sizes = {f"v{n}": 2**51 + 1 + n for n in range(8)}
    solver = Rebalancer("volume", "host")
    solver.set_assignment({"h0": list(sizes), "h1": [], "h2": []})
    solver.add_scope("rack", {"r0": ["h0"], "r1": ["h1", "h2"]})
    solver.add_object_dimension("bytes", sizes)
    solver.add_partition("job", {f"j{n}": [f"v{n}"] for n in range(8)})
    each = {"type": "ABSOLUTE", "global_limit": 2**60, "is_default_limit_unbounded": False}
    bound = {"partition_name": "job", "per_group_values": each, "aggregation_scope": "host"}
    solver.add_constraint(
        CapacitySpec(
            scope="rack",
            dimension="bytes",
            limit={"type": "ABSOLUTE", "global_limit": 4 * 2**51 + 18},
            utilization_bound={"group_utilization_bound": bound},
        )
    )
    start = {"v0": "h0", "v1": "h0", "v2": "h0", "v7": "h0"} | {f"v{n}": f"h{n % 2 + 1}" for n in range(3, 7)}
    assert solver.evaluate(start).constraints["final_violation"].tolist() == [22 - 18]
    solution = solver.solve(engine, time_limit=600, iterations=200, workers=1)
    held = [
        sum(sizes[str(name)] for name, host in solution.assignment.items() if (host == "h0") is at)
        for at in (True, False)
    ]
    assert max(held) <= 4 * 2**51 + 18


@pytest.mark.parametrize("number", [10**400, Fraction(-(10**400), 3)])
def test_numbers_that_no_report_could_show_are_out_of_range(number: int | Fraction) -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a"]})
    spec = CapacitySpec(scope="host", dimension="task_count")
    for state in (
        lambda: solver.add_goal(spec, weight=number),
        lambda: solver.add_constraint(spec, invalid_cost=number),
        lambda: solver.solve(target=number),
    ):
        with pytest.raises(InputError, match=r"error\[out-of-range\]: .*more than 308 digits"):
            state()
    with pytest.raises(ValidationError, match="more than 308 digits"):
        CapacitySpec(scope="host", dimension="task_count", limit=number)
    solver.add_container_dimension("size", {"h0": abs(number)})
    with pytest.raises(InputError, match=r"error\[out-of-range\]: dimension 'size' of host 'h0'"):
        solver.evaluate()


def test_what_is_added_to_a_scenario_stands_in_none_of_its_files(tmp_path: Path) -> None:
    own = "  - capacity: {scope: container, dimension: object_count}\n    name: own\n"
    text = "assignment: {c0: [a]}\nconstraints:\n" + own
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    made = Rebalancer.from_yaml(tmp_path / "scenario.yaml")
    made.add_constraint(CapacitySpec(scope="container", dimension="object_count"), name="own")
    made.add_goal(BalanceSpec(scope="containr", dimension="object_count"))
    with pytest.raises(InputError) as caught:
        made.evaluate()
    assert [(fault.file, fault.path) for fault in caught.value.faults] == [
        (None, ("added", "constraints", 1, "name")),
        (None, ("added", "goals", 0, "balance", "scope")),
    ]


def test_the_clock_does_not_start_after_the_call() -> None:
    assert solver().solve(time_limit=5, began=time.monotonic() + 1e6).seconds >= 0


@pytest.mark.parametrize("number", [Decimal("2.5"), Fraction(5, 2), np.float32(2.5), 10**400])
def test_limits_of_a_search_may_be_any_number(number: Any) -> None:
    assert solver().solve(time_limit=number, patience=number, gap=Decimal(0)).status == "OPTIMAL"
    with pytest.raises(InputError, match="patience must be more than 0"):
        solver().solve(patience=-number)
    with pytest.raises(InputError, match="time_limit must be more than 0, got NaN"):
        solver().solve(time_limit=Decimal("NaN"))
