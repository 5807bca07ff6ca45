"""Tables state what stands in them, exactly; what is wrong is reported at its cell."""

from __future__ import annotations

import builtins
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rebalancer.problem import UNPLACED, Fault, InputError, Problem
from rebalancer.scenario.reader import load

HEAD = "object: task\ncontainer: host\n"


def write(folder: Path, scenario: str, **files: str) -> Path:
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8", newline="")
    path = folder / "scenario.yaml"
    path.write_text(HEAD + scenario, encoding="utf-8")
    return path


def faults_of(path: Path) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        load(path)
    return list(caught.value.faults)


def amounts(problem: Problem, dimension: str) -> list[Fraction]:
    known = problem.dimension(dimension)
    return [Fraction(value, known.scale) for value in known.values[:, 0].tolist()]


def test_names_stay_text_and_only_the_empty_field_is_missing(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "tables:\n"
        "  task: {file: tasks.csv, key: task, container: host, partitions: [job], attributes: [app]}\n"
        "  host: {file: hosts.csv, key: host, scopes: {rack: shelf}}\n",
        tasks='task,host,job,app\n007,1e3,NA,1\nNA,null,no,\nnull,,,x\n"a,b","say ""hi""",no,y\n',
        hosts='host,shelf\n1e3,0x1\nnull,\n"say ""hi""",0x1\n',
    )
    problem = load(path).problem
    assert list(problem.objects) == ["007", "NA", "null", "a,b"]
    assert list(problem.containers) == ["1e3", "null", 'say "hi"']
    assert problem.initial.tolist() == [0, 1, UNPLACED, 2]
    assert list(problem.partitions["job"].groups) == ["NA", "no"]
    assert problem.scopes["rack"].item_of.tolist() == [0, -1, 0, -1]
    assert problem.attributes["object", "app"] == {"007": "1", "null": "x", "a,b": "y"}


def test_numbers_are_exact(tmp_path: Path) -> None:
    numbers = ["0.1", "0.2", "7", "1e-12", " 3", "+4.50", "1234.000000000001"]
    path = write(
        tmp_path,
        "tables: {task: {file: tasks.csv, key: task, container: host, dimensions: {cpu: used}}}\n",
        tasks="task,host,used\n" + "".join(f"t{row},h,{number}\n" for row, number in enumerate(numbers)),
    )
    problem = load(path).problem
    assert amounts(problem, "cpu") == [Fraction(number.strip()) for number in numbers]
    assert not problem.dimension("cpu").rounded


def test_large_whole_numbers_do_not_pass_through_floats(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "tables: {task: {file: tasks.csv, key: task, container: host, dimensions: [b]}}\n",
        tasks="task,host,b\nt0,h,9007199254740993\nt1,h,0.5\n",
    )
    assert amounts(load(path).problem, "b") == [9007199254740993, Fraction(1, 2)]


def test_tables_and_inline_statements_mix(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "assignment: {h1: [x]}\n"
        "unassigned: [{name: web, count: 2, dimensions: {cpu: 0.5}, partitions: {job: [a, b]}}]\n"
        "dimensions: {cpu: {task: {default: 7, x: 9}, rack: {r0: 10, r1: 20}}}\n"
        "partitions: {job: {c: [x], empty: []}}\n"
        "scopes: {rack: {r1: [h2]}}\n"
        "tables:\n"
        "  task:\n"
        "    - {file: one.csv, key: task, container: host, dimensions: [cpu], partitions: [job]}\n"
        "    - {file: two.csv, key: task, container: host}\n"
        "    - {file: more.csv, key: task, dimensions: {cpu: cpu}}\n"
        "  host: {file: hosts.csv, key: host, scopes: [rack]}\n"
        "  rack: {file: racks.csv, key: rack, dimensions: [power]}\n",
        one="task,host,cpu,job\nt0,h0,1,a\nt1,h1,2,\n",
        two="task,host\nt2,h0\nt3,\n",
        more="task,cpu\nt3,4\n",
        hosts="host,rack\nh0,r0\nh1,r0\nh2,\n",
        racks="rack,power\nr1,5\nr0,6\n",
    )
    problem = load(path).problem
    assert list(problem.objects) == ["t0", "t1", "t2", "t3", "x", "web-0", "web-1"]
    assert problem.initial.tolist() == [0, 1, 0, UNPLACED, 1, UNPLACED, UNPLACED]
    assert amounts(problem, "cpu") == [1, 2, 7, 4, 9, Fraction(1, 2), Fraction(1, 2)]
    job = problem.partitions["job"]
    assert {name: job.members(index).tolist() for index, name in enumerate(job.groups)} == {
        "c": [4],
        "empty": [],
        "a": [0, 5, 6],
        "b": [5, 6],
    }
    rack = problem.scopes["rack"]
    assert [rack.items[item] for item in rack.item_of[:-1].tolist()] == ["r0", "r0", "r1"]
    assert problem.capacity("power", "rack").values.tolist() == [5, 6]


def test_containers_come_from_the_objects_where_nothing_lists_them(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "tables: {task: {file: tasks.csv, key: task, container: host}}\n",
        tasks="task,host\nt0,b\nt1,a\nt2,\n",
    )
    assert list(load(path).problem.containers) == ["b", "a"]


def test_blank_lines_and_line_breaks_in_fields(tmp_path: Path) -> None:
    tasks = 'task,host,cpu\r\n\r\nt0,h0,1\r\n"t\n1",h0,x\r\n\r\nt2,h0,\r\n'
    path = write(
        tmp_path,
        "tables: {task: {file: tasks.csv, key: task, container: host, dimensions: [cpu]}}\n",
        tasks=tasks,
    )
    places = [(fault.line, fault.column, fault.code) for fault in faults_of(path)]
    assert places == [(5, 7, "wrong-type"), (7, 7, "empty-number")]


def test_a_million_mistakes_are_not_a_million_messages(tmp_path: Path) -> None:
    rows = "".join(f"t{row},nowhere{row},x\n" for row in range(5000))
    path = write(
        tmp_path,
        "assignment: {h0: []}\ntables: {task: {file: tasks.csv, key: task, container: host, dimensions: [cpu]}}\n",
        tasks="task,host,cpu\n" + rows,
    )
    faults = faults_of(path)
    assert len(faults) == 42
    assert sum(fault.code == "more-faults" for fault in faults) == 2


def test_thousands_in_two_items_are_counted(tmp_path: Path) -> None:
    names = [f"h{row}" for row in range(2000)]
    listed = f"[{', '.join(names)}]"
    contents = f"assignment: {{{', '.join(f'{name}: []' for name in names)}}}\n"
    faults = faults_of(write(tmp_path, contents + f"scopes: {{rack: {{r: {listed}, s: {listed}}}}}\n"))
    assert [fault.code for fault in faults] == ["duplicate-member"] * 20 + ["more-faults"]
    assert "1,980 more" in faults[-1].message


# -- Parquet ---------------------------------------------------------------------------------------------------------

PARQUET = (
    "tables:\n"
    "  task: {file: tasks.parquet, key: task, container: host, dimensions: [cpu], partitions: [job], attributes: [x]}\n"
)


def parquet(folder: Path, **columns: Any) -> Path:
    pytest.importorskip("pyarrow")
    pd.DataFrame(columns).to_parquet(folder / "tasks.parquet", index=False)
    return write(folder, PARQUET)


def test_parquet_is_read_by_column(tmp_path: Path) -> None:
    path = parquet(
        tmp_path,
        task=[7, 8, 9],
        host=pd.Categorical(["b", None, "a"]),
        cpu=np.array([0.1, 0.2, 3], np.float32),
        job=["", "no", None],
        x=[1.5, 2.5, None],
    )
    problem = load(path).problem
    assert list(problem.objects) == ["7", "8", "9"]
    assert problem.initial.tolist() == [0, UNPLACED, 1]
    assert amounts(problem, "cpu") == [Fraction("0.1"), Fraction("0.2"), 3]
    assert list(problem.partitions["job"].groups) == ["no"]


def test_parquet_faults_have_rows(tmp_path: Path) -> None:
    ones = [1] * 3
    path = parquet(tmp_path, task=["a", None, "a"], host=["h"] * 3, cpu=[1.0, np.inf, 1], job=["j"] * 3, x=ones)
    places = [(fault.line, fault.column, fault.code) for fault in faults_of(path)]
    assert places == [(2, 1, "empty-name"), (2, 3, "not-finite"), (3, 1, "duplicate-object")]


def test_parquet_types_are_checked(tmp_path: Path) -> None:
    path = parquet(tmp_path, task=[0.5, 1.5], host=["h"] * 2, cpu=["1", "2"], job=["j"] * 2, x=[1] * 2)
    assert [fault.code for fault in faults_of(path)] == ["wrong-type"]
    path = parquet(tmp_path, task=["a", "b"], host=["h"] * 2, cpu=["1", "2"], job=[True, False], x=[1] * 2)
    assert [(fault.code, fault.column) for fault in faults_of(path)] == [("wrong-type", 3), ("wrong-type", 4)]


def test_facts_of_parquet_are_what_those_of_a_query_are(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    named = {"task": ["a", "b"], "host": ["h", "h"], "cpu": [1, 1], "job": ["j", "j"]}
    for values, read in (
        (pa.array([1.5, float("nan")]), {"a": 1.5}),  # as pandas writes a number that is missing
        (pa.array([0.1, None], pa.float32()), {"a": 0.1}),  # as it prints, like a column of a dimension
        (pa.array([date(2026, 1, 31), None]), {"a": "2026-01-31"}),
        (pa.array([Decimal("2.0"), Decimal("1.5")]), {"a": 2, "b": 1.5}),
        (pa.array([b"\x0f", None]), {"a": "0f"}),
        (pa.array([["", "y"], None]), {"a": ["", "y"]}),
    ):
        pq.write_table(pa.table({**named, "x": values}), tmp_path / "tasks.parquet")
        assert load(write(tmp_path, PARQUET)).problem.attributes["object", "x"] == read


def test_what_is_no_parquet_says_so(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "tasks.parquet").write_bytes(b"task,host\n")
    faults = faults_of(write(tmp_path, PARQUET))
    assert [fault.code for fault in faults] == ["parquet-syntax"]
    assert (faults[0].file or "").endswith("tasks.parquet")


def test_without_pyarrow_one_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks.parquet").write_bytes(b"PAR1")
    original = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    faults = faults_of(write(tmp_path, PARQUET))
    assert len(faults) == 1
    assert faults[0].line == 4
    assert "pip install rebalancer-cp[parquet]" in faults[0].message
