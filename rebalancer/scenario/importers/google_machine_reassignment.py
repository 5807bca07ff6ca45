"""Google machine reassignment (ROADEF/EURO challenge 2012): an instance becomes a scenario folder.

Processes are objects, machines are containers. The names say the index in the instance: ``p0``, ``m0``, ``s0``
(service), ``l0`` (location), ``n0`` (neighborhood), ``r0`` (resource).
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from rebalancer.problem.errors import Fault, InputError
from rebalancer.problem.numbers import IntArray
from rebalancer.scenario.importers.folder import write_folder
from rebalancer.scenario.importers.google_machine_scenario import Instance, scenario_files
from rebalancer.scenario.importers.integers import IntegerFile


def convert(
    model_path: str | PathLike[str],
    assignment_path: str | PathLike[str],
    out_dir: str | PathLike[str],
    *,
    overwrite: bool = False,
    schema: str | None = None,
) -> None:
    """Turn an instance into a scenario folder: ``scenario.yaml``, ``machines.csv``, ``processes.csv``.

    Parameters
    ----------
    model_path, assignment_path : path
        The two files of the instance.
    out_dir : path
        Folder to write; it must be empty or missing.
    overwrite : bool
        Replace the three files in a folder that is not empty.
    schema : str, optional
        Where editors find the JSON schema of scenario files, as seen from the folder; None: the file does not say.

    Raises
    ------
    InputError
        The files are malformed (every fault has file, line and column), or the folder is not empty; nothing is written.
    """
    instance = read(Path(model_path), Path(assignment_path))
    source = f"{Path(model_path).name}, {Path(assignment_path).name}"
    write_folder(Path(out_dir), scenario_files(instance, source, schema), overwrite)


def read(model_path: Path, assignment_path: Path) -> Instance:
    """Read the two files of an instance.

    The order in the model file is that of the challenge: resources, machines, services, processes, balance triples,
    each preceded by their number, and the weights of the three move costs.

    Raises
    ------
    InputError
        With every fault that can be told from the others.
    """
    faults: list[Fault] = []
    file = IntegerFile(model_path)

    resources = file.take_count("resources", 1)
    by_resource = _Rows(file, resources, 2, "the resources")
    transient, load_weight = by_resource.column(0), by_resource.column(1)
    faults += by_resource.outside(0, 0, 1, "resource {row}: transient must be 0 or 1, got {value}")
    faults += by_resource.outside(1, 0, None, "resource {row}: the load cost weight is negative: {value}")

    machines = file.take_count("machines", 1)
    by_machine = _Rows(file, machines, 2 + 2 * resources + machines, "the machines")
    faults += by_machine.outside(0, 0, None, "machine {row}: the neighborhood is negative: {value}")
    faults += by_machine.outside(1, 0, None, "machine {row}: the location is negative: {value}")
    for r in range(resources):
        faults += by_machine.outside(
            2 + r, 0, None, f"machine {{row}}: the capacity of resource {r} is negative: {{value}}"
        )
        faults += by_machine.outside(
            2 + resources + r, 0, None, f"machine {{row}}: the safety capacity of resource {r} is negative: {{value}}"
        )

    services = file.take_count("services", 1)
    spread, dependencies = [], []
    for s in range(services):
        spread.append(int(file.take(1, f"the spread minimum of service {s}")[0]))
        depends = _Rows(file, file.take_count(f"dependencies of service {s}"), 1, f"the dependencies of service {s}")
        faults += depends.outside(0, 0, services - 1, f"service {s} depends on service {{value}}, there are {services}")
        dependencies += [(s, other) for other in depends.column(0).tolist()]

    processes = file.take_count("processes", 1)
    by_process = _Rows(file, processes, 2 + resources, "the processes")
    faults += by_process.outside(
        0, 0, services - 1, f"process {{row}}: the service {{value}} does not exist, there are {services}"
    )
    for r in range(resources):
        faults += by_process.outside(
            1 + r, 0, None, f"process {{row}}: the requirement of resource {r} is negative: {{value}}"
        )
    faults += by_process.outside(1 + resources, 0, None, "process {row}: the move cost is negative: {value}")

    balance = _Rows(file, file.take_count("balance triples"), 4, "the balance triples")
    for column in (0, 1):
        faults += balance.outside(
            column,
            0,
            resources - 1,
            f"balance triple {{row}}: the resource {{value}} does not exist, there are {resources}",
        )
    weights = _Rows(file, 1, 3, "the weights of the move costs")
    for column, kind in enumerate(("process", "service", "machine")):
        faults += weights.outside(column, 0, None, f"the weight of the {kind} move cost is negative: {{value}}")
    file.finish()

    placed = IntegerFile(assignment_path)
    by_place = _Rows(placed, processes, 1, f"the assignment of {processes} processes")
    faults += by_place.outside(
        0, 0, machines - 1, f"process {{row}} is on machine {{value}}, which does not exist; there are {machines}"
    )
    placed.finish()
    if faults:
        raise InputError(faults)

    table = by_machine.table
    return Instance(
        transient=transient.astype(bool),
        load_weight=load_weight,
        neighborhood=by_machine.column(0),
        location=by_machine.column(1),
        capacity=table[:, 2 : 2 + resources],
        safety=table[:, 2 + resources : 2 + 2 * resources],
        machine_move_cost=table[:, 2 + 2 * resources :],
        spread=np.array(spread, np.int64),
        dependencies=tuple(dependencies),
        service=by_process.column(0),
        requirement=by_process.table[:, 1 : 1 + resources],
        move_cost=by_process.column(1 + resources),
        balance=balance.table,
        move_weights=(int(weights.table[0, 0]), int(weights.table[0, 1]), int(weights.table[0, 2])),
        machine=by_place.column(0),
    )


class _Rows:
    """A block of rows of equal width, taken from the file."""

    def __init__(self, file: IntegerFile, rows: int, width: int, what: str) -> None:
        self._file = file
        self._start = file.taken
        self.table = file.take(rows * width, what).reshape(rows, width)

    def column(self, column: int) -> IntArray:
        return self.table[:, column]

    def outside(self, column: int, least: int, most: int | None, message: str) -> list[Fault]:
        """Return a fault for each value of a column below ``least`` or above ``most``."""
        values = self.table[:, column]
        bad = values < least
        if most is not None:
            bad |= values > most
        rows = np.flatnonzero(bad).tolist()
        width = self.table.shape[1]
        found = ((self._start + row * width + column, message.format(row=row, value=values[row])) for row in rows)
        return self._file.faults("out-of-range", found) if rows else []
