"""An argument of the Python API that is wrong is one clear fault, whatever is wrong about it; equals mean the same."""

import threading
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rebalancer import CapacitySpec, InputError, MinimizeMovementSpec, Plan, Rebalancer, plan_moves
from rebalancer.dialects import marathon

Use = Callable[[Rebalancer], Any]


def stated() -> Rebalancer:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["a", "b"], "h1": ["c"]})
    return solver


def solvable() -> Rebalancer:
    solver = stated()
    solver.add_container_dimension("task_count", {"h0": 1, "h1": 5})
    solver.add_constraint(CapacitySpec(scope="host", dimension="task_count"))
    solver.add_goal(MinimizeMovementSpec(), tuple_pos=1)
    return solver


def planned(solver: Rebalancer) -> Plan:
    return plan_moves(solver.evaluate(), expires="1h")


def values_of(solver: Rebalancer, name: str = "m") -> list[list[Fraction]]:
    found = solver.problem.object_dimensions[name]
    return [[Fraction(number, found.scale) for number in row] for row in found.values.tolist()]


def capacity() -> CapacitySpec:
    return CapacitySpec(scope="host", dimension="task_count")


@pytest.mark.parametrize(
    ("use", "code", "message"),
    [
        (lambda s: s.solve(stop=5), "wrong-type", "stop must be a threading.Event, got 5"),
        (lambda s: s.solve(stop=lambda: True), "wrong-type", "stop must be a threading.Event"),
        (lambda s: s.solve(on_progress=5), "wrong-type", "on_progress must be callable, got 5"),
        (lambda s: s.solve(began="x"), "wrong-type", "began: expected a number, got the text 'x'"),
        (lambda s: s.solve(began="out of range"), "wrong-type", "began: expected a number, got the text"),
        (lambda s: s.solve(target="a finite number"), "wrong-type", "target: expected a number, got the text"),
        (lambda s: s.solve(began=10**400), "out-of-range", "began: the number is out of range"),
        (lambda s: s.solve(began=float("nan")), "not-finite", "began: expected a finite number, got nan"),
        (lambda s: s.solve(engine=["auto"]), "wrong-type", "engine: expected a name as text"),
        (lambda s: s.check_placement(["a"], "h0"), "wrong-type", "task: expected a name as text"),
        (lambda s: s.add_constraint(capacity(), policy=["HARD"]), "unknown-name", "unknown policy"),
        (lambda s: s.add_constraint(capacity(), name=5), "wrong-type", "name: expected a name as text, got 5"),
        (lambda s: s.add_constraint(capacity(), name=["x"]), "wrong-type", "name: expected a name as text"),
        (lambda s: s.add_constraint(capacity(), name=""), "empty-name", "name: the name is empty"),
        (lambda s: s.add_goal(MinimizeMovementSpec(), name=b"x"), "wrong-type", "name: expected a name as text"),
        (lambda s: plan_moves(5), "wrong-type", "expected what solve or evaluate returned, got 5"),
        (lambda s: plan_moves(s.evaluate(), {"max_in_flight": 1}), "wrong-type", "expected PlanOptions"),
        (lambda s: plan_moves(s.evaluate(), created="today"), "wrong-type", "expected a datetime, got 'today'"),
        (lambda s: planned(s).write(5), "wrong-type", "folder: expected a path, got 5"),
        (lambda s: planned(s).write(None), "wrong-type", "folder: expected a path, got None"),
        (lambda s: planned(s).write("a\0b"), "wrong-type", "folder: no file can be called"),
        (lambda s: planned(s).write("plan", 5), "wrong-type", "template: expected a text, got 5"),
        (lambda s: planned(s).verify(moment="now"), "wrong-type", "moment: expected a datetime, got 'now'"),
        (lambda s: planned(s).verify(moment=datetime(2026, 1, 31)), "no-time-zone", "needs its time zone"),
        (lambda s: Rebalancer.from_yaml(None), "wrong-type", "path: expected a path, got None"),
        (lambda s: Rebalancer.from_yaml(""), "wrong-type", "path: no file can be called ''"),
        (lambda s: Rebalancer.from_yaml("\ud800"), "wrong-type", "path: no file can be called"),
        (lambda s: s.add_constraint(capacity(), in_flight=np.array([1, 2])), "unknown-name", "unknown moment"),
        (lambda s: marathon.parse(s, app="web", constraints=[]), "wrong-type", "write solver.problem"),
    ],
)  # fmt: skip
def test_arguments_that_are_wrong(use: Use, code: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        use(solvable())
    assert [fault.code for fault in caught.value.faults] == [code]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("use", "code", "message"),
    [
        (lambda s: s.add_object_dimension("m", {"a": 1}, default=None), "wrong-type",
         "the default of dimension 'm': expected a number, got nothing"),
        (lambda s: s.add_container_dimension("m", {"h0": 1}, default=None), "wrong-type",
         "the default of dimension 'm': expected a number, got nothing"),
        (lambda s: s.add_scope_dimension("m", None, {"h0": 1}), "wrong-type", "scope: expected a name as text, got"),
        (lambda s: s.add_scope_dimension("m", ["host"], {"h0": 1}), "wrong-type", "scope: expected a name as text"),
        (lambda s: s.add_dynamic_object_dimension("m", ["host"], {}), "wrong-type", "scope: expected a name as text"),
        (lambda s: s.add_object_dimension("m", {"a": np.array(5)}), "wrong-type", "expected a number, got array(5)"),
        (lambda s: s.add_object_dimension("m", pd.Series({"a": True}, dtype="boolean")), "wrong-type",
         "dimensions.m: error[wrong-type]: expected numbers, got boolean, such as True"),
        (lambda s: s.add_object_dimension("m", pd.Series({"a": True})), "wrong-type",
         "dimensions.m: error[wrong-type]: expected numbers, got bool, such as True"),
        (lambda s: s.add_object_dimension("m", pd.Series(pd.to_datetime(["2026-01-31"]), index=["a"])), "wrong-type",
         "such as 2026-01-31"),
        (lambda s: s.add_object_dimension("m", pd.DataFrame(  # which once were nanoseconds
            {"m": [1], "n": np.array(["2026-01-31"], "datetime64[ns]")}, index=["a"])), "wrong-type",
         "n: expected numbers, got datetime64[ns], such as 2026-01-31"),
        (lambda s: s.add_object_dimension("m", pd.DataFrame({"taks": ["a"], "m": [1]})), "missing-column",
         "the table has no column 'task'; it has 'taks', 'm'"),
        (lambda s: s.set_assignment(pd.DataFrame()), "missing-column", "it has none"),
        (lambda s: s.set_assignment({"h0": ["a"]}, containers=pd.DataFrame({"host": ["h5"]})), "wrong-type",
         "expected a list of names of a host, got a DataFrame"),
        (lambda s: s.set_assignment({"h0": np.array("ab")}), "wrong-type", "expected the content of 'h0' as a list"),
        (lambda s: s.set_assignment({"a": "h0", "b": ""}), "empty-name", "assignment.b: "),
        (lambda s: s.set_assignment(pd.Series({"a": "h0", "b": ""})), "empty-name", "assignment.1: "),
        (lambda s: s.add_scope("r", {"r0": np.array("h0")}), "wrong-type", "expected the content of 'r0' as a list"),
        (lambda s: s.add_scope("r", {"r0": pd.DataFrame({"host": ["h0"]})}), "wrong-type", "content of 'r0' as a list"),
        (lambda s: s.add_scope("r", {"": ["h0"]}), "empty-name", "one of the names in 'r' is empty"),
        (lambda s: s.add_scope("r", pd.Series({"h0": "x", "h1": ""})), "empty-name", "scopes.r.1: "),
        (lambda s: s.add_partition("p", {"": ["a"]}), "empty-name", "one of the names in 'p' is empty"),
    ],
)  # fmt: skip
def test_what_is_stated_wrong(use: Use, code: str, message: str) -> None:
    solver = stated()
    with pytest.raises(InputError) as caught:
        (use(solver), solver.evaluate())
    assert [fault.code for fault in caught.value.faults] == [code]
    assert message in str(caught.value)


def test_texts_of_numpy_become_plain_ones() -> None:
    text = np.array(["h0", "h1", "a", "b", "r0", "g0"])
    solver = Rebalancer("task", "host")
    solver.set_assignment({text[0]: text[2:3], text[1]: []}, unassigned=text[3:4])
    solver.add_scope("rack", {text[4]: text[:2]})
    solver.add_partition("job", {text[5]: text[2:4]})
    solver.add_goal(MinimizeMovementSpec(), name=np.str_("few"))
    problem, evaluation = solver.problem, solver.evaluate()
    names = [*problem.objects, *problem.containers, *problem.scopes["rack"].items, *problem.partitions["job"].groups]
    names += [*evaluation.assignment.index, evaluation.assignment["a"], *evaluation.goals["name"]]
    assert names == ["a", "b", "h0", "h1", "r0", "g0", "a", "b", "h0", "few"]
    assert {type(name) for name in names} == {str}
    by_object = Rebalancer("task", "host")
    by_object.set_assignment({text[2]: text[0]})
    assert {type(name) for name in (*by_object.problem.objects, *by_object.problem.containers)} == {str}


@pytest.mark.parametrize(
    "values",
    [
        {"a": np.float32(0.1), "b": np.float16(0.2)},
        pd.Series(np.array([0.1, 0.2], np.float32), index=["a", "b"]),
        pd.Series([0.1, 0.2], index=["a", "b"], dtype="Float32"),
        pd.Series([0.1, 0.2], index=["a", "b"], dtype=pd.ArrowDtype(pa.float32())),
    ],
)
def test_narrow_floats_are_the_decimals_that_they_print_as(values: Any) -> None:
    solver = stated()
    solver.add_object_dimension("m", values)
    assert values_of(solver) == [[Fraction(1, 10)], [Fraction(1, 5)], [Fraction(0)]]


def test_decimals_of_arrow_lose_nothing() -> None:
    exact = Decimal("0.123456789012345678")
    solver = stated()
    solver.add_object_dimension("m", pd.Series({"a": exact}, dtype=pd.ArrowDtype(pa.decimal128(30, 18))))
    assert values_of(solver)[0] == [Fraction(exact)]


def test_unsigned_numbers_do_not_wrap() -> None:
    solver = stated()
    solver.add_object_dimension("m", pd.Series([2**63 + 5], index=["a"], dtype="UInt64"))
    with pytest.raises(InputError, match="9223372036854775813 is too large"):
        solver.evaluate()


def test_a_number_of_numpy_is_a_fact_like_any_other() -> None:
    solver = stated()
    solver.add_container_attribute("rack", {"h0": np.int64(3), "h1": np.str_("x")})
    assert list(solver.problem.scopes["rack"].items) == ["3", "x"]


def test_anything_with_the_form_of_an_event_may_stop() -> None:
    stop = threading.Event()
    stop.set()
    assert solvable().solve(time_limit=5, stop=stop).status.value in ("FEASIBLE", "OPTIMAL", "UNKNOWN")


def test_a_plan_needs_a_time_zone() -> None:
    with pytest.raises(InputError, match="needs its time zone"):
        plan_moves(solvable().evaluate(), created=datetime(2026, 1, 31))
