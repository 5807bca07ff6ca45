"""Tables from databases: the same problem as from files, nothing changed there, and every fault at its place."""

from __future__ import annotations

import builtins
import hashlib
import signal
import sqlite3
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalancer.problem import Fault, InputError
from rebalancer.scenario.databases import Selection, query_fault
from rebalancer.scenario.drivers import is_narrow
from rebalancer.scenario.reader import load
from rebalancer.scenario.sql_table import SqlTable, read_rows
from rebalancer.scenario.urls import filled, located, parsed, shown_url, without_secrets
from tests.examples import examples
from tests.scenario.tables import facts, scenario, write_csv, write_parquet, write_sqlite

FROM_SQLITE = (
    'url: sqlite:///inventory.db, query: "select * from tasks"',
    'url: sqlite:///inventory.db, query: "select * from hosts"',
)
TASKS: dict[str, list[Any]] = {
    "task": [1, 2, 3],
    "host": ["a", "a", None],
    "cpu": [0.1, 0.2, 5],
    "job": ["x", None, "y"],
    "app": [None, "ö", ""],
}
HOSTS: dict[str, list[Any]] = {"host": ["a", "b"], "cores": [8, 8], "rack": ["r0", None]}


def written(folder: Path, text: str = scenario(*FROM_SQLITE)) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def world(folder: Path, tasks: dict[str, list[Any]] = TASKS, text: str = scenario(*FROM_SQLITE)) -> Path:
    write_sqlite(folder / "inventory.db", tasks=tasks, hosts=HOSTS)
    return written(folder, text)


def faults_of(path: Path) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        load(path)
    return list(caught.value.faults)


# -- values -----------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
NUMBERS = st.sampled_from(
    [
        st.integers(-(2**54), 2**54),
        st.integers(-(10**9), 10**9).map(lambda number: number / 1000),
        st.decimals(-1000, 1000, places=6),
    ]
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return a table of tasks and one of hosts; keys are whole numbers or texts, numbers of one kind by column."""
    keys = draw(st.sampled_from([st.integers(-5, 2**40), TEXTS]))
    tasks = draw(st.lists(keys, min_size=1, max_size=8, unique=True))
    hosts = draw(st.lists(draw(st.sampled_from([st.integers(0, 99), TEXTS])), min_size=1, max_size=4, unique=True))
    size, amounts = len(tasks), draw(NUMBERS)

    def column(values: st.SearchStrategy[Any], length: int) -> list[Any]:
        return draw(st.lists(values, min_size=length, max_size=length))

    texts = st.one_of(st.none(), st.just(""), TEXTS)
    return (
        {
            "task": tasks,
            "host": column(st.sampled_from([None, *hosts]), size),
            "cpu": column(amounts, size),
            "job": column(texts, size),
            "app": column(texts, size),
        },
        {
            "host": hosts,
            "cores": column(amounts.map(abs), len(hosts)),
            "rack": column(texts, len(hosts)),
        },
    )


@given(worlds())
@examples(30)
def test_the_same_table_is_the_same_problem_wherever_it_stands(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[dict[str, list[Any]], dict[str, list[Any]]]
) -> None:
    folder = tmp_path_factory.mktemp("world")
    tasks, hosts = drawn
    write_csv(folder / "tasks.csv", tasks)
    write_csv(folder / "hosts.csv", hosts)
    write_parquet(folder / "tasks.parquet", tasks)
    write_parquet(folder / "hosts.parquet", hosts)
    write_sqlite(folder / "inventory.db", tasks=tasks, hosts=hosts)
    from_csv = facts(load(written(folder, scenario("file: tasks.csv", "file: hosts.csv"))).problem)
    assert [str(key) for key in tasks["task"]] == from_csv["objects"]
    assert facts(load(written(folder, scenario("file: tasks.parquet", "file: hosts.parquet"))).problem) == from_csv
    assert facts(load(written(folder)).problem) == from_csv


def test_numbers_are_exact_in_whatever_way_they_are_kept(tmp_path: Path) -> None:
    numbers = [9007199254740993, 0.1, "1e-2", " 3 ", "0.2"]
    write_sqlite(tmp_path / "inventory.db", tasks={"task": [*"abcde"], "host": ["h"] * 5, "cpu": numbers})
    query = 'url: sqlite:///inventory.db, query: "select * from tasks", key: task, container: host, dimensions: [cpu]'
    text = f"object: task\ncontainer: host\ntables: {{task: {{{query}}}}}\n"
    used = facts(load(written(tmp_path, text)).problem)["used"]["cpu"]
    assert [Decimal(number.numerator) / number.denominator for number in used] == [
        9007199254740993,
        Decimal("0.1"),
        Decimal("0.01"),
        3,
        Decimal("0.2"),
    ]


def test_rows_have_a_digest_under_a_name_without_secrets(tmp_path: Path) -> None:
    path = world(tmp_path)
    first = load(path)
    assert set(first.queries) == {"sqlite:///inventory.db#task", "sqlite:///inventory.db#host"}
    assert first.files == [str(path)]
    assert load(path).queries == first.queries
    with sqlite3.connect(tmp_path / "inventory.db") as connection:
        connection.execute("update tasks set cpu = 0.3 where task = 2")
    connection.close()
    changed = load(path).queries
    assert changed["sqlite:///inventory.db#host"] == first.queries["sqlite:///inventory.db#host"]
    assert changed["sqlite:///inventory.db#task"] != first.queries["sqlite:///inventory.db#task"]


def test_a_query_may_hold_what_drivers_take_for_placeholders(tmp_path: Path) -> None:
    own = "select 'a:b%s' || task as task, host, cpu, job, app from tasks where app is null or app not like '%z' -- ;"
    first = f'url: sqlite:///inventory.db, query: "{own}"'
    path = world(tmp_path, text=scenario(first, FROM_SQLITE[1]))
    assert list(load(path).problem.objects) == ["a:b%s1", "a:b%s2", "a:b%s3"]


def test_reading_changes_nothing_and_needs_no_right_to_write(tmp_path: Path) -> None:
    path = world(tmp_path)
    database = tmp_path / "inventory.db"
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    load(path)
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["inventory.db", "scenario.yaml"]


# -- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "at", "code", "message"),
    [
        ("inventory.db", "inventroy.db", 4, "sqlite", "missing-file", "did you mean 'inventory.db'?"),
        ("inventory.db", "nowhere/inventory.db", 4, "sqlite", "missing-file", "there is no folder 'nowhere'"),
        ("sqlite:///inventory.db", "sqlite:///.", 4, "sqlite", "missing-file", "is a folder, expected a file"),
        ("sqlite:///inventory.db", "sqllite:///x", 4, "sqllite", "unknown-driver", "did you mean 'sqlite'?"),
        ("sqlite:///inventory.db", "sqlite+odd:///x", 4, "sqlite", "unknown-driver", "no driver 'odd' for sqlite"),
        ("sqlite:///inventory.db", "inventory.db", 4, "inventory", "wrong-value", "this is no URL of a database"),
        ("sqlite:///inventory.db", '"${UNSET_URL}"', 4, '"${', "unset-variable", "'UNSET_URL' is not set"),
        ("from tasks", "from taks", 4, '"select', "unknown-name", "no table 'taks'; did you mean 'tasks'?"),
        ("* from tasks", "tsk from tasks", 4, '"select', "unknown-name", "column 'tsk'"),
        ("* from tasks", "from tasks", 4, '"select', "sql-error", "the query fails: near"),
        ("select * from tasks", "delete from tasks", 4, '"delete', "unsupported-query", "one SELECT, got 'delete'"),
        ("from tasks", "from tasks; select 1", 4, '"select', "unsupported-query", "several statements"),
        ("select * from tasks", "", 4, '""', "unsupported-query", "got nothing"),
        ("cores}", "coers}", 5, "coers", "missing-column", "no column 'coers'; did you mean 'cores'?"),
        ("* from tasks", "*, 1 as cpu from tasks", 1, None, "duplicate-column", "two columns 'cpu'"),
        ('query: "select * from tasks", ', "", 4, "task", "missing-field", "missing field 'file' (or 'query')"),
        ("url: sqlite:///inventory.db, query", "query", 4, "task", "missing-field", "missing field 'url'"),
        ("task: {url", "task: {file: tasks.csv, url", 4, '"select', "unsupported-field", "state one of them"),
        ('query: "select * from tasks"', "file: tasks.csv", 4, "sqlite", "unsupported-field", "has no 'url'"),
    ],
)  # fmt: skip
def test_a_fault_of_a_source_is_one_fault_at_its_place(
    tmp_path: Path, old: str, new: str, line: int, at: str | None, code: str, message: str
) -> None:
    text = scenario(*FROM_SQLITE)
    assert old in text
    faults = faults_of(world(tmp_path, text=text.replace(old, new, 1)))
    assert len(faults) == 1, "\n".join(map(str, faults))
    assert (faults[0].line, faults[0].code) == (line, code)
    assert message in faults[0].message
    if at is not None:
        assert faults[0].column == text.replace(old, new, 1).splitlines()[line - 1].index(at) + 1


def test_values_that_are_no_names_and_no_numbers_have_rows(tmp_path: Path) -> None:
    tasks = {
        "task": ["a", None, "a", 2.5],
        "host": ["h", "h", "h", b"x"],
        "cpu": [1, "many", None, float("inf")],
        "job": ["j", "j", "j", 1.5],
        "app": [""] * 4,
    }
    faults = faults_of(world(tmp_path, tasks))
    assert {fault.file for fault in faults} == {"sqlite:///inventory.db#task"}
    places = [(fault.line, fault.column, fault.code) for fault in faults]
    assert places == [(4, 1, "wrong-type")]
    tasks["task"] = ["a", "b", "c", "d"]
    places = [(fault.line, fault.column, fault.code) for fault in faults_of(_again(tmp_path, tasks))]
    assert places == [
        (2, 3, "wrong-type"),
        (3, 3, "empty-number"),
        (4, 2, "wrong-type"),
        (4, 3, "not-finite"),
        (4, 4, "wrong-type"),
    ]


def _again(folder: Path, tasks: dict[str, list[Any]]) -> Path:
    (folder / "inventory.db").unlink()
    return world(folder, tasks)


def test_many_mistakes_are_counted(tmp_path: Path) -> None:
    size = 5000
    tasks = {
        "task": list(range(size)),
        "host": ["a"] * size,
        "cpu": ["x"] * size,
        "job": [0.5] * size,
        "app": [None] * size,
    }
    faults = faults_of(world(tmp_path, tasks))
    assert len(faults) == 42
    assert sum("4,980 more mistakes" in fault.message for fault in faults) == 2


def test_what_is_no_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "inventory.db").write_bytes(b"no database at all" * 100)
    faults = faults_of(written(tmp_path))
    assert {(fault.code, fault.line) for fault in faults} == {("unreachable-database", 4), ("unreachable-database", 5)}
    assert all("file is not a database" in fault.message for fault in faults)


def test_a_locked_database_says_so(tmp_path: Path) -> None:
    path = world(tmp_path, text=scenario(*FROM_SQLITE).replace("inventory.db", "inventory.db?timeout=0"))
    holder = sqlite3.connect(tmp_path / "inventory.db")
    holder.execute("begin exclusive")
    try:
        faults = faults_of(path)
    finally:
        holder.close()
    assert {fault.code for fault in faults} == {"locked-database"}
    assert load(path).problem.objects


class Ended(BaseException):
    """What a signal handler raises."""


def test_a_signal_ends_a_query_that_never_ends(tmp_path: Path) -> None:
    def handler(*_: object) -> None:
        raise Ended

    endless = "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) as task from n"
    path = world(tmp_path, text=scenario(FROM_SQLITE[0].replace("select * from tasks", endless), FROM_SQLITE[1]))
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Ended):
            load(path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_server_that_is_away_is_an_error_without_its_password(tmp_path: Path) -> None:
    url = "postgresql+psycopg://reader:geheim@127.0.0.1:1/inventory"
    faults = faults_of(written(tmp_path, scenario(*FROM_SQLITE).replace("sqlite:///inventory.db", url)))
    assert [fault.line for fault in faults] == [4, 5]
    # Where the driver is not installed, that is what is said.
    assert {fault.code for fault in faults} in ({"unreachable-database"}, {"missing-package"})
    assert all("geheim" not in str(fault) + str(fault.value) for fault in faults)


def test_without_sqlalchemy_one_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world(tmp_path)
    original = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("sqlalchemy"):
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    faults = faults_of(path)
    assert {fault.code for fault in faults} == {"missing-package"}
    assert "pip install rebalancer-cp[sql]" in faults[0].message


def test_a_driver_that_is_not_installed_is_named(tmp_path: Path) -> None:
    url = "mysql+aiomysql://reader:geheim@db/inventory"
    faults = faults_of(written(tmp_path, scenario(*FROM_SQLITE).replace("sqlite:///inventory.db", url)))
    assert {fault.code for fault in faults} == {"missing-package"}
    assert "pip install aiomysql" in faults[0].message


# -- queries and URLs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "select 1",
        "  SELECT a FROM b;  ",
        "with x as (select 1) select * from x",
        "(select 1) union (select 2)",
        "select ';' as a, \"b;\" from c -- ; drop table c",
        "/* ; */ values (1)",
        "select $$;$$, $x$;$x$",
        r"select E'it\'s; so', e'\\'",
    ],
)
def test_what_reads_is_a_query(query: str) -> None:
    assert query_fault(query) is None


@pytest.mark.parametrize(
    "query",
    [
        "",
        ";",
        "insert into a values (1)",
        "select 1; select 2",
        "selecting",
        "drop table a",
        "-- select 1",
        r"select E'a\''; drop table a; --'",
    ],
)
def test_what_does_not_read_is_none(query: str) -> None:
    assert query_fault(query) is not None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://bob:geheim@db/x", "postgresql://bob:***@db/x"),
        ("postgresql+psycopg://bob:ge%40heim@db:5432/x", "postgresql+psycopg://bob:***@db:5432/x"),
        ("postgresql://db/x?user=bob&password=geheim", "postgresql://db/x?password=***&user=bob"),
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("postgresql://bob:geheim@db:port/x", "postgresql://***"),
        ("postgresql://bob:ge@heim@db/x", "postgresql://***"),
        ("mssql+pyodbc:///?odbc_connect=UID%3Dbob%3BPWD%3Dgeheim", "mssql+pyodbc:///?odbc_connect=***"),
        ("geheim", "***"),
    ],
)
def test_a_shown_url_has_no_password(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_what_a_driver_says_loses_the_password() -> None:
    url = "postgresql://bob:ge%40heim@db/x?sslpassword=dritt"
    said = without_secrets(f"cannot use {url}: ge@heim and dritt are wrong", url)
    assert said == "cannot use postgresql://bob:***@db/x?sslpassword=***: *** and *** are wrong"


def test_what_a_driver_says_loses_the_password_of_odbc() -> None:
    url = "mssql+pyodbc:///?odbc_connect=Server%3Ddb%3BPWD%3D%7Bge%3Bheim%7D%3BUID%3Dbob"
    assert without_secrets("no login with UID=bob;PWD={ge;heim} at db", url) == "no login with UID=bob;PWD=*** at db"


def test_a_password_that_is_not_encoded_is_named_as_the_mistake(tmp_path: Path) -> None:
    url = "postgresql://bob:ge@heim@db/x"
    faults = faults_of(written(tmp_path, scenario(*FROM_SQLITE).replace("sqlite:///inventory.db", url)))
    assert {fault.code for fault in faults} == {"wrong-value"}
    assert all("the password holds an '@', which is written as %40" in fault.message for fault in faults)
    assert all("heim" not in str(fault) + str(fault.value) for fault in faults)


def test_urls_are_filled_from_the_environment() -> None:
    assert filled("${A}://${B}/x$C", {"A": "sqlite", "B": "$${A}"}) == "sqlite://$${A}/x$C"
    with pytest.raises(KeyError, match="C"):
        filled("${C}", {})


def test_relative_files_of_sqlite_are_beside_the_file_that_names_them(tmp_path: Path) -> None:
    assert located("sqlite:///a.db", str(tmp_path)) == f"sqlite:///{tmp_path}/a.db"
    for absolute in ("sqlite:////a.db", "sqlite://", "sqlite:///:memory:", "postgresql://db/a.db"):
        assert located(absolute, str(tmp_path)) == absolute


@pytest.mark.parametrize(("backend", "narrow", "wide"), [("duckdb", "FLOAT", "DOUBLE"), ("postgresql", 700, 701)])
def test_floats_of_32_bits_are_the_decimals_that_they_print_as(backend: str, narrow: Any, wide: Any) -> None:
    """A driver hands over the float32 0.1 as the double 0.10000000149011612; 0.1 is what was meant."""
    float32 = struct.unpack("f", struct.pack("f", 0.1))[0]
    assert float32 != 0.1
    kinds = [narrow, wide]
    positions = [position for position, kind in enumerate(kinds) if is_narrow(backend, kind)]
    table = read_rows(Selection(["f", "d"], iter([[(float32, float32), (None, 1.0)]]), positions), "db", ["f", "d"])
    assert isinstance(table, SqlTable)
    assert table.values("f") == [0.1, None]
    assert table.numbers("d").tolist() == [float32, 1.0]
    assert not is_narrow("sqlite", "FLOAT")


def test_duckdb_is_a_file_too_and_only_read(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from rebalancer.scenario.drivers import connect_options, unknown_driver

    assert located("duckdb:///a.duckdb", str(tmp_path)) == f"duckdb:///{tmp_path}/a.duckdb"
    assert located("duckdb:///:memory:", str(tmp_path)) == "duckdb:///:memory:"
    url = parsed("duckdb:///a.duckdb")
    assert connect_options(url, reading=True) == {"read_only": True}
    assert connect_options(url) == {}  # a history is written
    assert unknown_driver(url).suggestion == "pip install duckdb-engine"
