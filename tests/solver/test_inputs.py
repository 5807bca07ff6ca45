"""Mappings and pandas tables as assignments, values and groups."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rebalancer import InputError, Rebalancer
from rebalancer.inputs import indices, read_groups, read_placements, read_values
from rebalancer.problem import Column, Problem, ProblemBuilder
from rebalancer.problem.errors import MOST_REPORTED


def problem() -> Problem:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["t0", "t1"], "h1": ["t2"], "h2": []}, ["t3"])
    return builder.build()


def placed(assignment: Any) -> list[int]:
    return indices(read_placements(assignment, "task", "host"), problem()).tolist()


def codes(error: InputError) -> list[str]:
    return [fault.code for fault in error.faults]


@pytest.mark.parametrize(
    "assignment",
    [
        {"h0": ["t1"], "h1": ["t0", "t2"], "h2": []},
        {"h1": ("t2", "t0"), "h0": iter(["t1"])},
        {"t0": "h1", "t1": "h0", "t2": "h1", "t3": None},
        {"t3": float("nan"), "t0": "h1", "t1": "h0", "t2": "h1"},
        pd.Series({"t3": None, "t0": "h1", "t1": "h0", "t2": "h1"}),
        pd.Series({"t3": pd.NA, "t0": "h1", "t1": "h0", "t2": "h1"}, dtype="string"),
        pd.Series(["h1", "h0", "h1", None], index=["t0", "t1", "t2", "t3"], dtype="category"),
        pd.DataFrame({"host": ["h1", "h0", "h1", None], "task": ["t0", "t1", "t2", "t3"], "cpu": [1, 2, 3, 4]}),
        pd.DataFrame({"host": ["h1", "h0", "h1", None]}, index=["t0", "t1", "t2", "t3"]),
        pd.DataFrame({"anything": ["h1", "h0", "h1", None]}, index=pd.Index(["t0", "t1", "t2", "t3"])),
    ],
)
def test_every_form_of_an_assignment_means_the_same(assignment: Any) -> None:
    assert placed(assignment) == [1, 0, 1, -1]


def test_all_that_is_wrong_with_an_assignment_is_reported() -> None:
    with pytest.raises(InputError) as caught:
        placed({"t0": "h9", "t2": "h1", "tt": "h0", "t3": None})
    assert codes(caught.value) == ["unknown-name", "unknown-name", "missing-object"]
    assert "unknown task 'tt'" in str(caught.value)
    assert "unknown host 'h9'" in str(caught.value)
    assert "lacks 't1'" in str(caught.value)


def test_an_object_that_starts_placed_may_not_be_forgotten() -> None:
    with pytest.raises(InputError, match="lacks 't2'"):
        placed({"h0": ["t0", "t1", "t3"], "h1": []})


def test_an_object_in_two_containers_is_located() -> None:
    with pytest.raises(InputError) as caught:
        placed({"h0": ["t0", "t1"], "h1": ["t2", "t3"], "h2": ["t0"]})
    (fault,) = caught.value.faults
    assert (fault.code, fault.path, fault.value) == ("duplicate-object", ("assignment", "h2", 0), "t0")


def test_an_unknown_container_without_objects_is_reported() -> None:
    with pytest.raises(InputError, match="unknown host 'h7'"):
        placed({"h0": ["t0", "t1"], "h1": ["t2"], "h7": []})


def test_a_row_of_a_table_is_located() -> None:
    table = pd.DataFrame({"task": ["t0", "t1", "t2", "t3"], "host": ["h0", "h0", "h8", None]})
    with pytest.raises(InputError) as caught:
        placed(table)
    assert caught.value.faults[0].path == ("assignment", 2)


@pytest.mark.parametrize(
    ("assignment", "code"),
    [
        (["t0"], "wrong-type"),
        ({"h0": ["t0"], "h1": "t1"}, "wrong-type"),
        ({"h0": 3}, "wrong-type"),
        ({"h0": [1, 2]}, "wrong-type"),
        ({1: ["t0"]}, "wrong-type"),
        (pd.Series([1, 2], index=["t0", "t1"]), "wrong-type"),
        (pd.Series(["h0", "h0"], index=[1, 2]), "wrong-type"),
        (pd.DataFrame({"task": ["t0"], "hots": ["h0"], "cpu": [1]}), "missing-column"),
        (pd.Series(["h0"], index=[None]), "empty-name"),
    ],
)
def test_what_is_no_assignment_is_refused(assignment: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        placed(assignment)
    assert codes(caught.value)[0] == code


def test_many_faults_of_a_kind_are_counted() -> None:
    names = {f"x{number}": "h0" for number in range(250)} | {"t0": "h0", "t1": "h0", "t2": "h0", "t3": None}
    with pytest.raises(InputError) as caught:
        placed(names)
    assert len(caught.value.faults) == MOST_REPORTED + 1
    assert "230 more mistakes like the one before" in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([3, 4], index=["t0", "t1"]),
        pd.Series([3.0, 4.0], index=["t0", "t1"]),
        pd.Series([3, 4], index=["t0", "t1"], dtype="Int64"),
        pd.DataFrame({"cpu": [3, 4]}, index=["t0", "t1"]),
        pd.DataFrame({"task": ["t0", "t1"], "cpu": [3, 4]}),
    ],
)
def test_values_of_tables_are_columns(values: Any) -> None:
    column = read_values(values, "task", ("dimensions", "cpu"))
    assert isinstance(column, Column)
    assert column.names == ["t0", "t1"]
    assert np.asarray(column.values).dtype.kind in "if"
    assert np.asarray(column.values).tolist() == [3, 4]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([[1, 2], [3, 4]], index=["t0", "t1"]),
        pd.DataFrame({"a": [1, 3], "b": [2, 4]}, index=["t0", "t1"]),
        pd.DataFrame({"a": [1, 3], "task": ["t0", "t1"], "b": [2, 4]}),
        {"t0": [1, 2], "t1": [3, 4]},
    ],
)
def test_vectors(values: Any) -> None:
    assert read_values(values, "task", ()) == {"t0": [1, 2], "t1": [3, 4]}


def test_a_missing_value_is_not_filled() -> None:
    builder = ProblemBuilder("task", "host")
    builder.set_assignment({"h0": ["t0", "t1"]})
    builder.add_object_dimension(
        "cpu", read_values(pd.Series([1, None], index=["t0", "t1"], dtype="Int64"), "task", ())
    )
    with pytest.raises(InputError, match="'t1' is nan"):
        builder.build()


@pytest.mark.parametrize(
    "values", [pd.Series([1, 2], index=["t0", "t0"]), pd.DataFrame({"task": ["t0", "t0"], "v": [1, 2]})]
)
def test_a_repeated_name_is_refused(values: Any) -> None:
    with pytest.raises(InputError, match="'t0' is listed twice"):
        read_values(values, "task", ())


def test_groups() -> None:
    table = pd.DataFrame({"task": ["t0", "t0", "t1"], "job": ["a", "b", None]})
    column = read_groups(table, "job", "task", ())
    assert isinstance(column, Column)
    assert (column.names, column.values) == (["t0", "t0", "t1"], ["a", "b", None])
    assert read_groups({"a": iter(["t0"])}, "job", "task", ()) == {"a": ["t0"]}
    with pytest.raises(InputError, match="as a list, got 't0'"):
        read_groups({"a": "t0"}, "job", "task", ())


@pytest.mark.parametrize(
    "facts",
    [
        {"t0": "web", "t1": None, "t2": float("nan"), "t3": 7},
        pd.Series({"t0": "web", "t3": 7}),
        pd.Series({"t0": "web", "t2": pd.NA, "t3": 7}, dtype="object"),
        pd.DataFrame({"task": ["t0", "t1", "t3"], "app": ["web", None, 7]}),
        pd.DataFrame({"app": ["web", 7]}, index=["t0", "t3"]),
    ],
)
def test_facts_are_read_from_tables_too(facts: Any) -> None:
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0", "t1", "t2"], "h1": ["t3"]})
    solver.add_object_attribute("app", facts)
    assert solver.problem.attributes["object", "app"] == {"t0": "web", "t3": 7}
    assert list(solver.problem.partitions["app"].groups) == ["web", "7"]


def test_a_fact_of_a_table_is_not_taken_for_a_name() -> None:
    """A Series yields its values, not its index: with a rule that asks for hosts by host nobody would have noticed."""
    solver = Rebalancer("task", "host")
    solver.set_assignment({"h0": ["t0"], "h1": []})
    solver.add_container_attribute("twin", pd.Series({"h0": "h1"}))
    assert solver.problem.attributes["container", "twin"] == {"h0": "h1"}


def states(solver: Rebalancer) -> dict[str, Any]:
    """Return everything that may be stated about a world, by what it is."""
    return {
        "assignment": solver.set_assignment,
        "unassigned": lambda value: solver.set_assignment({"h0": ["t0"]}, unassigned=value),
        "containers": lambda value: solver.set_assignment({"h0": ["t0"]}, containers=value),
        "object dimension": lambda value: solver.add_object_dimension("m", value),
        "container dimension": lambda value: solver.add_container_dimension("m", value),
        "dynamic dimension": lambda value: solver.add_dynamic_object_dimension("m", "host", value),
        "scope": lambda value: solver.add_scope("rack", value),
        "partition": lambda value: solver.add_partition("job", value),
        "object attribute": lambda value: solver.add_object_attribute("app", value),
        "container attribute": lambda value: solver.add_container_attribute("zone", value),
    }


@pytest.mark.parametrize("wrong", [None, 5, [5], {5: 5}, pd.Series([5], pd.MultiIndex.from_tuples([("t0", "h0")]))])
@pytest.mark.parametrize("what", list(states(Rebalancer())))
def test_what_is_no_table_of_names_is_an_error(what: str, wrong: Any) -> None:
    with pytest.raises(InputError, match="expected"):
        states(Rebalancer("task", "host"))[what](wrong)


def test_two_columns_of_one_name_are_an_error() -> None:
    table = pd.DataFrame([["t0", "h0", "h1"]], columns=["task", "host", "host"])
    with pytest.raises(InputError, match="several columns 'host'"):
        read_placements(table, "task", "host")


def test_other_tables_are_told_how_to_become_one() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match=r"got pyarrow\.Table; \.to_pandas\(\) makes it one"):
        read_values(pyarrow.table({"task": ["t0"], "m": [1]}), "task", ())


def test_names_of_what_is_stated_are_texts() -> None:
    for name, said in ((5, "as text, got 5"), (None, "as text, got None"), ("", "is empty")):
        with pytest.raises(InputError, match=said):
            Rebalancer(name, "host")  # type: ignore[arg-type]
        solver = Rebalancer("task", "host")
        for state in (solver.add_scope, solver.add_partition, solver.add_object_dimension, solver.add_object_attribute):
            with pytest.raises(InputError, match=said):
                state(name, {})  # type: ignore[arg-type]
