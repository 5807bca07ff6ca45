"""The same table in several places: CSV, Parquet, databases; and what a problem says, to be compared."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rebalancer.problem import Problem

#: What a scenario says of its tables, whatever their source.
TASKS = "key: task, container: host, dimensions: [cpu], partitions: [job], attributes: [app]"
HOSTS = "key: host, dimensions: {cpu: cores}, scopes: [rack]"

Columns = Mapping[str, Sequence[Any]]


def scenario(tasks: str, hosts: str) -> str:
    """Return a scenario with two tables, given where their rows come from."""
    return f"object: task\ncontainer: host\ntables:\n  task: {{{tasks}, {TASKS}}}\n  host: {{{hosts}, {HOSTS}}}\n"


def write_csv(path: Path, columns: Columns) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_parquet(path: Path, columns: Columns) -> None:
    pq.write_table(pa.table({name: pa.array(list(values)) for name, values in columns.items()}), path)


def write_sqlite(path: Path, **tables: Columns) -> None:
    """Write tables whose columns have no type: SQLite then keeps values as they are. It has no decimals: texts."""
    with sqlite3.connect(path) as connection:
        for table, columns in tables.items():
            connection.execute(f"create table {table} ({', '.join(columns)})")
            rows = zip(*columns.values(), strict=True)
            marks = ", ".join("?" * len(columns))
            connection.executemany(f"insert into {table} values ({marks})", [tuple(map(_stored, row)) for row in rows])
    connection.close()


def _stored(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def facts(problem: Problem) -> dict[str, Any]:
    """Return all that a problem says, by names."""
    containers = list(problem.containers)
    return {
        "objects": list(problem.objects),
        "containers": containers,
        "initial": [containers[index] if index >= 0 else None for index in problem.initial.tolist()],
        "used": {
            name: [Fraction(value, known.scale) for value in known.values[:, 0].tolist()]
            for name, known in problem.object_dimensions.items()
        },
        "offered": {
            key: [Fraction(value, known.scale) for value in known.values.tolist()]
            for key, known in problem.scope_dimensions.items()
        },
        "groups": {
            name: {group: known.members(index).tolist() for index, group in enumerate(known.groups)}
            for name, known in problem.partitions.items()
        },
        "items": {
            name: [known.items[item] if item >= 0 else None for item in known.item_of[:-1].tolist()]
            for name, known in problem.scopes.items()
        },
        "attributes": {key: dict(values) for key, values in problem.attributes.items()},
    }
